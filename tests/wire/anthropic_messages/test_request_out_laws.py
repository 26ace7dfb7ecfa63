"""Whatever the history, the body is one that a server of the Messages protocol accepts (law 7), and always the same bytes."""

import json
import re

from hypothesis import given

from headrace.errors import UsageError
from headrace.messages.message import AssistantMessage, SystemMessage, UserMessage
from headrace.messages.request import Request
from headrace.wire.anthropic_messages.request_out import encode_request
from headrace.wire.encoding_cache import EncodingCache
from headrace.wire.profile import DEFAULT
from messages_histories import HISTORIES, PROFILES


def encode(messages, profile=DEFAULT, **options):
    """The encoded request, or None if nothing of the history can be sent."""
    try:
        return encode_request(Request(model="m", messages=tuple(messages)), profile, **options)
    except UsageError as error:
        if error.argument != "messages":
            raise
        return None


def check_legal(body, profile):
    """The rules of the wire, written without looking at the encoder."""
    seen_ids, waiting, before = set(), [], "assistant"
    for message in body["messages"]:
        assert message["role"] in {"user", "assistant"}
        assert message["role"] != before, "two messages of one role"
        before = message["role"]
        blocks = message["content"]
        assert blocks, "an empty message"
        results = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        assert results == waiting, "results that are not those of the calls before"
        assert [block["type"] for block in blocks[: len(results)]] == ["tool_result"] * len(results), "results stand first"
        waiting = []
        for block in blocks:
            check_block(block, message["role"], profile)
            if block["type"] == "tool_use":
                assert block["id"] not in seen_ids, "an id that another call has"
                seen_ids.add(block["id"])
                waiting.append(block["id"])
    assert not waiting, "calls without results at the end"
    if profile.needs_declared_tools and seen_ids:
        assert {tool["name"] for tool in body["tools"]} >= {
            b["name"] for m in body["messages"] for b in m["content"] if b["type"] == "tool_use"
        }


def check_block(block, role, profile):
    if block["type"] == "text":
        assert block["text"].strip(), "a text of nothing"
    elif block["type"] == "tool_use":
        assert role == "assistant"
        assert block["name"]
        assert isinstance(block["input"], dict)
        if profile.call_id_pattern:
            assert re.fullmatch(profile.call_id_pattern, block["id"])
        if profile.tool_name_pattern:
            assert re.fullmatch("[A-Za-z0-9_-]{1,64}", block["name"])
    elif block["type"] == "thinking":
        assert "signature" in block or not profile.needs_signature
    elif block["type"] == "tool_result":
        assert role == "user"
        assert not block.get("is_error") or block["content"], "a failure without words"
    else:
        assert isinstance(block["type"], str)


@given(HISTORIES, PROFILES)
def test_any_history_becomes_a_legal_one(messages, profile):
    encoded = encode(messages, profile)
    if encoded is not None:
        check_legal(json.loads(encoded.body), profile)


@given(HISTORIES, PROFILES)
def test_equal_requests_give_equal_bytes_and_warnings_with_and_without_a_cache(messages, profile):
    cache = EncodingCache()
    first = encode(messages, profile, cache=cache)
    assert first == encode(messages, profile, cache=cache) == encode([message.replace() for message in messages], profile)


@given(HISTORIES)
def test_no_text_of_a_call_is_lost(messages):
    encoded = encode(messages)
    sent = json.loads(encoded.body)["messages"] if encoded else []
    calls = [block for message in sent for block in message["content"] if block["type"] == "tool_use"]
    wanted = [part for message in messages if isinstance(message, AssistantMessage) for part in message.tool_calls]
    assert len(calls) == len(wanted)
    for call, part in zip(calls, wanted, strict=True):
        if part.kind == "custom":
            assert call["input"] == {"input": part.arguments}
        elif part.parsed is None and "_invalid_arguments" in call["input"]:
            assert call["input"] == {"_invalid_arguments": part.arguments}


@given(HISTORIES)
def test_what_was_sent_once_is_sent_again_alike_when_the_user_speaks_on(messages):
    # So a provider's prompt cache holds. Spaces at the very end, which an answer that is to go on may not have, come back.
    encoded, longer = encode(messages), encode([*messages, UserMessage("and now?")])
    if encoded is None or isinstance(messages[-1], (AssistantMessage, SystemMessage)):
        return
    shorter = json.loads(encoded.body)["messages"]
    again = json.loads(longer.body)["messages"]
    assert again[: len(shorter) - 1] == shorter[:-1]
