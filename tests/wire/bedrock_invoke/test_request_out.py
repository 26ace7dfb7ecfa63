"""InvokeModel requests for models that take Messages."""

from __future__ import annotations

import json

import pytest

from headrace.errors import UsageError
from headrace.messages.message import AssistantMessage, ToolMessage, UserMessage
from headrace.messages.parts import ReasoningPart, ToolCallPart
from headrace.messages.request import Request, Settings, ToolSpec
from headrace.providers.profiles import BEDROCK_MESSAGES
from headrace.wire.anthropic_messages.request_out import encode_request as encode_messages
from headrace.wire.bedrock_invoke.request_out import encode_request
from headrace.wire.encoding_cache import EncodingCache

PROFILE = BEDROCK_MESSAGES.replace(provider="bedrock")
CALL = ToolCallPart(id="t1", name="clock", arguments='{"zone": 1.50}')
HISTORY = (
    UserMessage("hi"),
    AssistantMessage([ReasoningPart("Hm", signature="c2ln"), CALL], provider="bedrock"),
    ToolMessage("12", call_id="t1"),
)


def request(**fields):
    return Request(model="us.anthropic.m-v1:0", messages=HISTORY, tools=(ToolSpec(name="clock"),), **fields)


def test_the_body_is_that_of_messages_but_for_what_is_said_elsewhere():
    encoded = encode_request(request(), PROFILE)
    plain = json.loads(encode_messages(request(), PROFILE).body)
    body = json.loads(encoded.body)
    assert body.pop("anthropic_version") == "bedrock-2023-05-31"
    assert body == {name: value for name, value in plain.items() if name not in ("model", "stream")}
    assert b'"input":{"zone": 1.50}' in encoded.body
    assert b'"signature":"c2ln"' in encoded.body


@pytest.mark.parametrize(
    ("is_streamed", "end", "accept"),
    [(True, "invoke-with-response-stream", "application/vnd.amazon.eventstream"), (False, "invoke", "application/json")],
)
def test_streaming_stands_in_the_path(is_streamed, end, accept):
    encoded = encode_request(request(is_streamed=is_streamed), PROFILE)
    assert encoded.path == f"/model/us.anthropic.m-v1%3A0/{end}"
    assert dict(encoded.headers) == {"content-type": "application/json", "accept": accept}


def test_beta_features_move_from_the_header_into_the_body():
    encoded = encode_request(request(settings=Settings(extra_headers={"Anthropic-Beta": "a, b,", "X-A": "1"})), PROFILE)
    assert json.loads(encoded.body)["anthropic_beta"] == ["a", "b"]
    assert dict(encoded.headers)["x-a"] == "1"
    assert "anthropic-beta" not in dict(encoded.headers)


def test_what_the_caller_says_of_version_and_beta_wins():
    body = json.loads(
        encode_request(request(settings=Settings(extra_body={"anthropic_version": "v", "anthropic_beta": ["c"]})), PROFILE).body
    )
    assert (body["anthropic_version"], body["anthropic_beta"]) == ("v", ["c"])


def test_a_cache_changes_nothing_and_wrong_use_is_said():
    cache = EncodingCache()
    assert (
        encode_request(request(), PROFILE, cache=cache)
        == encode_request(request(), PROFILE, cache=cache)
        == encode_request(request(), PROFILE)
    )
    with pytest.raises(UsageError):
        encode_request(Request(model="m", messages=()), PROFILE)
