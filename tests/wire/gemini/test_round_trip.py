"""What came goes back: decode a stream, answer its calls, encode the next request."""

import json

import pytest

from gemini_bytes import CODE, CODE_RESULT, SAMPLES
from headrace.decoding import decode_stream
from headrace.messages.message import ToolMessage, UserMessage
from headrace.messages.request import Request
from headrace.providers import profiles
from headrace.wire.gemini.request_out import encode_request

PROFILE = profiles.GOOGLE.for_model("gemini-3-flash-preview").replace(provider="google")


def next_contents(name):
    message = decode_stream(SAMPLES[name], protocol="gemini", provider="google").message
    results = [ToolMessage(f"result {n}", call_id=call.id) for n, call in enumerate(message.tool_calls)]
    encoded = encode_request(Request(model="gemini-3-flash-preview", messages=(UserMessage("q"), message, *results)), PROFILE)
    assert encoded.warnings == ()
    return json.loads(encoded.body)["contents"][1:]


def response(n, name="clock", **fields):
    return {"functionResponse": {**fields, "name": name, "response": {"output": f"result {n}"}}}


EXPECTED = {
    "signed": [
        {
            "role": "model",
            "parts": [
                {"text": "Plain "},
                {"text": "signed", "thoughtSignature": "QQ=="},
                {"text": " and plain again"},
                {"text": "", "thoughtSignature": "Qg=="},
            ],
        }
    ],
    "calls": [
        {
            "role": "model",
            "parts": [
                {"text": "Plan.", "thought": True},
                {"functionCall": {"name": "clock", "args": {"city": "Oslo"}}, "thoughtSignature": "Qw=="},
                {"functionCall": {"name": "clock", "args": {"city": "Lima"}}},
            ],
        },
        {"role": "user", "parts": [response(0), response(1)]},
    ],
    "no args": [
        {
            "role": "model",
            "parts": [
                {"functionCall": {"name": "clock", "args": {}}, "thoughtSignature": "skip_thought_signature_validator"},
                {"functionCall": {"name": "clock", "args": {}}},
                {"functionCall": {"id": "x1", "name": "other", "args": {}}},
            ],
        },
        {"role": "user", "parts": [response(0), response(1), response(2, "other", id="x1")]},
    ],
    "pieces": [
        {
            "role": "model",
            "parts": [
                {
                    "functionCall": {"name": "clock", "args": {"place": {"city": "Oslo", "days": [1, 2]}, "is_long": True, "rest": None}},
                    "thoughtSignature": "RA==",
                }
            ],
        },
        {"role": "user", "parts": [response(0)]},
    ],
    "code": [{"role": "model", "parts": [{"text": "First: "}, CODE, CODE_RESULT, {"text": "It is 42."}]}],
    "media": [
        {
            "role": "model",
            "parts": [{"inlineData": {"mimeType": "image/png", "data": "aWNvbg=="}}, {"fileData": {"fileUri": "https://x/y.mp4"}}],
        }
    ],
    "odd": [{"role": "model", "parts": [{"text": "a"}, {"newThing": {"x": 1}}, {"text": "b"}]}],
}


@pytest.mark.parametrize("name", EXPECTED)
def test_what_came_goes_back_on_the_parts_that_it_came_with(name):
    assert next_contents(name) == EXPECTED[name]
