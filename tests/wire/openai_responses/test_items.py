"""Which item an event means, decision by decision."""

from __future__ import annotations

import pytest

from headrace.wire.openai_responses.items import SLOTS, Items, place_of


def opened(*forms):
    items = Items()
    return items, [items.open(index, form) for index, form in forms]


def test_an_item_is_found_by_its_place_whatever_its_id():
    items, (first, second) = opened((0, {"type": "message", "id": "a"}), (1, {"type": "message", "id": "b"}))
    assert items.find(0, "rotated", "message") is first
    assert items.find(1, "", "message") is second
    assert items.find(7, "a", "message") is None


def test_an_id_that_belongs_to_another_place_says_that_the_place_is_wrong():
    items, (first, second, thinking) = opened(
        (0, {"type": "message", "id": "a"}), (1, {"type": "message", "id": "b"}), (2, {"type": "reasoning", "id": "r"})
    )
    assert items.find(0, "b", "message") is second
    assert items.find(0, "r", "message") is first
    assert items.find(0, "r", "reasoning") is thinking
    assert opened((0, {"type": "message"}), (1, {"type": "message", "id": "b"}))[0].find(0, "b", "message").index == 0


def test_without_a_place_the_id_tells_then_the_type():
    items, (first, second) = opened((None, {"type": "message", "id": "a"}), (None, {"type": "function_call", "id": "b"}))
    assert items.find(None, "a", "function_call") is first
    assert items.find(None, "?", "function_call") is second
    assert items.find(None, "", "reasoning") is None
    assert [item.key for item in items.all] == [0, SLOTS]


def test_two_items_never_share_a_key():
    items, _ = opened(
        (0, {"type": "message", "id": "a"}),
        (0, {"type": "message", "id": "b"}),
        (1, {"type": "message", "id": "c"}),
        (None, {"type": "message", "id": "d"}),
        (9, {"type": "message", "id": "e"}),
        (None, {"type": "message", "id": "f"}),
    )
    assert [item.key // SLOTS for item in items.all] == [0, 1, 2, 3, 9, 10]
    assert items.find(0, "a", "message") is items.all[0]
    assert items.find(1, "c", "message") is items.all[2]


def test_a_form_without_a_place_is_new_unless_something_says_that_it_was_there():
    items, (call, message) = opened((None, {"type": "function_call", "id": "a", "call_id": "c"}), (None, {"type": "message"}))
    assert items.shown(None, {"type": "function_call", "id": "a"}, is_whole=False) is call
    assert items.shown(None, {"type": "function_call", "id": "z", "call_id": "c"}, is_whole=True) is call
    assert items.shown(None, {"type": "function_call", "id": "z"}, is_whole=True) is None
    assert items.shown(None, {"type": "message"}, is_whole=True) is message
    assert items.shown(None, {"type": "message"}, is_whole=False) is None
    assert items.shown(None, {"type": "reasoning"}, is_whole=True) is None
    message.final = {"type": "message"}
    assert items.shown(None, {"type": "message"}, is_whole=True) is None


def test_a_whole_item_at_a_place_is_the_one_that_was_announced_there_under_whatever_ids():
    items, (call,) = opened((0, {"type": "function_call", "id": "a", "call_id": "c"}))
    rotated = {"type": "function_call", "id": "z", "call_id": "y"}
    assert items.shown(0, rotated, is_whole=True) is call
    assert items.shown(0, rotated, is_whole=False) is None
    assert items.shown(0, {"type": "message"}, is_whole=True) is None
    call.final = {"type": "function_call", "id": "a", "call_id": "c"}
    assert items.shown(0, rotated, is_whole=True) is None
    assert items.shown(0, {"type": "function_call", "id": "q", "call_id": "c"}, is_whole=True) is call
    assert items.shown(0, {"type": "function_call", "id": "a"}, is_whole=True) is call


def test_the_final_list_shows_each_item_once_by_id_then_place_then_order():
    items, (thinking, first, second) = opened(
        (0, {"type": "reasoning", "id": "r"}), (2, {"type": "message", "id": "a"}), (5, {"type": "message", "id": "b"})
    )
    forms = [
        {"type": "message", "id": "b"},
        {"type": "reasoning", "id": "?"},
        {"type": "message", "id": "?"},
        {"type": "message"},
        {"type": "x"},
    ]
    assert items.repeated(forms) == [second, thinking, first, None, None]
    assert items.repeated([{"type": "message"}] * 3) == [second, None, first]


def test_an_output_answers_the_call_of_its_id_else_the_last_of_its_kind():
    items, (shell, search) = opened((0, {"type": "shell_call", "id": "s", "call_id": "c"}), (1, {"type": "tool_search_call", "id": "t"}))
    assert items.call_of({"type": "shell_call_output", "call_id": "c"}) is shell
    assert items.call_of({"type": "tool_search_output", "call_id": None}) is search
    assert items.call_of({"type": "program_output", "call_id": "c"}) is None
    assert items.call_of({"type": "web_search_output"}) is None


@pytest.mark.parametrize(
    ("value", "place"), [(0, 0), (7, 7), (-1, None), (2**31, None), (True, None), ("1", None), (1.0, None), (None, None)]
)
def test_what_a_place_is(value, place):
    assert place_of(value) == place
