import json

import pytest

from headrace.messages.message import AssistantMessage, SystemMessage, UserMessage
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
    make,
)
from headrace.wire.history import PairedCall
from headrace.wire.openai_chat.request_messages import encode_message
from headrace.wire.profile import DEFAULT, Profile

FIELD = Profile(provider="acme", reasoning_style="field")
DETAILS = Profile(provider="acme", reasoning_style="details", reasoning_field="reasoning")
CALL = ToolCallPart(id="c", name="f", arguments='{"a": 1}')
WIRE_CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}


def encode(message, profile=DEFAULT):
    calls = [PairedCall(call, call.id) for call in message.tool_calls] if isinstance(message, AssistantMessage) else []
    fragment = encode_message(message, profile, calls)
    return (json.loads(fragment.body) if fragment.body else None), [(note.part, note.text) for note in fragment.notes]


def sent(message, profile=DEFAULT):
    fields, notes = encode(message, profile)
    assert notes == []
    return fields


def test_instructions_go_under_the_word_that_the_server_has_for_them():
    assert sent(SystemMessage("be brief")) == {"role": "system", "content": "be brief"}
    assert sent(SystemMessage("be brief", name="house"), Profile(system_role="developer")) == {
        "role": "developer",
        "content": "be brief",
        "name": "house",
    }
    assert sent(SystemMessage("")) is None


def test_a_user_message_is_a_text_with_the_speakers_name():
    assert sent(UserMessage("hi", name="ann")) == {"role": "user", "content": "hi", "name": "ann"}
    assert sent(UserMessage("")) == {"role": "user", "content": ""}


def test_an_assistants_texts_are_one_string():
    message = AssistantMessage([TextPart("a"), CALL, TextPart("b"), JsonPart([1])])
    assert sent(message) == {"role": "assistant", "content": "ab\n[1]", "tool_calls": [WIRE_CALL]}


@pytest.mark.parametrize(("switch", "fields"), [("null", {"content": None}), ("empty", {"content": ""}), ("absent", {})])
def test_calls_without_text_have_the_content_that_the_server_wants(switch, fields):
    expected = {"role": "assistant", **fields, "tool_calls": [WIRE_CALL]}
    assert sent(AssistantMessage([CALL]), Profile(content_with_calls=switch)) == expected


@pytest.mark.parametrize("parts", [[], [ReasoningPart("only thought")], [TextPart("")], [ProviderToolPart(name="search")]])
def test_an_assistant_message_that_says_nothing_is_not_sent(parts):
    assert sent(AssistantMessage(parts), FIELD) is None


def test_a_refusal_goes_in_its_own_member_or_as_text():
    message = AssistantMessage([RefusalPart("I will "), RefusalPart("not")])
    assert sent(message, Profile(supports_refusal=True)) == {"role": "assistant", "content": None, "refusal": "I will not"}
    assert sent(message) == {"role": "assistant", "content": "I will not"}


# ------------------------------------------------------------------------------------------------ arguments


def arguments(call, profile=DEFAULT):
    return sent(AssistantMessage([call]), profile)["tool_calls"][0]["function"]["arguments"]


def test_arguments_that_parse_go_back_as_they_came():
    raw = '{"b":\t1.0,\n "a":"\\u00e9"}'
    assert arguments(ToolCallPart(id="c", name="f", arguments=raw)) == raw


@pytest.mark.parametrize("raw", ['{"a": 1', "", "null", "[1]", "no", '"{}"'])
def test_arguments_that_are_no_object_go_back_inside_one(raw):
    assert json.loads(arguments(make(ToolCallPart, id="c", name="f", arguments=raw))) == {"_invalid_arguments": raw}


@pytest.mark.parametrize(("raw", "parsed", "text"), [("", {}, "{}"), ("null", {}, "{}"), ('{"a":1}</tool>', {"a": 1}, '{"a":1}')])
def test_arguments_that_were_repaired_go_back_whole(raw, parsed, text):
    assert arguments(make(ToolCallPart, id="c", name="f", arguments=raw, parsed=parsed)) == text


def test_a_server_may_want_arguments_as_an_object():
    profile = Profile(arguments_as="object")
    assert arguments(CALL, profile) == {"a": 1}
    assert arguments(make(ToolCallPart, id="c", name="f", arguments="no"), profile) == {"_invalid_arguments": "no"}


def test_a_custom_call_has_its_own_shape_or_goes_as_a_function():
    message = AssistantMessage([ToolCallPart(id="c", name="f", kind="custom", arguments="SELECT 1")])
    assert sent(message, Profile(supports_custom_tools=True))["tool_calls"] == [
        {"id": "c", "type": "custom", "custom": {"name": "f", "input": "SELECT 1"}}
    ]
    [call] = sent(message)["tool_calls"]
    assert call == {"id": "c", "type": "function", "function": {"name": "f", "arguments": '{"input":"SELECT 1"}'}}


def test_a_custom_call_that_looks_like_json_is_still_free_text():
    message = AssistantMessage([ToolCallPart(id="c", name="f", kind="custom", arguments='{"a":1}')])
    assert json.loads(sent(message)["tool_calls"][0]["function"]["arguments"]) == {"input": '{"a":1}'}


def test_a_call_whose_name_would_be_refused_is_renamed_and_said():
    fields, [(_, text)] = encode(AssistantMessage([make(ToolCallPart, id="c", name="")]))
    assert fields["tool_calls"][0]["function"]["name"] == "unnamed_tool"
    assert "unnamed_tool" in text


# ------------------------------------------------------------------------------------------------ reasoning


def test_reasoning_goes_back_in_the_servers_field():
    message = AssistantMessage([ReasoningPart("I "), ReasoningPart("see"), TextPart("42")], provider="acme")
    assert sent(message, FIELD) == {"role": "assistant", "content": "42", "reasoning_content": "I see"}


def test_reasoning_goes_back_only_with_calls_where_the_server_wants_it_so():
    profile = FIELD.replace(reasoning_when="tool_turns")
    assert sent(AssistantMessage([ReasoningPart("t"), TextPart("42")]), profile) == {"role": "assistant", "content": "42"}
    assert sent(AssistantMessage([ReasoningPart("t"), CALL]), profile)["reasoning_content"] == "t"
    assert "reasoning_content" not in sent(AssistantMessage([ReasoningPart("t"), CALL]), FIELD.replace(reasoning_when="never"))


def test_a_server_that_insists_on_the_field_gets_its_filler():
    profile = FIELD.replace(reasoning_filler="", reasoning_when="tool_turns")
    assert sent(AssistantMessage([CALL], provider="acme"), profile)["reasoning_content"] == ""
    assert sent(AssistantMessage([ReasoningPart("t"), CALL]), profile)["reasoning_content"] == "t"
    assert "reasoning_content" not in sent(AssistantMessage("hi"), profile)


def test_reasoning_details_go_back_as_they_came_to_who_sent_them():
    details = ({"type": "reasoning.text", "text": "t", "signature": "s==", "index": 0}, {"type": "reasoning.encrypted", "data": "e"})
    message = AssistantMessage([ReasoningPart("t", details=details), TextPart("42")], provider="acme")
    assert sent(message, DETAILS) == {"role": "assistant", "content": "42", "reasoning_details": list(details)}


def test_reasoning_without_details_goes_back_as_text():
    assert sent(AssistantMessage([ReasoningPart("t"), TextPart("42")], provider="acme"), DETAILS)["reasoning"] == "t"


def test_another_providers_reasoning_goes_along_as_text_without_its_seal():
    part = ReasoningPart("t", signature="s", details=({"type": "reasoning.text", "text": "t"},))
    fields, [(at, text)] = encode(AssistantMessage([part, TextPart("42")], provider="other"), DETAILS)
    assert fields == {"role": "assistant", "content": "42", "reasoning": "t"}
    assert at == 0
    assert "signed" in text
    assert "other" in text


@pytest.mark.parametrize("profile", [DEFAULT, FIELD.replace(takes_foreign_reasoning=False), FIELD.replace(reasoning_when="never")])
def test_another_providers_reasoning_that_is_left_out_is_said(profile):
    fields, [(at, text)] = encode(AssistantMessage([ReasoningPart("t"), TextPart("42")], provider="other"), profile)
    assert fields == {"role": "assistant", "content": "42"}
    assert (at, text) == (0, "reasoning of other")


def test_a_providers_own_reasoning_that_it_does_not_want_back_is_no_loss():
    profile = Profile(provider="acme")
    assert sent(AssistantMessage([ReasoningPart("t", signature="s"), TextPart("42")], provider="acme"), profile) == {
        "role": "assistant",
        "content": "42",
    }


def test_thinking_that_only_the_provider_can_read_goes_back_byte_for_byte():
    profile = FIELD.replace(encrypted_field="reasoning_opaque")
    part = ReasoningPart("t", encrypted="a+/=")
    assert sent(AssistantMessage([part, TextPart("42")], provider="acme"), profile)["reasoning_opaque"] == "a+/="
    fields, notes = encode(AssistantMessage([part, TextPart("42")], provider="other"), profile)
    assert "reasoning_opaque" not in fields
    assert len(notes) == 1


def test_reasoning_goes_back_between_tags_in_the_text():
    profile = Profile(reasoning_style="think_tags")
    message = AssistantMessage([ReasoningPart("t"), ReasoningPart(encrypted="x"), TextPart("42")])
    assert sent(message, profile) == {"role": "assistant", "content": "<think>t</think>\n\n42"}


def test_reasoning_goes_back_as_parts_of_the_content():
    profile = Profile(provider="acme", reasoning_style="parts")
    parts = [ReasoningPart("t", signature="s"), ReasoningPart(), TextPart("42")]
    assert sent(AssistantMessage(parts, provider="acme"), profile)["content"] == [
        {"type": "thinking", "thinking": [{"type": "text", "text": "t"}], "signature": "s"},
        {"type": "text", "text": "42"},
    ]
    fields, [_] = encode(AssistantMessage(parts, provider="other"), profile)
    assert "signature" not in fields["content"][0]


# ------------------------------------------------------------------------------- what was not understood


def test_unknown_members_of_a_call_go_back_to_where_they_came_from_and_nowhere_else():
    extra = {"extra_content": {"google": {"thought_signature": "sig"}}, "id": "not this"}
    message = AssistantMessage([ToolCallPart(id="c", name="f", arguments='{"a": 1}', provider_data=extra)], provider="acme")
    assert sent(message, FIELD)["tool_calls"] == [WIRE_CALL | {"extra_content": {"google": {"thought_signature": "sig"}}}]
    fields, [(_, text)] = encode(message, Profile(provider="other"))
    assert fields["tool_calls"] == [WIRE_CALL]
    assert "extra_content" in text
    assert sent(message, FIELD.replace(sends_provider_data=False))["tool_calls"] == [WIRE_CALL]


def test_unknown_members_of_a_message_go_back_to_where_they_came_from_and_nowhere_else():
    message = AssistantMessage([TextPart("42", provider_data={"phase": "final", "role": "not this"})], provider="acme")
    assert sent(message, FIELD) == {"role": "assistant", "content": "42", "phase": "final"}
    fields, [(at, text)] = encode(message, Profile(provider="other"))
    assert fields == {"role": "assistant", "content": "42"}
    assert at == 0
    assert "phase" in text
    assert sent(message, FIELD.replace(sends_provider_data=False)) == {"role": "assistant", "content": "42"}


def test_an_item_that_was_not_understood_goes_back_byte_for_byte():
    raw = b'{"type":"reference",  "reference_ids":[1]}'
    message = AssistantMessage([TextPart("see"), ProviderItem(provider="acme", protocol="openai-chat", raw=raw)], provider="acme")
    fragment = encode_message(message, FIELD)
    assert raw in fragment.body
    assert sent(message, FIELD)["content"] == [{"type": "text", "text": "see"}, {"type": "reference", "reference_ids": [1]}]


@pytest.mark.parametrize(
    ("item", "why"),
    [
        (ProviderItem(provider="other", protocol="openai-chat", raw=b"{}"), "other"),
        (ProviderItem(provider="acme", protocol="openai-responses", raw=b"{}"), "openai-responses"),
        (ProviderItem(provider="acme", protocol="openai-chat", raw=b"{"), "no JSON object"),
        (ProviderItem(provider="acme", protocol="openai-chat", raw=b"[]"), "no JSON object"),
    ],
)
def test_an_item_that_cannot_go_back_is_left_out_and_said(item, why):
    fields, [(at, text)] = encode(AssistantMessage([item, TextPart("42")], provider="acme"), FIELD)
    assert fields == {"role": "assistant", "content": "42"}
    assert at == 0
    assert why in text


def test_a_content_part_that_the_decoder_did_not_know_goes_back_to_its_provider_only():
    message = AssistantMessage([OpaquePart({"type": "reference", "reference_ids": [1]}), TextPart("42")], provider="acme")
    assert sent(message, FIELD)["content"] == [{"type": "reference", "reference_ids": [1]}, {"type": "text", "text": "42"}]
    fields, [(_, text)] = encode(message, Profile(provider="other"))
    assert fields["content"] == "42"
    assert "acme" in text


def test_the_record_of_a_tool_that_the_provider_ran_is_said_only_to_another():
    message = AssistantMessage([ProviderToolPart(name="search", provider="acme"), TextPart("42")], provider="acme")
    assert sent(message, FIELD)["content"] == "42"
    _, [(_, text)] = encode(message, Profile(provider="other"))
    assert "search" in text
    assert "acme" in text


def test_a_spoken_answer_goes_back_by_its_id_or_by_its_words():
    part = MediaPart(kind="audio", data=b"x", transcript="hello", provider_data={"id": "audio_1"})
    assert sent(AssistantMessage([part], provider="acme"), FIELD) == {"role": "assistant", "content": None, "audio": {"id": "audio_1"}}
    assert sent(AssistantMessage([part], provider="other"), FIELD) == {"role": "assistant", "content": "hello"}


def test_media_of_an_assistant_without_words_are_left_out_and_said():
    fields, [(at, text)] = encode(AssistantMessage([TextPart("here"), MediaPart(kind="image", data=b"x")]))
    assert fields == {"role": "assistant", "content": "here"}
    assert at == 1
    assert "image" in text


def test_an_assistants_name_goes_along():
    assert sent(AssistantMessage("42", name="bob"))["name"] == "bob"


def test_an_empty_refusal_says_nothing():
    assert sent(AssistantMessage(["42", RefusalPart("")], provider="acme")) == {"role": "assistant", "content": "42"}
