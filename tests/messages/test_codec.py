"""The JSON of messages and documents: equal after any round trip, unknown parts written back, errors with their path."""

from __future__ import annotations

import contextlib
import json
from datetime import UTC, datetime

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import some
from headrace._json import MAX_DEPTH, dumps, freeze
from headrace.errors import SchemaVersionError, UsageError
from headrace.messages.codec import (
    MIGRATIONS,
    SCHEMA_VERSION,
    Document,
    decode_document,
    decode_message,
    decode_messages,
    encode_document,
    encode_message,
    encode_messages,
)
from headrace.messages.json_form import has_opaque
from headrace.messages.message import READER, ROLES, AssistantMessage, Message, SystemMessage, ToolMessage, UserMessage
from headrace.messages.parts import MediaPart, OpaquePart, TextPart, ToolCallPart, ToolResultPart
from headrace.messages.usage import Usage
from message_strategies import json_objects, json_values, messages, unknown_forms

AT = datetime(2026, 5, 6, 7, 8, 9, 123456, tzinfo=UTC)


def levels(count, innermost=0):
    value = innermost
    for _ in range(count):
        value = {"n": value}
    return value


# ------------------------------------------------------------------------------------------ round trips


@given(messages)
def test_what_is_encoded_decodes_to_an_equal_message_and_the_same_bytes(message):
    data = encode_message(message)
    for again in (decode_message(data), decode_message(data.decode()), decode_message(bytearray(data)), decode_message(json.loads(data))):
        assert again == message
        assert type(again) is type(message)
        assert encode_message(again) == data


@given(messages)
def test_the_fast_and_the_slow_way_read_the_same(message):
    form = json.loads(encode_message(message))
    assert READER._slowly(freeze(form, max_depth=MAX_DEPTH + 8), "message") == decode_message(form) == message


@given(messages)
def test_the_methods_of_a_message_do_the_same(message):
    data = message.to_json()
    assert data == encode_message(message)
    assert dumps(message.to_dict()) == data
    assert json.loads(data) == message.to_dict()
    assert Message.from_json(data) == type(message).from_json(data) == Message.from_dict(message.to_dict()) == message


@some
@given(st.lists(messages, max_size=4))
def test_lists_of_messages_round_trip(history):
    data = encode_messages(history)
    assert decode_messages(data) == tuple(history) == decode_messages(json.loads(data))
    assert encode_messages(decode_messages(data)) == data
    assert encode_messages(iter(history)) == data


@some
@given(st.lists(messages, max_size=3), json_objects)
def test_documents_round_trip(history, metadata):
    data = encode_document(history, metadata=metadata)
    document = decode_document(data)
    assert document == Document(schema_version=SCHEMA_VERSION, messages=tuple(history), metadata=metadata)
    assert encode_document(document.messages, metadata=document.metadata) == data
    assert decode_document(json.loads(data)) == decode_document(bytearray(data)) == document


def test_the_json_of_a_message_is_tagged_and_plain():
    message = AssistantMessage(
        [
            TextPart("é"),
            MediaPart(kind="image", data=b"hi", media_type="image/png"),
            ToolCallPart(id="c", name="f", arguments={"n": 2**70}),
        ],
        id="m",
        created_at=AT,
        usage=Usage(input_tokens=0),
        finish_reason="tool_calls",
    )
    assert json.loads(encode_message(message)) == {
        "role": "assistant",
        "id": "m",
        "created_at": "2026-05-06T07:08:09.123456Z",
        "parts": [
            {"type": "text", "text": "é"},
            {"type": "media", "kind": "image", "data": "aGk=", "media_type": "image/png"},
            {"type": "tool_call", "id": "c", "name": "f", "arguments": f'{{"n":{2**70}}}', "parsed": {"n": 2**70}, "runnable": True},
        ],
        "usage": {"input_tokens": 0},
        "finish_reason": "tool_calls",
    }


@pytest.mark.parametrize("number", [2**70, -(2**70), 7300000000000000001, 2**63, 2**64])
def test_big_whole_numbers_are_exact(number):
    message = UserMessage([{"n": number}], metadata={"n": [number]})
    again = decode_message(encode_message(message))
    assert again == message
    assert again.metadata["n"][0] == number
    assert b"%d" % number in encode_message(again)


@pytest.mark.parametrize("role", ROLES)
def test_decoding_stamps_nothing(role):
    message = decode_message({"role": role})
    assert type(message) is ROLES[role]
    assert (message.id, message.created_at, message.parts) == (None, None, ())
    assert encode_message(message) == b'{"role":"%s"}' % role.encode()


def test_times_of_any_zone_are_read_as_utc():
    message = decode_message({"role": "user", "created_at": "2026-05-06T09:08:09.123456+02:00"})
    assert message.created_at == AT
    assert b"2026-05-06T07:08:09.123456Z" in encode_message(message)


def test_unknown_fields_are_ignored_at_every_level():
    form = {
        "role": "assistant",
        "future": 1,
        "parts": [{"type": "text", "text": "a", "future": {"x": 1}}],
        "usage": {"input_tokens": 1, "future": 2},
        "warnings": [{"code": "lenient_json", "future": 3}],
    }
    assert decode_message(form) == decode_message(json.dumps(form))
    assert b"future" not in encode_message(decode_message(form))


def test_the_same_value_gives_the_same_bytes_however_it_was_made():
    text = "".join
    made = ToolMessage(ToolResultPart(call_id="1", state=text(["succ", "ess"])), id="m", created_at=None, origin=text(["to", "ol"]))
    assert encode_message(made) == b'{"role":"tool","parts":[{"type":"tool_result","call_id":"1"}],"id":"m"}'
    call = ToolCallPart(id="1", kind=text(["func", "tion"]), arguments=text(["{", "}"]))
    assert dumps(call) == b'{"type":"tool_call","id":"1","parsed":{}}'


def test_decoded_dictionaries_are_copied():
    form = {"role": "user", "metadata": {"a": [1]}, "parts": [{"type": "new", "x": [1]}]}
    message = decode_message(form)
    form["metadata"]["a"].append(2)
    form["parts"][0]["x"].append(2)
    assert (message.metadata, message.parts[0].raw) == ({"a": [1]}, {"type": "new", "x": [1]})


def test_what_to_dict_gives_may_be_changed():
    message = UserMessage(["a", {"type": "new", "x": [1]}], metadata={"a": [1]})
    form = message.to_dict()
    form["metadata"]["a"].append(2)
    form["parts"][1]["x"].append(2)
    form["parts"].clear()
    assert message == decode_message(encode_message(message))
    assert (message.metadata, message.parts[1].raw["x"]) == ({"a": [1]}, [1])


@pytest.mark.parametrize("is_unknown_there", [False, True])
def test_values_as_deep_as_they_may_be_survive(is_unknown_there):
    deep = levels(MAX_DEPTH)
    parts = [OpaquePart({"type": "new"})] if is_unknown_there else []
    message = ToolMessage([ToolResultPart(call_id="1", parts=[levels(MAX_DEPTH), *parts])], metadata=deep)
    assert decode_message(encode_message(message)) == message
    assert decode_message(message.to_dict()) == message
    document = encode_document([message], metadata=deep)
    assert encode_document(decode_document(document).messages, metadata=deep) == document


# -------------------------------------------------------------------------------------------- unknown parts


@given(unknown_forms, unknown_forms, st.sampled_from(["user", "assistant", "tool", "nested"]))
def test_unknown_parts_are_written_back_unchanged(first, second, where):
    known = {"type": "text", "text": "a"}
    if where == "nested":
        form = {"role": "tool", "parts": [{"type": "tool_result", "call_id": "1", "parts": [first, known, second]}, second]}
    elif where == "tool":
        form = {"role": "tool", "parts": [first, second]}
    else:
        form = {"role": where, "parts": [first, known, second]}
    data = dumps(form)
    message = decode_message(data)
    assert has_opaque(message.parts)
    assert encode_message(message) == data == encode_messages([message])[1:-1]
    assert message.to_dict() == form
    assert decode_message(form) == message
    assert decode_messages(encode_messages([message, message])) == (message, message)
    assert decode_document(encode_document([message])).messages == (message,)


def test_an_opaque_part_whose_type_is_known_is_wrapped_so_that_it_stays_opaque():
    message = UserMessage([OpaquePart({"type": "text", "text": "no text"}), OpaquePart({"type": "opaque", "raw": {"type": "x"}})])
    data = encode_message(message)
    assert json.loads(data)["parts"][0] == {"type": "opaque", "raw": {"type": "text", "text": "no text"}}
    assert decode_message(data) == message


def test_a_message_inside_another_struct_is_readable_too():
    message = AssistantMessage([OpaquePart({"type": "new", "x": 1})])
    assert decode_message(msgspec.json.encode(message)) == message


# --------------------------------------------------------------------------------------------------- errors

WRONG = {
    "role missing": ({}, "role", "is missing; the roles are system, user, assistant, tool"),
    "role unknown": ({"role": "developer"}, "role", "is 'developer'; the roles are"),
    "role in capitals": ({"role": "USER"}, "role", "is 'USER'"),
    "role null": ({"role": None}, "role", "is None"),
    "role list": ({"role": ["user"]}, "role", "is ['user']"),
    "parts": ({"role": "user", "parts": "hi"}, "parts", "is a str, not a list"),
    "parts null": ({"role": "user", "parts": None}, "parts", "is a NoneType, not a list"),
    "part": ({"role": "user", "parts": ["hi"]}, "parts[0]", "is a str, not a part"),
    "part without type": ({"role": "user", "parts": [{"text": "a"}]}, "parts[0].type", "is None"),
    "text": ({"role": "user", "parts": [{"type": "text", "text": 5}]}, "parts[0].text", "Expected `str`, got `int`"),
    "text missing": ({"role": "user", "parts": [{"type": "text"}]}, "parts[0].text", "is missing"),
    "text behind an unknown part": ({"role": "user", "parts": [{"type": "new"}, {"type": "text"}]}, "parts[1].text", "is missing"),
    "base64": ({"role": "user", "parts": [{"type": "media", "kind": "image", "data": "?"}]}, "parts[0].data", "Invalid base64"),
    "media": ({"role": "user", "parts": [{"type": "media", "kind": "image"}]}, "parts[0].url", "exactly one of"),
    "nested text": (
        {"role": "tool", "parts": [{"type": "tool_result", "call_id": "1", "parts": [{"type": "new"}, {"type": "text", "text": 1}]}]},
        "parts[0].parts[1].text",
        "Expected `str`",
    ),
    "nested call": (
        {"role": "tool", "parts": [{"type": "tool_result", "call_id": "1", "parts": [{"type": "tool_call"}]}]},
        "parts[0].parts[0]",
        "results hold text, media and JSON",
    ),
    "refusal of a user": (
        {"role": "user", "parts": [{"type": "refusal", "text": ""}]},
        "parts[0]",
        "a user message cannot carry a RefusalPart",
    ),
    "unknown part of the system": (
        {"role": "system", "parts": [{"type": "new"}]},
        "parts[0]",
        "a system message cannot carry a OpaquePart",
    ),
    "text of a tool": ({"role": "tool", "parts": [{"type": "text", "text": ""}]}, "parts[0]", "a tool message cannot carry a TextPart"),
    "id": ({"role": "user", "id": 5}, "id", "Expected `str | null`, got `int`"),
    "time": ({"role": "user", "created_at": "yesterday"}, "created_at", "Invalid RFC3339"),
    "time without zone": ({"role": "user", "created_at": "2026-05-06T07:08:09"}, "created_at", "without a time zone"),
    "metadata": ({"role": "user", "metadata": [1]}, "metadata", "Expected `object`, got `array`"),
    "origin": ({"role": "user", "origin": "moon"}, "origin", "Invalid enum value 'moon'"),
    "usage": ({"role": "assistant", "usage": {"input_tokens": "4"}}, "usage.input_tokens", "Expected `int | null`, got `str`"),
    "warning": ({"role": "assistant", "warnings": [{}]}, "warnings[0].code", "is missing"),
    "no message": (5, None, "is a int, not a message"),
    "list": ([], None, "is a list, not a message"),
}


@pytest.mark.parametrize(("form", "place", "why"), WRONG.values(), ids=WRONG)
def test_what_is_no_message_is_refused_with_its_path(form, place, why):
    def path(root):
        return root if place is None else f"{root}.{place}"

    data = json.dumps(form)
    ways = [
        (lambda: decode_message(data), "message"),
        (lambda: Message.from_json(data), "message"),
        (lambda: Message.from_dict(form), "message"),
        (lambda: decode_messages(f'[{{"role":"user"}},{{"role":"user","parts":[{{"type":"new"}}]}},{data}]'), "messages[2]"),
        (lambda: decode_messages([{"role": "user"}, form]), "messages[1]"),
        (lambda: decode_document(f'{{"schema_version":1,"messages":[{data}]}}'), "document.messages[0]"),
        (lambda: decode_document(f"[{data}]"), "document.messages[0]"),
    ]
    for decode, root in ways:
        with pytest.raises(UsageError) as caught:
            decode()
        assert caught.value.argument == path(root)
        assert str(caught.value).startswith(path(root))
        assert why in str(caught.value)


@pytest.mark.parametrize(
    "data", ["", "{", b"\xff", '{"role":"user","name":"\\ud83d"}', '{"role":"user","metadata":{"n":1e400}}', "[" * 10_000]
)
def test_what_is_no_json_is_refused(data):
    for decode, root in ((decode_message, "message"), (decode_messages, "messages"), (decode_document, "document")):
        with pytest.raises(UsageError, match=f"{root} is not JSON") as caught:
            decode(data)
        assert caught.value.argument == root


@given(st.binary() | json_values.map(dumps))
def test_decoding_raises_nothing_but_usage_errors(data):
    for decode in (decode_message, decode_messages, decode_document):
        with contextlib.suppress(UsageError, SchemaVersionError):
            decode(data)


@pytest.mark.parametrize("value", [None, 5, object()])
def test_what_is_not_even_text_is_refused(value):
    for decode in (decode_message, decode_messages, decode_document):
        with pytest.raises(UsageError, match="not JSON text"):
            decode(value)


def test_a_list_is_wanted_where_a_list_is_read():
    with pytest.raises(UsageError, match=r"messages is a dict, not a list"):
        decode_messages('{"role":"user"}')


@pytest.mark.parametrize(
    ("form", "place", "why"),
    [
        ({"role": "user", "metadata": {"x": float("nan")}}, "message.metadata.x", "is nan"),
        ({"role": "user", "metadata": {1: 2}}, "message.metadata", "has the key 1"),
        ({"role": "user", "parts": [{"type": "new", "x": b""}]}, "message.parts[0].x", "is a bytes"),
        ({"role": "user", "created_at": AT}, "message.created_at", "is a datetime"),
        ({"role": "user", "metadata": levels(MAX_DEPTH + 1)}, "message.metadata" + ".n" * MAX_DEPTH, "nested too deep"),
        ({"role": "user", "metadata": levels(5_000)}, None, "nested too deep"),
    ],
)
def test_a_dictionary_must_hold_json(form, place, why):
    with pytest.raises(UsageError, match=why) as caught:
        decode_message(form)
    assert place is None or caught.value.argument == place


def test_text_that_is_nested_too_deep_is_refused():
    data = dumps({"role": "user", "metadata": levels(MAX_DEPTH + 1)})
    with pytest.raises(UsageError, match="nested too deep"):
        decode_message(data)
    for count in (MAX_DEPTH + 50, 900):
        with pytest.raises(UsageError, match=r"deep|recursion"):
            decode_message(b'{"role":"user","metadata":' + b'{"n":' * count + b"0" + b"}" * count + b"}")


def test_a_class_reads_its_own_role_only():
    with pytest.raises(UsageError, match=r"message.role is 'user', but AssistantMessage was asked") as caught:
        AssistantMessage.from_json(UserMessage("a").to_json())
    assert caught.value.argument == "message.role"
    with pytest.raises(UsageError):
        SystemMessage.from_dict(UserMessage("a").to_dict())


@pytest.mark.parametrize("value", [None, {"role": "user"}, "hi", TextPart("a")])
def test_only_messages_are_encoded(value):
    with pytest.raises(UsageError, match=r"message is a .*, not a message"):
        encode_message(value)
    for encode in (encode_messages, encode_document):
        with pytest.raises(UsageError, match="not a message") as caught:
            encode([UserMessage("a"), value])
        assert caught.value.argument == "messages[1]"


# ------------------------------------------------------------------------------------------------ documents


def test_a_document_says_its_version():
    message = UserMessage("a", id="1", created_at=None)
    assert encode_document([message]) == b'{"schema_version":1,"messages":[%b]}' % message.to_json()
    assert json.loads(encode_document([message], metadata={"title": "x"}))["metadata"] == {"title": "x"}


def test_the_predecessor_was_a_bare_list():
    message = UserMessage(["a", {"type": "new"}])
    for data in (encode_messages([message]), [message.to_dict()]):
        assert decode_document(data) == Document(schema_version=0, messages=(message,))


def test_there_is_a_step_from_every_earlier_version():
    assert set(MIGRATIONS) == set(range(SCHEMA_VERSION))


@pytest.mark.parametrize("version", [SCHEMA_VERSION + 1, 99])
def test_a_newer_document_is_refused_and_both_versions_are_said(version):
    with pytest.raises(SchemaVersionError, match=f"schema version {version}; this headrace reads versions 0 to {SCHEMA_VERSION}"):
        decode_document({"schema_version": version, "messages": "whatever it means then"})


@pytest.mark.parametrize("version", [0, -1])
def test_a_version_that_never_was_is_refused(version):
    with pytest.raises(SchemaVersionError, match=f"schema version {version}"):
        decode_document({"schema_version": version, "messages": []})


@pytest.mark.parametrize(
    "form", [{}, {"schema_version": None}, {"schema_version": "1"}, {"schema_version": True}, {"schema_version": 1.0}, 5, "a"]
)
def test_a_document_without_a_version_is_refused(form):
    with pytest.raises(UsageError) as caught:
        decode_document(json.dumps(form))
    assert caught.value.argument == "document.schema_version"


@pytest.mark.parametrize(
    ("form", "place"),
    [
        ({}, "document.messages"),
        ({"messages": {}}, "document.messages"),
        ({"messages": [], "metadata": []}, "document.metadata"),
        ({"messages": [], "metadata": None}, "document.metadata"),
    ],
)
def test_a_document_with_wrong_fields_is_refused_with_the_path(form, place):
    with pytest.raises(UsageError) as caught:
        decode_document({"schema_version": 1, **form})
    assert caught.value.argument == place


def test_metadata_of_a_document_must_be_a_json_object():
    for metadata, place in (([1], "metadata"), ({"x": b""}, "metadata.x")):
        with pytest.raises(UsageError) as caught:
            encode_document([], metadata=metadata)
        assert caught.value.argument == place


def test_a_document_cannot_be_changed():
    document = decode_document(encode_document([], metadata={"a": 1}))
    with pytest.raises(AttributeError):
        document.messages = ()
    with pytest.raises(TypeError):
        document.metadata["a"] = 2


def test_unknown_fields_of_a_document_are_ignored():
    assert decode_document({"schema_version": 1, "messages": [], "future": 1}) == Document(schema_version=1, messages=())
