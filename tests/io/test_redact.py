"""Secrets out of texts, URLs, headers and JSON."""

from __future__ import annotations

import json
import time
from base64 import b64encode
from urllib.parse import quote

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from examples import few
from headrace.io.redact import (
    CUT_MARK,
    MARK,
    cut,
    longest_secret,
    redact,
    redact_bytes,
    redact_headers,
    redact_json,
    redact_url,
    secrets_of,
)

LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
# Begins with a digit, so that it is no word of the text around it.
SECRET = st.text(LETTERS + "_-", min_size=12, max_size=40).map(lambda text: f"9{text}9")
NAMES = [
    "authorization",
    "Proxy-Authorization",
    "api_key",
    "apiKey",
    "API-Key",
    "x-api-key",
    "x_goog_api_key",
    "access_token",
    "token",
    "refreshToken",
]
NAMES += [
    "client_secret",
    "secretAccessKey",
    "password",
    "passwd",
    "credential",
    "credentials",
    "private_key",
    "access-key",
    "set-cookie",
    "api key",
]
FORMS = [
    '{{"{name}": "{secret}", "model": "m"}}',
    '{{"{name}":"{secret}"}}',
    "{{'{name}': '{secret}'}}",
    "{name}={secret}&model=m",
    "{name}: {secret}",
    "{name} = {secret}, then",
    "got {name}='{secret}'",
    '"{{\\"{name}\\": \\"{secret}\\"}}"',
    '{{"{name}": "{secret}',  # cut off
    '{{"x": "{{\\"{name}\\": \\"{secret}',
]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", NAMES)
@few
@given(secret=SECRET)
def test_a_field_with_a_secrets_name_loses_its_value(form, name, secret):
    text = form.format(name=name, secret=secret)
    redacted = redact(text)
    assert secret not in redacted
    assert MARK in redacted
    assert redact(redacted) == redacted


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Authorization: Bearer abcdef123", "Authorization: ***"),
        ("sent Bearer abcdef123 to it", "sent Bearer *** to it"),
        ("bearer   token abcdef123", "bearer   ***"),
        ("Incorrect API key provided: sk-proj-abc_DEF-123.", "Incorrect API key provided: ***."),
        ("key AIzaSyA1234567890abcdefg_hij is bad", "key *** is bad"),
        ("gsk_abc123def456", "***"),
        ("https://user:pa@ss@host/v1?model=m", "https://***@host/v1?model=m"),
        ("https://host/v1?key=abc&model=m&sig=d%2Fe#top", "https://host/v1?key=***&model=m&sig=***#top"),
        ("?X-Amz-Signature=0a1b&X-Amz-Date=2026", "?X-Amz-Signature=***&X-Amz-Date=***"),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abc-_", "***"),
        (r'{"password": "a\"b,c d", "x": 1}', r'{"password": "***", "x": 1}'),
        ('{"api_key": 12345678}', '{"api_key": ***}'),
    ],
)
def test_keys_are_known_by_their_shape_and_place(text, expected):
    assert redact(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a risk-adjusted task-force-report",
        '{"max_tokens": 4096, "prompt_tokens": 12, "tokens": "a"}',
        '{"token_ids": [1, 2], "total_tokens": 3, "tokenizer": "x"}',
        '{"api_key": null, "password": true}',
        '{"properties": {"password": {"type": "string"}}}',
        "hf_hub_download and sk-learn",
        "mail me: someone@example.com, or see https://example.com/a@b",
        "Unexpected token in JSON at position 3",
        "the secret of success",
    ],
)
def test_text_without_secrets_stays_as_it_is(text):
    assert redact(text) == text


@given(secret=st.text(min_size=8, max_size=30), before=st.text(max_size=30), after=st.text(max_size=30))
@example(secret="abc/def+ghi=", before="?q=", after="")
def test_a_known_secret_never_appears_in_any_form(secret, before, after):
    assume("*" not in secret)
    text = before + secret + after + quote(secret, safe="", errors="replace") + json.dumps(secret) + json.dumps(secret, ensure_ascii=False)
    redacted = redact(text, [secret])
    assert secret not in redacted
    assert json.dumps(secret)[1:-1] not in redacted
    assert quote(secret, safe="", errors="replace") not in redacted


def test_a_known_secret_with_a_broken_character_is_no_problem():
    assert redact("a broken\ud800key b", ["broken\ud800key"]) == "a *** b"
    assert longest_secret(["broken\ud800key"]) > 0


def test_the_longest_known_secret_goes_first_so_that_no_rest_stays():
    assert redact("x abcdefgh-ijkl y", ["abcdefgh", "abcdefgh-ijkl"]) == "x *** y"


@pytest.mark.parametrize("placeholder", ["", "x", "EMPTY", "none", "ollama"])
def test_a_placeholder_for_a_key_is_no_secret(placeholder):
    text = "the EMPTY box holds none of x, says ollama"
    assert redact(text, [placeholder]) == text


WORDS = "token|api_key|secret|password|bearer |Basic |authorization|sk-|AIza|eyJ|://|key=|abc123def456|null|***".split("|")
PIECES = st.sampled_from([*WORDS, *"@=:\"'\\ ?&\n,{}[x.*_-"])


@given(pieces=st.lists(st.one_of(PIECES, st.text(max_size=5)), max_size=30), secrets=st.lists(st.text(LETTERS, max_size=12), max_size=2))
def test_redacting_twice_changes_nothing_more(pieces, secrets):
    once = redact("".join(pieces), secrets)
    assert redact(once, secrets) == once


@given(text=st.text(max_size=200), limit=st.integers(-1, 200))
def test_a_cut_keeps_its_limit_and_says_that_it_cut(text, limit):
    result = cut(text, limit)
    assert len(result) <= max(0, limit)
    if len(text) <= limit:
        assert result == text
    elif limit >= len(CUT_MARK):
        assert result.endswith(CUT_MARK)
        assert text.startswith(result.removesuffix(CUT_MARK))


@pytest.mark.parametrize(
    "hurtful",
    [
        "token",
        "secret",
        "tokentoken=",
        "bearer ",
        "basic bearer ",
        "a",
        "sk-",
        "eyJaaaaaaaa.",
        "://",
        "://a",
        '"',
        "\\",
        " ",
        "api_key ",
        'token="',
        "key:",
        "https",
        "-",
    ],
)
def test_the_time_is_linear_also_on_texts_made_to_hurt(hurtful):
    def seconds(size):
        text = hurtful * (size // len(hurtful))
        best = float("inf")
        for _ in range(2):
            began = time.process_time()
            redact(text)
            best = min(best, time.process_time() - began)
        return best

    # Four times the text in about four times the time: quadratic would be sixteen.
    assert seconds(80_000) <= 9 * seconds(20_000) + 0.01


def test_headers_lose_the_values_whose_name_smells_of_a_secret():
    headers = [("Authorization", "Bearer x"), ("x-api-key", "k"), ("Cookie", "c"), ("X-Custom-Auth", "a"), ("content-type", "text/html")]
    headers += [("x-ratelimit-remaining-tokens", "5"), ("x-request-id", "r1"), ("location", "https://u:p@h/")]
    redacted = redact_headers(headers)
    assert [name for name, value in redacted if value == MARK] == ["Authorization", "x-api-key", "Cookie", "X-Custom-Auth"]
    assert redacted[4:] == (
        ("content-type", "text/html"),
        ("x-ratelimit-remaining-tokens", "5"),
        ("x-request-id", "r1"),
        ("location", "https://***@h/"),
    )


def test_a_url_keeps_all_but_its_secrets():
    assert redact_url("https://me:pw@h:8/p?model=m&api_key=abc&key=d") == "https://***@h:8/p?model=m&api_key=***&key=***"


def test_json_keeps_its_content_and_loses_secret_fields_and_known_secrets():
    body = {
        "api_key": "abc",
        "tools": [{"parameters": {"properties": {"password": {"type": "string"}}}}],
        "messages": [{"content": "my password: hunter2, the key is my-long-key-1"}],
        "max_tokens": 5,
        "my-long-key-1": None,
    }
    redacted = redact_json(body, ["my-long-key-1"])
    assert redacted == {
        "api_key": MARK,
        "tools": [{"parameters": {"properties": {"password": {"type": "string"}}}}],
        "messages": [{"content": "my password: hunter2, the key is ***"}],
        "max_tokens": 5,
        MARK: None,
    }
    assert body["api_key"] == "abc"


@given(before=st.binary(max_size=20), secret=st.text(min_size=8, max_size=20), after=st.binary(max_size=20))
def test_bytes_keep_their_length_and_lose_the_secret(before, secret, after):
    assume("*" not in secret)
    body = before + secret.encode() + after
    redacted = redact_bytes(body, [secret])
    assert len(redacted) == len(body)
    assert secret.encode() not in redacted
    assert longest_secret([secret]) >= len(secret.encode())


def test_the_secrets_of_a_request_are_found_in_headers_and_url():
    basic = b64encode(b"someone:long-password").decode()
    headers = [("Authorization", "Bearer key-of-the-caller"), ("x-api-key", "other-key-1"), ("accept", "text/event-stream")]
    headers += [("proxy-authorization", f"Basic {basic}")]
    found = secrets_of("https://user-name:pass%2Fword@h/?key=query-key-1&model=gpt", headers)
    assert {"key-of-the-caller", "other-key-1", "long-password", "user-name", "pass/word", "query-key-1"} <= set(found)
    assert "text/event-stream" not in found


def test_a_broken_basic_header_is_no_problem():
    assert secrets_of("http://h/", [("authorization", "Basic not base64 at all")]) == ("Basic not base64 at all", "not base64 at all")
