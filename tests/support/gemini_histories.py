"""Histories of every kind of part, own and foreign, for the laws of request encoders."""

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

_IDS = st.sampled_from(["", "a", "b", "a_2", "call_0", "x" * 60])
_NAMES = st.sampled_from(["", "f", "get time", "n" * 80])
_TEXT = st.sampled_from(["", "x", "line\n", "\u00e9\U0001f600"])
_DATA = st.sampled_from([{}, {"thoughtSignature": "QQ=="}, {"odd": 1}])
_TEXTS = st.builds(TextPart, _TEXT, provider_data=_DATA) | st.builds(JsonPart, st.sampled_from([None, 1, {"a": [1]}, "s"]))
_MEDIA = st.sampled_from(
    [
        MediaPart(kind="image", url="https://x/y.png"),
        MediaPart(kind="image", data=b"x", provider_data={"thought": True}),
        MediaPart(kind="audio", data=b"x", transcript="words"),
        MediaPart(kind="video", file_id="f"),
    ]
)
_OPAQUE = st.just(OpaquePart({"type": "new"}))
_CALLS = st.builds(
    lambda **fields: make(ToolCallPart, **fields),
    id=_IDS,
    name=_NAMES,
    arguments=st.sampled_from(["", "{}", "null", "[1]", '{"a": 1}', '{"a": 1', "no"]),
    parsed=st.sampled_from([None, {"a": 1}]),
    kind=st.sampled_from(["function", "custom", "provider"]),
    id_made_up=st.booleans(),
    provider_data=_DATA,
)
_ITEMS = st.builds(
    ProviderItem,
    provider=st.sampled_from(["acme", "other"]),
    protocol=st.sampled_from(["gemini", "gemini-interactions"]),
    raw=st.sampled_from([b'{"type":"x"}', b"{"]),
)
_TOOLS = st.builds(
    lambda data: make(ProviderToolPart, name="search", provider_data=data),
    st.sampled_from([{}, {"parts": [{"executableCode": {}}]}, {"steps": [{"type": "x_call"}]}]),
)
_REASONING = st.builds(
    ReasoningPart, _TEXT, signature=st.sampled_from([None, "QQ=="]), provider_data=st.sampled_from([{}, {"summary": [{}]}])
)
_RESULTS = st.builds(
    ToolResultPart,
    call_id=_IDS,
    name=_NAMES,
    parts=st.lists(_TEXTS | _MEDIA | _OPAQUE, max_size=2),
    state=st.sampled_from(["success", "error", "denied", "interrupted", "timed_out", "not_run", "in_doubt"]),
)
_ANSWERS = _TEXTS | _CALLS | _CALLS | _REASONING | st.builds(RefusalPart, _TEXT) | _MEDIA | _OPAQUE | _ITEMS | _TOOLS
_MESSAGES = st.one_of(
    st.builds(SystemMessage, _TEXT),
    st.builds(UserMessage, st.lists(_TEXTS | _MEDIA | _OPAQUE, max_size=3), name=st.sampled_from([None, "ann"])),
    st.builds(AssistantMessage, st.lists(_ANSWERS, max_size=5), provider=st.sampled_from([None, "acme", "other"])),
    st.lists(_RESULTS | _OPAQUE, min_size=1, max_size=4).map(ToolMessage),
)
HISTORIES = st.lists(_MESSAGES, max_size=10)
"""Any history, legal or not; `acme` is the provider that it is sent to."""
