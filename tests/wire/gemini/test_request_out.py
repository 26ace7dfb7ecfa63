import json

import pytest

from headrace.errors import UsageError
from headrace.messages.message import AssistantMessage, SystemMessage, ToolMessage, UserMessage
from headrace.messages.parts import MediaPart, ReasoningPart, TextPart, ToolCallPart, ToolResultPart
from headrace.messages.request import Request, Settings, ToolSpec
from headrace.providers import profiles
from headrace.wire.encoding_cache import EncodingCache
from headrace.wire.gemini.request_out import encode_request
from headrace.wire.profile import DEFAULT, Profile

OWN = profiles.GOOGLE.replace(provider="acme")


def call(id_="", name="f", made_up=False, **fields):
    return ToolCallPart(id=id_, name=name, id_made_up=made_up, **fields)


def encode(*messages, profile=OWN, **fields):
    return encode_request(Request(model="m", messages=messages, **fields), profile)


def contents(*messages, profile=OWN):
    encoded = encode(*messages, profile=profile)
    return json.loads(encoded.body)["contents"], [warning.detail for warning in encoded.warnings]


def test_a_whole_request_is_these_bytes():
    encoded = encode(
        SystemMessage("Be brief."),
        UserMessage("What time is it?"),
        AssistantMessage(["Looking.", call("c1", "clock", arguments='{"city": "Oslo"}')]),
        ToolMessage("12:00", call_id="c1"),
        tools=(ToolSpec(name="clock", parameters={"type": "object"}),),
        settings=Settings(max_tokens=50),
    )
    assert encoded.path == "/models/m:streamGenerateContent?alt=sse"
    assert encoded.body == (
        b'{"systemInstruction":{"parts":[{"text":"Be brief."}]},"contents":[{"role":"user","parts":[{"text":"What time is it?"}]},'
        b'{"role":"model","parts":[{"text":"Looking."},{"functionCall":{"id":"c1","name":"clock","args":{"city": "Oslo"}}}]},'
        b'{"role":"user","parts":[{"functionResponse":{"id":"c1","name":"clock","response":{"output":"12:00"}}}]}],'
        b'"tools":[{"functionDeclarations":[{"name":"clock","parametersJsonSchema":{"type":"object"}}]}],'
        b'"generationConfig":{"maxOutputTokens":50}}'
    )
    assert encoded.headers == (("content-type", "application/json"), ("accept", "text/event-stream"))
    assert encoded.warnings == ()


@pytest.mark.parametrize(
    ("model", "path"),
    [("gemini-x", "/models/gemini-x:generateContent"), ("tunedModels/a b?", "/tunedModels/a%20b%3F:generateContent")],
)
def test_a_request_for_one_whole_answer_goes_to_the_models_own_place(model, path):
    encoded = encode_request(
        Request(model=model, messages=(UserMessage("hi"),), is_streamed=False, settings=Settings(extra_headers={"X-A": "1"}))
    )
    assert encoded.path == path
    assert encoded.headers == (("content-type", "application/json"), ("accept", "application/json"), ("x-a", "1"))


@pytest.mark.parametrize(
    "messages", [(), (SystemMessage("s"),), (UserMessage(""),), (AssistantMessage([]),), (ToolMessage("x", call_id="c"),)]
)
def test_nothing_to_send_is_an_error(messages):
    with pytest.raises(UsageError, match="no message"):
        encode(*messages)


def test_the_callers_own_members_win():
    settings = Settings(extra_body={"generationConfig": {"topK": 1}, "cachedContent": "c", "contents": None}, max_tokens=5)
    body = json.loads(encode(UserMessage("hi"), settings=settings).body)
    assert body == {"generationConfig": {"topK": 1}, "cachedContent": "c"}


def test_messages_of_one_role_are_one_content():
    result, _ = contents(
        UserMessage("a"),
        UserMessage("b"),
        AssistantMessage(["c", call("1")]),
        ToolMessage("r", call_id="1"),
        UserMessage("d"),
        AssistantMessage("e"),
        AssistantMessage("f"),
        SystemMessage("late"),
    )
    assert [(one["role"], len(one["parts"])) for one in result] == [("user", 2), ("model", 2), ("user", 2), ("model", 2)]


def test_an_answer_that_nobody_asked_for_gets_a_first_word_before_it():
    result, _ = contents(AssistantMessage("Hello."))
    assert result == [{"role": "user", "parts": [{"text": "Go on."}]}, {"role": "model", "parts": [{"text": "Hello."}]}]


def test_results_stand_in_the_order_of_the_calls_whatever_the_history():
    result, warnings = contents(
        UserMessage("u"),
        AssistantMessage([call("1", "a"), call("2", "b"), call("3", "c")]),
        ToolMessage(
            [ToolResultPart(call_id="2", parts="two"), ToolResultPart(call_id="1", parts="one"), ToolResultPart(call_id="9", parts="x")]
        ),
    )
    responses = [part["functionResponse"] for part in result[-1]["parts"]]
    assert [(one["id"], one["name"]) for one in responses] == [("1", "a"), ("2", "b"), ("3", "c")]
    assert responses[2]["response"] == {"error": "Not run: this call has no result."}
    assert len(warnings) == 1


def test_an_id_that_the_provider_did_not_give_is_not_sent():
    result, _ = contents(UserMessage("u"), AssistantMessage([call("call_1", made_up=True)]), ToolMessage("r", call_id="call_1"))
    assert result[1]["parts"][0] == {"functionCall": {"name": "f", "args": {}}}
    assert result[2]["parts"][0] == {"functionResponse": {"name": "f", "response": {"output": "r"}}}


def test_what_came_from_another_provider_goes_as_what_everybody_understands_and_the_rest_is_said():
    history = (
        UserMessage("u"),
        AssistantMessage(
            [
                ReasoningPart("Hm.", signature="s"),
                TextPart("t", provider_data={"x": 1}),
                call("1", provider_data={"thoughtSignature": "QQ=="}),
            ],
            provider="other",
        ),
        ToolMessage("r", call_id="1"),
    )
    result, warnings = contents(*history)
    assert result[1]["parts"] == [{"text": "t"}, {"functionCall": {"name": "f", "args": {}}}]
    assert warnings == [
        "messages[1].parts[0]: reasoning of other",
        "messages[1].parts[1]: data of other: x",
        "messages[1]: data of other: thoughtSignature",
    ]


def test_a_model_that_wants_a_signature_gets_one_for_the_first_call_that_has_none():
    profile = OWN.for_model("gemini-3.1-pro-preview")
    signed = call("1", provider_data={"thoughtSignature": "QQ=="})
    for provider, first, expected in (("acme", signed, "QQ=="), ("acme", call("1"), "skip_thought_signature_validator")):
        result, _ = contents(UserMessage("u"), AssistantMessage([first, call("2")], provider=provider), profile=profile)
        assert [part.get("thoughtSignature") for part in result[1]["parts"]] == [expected, None]


def test_a_picture_follows_behind_all_the_results_where_results_hold_none():
    history = (
        UserMessage("u"),
        AssistantMessage([call("1"), call("2")]),
        ToolMessage(
            [ToolResultPart(call_id="1", parts=[MediaPart(kind="image", data=b"\x89PNG")]), ToolResultPart(call_id="2", parts="two")]
        ),
    )
    result, _ = contents(*history)
    assert [next(iter(part)) for part in result[-1]["parts"]] == ["functionResponse", "functionResponse", "text", "inlineData"]
    inside, _ = contents(*history, profile=OWN.replace(supports_images_in_results=True))
    assert [next(iter(part)) for part in inside[-1]["parts"]] == ["functionResponse", "functionResponse"]
    assert inside[-1]["parts"][0]["functionResponse"]["parts"] == [{"inlineData": {"mimeType": "image/png", "data": "iVBORw=="}}]


def test_each_message_is_encoded_once():
    cache = EncodingCache()
    history = [UserMessage("u"), AssistantMessage(["a", call("1")]), ToolMessage("r", call_id="1")]
    tools = (ToolSpec(name="f"),)
    for _ in range(3):
        before = cache.misses
        encode_request(Request(model="m", messages=tuple(history), tools=tools), DEFAULT, cache=cache)
        history.append(UserMessage("more"))
    assert (before, cache.misses) == (5, 6)


def test_a_cache_changes_nothing():
    history = (UserMessage("u"), AssistantMessage([call("1")], provider="other"), ToolMessage("r", call_id="1"))
    request = Request(model="m", messages=history)
    cache = EncodingCache()
    for profile in (OWN, Profile(), OWN.replace(provider="other")):
        assert [encode_request(request, profile, cache=cache) for _ in range(2)] == [encode_request(request, profile)] * 2
