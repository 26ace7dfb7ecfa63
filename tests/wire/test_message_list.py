"""Whatever the history, the body is one that a server accepts (law 7), and always the same bytes."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.errors import UsageError
from headrace.messages.message import AssistantMessage, SystemMessage, ToolMessage, UserMessage
from headrace.messages.parts import (
    JsonPart,
    MediaPart,
    OpaquePart,
    ProviderItem,
    ProviderToolPart,
    ReasoningPart,
    RefusalPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    make,
)
from headrace.messages.request import Request
from headrace.providers.profiles import COHERE, DASHSCOPE, OLLAMA_NATIVE
from headrace.wire.encoding_cache import EncodingCache, Fragment, Note
from headrace.wire.message_list import MessageList, body_of, lay_over, speaker_notes
from headrace.wire.profile import DEFAULT
from headrace.wire.protocols import WIRES
from legal_history import chat_problems

IDS = st.sampled_from(["", "a", "b", "a_2", "call_0", "functions.f:0"])
TEXT = st.sampled_from(["", "x", "line\n", "\u00e9\U0001f600"])
TEXTS = st.builds(TextPart, TEXT) | st.builds(JsonPart, st.sampled_from([None, 1, {"a": [1]}, [{"b": 1}], "s"]))
MEDIA = st.sampled_from(
    [
        MediaPart(kind="image", url="https://x/y.png"),
        MediaPart(kind="image", data=b"\x89PNG"),
        MediaPart(kind="image", file_id="f"),
        MediaPart(kind="audio", data=b"x", transcript="words"),
        MediaPart(kind="video", url="https://x/y.mp4"),
        MediaPart(kind="document", data=b"x"),
    ]
)
OPAQUE = st.just(OpaquePart({"type": "x", "y": 1}))
CALLS = st.builds(
    lambda **fields: make(ToolCallPart, **fields),
    id=IDS,
    name=st.sampled_from(["", "f"]),
    arguments=st.sampled_from(["", "{}", "null", "[1]", '{"a": 1}', '{"a": 1']),
    parsed=st.sampled_from([None, {"a": 1}]),
    kind=st.sampled_from(["function", "custom", "provider"]),
    provider_data=st.sampled_from([{}, {"x": 1}]),
)
REASONING = st.builds(ReasoningPart, TEXT, signature=st.sampled_from([None, "s"]))
OTHERS = st.sampled_from([ProviderToolPart(name="s"), ProviderItem(provider="o", protocol="p", raw=b"{}"), RefusalPart("no")])
RESULTS = st.builds(
    ToolResultPart,
    call_id=IDS,
    name=st.sampled_from(["", "f"]),
    parts=st.lists(TEXTS | MEDIA | OPAQUE, max_size=2),
    state=st.sampled_from(["success", "error", "denied", "in_doubt"]),
)
MESSAGES = st.one_of(
    st.builds(SystemMessage, TEXT),
    st.builds(UserMessage, st.lists(TEXTS | MEDIA | OPAQUE, max_size=3), name=st.sampled_from([None, "ann"])),
    st.builds(
        AssistantMessage,
        st.lists(TEXTS | CALLS | CALLS | REASONING | MEDIA | OPAQUE | OTHERS, max_size=4),
        provider=st.sampled_from([None, "acme", "other"]),
    ),
    st.lists(RESULTS | OPAQUE, min_size=1, max_size=3).map(ToolMessage),
)
PROFILES = {"cohere-v2": COHERE, "ollama": OLLAMA_NATIVE, "dashscope": DASHSCOPE}


@pytest.mark.parametrize("protocol", PROFILES)
@given(messages=st.lists(MESSAGES, max_size=8), profile=st.sampled_from(["own", "default"]))
def test_any_history_is_legal_and_a_cache_changes_nothing(protocol, messages, profile):
    chosen = (PROFILES[protocol] if profile == "own" else DEFAULT).replace(provider="acme")
    encode, cache = WIRES[protocol].encode(), EncodingCache()
    request = Request(model="m", messages=(*messages, UserMessage("go")))
    encoded = encode(request, chosen, cache=cache)
    body = json.loads(encoded.body)
    body = body.get("input", body)
    wire = body["messages"]
    assert chat_problems(body) == []
    assert encode(request, chosen, cache=cache) == encoded == encode(request, chosen)
    for message in wire:
        for call in message.get("tool_calls", ()):
            arguments = call["function"]["arguments"]
            assert isinstance(json.loads(arguments) if isinstance(arguments, str) else arguments, dict)
            assert call["function"]["name"]


def numbered(message, _profile, calls):
    return Fragment(b"" if message.text == "skip" else b'"%d"' % len(calls), (Note(None, "n"),))


def result(result, wire_id, _call, _profile):
    return Fragment(json.dumps([wire_id, result.state]).encode(), follow=(b"1",) if result.state == "success" else ())


def listed(messages, **options):
    made = MessageList("p", DEFAULT, EncodingCache(), message=numbered, result=result, **options)
    made.add_all(messages)
    return made


CALLING = AssistantMessage([ToolCallPart(id="a", name="f"), ToolCallPart(id="b", name="f")])


def test_results_stand_behind_their_calls_and_what_they_could_not_hold_behind_them():
    history = [UserMessage("u"), CALLING, UserMessage("skip"), ToolMessage("r", call_id="a"), ToolMessage("r", call_id="c")]
    made = listed(history, follow=lambda items: b"[" + b",".join(items) + b"]")
    assert json.loads(made.joined()) == ["0", "2", ["a", "success"], ["b", "not_run"], [1]]
    assert [warning.detail for warning in made.warnings] == [
        "messages[4].parts[0]: a result for the call 'c', which nobody made", "messages[0]: n", "messages[1]: n", "messages[2]: n",
    ]  # fmt: skip
    assert json.loads(listed(history).joined()) == ["0", "2", ["a", "success"], ["b", "not_run"]]


def test_a_list_without_a_message_cannot_be_sent():
    with pytest.raises(UsageError):
        listed([UserMessage("skip")]).joined()


def test_bodies_are_put_together_from_bytes_and_laid_over():
    fields = {"a": b"1", "b": b"2"}
    lay_over(fields, {"b": None, "c": [3], "d": None})
    assert body_of(fields) == b'{"a":1,"c":[3]}'


def test_a_speaker_is_noted():
    assert (speaker_notes(UserMessage("u")), len(speaker_notes(UserMessage("u", name="ann")))) == ([], 1)
