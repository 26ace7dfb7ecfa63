"""AWS signatures, and the provider that wants them."""

from __future__ import annotations

import sys
from datetime import UTC, datetime, timedelta, timezone

import pytest

from headrace.errors import ConfigError, MissingExtraError
from headrace.providers.resolve import resolve
from headrace.providers.secret import Secret
from headrace.providers.signing import Signing, region_of, sign, signing_of

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
URL = "https://bedrock-runtime.eu-west-1.amazonaws.com/model/us.some.model-v1%3A0/converse-stream"
HEADERS = (("content-type", "application/json"), ("accept", "application/vnd.amazon.eventstream"), ("authorization", "old"))
SIGNING = Signing(key_id="AKIDEXAMPLE", secret=Secret("wJalrXUtnFEMI/K7MDENG"), region="eu-west-1", service="bedrock")
AWS = {"AWS_ACCESS_KEY_ID": "AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY": "wJalrXUtnFEMI/K7MDENG", "AWS_REGION": "eu-west-1"}


def theirs(monkeypatch, headers, token=None):
    """What botocore's own way of signing gives at the same time."""
    auth = pytest.importorskip("botocore.auth", reason="the development group is missing: pip install botocore")
    from botocore.awsrequest import AWSRequest
    from botocore.credentials import Credentials

    monkeypatch.setattr(auth, "get_current_datetime", lambda *_, **__: NOW.replace(tzinfo=None))
    request = AWSRequest(method="POST", url=URL, headers=dict(headers), data=b"{}")
    auth.SigV4Auth(Credentials("AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG", token), "bedrock", "eu-west-1").add_auth(request)
    return {name.lower(): value for name, value in request.headers.items()}


@pytest.mark.parametrize("token", [None, "session-token"])
def test_a_signature_is_that_of_botocore(monkeypatch, token):
    signing = Signing(key_id=SIGNING.key_id, secret=SIGNING.secret, region="eu-west-1", service="bedrock", token=token and Secret(token))
    signed = dict(sign("POST", URL, HEADERS, b"{}", signing, now=NOW))
    assert signed == theirs(monkeypatch, HEADERS[:2], token)
    assert "wJalrXUtnFEMI" not in repr((signed, signing))


def test_the_time_comes_in_from_any_zone():
    elsewhere = NOW.astimezone(timezone(timedelta(hours=5)))
    assert sign("POST", URL, HEADERS, b"{}", SIGNING, now=elsewhere) == sign("POST", URL, HEADERS, b"{}", SIGNING, now=NOW)
    later = sign("POST", URL, HEADERS, b"{}", SIGNING, now=NOW + timedelta(seconds=1))
    assert later != sign("POST", URL, HEADERS, b"{}", SIGNING, now=NOW)


def test_the_body_is_part_of_what_is_signed():
    assert sign("POST", URL, HEADERS, b"{}", SIGNING, now=NOW) != sign("POST", URL, HEADERS, b"{ }", SIGNING, now=NOW)


def test_without_botocore_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "botocore.auth", None)
    with pytest.raises(MissingExtraError, match=r"headrace\[bedrock\]"):
        sign("POST", URL, HEADERS, b"{}", SIGNING, now=NOW)


def test_the_environment_names_region_and_credentials():
    assert region_of({}) is None
    assert region_of({"AWS_DEFAULT_REGION": "eu-west-1"}) == "eu-west-1"
    assert region_of({"AWS_REGION": " us-east-1 ", "AWS_DEFAULT_REGION": "eu-west-1"}) == "us-east-1"
    assert signing_of(AWS, region="eu-west-1", service="bedrock") == SIGNING
    assert signing_of({"AWS_ACCESS_KEY_ID": "x"}, region="r", service="s") is None
    assert signing_of({**AWS, "AWS_SESSION_TOKEN": "t"}, region="r", service="s").token == Secret("t")


@pytest.mark.parametrize("region", ["evil.example/", "a b", "EU"])
def test_a_region_that_could_be_another_host_is_refused(region):
    with pytest.raises(ConfigError, match="AWS_REGION"):
        region_of({"AWS_REGION": region})


def test_credentials_that_no_header_can_carry_are_refused_without_being_shown():
    with pytest.raises(ConfigError, match="AWS_SECRET_ACCESS_KEY") as caught:
        signing_of({**AWS, "AWS_SECRET_ACCESS_KEY": "secret\nvalue"}, region="r", service="s")
    assert "secret" not in str(caught.value).replace("AWS_SECRET_ACCESS_KEY", "")


# ---------------------------------------------------------------------------------------------- the provider


@pytest.mark.parametrize("name", ["bedrock", "amazon-bedrock", "bedrock-messages"])
def test_a_key_goes_as_a_bearer_and_the_region_into_the_address(name):
    endpoint = resolve(f"{name}:us.some.model-v1:0", environ={"AWS_BEARER_TOKEN_BEDROCK": "k", **AWS})
    assert (endpoint.base_url, endpoint.model) == ("https://bedrock-runtime.eu-west-1.amazonaws.com", "us.some.model-v1:0")
    assert (endpoint.auth_headers(), endpoint.signing) == ((("authorization", "Bearer k"),), None)


def test_without_a_key_requests_are_signed():
    endpoint = resolve("bedrock:m", environ=AWS)
    assert (endpoint.auth_headers(), endpoint.signing, endpoint.protocol) == ((), SIGNING, "bedrock-converse")
    assert resolve("bedrock:m", api_key="k", environ=AWS).signing is None


def test_the_region_of_the_address_is_that_of_the_signature():
    endpoint = resolve("bedrock:m", base_url="https://bedrock-runtime.us-west-2.amazonaws.com", environ=AWS)
    assert endpoint.signing.region == "us-west-2"
    assert resolve("bedrock:m", base_url="https://proxy.example", environ=AWS).signing.region == "eu-west-1"


@pytest.mark.parametrize(
    ("environ", "options", "what"),
    [
        ({"AWS_BEARER_TOKEN_BEDROCK": "k"}, {}, "AWS_REGION"),
        ({"AWS_REGION": "eu-west-1"}, {}, "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"),
        ({}, {"base_url": "https://proxy.example"}, "AWS_REGION"),
    ],
)
def test_what_is_missing_is_named(environ, options, what):
    with pytest.raises(ConfigError, match=what):
        resolve("bedrock:m", environ=environ, **options)


def test_its_address_is_known_in_every_region():
    endpoint = resolve("bedrock-converse:m", base_url="https://bedrock-runtime.ap-south-1.amazonaws.com", environ={})
    assert endpoint.provider == "bedrock"
    assert (
        resolve("bedrock-invoke:m", base_url="https://bedrock-runtime.ap-south-1.amazonaws.com", environ={}).provider == "bedrock-messages"
    )
    assert (
        resolve("bedrock-converse:m", base_url="https://bedrock-runtime.evil.example", environ={}).provider
        == "bedrock-runtime.evil.example"
    )
