"""Hypothesis strategies: any JSON value, any part, any message, as `messages/` promises to hold them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import get_args

from hypothesis import strategies as st

from headrace.messages.fields import GenerateReason, Origin, Timing
from headrace.messages.finish import FinishReason
from headrace.messages.message import AssistantMessage, SystemMessage, ToolMessage, UserMessage
from headrace.messages.parts import (
    PART_TYPES,
    CallKind,
    JsonPart,
    MediaPart,
    OpaquePart,
    ProviderItem,
    ProviderToolPart,
    ReasoningPart,
    RefusalPart,
    ResultState,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    make,
)
from headrace.messages.usage import Usage
from headrace.messages.warning import CODES, Warning  # noqa: A004 - the field's word

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
numbers = st.integers() | st.integers(min_value=-(10**40), max_value=10**40) | st.floats(allow_nan=False, allow_infinity=False)
scalars = st.none() | st.booleans() | numbers | texts
json_values = st.recursive(scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3), max_leaves=6)
json_objects = st.dictionaries(texts, json_values, max_size=3)
maybe_text = st.none() | texts
counts = st.none() | st.integers(min_value=0, max_value=10**7)

text_parts = st.builds(TextPart, texts, citations=st.lists(json_values, max_size=2), provider_data=json_objects)
reasoning_parts = st.builds(
    ReasoningPart, texts, signature=maybe_text, encrypted=maybe_text, details=st.lists(json_values, max_size=2), provider_data=json_objects
)
refusal_parts = st.builds(RefusalPart, texts, provider_data=json_objects)
call_fields = {
    "id": texts,
    "name": texts,
    "kind": st.sampled_from(get_args(CallKind)),
    "index": st.none() | st.integers(-3, 9),
    "id_made_up": st.booleans(),
    "provider_data": json_objects,
}
call_parts = st.builds(ToolCallPart, arguments=json_objects | texts, **call_fields) | st.builds(
    lambda **fields: make(ToolCallPart, **fields),
    arguments=texts,
    parsed=st.none() | json_objects,
    runnable=st.booleans(),
    **call_fields,
)
media_parts = st.builds(
    lambda source, **fields: MediaPart(**source, **fields),
    source=st.fixed_dictionaries({"url": texts})
    | st.fixed_dictionaries({"data": st.binary(max_size=9)})
    | st.fixed_dictionaries({"file_id": texts}),
    kind=st.sampled_from(["image", "audio", "video", "document"]),
    media_type=maybe_text,
    name=maybe_text,
    transcript=maybe_text,
    provider_data=json_objects,
)
json_parts = st.builds(JsonPart, json_values, provider_data=json_objects)
provider_tool_parts = st.builds(
    ProviderToolPart,
    id=texts,
    name=texts,
    arguments=texts,
    parsed=st.none() | json_objects,
    result=json_values,
    provider=texts,
    provider_data=json_objects,
)
provider_items = st.builds(ProviderItem, provider=texts, protocol=texts, raw=st.binary(max_size=20))
types = st.sampled_from(sorted(PART_TYPES)) | texts
unknown_forms = st.builds(lambda fields, kind: {**fields, "type": kind}, json_objects, texts.filter(lambda kind: kind not in PART_TYPES))
opaque_parts = st.builds(OpaquePart, unknown_forms | st.builds(lambda fields, kind: {**fields, "type": kind}, json_objects, types))
result_parts = st.builds(
    ToolResultPart,
    call_id=texts,
    name=texts,
    parts=st.lists(text_parts | media_parts | json_parts | provider_items | opaque_parts, max_size=3),
    state=st.sampled_from(get_args(ResultState)),
    metadata=json_objects,
)
assistant_parts = (
    text_parts
    | reasoning_parts
    | refusal_parts
    | call_parts
    | media_parts
    | json_parts
    | provider_tool_parts
    | provider_items
    | opaque_parts
)
parts = assistant_parts | result_parts

offsets = st.timedeltas(min_value=timedelta(hours=-14), max_value=timedelta(hours=14))
times = st.datetimes(min_value=datetime(1, 1, 3), max_value=datetime(9999, 12, 29), timezones=st.just(UTC))  # noqa: DTZ001 - Hypothesis adds the zone
usages = st.builds(
    Usage,
    input_tokens=counts,
    output_tokens=counts,
    cache_read_tokens=counts,
    cache_write_tokens=counts,
    reasoning_tokens=counts,
    raw=json_objects,
)
seconds = st.none() | st.floats(min_value=0, max_value=1e6)
warnings = st.builds(
    Warning,
    st.sampled_from(sorted(CODES)),
    event=counts,
    offset=counts,
    choice=st.integers(0, 3),
    part=counts,
    detail=st.text(max_size=8),
)
common = {
    "id": maybe_text,
    "name": maybe_text,
    "created_at": st.none() | times,
    "metadata": json_objects,
    "origin": st.sampled_from(get_args(Origin)),
    "reminder_kind": maybe_text,
}
token_ids = st.none() | st.lists(st.integers(0, 200_000), max_size=3)


def lists_of(strategy):
    return st.lists(strategy, max_size=3)


system_messages = st.builds(SystemMessage, lists_of(text_parts), **common)
user_messages = st.builds(UserMessage, lists_of(text_parts | media_parts | json_parts | opaque_parts), **common)
tool_messages = st.builds(ToolMessage, st.lists(result_parts | opaque_parts, min_size=1, max_size=3), **common)
assistant_messages = st.builds(
    AssistantMessage,
    lists_of(assistant_parts),
    **common,
    model=maybe_text,
    provider=maybe_text,
    run_id=maybe_text,
    usage=st.none() | usages,
    timing=st.none() | st.builds(Timing, first_chunk_s=seconds, total_s=seconds),
    finish_reason=st.none() | st.sampled_from(get_args(FinishReason)),
    finish_reason_raw=maybe_text,
    generate_reason=st.none() | st.sampled_from(get_args(GenerateReason)),
    structured_output=json_values,
    parsed=json_values,
    warnings=lists_of(warnings),
    logprobs=json_values,
    prompt_token_ids=token_ids,
    completion_token_ids=token_ids,
)
messages = system_messages | user_messages | assistant_messages | tool_messages
