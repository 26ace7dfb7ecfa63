"""Messages: made, read, copied, and never changed."""

from __future__ import annotations

import copy
import pickle
from datetime import UTC, datetime, timedelta, timezone

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace._json import FrozenDict, dumps, thaw
from headrace.errors import InvalidStructuredOutputError, NoStructuredOutputError, UsageError
from headrace.messages.fields import Timing
from headrace.messages.message import ROLES, AssistantMessage, Message, SystemMessage, ToolMessage, UserMessage
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
)
from headrace.messages.usage import Usage
from headrace.messages.warning import Warning  # noqa: A004 - the field's word
from message_strategies import json_objects, json_values, messages, parts

EXAMPLES = {
    TextPart: TextPart("a"),
    ReasoningPart: ReasoningPart("a"),
    RefusalPart: RefusalPart("a"),
    ToolCallPart: ToolCallPart(id="1", name="f"),
    ToolResultPart: ToolResultPart(call_id="1", parts="a"),
    MediaPart: MediaPart(kind="image", url="u"),
    JsonPart: JsonPart({"a": 1}),
    ProviderToolPart: ProviderToolPart(name="web_search"),
    ProviderItem: ProviderItem(provider="p", protocol="q", raw=b"{}"),
    OpaquePart: OpaquePart({"type": "hologram"}),
}
MAY_CARRY = {
    "system": {TextPart},
    "user": {TextPart, MediaPart, JsonPart, OpaquePart},
    "assistant": set(EXAMPLES) - {ToolResultPart},
    "tool": {ToolResultPart, OpaquePart},
}
AT = datetime(2026, 5, 6, 7, 8, 9, 123456, tzinfo=UTC)


# -------------------------------------------------------------------------------------------------- made


def test_the_content_is_the_one_positional_argument():
    assert UserMessage("hello").parts == (TextPart("hello"),)
    assert UserMessage(parts="hello").parts == (TextPart("hello"),)
    assert AssistantMessage([ReasoningPart("hm"), "yes"]).parts == (ReasoningPart("hm"), TextPart("yes"))
    assert UserMessage().parts == ()
    assert AssistantMessage(None).parts == ()
    with pytest.raises(TypeError):
        UserMessage("a", "b")


def test_the_constructor_stamps_an_id_a_time_and_an_origin():
    before = datetime.now(UTC)
    first, second = UserMessage("a"), UserMessage("a")
    assert first.id != second.id
    assert before <= first.created_at <= datetime.now(UTC)
    assert first.created_at.tzinfo is UTC
    origins = [message.origin for message in (SystemMessage("a"), first, AssistantMessage("a"), ToolMessage("a", call_id="1"))]
    assert origins == ["user", "user", "model", "tool"]


def test_what_is_given_is_not_stamped_over():
    message = UserMessage("a", id=None, created_at=None, origin="framework", reminder_kind="empty_response", name="Ann")
    assert (message.id, message.created_at, message.origin, message.reminder_kind, message.name) == (
        None,
        None,
        "framework",
        "empty_response",
        "Ann",
    )


def test_assembled_messages_are_stamped_with_nothing():
    message = AssistantMessage.assemble([TextPart("a")], model="m")
    assert (message.id, message.created_at, message.origin, message.model, message.text) == (None, None, "model", "m", "a")
    assert ToolMessage.assemble().origin == "tool"


@pytest.mark.parametrize("role", ROLES)
def test_of_makes_the_class_of_the_role(role):
    content = ToolResultPart(call_id="1") if role == "tool" else "a"
    message = Message.of(role, content, name="n")
    assert type(message) is ROLES[role]
    assert (message.role, message.name) == (role, "n")


def test_an_unknown_role_names_the_roles():
    with pytest.raises(UsageError, match="no role 'USER'; the roles are system, user, assistant, tool") as caught:
        Message.of("USER", "a")
    assert caught.value.argument == "role"


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("kind", EXAMPLES, ids=lambda kind: kind.__name__)
def test_each_role_carries_its_parts_and_no_others(role, kind):
    part = EXAMPLES[kind]
    if kind in MAY_CARRY[role]:
        assert ROLES[role]([part]).parts == (part,)
        assert ROLES[role].assemble((part,)).parts == (part,)
        return
    ways = [lambda: ROLES[role].assemble((part,))]
    # A tool message without results takes its content for one, so there it is the missing call_id that is wrong.
    ways += [] if role == "tool" else [lambda: ROLES[role]([part]), lambda: ROLES[role]().replace(parts=[part])]
    for way in ways:
        with pytest.raises(UsageError, match=f"a {role} message cannot carry a {kind.__name__}") as caught:
            way()
        assert caught.value.argument == "parts[0]"


WRONG = {
    "base class": (lambda: Message("a"), "role", "Message.of"),
    "parts twice": (lambda: UserMessage("a", parts="b"), "parts", "got its parts twice"),
    "empty text and parts": (lambda: UserMessage("", parts="b"), "parts", "got its parts twice"),
    "unknown field": (lambda: UserMessage("a", colour=1), "colour", "UserMessage has no field 'colour'"),
    "usage of a user": (lambda: UserMessage("a", usage=Usage()), "usage", "no field 'usage'"),
    "content": (lambda: UserMessage([{"x": {1}}]), "content[0].x", "is a set"),
    "part dictionary": (lambda: UserMessage([{"type": "text", "text": 1}]), "content[0].text", "Expected `str`"),
    "metadata value": (lambda: UserMessage("a", metadata={"when": [datetime.now(UTC)]}), "metadata.when[0]", "is a datetime"),
    "metadata nan": (lambda: UserMessage("a", metadata={"x": float("nan")}), "metadata.x", "is nan"),
    "metadata key": (lambda: UserMessage("a", metadata={1: 2}), "metadata", "has the key 1"),
    "metadata list": (lambda: UserMessage("a", metadata=[1]), "UserMessage.metadata", "Expected `object`, got `array`"),
    "id": (lambda: UserMessage("a", id=5), "UserMessage.id", "Expected `str | null`, got `int`"),
    "name": (lambda: UserMessage("a", name="\ud83d"), "name", "half of a surrogate pair"),
    "model": (lambda: AssistantMessage.assemble(model="\ud83d"), "model", "half of a surrogate pair"),
    "time as text": (lambda: UserMessage("a", created_at="2026-01-01T00:00:00Z"), "UserMessage.created_at", "Expected `datetime | null`"),
    "time without zone": (lambda: UserMessage("a", created_at=AT.replace(tzinfo=None)), "created_at", "without a time zone"),
    "time of a machine": (lambda: UserMessage.assemble(created_at="now"), "created_at", "is a str, not a datetime"),
    "time too early": (
        lambda: UserMessage("a", created_at=datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=1)))),
        "created_at",
        "outside of UTC's calendar",
    ),
    "origin": (lambda: UserMessage("a", origin="moon"), "UserMessage.origin", "Invalid enum value 'moon'"),
    "finish reason": (lambda: AssistantMessage("a", finish_reason="end_turn"), "AssistantMessage.finish_reason", "Invalid enum value"),
    "generate reason": (lambda: AssistantMessage().replace(generate_reason="x"), "AssistantMessage.generate_reason", "Invalid enum value"),
    "usage field": (lambda: AssistantMessage("a", usage={"tokens": 1}), "usage.tokens", "usage has no field 'tokens'"),
    "usage count": (lambda: AssistantMessage("a", usage={"input_tokens": 1.5}), "usage.input_tokens", "whole number"),
    "usage type": (lambda: AssistantMessage("a", usage=5), "usage", "is a int"),
    "timing": (lambda: AssistantMessage("a", timing={"total_s": "x"}), "AssistantMessage.timing.total_s", "Expected `float | null`"),
    "timing inf": (lambda: Timing(total_s=float("inf")), "timing.total_s", "is inf"),
    "timing of a machine": (lambda: AssistantMessage("a", timing={"first_chunk_s": float("nan")}), "timing.first_chunk_s", "is nan"),
    "token ids": (lambda: AssistantMessage("a", completion_token_ids=["x"]), "AssistantMessage.completion_token_ids[0]", "Expected `int`"),
    "structured output": (lambda: AssistantMessage("a", structured_output={"x": b""}), "structured_output.x", "is a bytes"),
    "logprobs": (lambda: AssistantMessage.assemble(logprobs=[float("-inf")]), "logprobs[0]", "is -inf"),
    "replaced field": (lambda: UserMessage("a").replace(text="b"), "text", "UserMessage has no field 'text'"),
    "tool without call id": (lambda: ToolMessage("a"), "call_id", "needs call_id"),
    "tool without content": (ToolMessage, "call_id", "needs call_id"),
    "tool call id": (lambda: ToolMessage("a", call_id=5), "call_id", "needs call_id"),
    "tool state": (lambda: ToolMessage("a", call_id="1", state="ok"), "ToolResultPart.state", "Invalid enum value"),
    "results and state": (lambda: ToolMessage(ToolResultPart(call_id="1"), state="error"), "call_id", "needs call_id"),
    "results and call id": (lambda: ToolMessage(ToolResultPart(call_id="1"), call_id="2"), "ToolResultPart.parts[0]", "results hold"),
}


@pytest.mark.parametrize(("build", "argument", "why"), WRONG.values(), ids=WRONG)
def test_wrong_use_names_the_argument(build, argument, why):
    with pytest.raises(UsageError) as caught:
        build()
    assert caught.value.argument == argument
    assert why in str(caught.value)


def test_values_are_stored_as_their_fields_promise():
    message = AssistantMessage(
        "a",
        usage={"input_tokens": 1, "raw": {"cost": 0.5}},
        timing={"total_s": 2},
        warnings=[{"code": "lenient_json"}],
        prompt_token_ids=[1],
        completion_token_ids=[2, 3],
        metadata=None,
    )
    assert message.usage == Usage(input_tokens=1, raw={"cost": 0.5})
    assert message.timing == Timing(total_s=2.0)
    assert message.warnings == (Warning("lenient_json"),)
    assert (message.prompt_token_ids, message.completion_token_ids, message.metadata) == ((1,), (2, 3), {})
    assert message.replace(usage={"output_tokens": 2}).usage == Usage(output_tokens=2)


class Moment(datetime):
    pass


@pytest.mark.parametrize(
    "at",
    [
        AT,
        AT.astimezone(timezone(timedelta(hours=-9))),
        Moment.fromtimestamp(AT.timestamp(), UTC),
        AT.replace(tzinfo=timezone(timedelta(0))),
    ],
)
def test_times_are_plain_and_in_utc(at):
    created = UserMessage("a", created_at=at).created_at
    assert created == AT
    assert (type(created), created.tzinfo) == (datetime, UTC)


def test_a_tool_message_makes_one_result():
    message = ToolMessage(["a", {"n": 1}], call_id="c", name="f", state="error", metadata={"k": 1})
    assert message.results == (ToolResultPart(call_id="c", name="f", parts=["a", {"n": 1}], state="error"),)
    assert (message.name, message.text, message.metadata) == ("f", "a", {"k": 1})
    assert ToolMessage("", call_id="c").results == (ToolResultPart(call_id="c"),)


def test_a_tool_message_takes_results_as_they_are():
    results = (ToolResultPart(call_id="1", parts="a"), OpaquePart({"type": "x"}), ToolResultPart(call_id="2", parts="b"))
    assert ToolMessage(results, name="n").parts == results
    assert ToolMessage(results).results == (results[0], results[2])


# -------------------------------------------------------------------------------------------------- read


def test_text_is_joined_with_nothing_or_with_what_is_asked():
    message = AssistantMessage([ReasoningPart("r1"), "a", {"n": 1}, RefusalPart("no"), "b", ReasoningPart("r2")])
    assert (message.text, message.join_text(), message.join_text(" | ")) == ("ab", "a\nb", "a | b")
    assert (message.reasoning, message.refusal) == ("r1r2", "no")
    assert (UserMessage().text, UserMessage().reasoning) == ("", "")


def test_text_inside_results_counts():
    message = ToolMessage([ToolResultPart(call_id="1", parts=["a", "b"]), ToolResultPart(call_id="2", parts=[{"n": 1}])])
    assert (message.text, message.join_text()) == ("ab", "a\nb")


def test_parts_are_found_by_class_and_kind():
    image, sound = MediaPart(kind="image", url="i"), MediaPart(kind="audio", data=b"s")
    call, custom = ToolCallPart(name="f"), ToolCallPart(name="g", kind="custom", arguments="x")
    message = AssistantMessage([image, "a", sound, call, custom])
    assert message.parts_of(MediaPart) == (image, sound)
    assert message.parts_of(MediaPart, kind="image") == (image,)
    assert message.tool_calls == (call, custom)
    assert message.parts_of(ToolCallPart, kind="custom") == (custom,)
    assert message.parts_of(TextPart, kind="image") == ()
    assert (message.first(), message.first(TextPart), message.first(RefusalPart)) == (image, TextPart("a"), None)
    assert (message.has(ToolCallPart), message.has(RefusalPart)) == (True, False)
    assert UserMessage().first() is None


def test_structured_output_converts_or_says_why_not():
    message = AssistantMessage("a", structured_output={"n": 1})
    assert message.has_structured
    assert message.structured() == {"n": 1}
    with pytest.raises(InvalidStructuredOutputError):
        message.structured(int)
    for empty in (AssistantMessage("a"), UserMessage("a")):
        assert not empty.has_structured
        with pytest.raises(NoStructuredOutputError):
            empty.structured()


def test_structured_output_is_a_copy():
    message = AssistantMessage("a", structured_output={"list": [1]})
    message.structured()["list"].append(2)
    assert message.structured_output == {"list": [1]}


# ----------------------------------------------------------------------------------------------- copied


@given(messages)
def test_copies_keep_the_class_and_equal_the_original(message):
    for again in (message.replace(), copy.copy(message), copy.deepcopy(message), pickle.loads(pickle.dumps(message))):
        assert again == message
        assert type(again) is type(message)
        assert hash(again) == hash(message)
        assert dumps(again) == dumps(message)


@given(messages)
def test_a_replaced_field_changes_nothing_else(message):
    changed = message.replace(metadata={"new": [1]}, name="n")
    assert type(changed) is type(message)
    assert (changed.metadata, changed.name) == ({"new": [1]}, "n")
    assert changed.replace(metadata=message.metadata, name=message.name) == message
    assert (changed.id, changed.created_at, changed.parts) == (message.id, message.created_at, message.parts)


def test_replace_takes_parts_as_the_constructor_does():
    message = AssistantMessage("a", model="m", generate_reason="tool_calls")
    changed = message.replace(parts=["b", {"n": 1}], generate_reason="completed")
    assert (changed.parts, changed.model, changed.generate_reason) == ((TextPart("b"), JsonPart({"n": 1})), "m", "completed")
    assert message.text == "a"
    assert ToolMessage("r", call_id="1").replace(parts=[ToolResultPart(call_id="2")]).results[0].call_id == "2"


def test_messages_are_equal_by_value():
    assert UserMessage("a", id="1", created_at=AT) == UserMessage(["a"], id="1", created_at=AT)
    assert UserMessage("a", id="1", created_at=AT) != UserMessage("a", id="2", created_at=AT)
    assert UserMessage("a", id="1", created_at=AT, origin="user") != SystemMessage("a", id="1", created_at=AT)


# --------------------------------------------------------------------------------------------- immutable


@given(messages)
def test_no_field_of_a_message_can_be_set_or_deleted(message):
    for field in message.__struct_fields__:
        with pytest.raises(AttributeError):
            setattr(message, field, None)
        with pytest.raises(AttributeError):
            delattr(message, field)


def handed_out(value):
    """Everything that can be reached from a message."""
    yield value
    if isinstance(value, msgspec.Struct):
        for field in value.__struct_fields__:
            yield from handed_out(getattr(value, field))
    elif isinstance(value, dict):
        for item in value.values():
            yield from handed_out(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from handed_out(item)


@given(messages)
def test_everything_that_a_message_hands_out_is_frozen(message):
    for value in handed_out(message):
        hash(value)
        assert type(value) not in {dict, list, set, bytearray}
        if isinstance(value, dict):
            with pytest.raises(TypeError):
                value["new"] = 1
        elif isinstance(value, list):
            with pytest.raises(TypeError):
                value.append(1)
        elif isinstance(value, msgspec.Struct):
            with pytest.raises(AttributeError):
                setattr(value, value.__struct_fields__[0], None)


@given(json_objects, json_values, st.lists(parts.filter(lambda part: not isinstance(part, ToolResultPart)), max_size=3))
def test_changing_the_originals_afterwards_does_not_reach_the_message(data, value, listed):
    held, items, ids, content = {"data": data}, [[value]], [1], [*listed, {"held": data}, "a"]
    fields = {"metadata": held, "structured_output": held, "parsed": items, "logprobs": items, "completion_token_ids": ids}
    made = AssistantMessage(content, usage={"raw": held}, **fields)
    replaced = AssistantMessage().replace(parts=content, **fields)
    before = dumps([made, replaced])
    held["more"] = 1
    items[0].append(1)
    ids.append(2)
    content.clear()
    fields.clear()
    assert dumps([made, replaced]) == before


def test_metadata_is_a_copy_that_can_be_thawed():
    message = UserMessage("a", metadata={"a": [1]})
    assert type(message.metadata) is FrozenDict
    free = thaw(message.metadata)
    free["a"].append(2)
    assert message.metadata == {"a": [1]}


def test_results_of_a_message_are_shared_safely_between_copies():
    message = UserMessage([{"a": [1]}])
    assert message.replace(name="x").parts[0] is message.parts[0]
