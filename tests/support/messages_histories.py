"""Hypothesis strategies: histories of every kind that a Messages encoder must make legal, and profiles of servers."""

from __future__ import annotations

from hypothesis import strategies as st

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
from headrace.wire.profile import Profile

IDS = st.sampled_from(["", "a", "b", "a_2", "toolu_1", "functions.f:0", "x" * 60])
NAMES = st.sampled_from(["", "f", "get time", "a.b", "n" * 80])
ARGUMENTS = st.sampled_from(["", "{}", "null", "[1]", '{"a": 1}', '{"a": 1', "no", '{"a":"\\ud83d"}'])
TEXT = st.sampled_from(["", " ", "x", "line\n", "\u00e9\U0001f600"])
TEXTS = st.builds(TextPart, TEXT, citations=st.sampled_from([(), ({"n": 1},)])) | st.builds(
    JsonPart, st.sampled_from([None, 1, {"a": [1]}, "s"])
)
MEDIA = st.sampled_from(
    [
        MediaPart(kind="image", url="https://x/y.png"),
        MediaPart(kind="image", file_id="f"),
        MediaPart(kind="audio", data=b"x", transcript="words"),
        MediaPart(kind="document", data=b"x"),
    ]
)
OPAQUE = st.just(OpaquePart({"type": "new", "x": 1}))
CALLS = st.builds(
    lambda **fields: make(ToolCallPart, **fields),
    id=IDS,
    name=NAMES,
    arguments=ARGUMENTS,
    parsed=st.sampled_from([None, {"a": 1}]),
    kind=st.sampled_from(["function", "custom", "provider"]),
    provider_data=st.sampled_from([{}, {"caller": {"type": "direct"}}]),
)
ITEMS = st.builds(
    ProviderItem,
    provider=st.sampled_from(["acme", "other"]),
    protocol=st.sampled_from(["anthropic-messages", "openai-chat"]),
    raw=st.sampled_from([b'{"type":"compaction"}', b"{"]),
)
SERVER_TOOLS = st.builds(
    ProviderToolPart,
    id=st.sampled_from(["s1", "s2"]),
    name=st.just("search"),
    arguments=ARGUMENTS,
    result=st.sampled_from([None, [1]]),
    provider=st.sampled_from(["acme", "other", ""]),
    provider_data=st.sampled_from([{}, {"type": "server_tool_use", "result": {"type": "x_tool_result"}}]),
)
REASONING = st.builds(ReasoningPart, TEXT, signature=st.sampled_from([None, "s"]), encrypted=st.sampled_from([None, "e"]))
STATES = st.sampled_from(["success", "error", "denied", "interrupted", "timed_out", "not_run", "in_doubt"])
RESULTS = st.builds(ToolResultPart, call_id=IDS, name=NAMES, parts=st.lists(TEXTS | MEDIA | OPAQUE, max_size=2), state=STATES)
ASSISTANT_PARTS = TEXTS | CALLS | CALLS | REASONING | st.builds(RefusalPart, TEXT) | MEDIA | OPAQUE | ITEMS | SERVER_TOOLS
MESSAGES = st.one_of(
    st.builds(SystemMessage, TEXT),
    st.builds(UserMessage, st.lists(TEXTS | MEDIA | OPAQUE, max_size=3), name=st.sampled_from([None, "ann"])),
    st.builds(
        AssistantMessage,
        st.lists(ASSISTANT_PARTS, max_size=5),
        provider=st.sampled_from([None, "acme", "other"]),
        finish_reason=st.sampled_from([None, "stop", "pause"]),
    ),
    st.lists(RESULTS | OPAQUE, min_size=1, max_size=4).map(ToolMessage),
)
HISTORIES = st.lists(MESSAGES, max_size=10)
PROFILES = st.builds(
    Profile,
    provider=st.just("acme"),
    reasoning_when=st.sampled_from(["always", "tool_turns", "never"]),
    takes_foreign_reasoning=st.booleans(),
    needs_signature=st.booleans(),
    needs_declared_tools=st.booleans(),
    supports_images_in_results=st.booleans(),
    supports_images=st.booleans(),
    call_id_pattern=st.sampled_from([None, "[A-Za-z0-9_-]+"]),
    tool_name_pattern=st.sampled_from([None, "[A-Za-z0-9_-]"]),
)
