"""Hypothesis strategies: histories of every kind that a Chat Completions encoder must make legal, and profiles of servers."""

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

IDS = st.sampled_from(["", "a", "b", "a_2", "call_0", "abc123DEF", "functions.f:0", "x" * 60])
NAMES = st.sampled_from(["", "f", "get time", "a.b", "n" * 80])
ARGUMENTS = st.sampled_from(["", "{}", "null", "[1]", '{"a": 1}', '{"a": 1', "no", '{"a":"\\ud83d"}'])
TEXT = st.sampled_from(["", "x", "line\n", "\u00e9\U0001f600"])
PROVIDERS = st.sampled_from([None, "acme", "other"])
TEXTS = st.builds(TextPart, TEXT) | st.builds(JsonPart, st.sampled_from([None, 1, {"a": [1]}, "s"]))
MEDIA = st.sampled_from(
    [
        MediaPart(kind="image", url="https://x/y.png"),
        MediaPart(kind="image", file_id="f"),
        MediaPart(kind="audio", data=b"x", transcript="words"),
        MediaPart(kind="video", url="https://x/y.mp4"),
        MediaPart(kind="document", data=b"x"),
    ]
)
OPAQUE = st.just(OpaquePart({"type": "note", "text": "as it came"}))
CALLS = st.builds(
    lambda **fields: make(ToolCallPart, **fields),
    id=IDS,
    name=NAMES,
    arguments=ARGUMENTS,
    parsed=st.sampled_from([None, {"a": 1}]),
    kind=st.sampled_from(["function", "custom", "provider"]),
    provider_data=st.sampled_from([{}, {"extra_content": {"sig": "s"}}]),
)
ITEMS = st.builds(
    ProviderItem, provider=st.sampled_from(["acme", "other"]), protocol=st.just("openai-chat"), raw=st.sampled_from([b'{"type":"x"}', b"{"])
)
REASONING = st.builds(
    ReasoningPart, TEXT, signature=st.sampled_from([None, "s"]), details=st.sampled_from([(), ({"type": "reasoning.text", "text": "t"},)])
)
RESULTS = st.builds(
    ToolResultPart,
    call_id=IDS,
    name=NAMES,
    parts=st.lists(TEXTS | MEDIA | OPAQUE, max_size=2),
    state=st.sampled_from(["success", "error", "denied", "interrupted", "timed_out", "not_run", "in_doubt"]),
)
ASSISTANT_PARTS = (
    TEXTS | CALLS | CALLS | REASONING | st.builds(RefusalPart, TEXT) | MEDIA | OPAQUE | ITEMS | st.just(ProviderToolPart(name="search"))
)
MESSAGES = st.one_of(
    st.builds(SystemMessage, TEXT),
    st.builds(UserMessage, st.lists(TEXTS | MEDIA | OPAQUE, max_size=3), name=st.sampled_from([None, "ann", "Dr. Who"])),
    st.builds(AssistantMessage, st.lists(ASSISTANT_PARTS, max_size=5), provider=PROVIDERS),
    st.lists(RESULTS | OPAQUE, min_size=1, max_size=4).map(ToolMessage),
)
HISTORIES = st.lists(MESSAGES, max_size=10)
PROFILES = st.builds(
    Profile,
    provider=st.just("acme"),
    reasoning_style=st.sampled_from(["none", "field", "details", "think_tags", "parts"]),
    reasoning_when=st.sampled_from(["always", "tool_turns", "never"]),
    reasoning_filler=st.sampled_from([None, ""]),
    content_with_calls=st.sampled_from(["null", "empty", "absent"]),
    needs_assistant_after_tool=st.booleans(),
    supports_several_system_messages=st.booleans(),
    supports_images_in_results=st.booleans(),
    supports_images=st.booleans(),
    supports_refusal=st.booleans(),
    supports_custom_tools=st.booleans(),
    supports_names=st.booleans(),
    names_tool_results=st.booleans(),
    call_id_pattern=st.sampled_from([None, "[A-Za-z0-9]{9}"]),
    call_id_length=st.just(9),
    tool_name_pattern=st.sampled_from([None, "[A-Za-z0-9_-]"]),
)
