"""Whatever the history, the body is one that a Chat Completions server accepts (law 7), and always the same bytes."""

import json
import re

from hypothesis import given

from chat_histories import HISTORIES, PROFILES
from headrace.errors import UsageError
from headrace.messages.message import AssistantMessage, UserMessage
from headrace.messages.request import Request
from headrace.wire.encoding_cache import EncodingCache
from headrace.wire.openai_chat.request_out import encode_request
from headrace.wire.profile import DEFAULT


def encode(messages, profile=DEFAULT, **options):
    """The encoded request, or None if nothing of the history can be sent."""
    try:
        return encode_request(Request(model="m", messages=tuple(messages)), profile, **options)
    except UsageError as error:
        if error.argument != "messages":
            raise
        return None


def check_legal(messages, profile):
    """The rules of the wire, written without looking at the encoder."""
    seen_ids, waiting, before = set(), [], None
    for position, message in enumerate(messages):
        role = message["role"]
        assert role in {"system", "user", "assistant", "tool"}
        if role == "tool":
            assert message["tool_call_id"] in waiting, "a result without an open call"
            waiting.remove(message["tool_call_id"])
            assert message["content"] is not None
        else:
            assert not waiting, f"calls without results before message {position}"
        if role == "system" and not profile.supports_several_system_messages:
            assert position == 0
        if role == "user" and profile.needs_assistant_after_tool:
            assert before != "tool"
        if role == "assistant":
            check_assistant(message, seen_ids, profile)
            waiting = [call["id"] for call in message.get("tool_calls", ())]
        if "name" in message and role != "tool":
            assert re.fullmatch(r"[^\s<|\\/>]+", message["name"])
        check_content(message)
        before = role
    assert not waiting, "calls without results at the end"


def check_assistant(message, seen_ids, profile):
    assert message.get("content") or message.get("tool_calls") or message.get("refusal") or message.get("audio")
    if "tool_calls" in message:
        assert message["tool_calls"]
    for call in message.get("tool_calls", ()):
        assert call["id"]
        assert call["id"] not in seen_ids, "an id that another call has"
        seen_ids.add(call["id"])
        if profile.call_id_pattern:
            assert re.fullmatch(profile.call_id_pattern, call["id"])
        assert call["type"] in {"function", "custom"}
        body = call[call["type"]]
        assert body["name"]
        if profile.tool_name_pattern:
            assert re.fullmatch("[A-Za-z0-9_-]{1,64}", body["name"])
        if call["type"] == "function":
            assert isinstance(json.loads(body["arguments"]), dict)


def check_content(message):
    content = message.get("content")
    if isinstance(content, list):
        assert content
        for item in content:
            assert isinstance(item["type"], str)
    else:
        assert content is None or isinstance(content, str)
        assert content is not None or message["role"] == "assistant"


@given(HISTORIES, PROFILES)
def test_any_history_becomes_a_legal_one(messages, profile):
    encoded = encode(messages, profile)
    if encoded is not None:
        check_legal(json.loads(encoded.body)["messages"], profile)


@given(HISTORIES, PROFILES)
def test_equal_requests_give_equal_bytes_and_warnings_with_and_without_a_cache(messages, profile):
    cache = EncodingCache()
    first = encode(messages, profile, cache=cache)
    assert first == encode(messages, profile, cache=cache) == encode([message.replace() for message in messages], profile)


@given(HISTORIES)
def test_no_text_of_a_call_and_no_result_of_one_is_lost(messages):
    encoded = encode(messages)
    sent = json.loads(encoded.body)["messages"] if encoded else []
    calls = [call for message in sent for call in message.get("tool_calls", ())]
    wanted = [part for message in messages if isinstance(message, AssistantMessage) for part in message.tool_calls]
    assert len(calls) == len(wanted)
    for call, part in zip(calls, wanted, strict=True):
        arguments = json.loads(call["function"]["arguments"])
        if part.kind == "custom":
            assert arguments == {"input": part.arguments}
        elif part.parsed is None and "_invalid_arguments" in arguments:
            assert arguments == {"_invalid_arguments": part.arguments}


@given(HISTORIES)
def test_what_was_sent_once_is_sent_again_alike_when_the_user_speaks_on(messages):
    # Only results can still find their call; everything else keeps its bytes, so that a provider's prompt cache holds.
    encoded, longer = encode(messages), encode([*messages, UserMessage("and now?")])
    if encoded is not None:
        shorter = json.loads(encoded.body)["messages"]
        assert json.loads(longer.body)["messages"][: len(shorter)] == shorter
