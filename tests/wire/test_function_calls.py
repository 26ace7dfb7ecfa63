import json

import pytest

from headrace.messages.parts import ReasoningPart, ToolCallPart
from headrace.wire.function_calls import add_call_data, call_item, called_name, foreign_reasoning_notes
from headrace.wire.history import PairedCall
from headrace.wire.profile import Profile

CALL = ToolCallPart(id="1", name="f", arguments='{"a": 1}', provider_data={"id": "other", "extra": 2})


def test_a_name_that_the_server_would_refuse_is_spelled_anew_and_noted():
    notes = []
    profile = Profile(tool_name_pattern=r"[a-z_]")
    assert called_name(ToolCallPart(id="1", name="my tool"), profile, notes) == "my_tool"
    assert "'my tool'" in notes[0].text
    assert called_name(CALL, profile, notes) == "f"
    assert len(notes) == 1


def test_a_providers_data_goes_back_to_it_and_replaces_nothing():
    notes = []
    profile = Profile(sends_provider_data=True)
    assert add_call_data({"id": "1"}, CALL, profile, notes, maker="p", is_own=True) == {"id": "1", "extra": 2}
    assert notes == []


def test_a_providers_data_goes_to_no_other():
    notes = []
    profile = Profile(sends_provider_data=True)
    assert add_call_data({"id": "1"}, CALL, profile, notes, maker="p", is_own=False) == {"id": "1"}
    assert [note.text for note in notes] == ["data of p on a call: extra, id"]


@pytest.mark.parametrize("shape", ["text", "object"])
def test_the_arguments_of_a_call_are_a_text(shape):
    call = ToolCallPart(id="1", name="f", arguments='{"a": 1}')
    item = call_item(PairedCall(call, "w"), Profile(arguments_as=shape), [], maker=None, is_own=True)
    assert (item["id"], item["type"], item["function"]["name"]) == ("w", "function", "f")
    assert json.loads(item["function"]["arguments"]) == {"a": 1}


@pytest.mark.parametrize(
    ("part", "is_sent", "expected"),
    [
        (ReasoningPart(text="hm"), False, ["reasoning of p"]),
        (ReasoningPart(text="hm"), True, []),
        (ReasoningPart(text="hm", signature="s"), True, ["signed or encrypted reasoning of p"]),
        (ReasoningPart(signature="s"), False, ["signed or encrypted reasoning of p"]),
        (ReasoningPart(), False, []),
    ],
)
def test_what_is_lost_of_foreign_reasoning_is_said(part, is_sent, expected):
    notes = foreign_reasoning_notes(3, part, maker="p", is_sent=is_sent)
    assert [note.text for note in notes] == expected
    assert all(note.part == 3 for note in notes)
