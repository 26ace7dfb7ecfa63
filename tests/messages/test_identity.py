from __future__ import annotations

import json

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from headrace.messages.accumulator import Accumulator
from headrace.messages.deltas import FinishDelta, ToolCallFragment
from headrace.messages.identity import Body, CallTable, is_nothing, which_call

A, B = '{"x":1}', '{"y":2}'


def fragment(spec):
    return ToolCallFragment(*spec)


def fold(*fragments, word="tool_calls"):
    accumulator = Accumulator()
    accumulator.extend(fragment(spec) for spec in fragments)
    accumulator.add(FinishDelta(word))
    return accumulator.message()


def shape(message):
    """Each call as (id, name, arguments, index), with None for an id that we made."""
    return [(None if call.id_made_up else call.id, call.name, call.arguments, call.index) for call in message.tool_calls]


def codes(message):
    return [warning.code for warning in message.warnings]


# Every row of the table in DESIGN 6.2, in its order; fragments are (id, name, arguments, index).
ROWS = {
    "nothing at all: ignored": ([(None, None, None, None), ("", "", "", -1), (None, "", None, 3)], [], []),
    "nothing at all, between fragments: ignored": ([("a", "f", "{", 0), ("", "", "", 0), (None, None, "}", 0)], [("a", "f", "{}", 0)], []),
    "id seen, index absent": ([("a", "f", "{", 0), ("a", None, "}", None)], [("a", "f", "{}", 0)], []),
    "id seen, index equal": ([("a", "f", "{", 0), ("a", None, "}", 0)], [("a", "f", "{}", 0)], []),
    "id seen, the call has no index": ([("a", "f", "{", None), ("a", None, "}", 4)], [("a", "f", "{}", 4)], []),
    "id seen, another index, another name": (
        [("a", "f", A, 0), ("a", "g", "", 1)],
        [("a", "f", A, 0), (None, "g", "", 1)],
        ["duplicate_tool_id"],
    ),
    "id seen, another index, both bodies whole": (
        [("a", "f", A, 0), ("a", "f", B, 1)],
        [("a", "f", A, 0), (None, "f", B, 1)],
        ["duplicate_tool_id"],
    ),
    "id seen, another index, both bodies whole and equal": (
        [("a", "f", A, 0), ("a", "f", A, 1)],
        [("a", "f", A, 0), (None, "f", A, 1)],
        ["duplicate_tool_id"],
    ),
    "id seen, another index otherwise: one call shown twice": (
        [("a", "f", "", 0), ("a", "f", A, 1)],
        [("a", "f", A, 0)],
        ["duplicate_tool_id"],
    ),
    "id seen, another index otherwise: said once a call": (
        [("a", "f", "{", 0), ("a", None, '"x"', 1), ("a", None, ":1}", 1)],
        [("a", "f", A, 0)],
        ["duplicate_tool_id"],
    ),
    "new id, index in use, the call there has no id": ([(None, "f", "{", 0), ("a", None, "}", 0)], [("a", "f", "{}", 0)], []),
    "new id, index in use, no id there, a name, both bodies whole": (
        [(None, "f", A, 0), ("b", "f", B, 0)],
        [(None, "f", A, 0), ("b", "f", B, 0)],
        ["reused_tool_index", "missing_tool_id"],
    ),
    "new id, index in use, no id there, a name, one body not whole": (
        [(None, "f", "", 0), ("a", "f", A, 0)],
        [("a", "f", A, 0)],
        [],
    ),
    "new id, index in use by another id, a name": (
        [("a", "f", A, 0), ("b", "g", "", 0), (None, None, B, 0)],
        [("a", "f", A, 0), ("b", "g", B, 0)],
        ["reused_tool_index"],
    ),
    "new id, index in use by another id, no name": (
        [("a", "f", "", 0), ("b", None, '{"x":', 0), ("c", "", "1}", 0)],
        [("a", "f", A, 0)],
        ["changing_tool_id"],
    ),
    "new id, unused index": ([("a", "f", A, 0), ("b", None, B, 1)], [("a", "f", A, 0), ("b", "", B, 1)], ["missing_tool_name"]),
    "new id, no index, no call yet": ([("a", None, A, None)], [("a", "", A, None)], ["missing_tool_name"]),
    "new id, no index, a name": ([("a", "f", A, None), ("b", "f", B, None)], [("a", "f", A, None), ("b", "f", B, None)], []),
    "new id, no index, the same name, the last call has no id and is not whole": (
        [(None, "f", "", None), ("a", "f", A, None)],
        [("a", "f", A, None)],
        [],
    ),
    "new id, no index, the same name, the last call has no id and is whole": (
        [(None, "f", A, None), ("b", "f", B, None)],
        [(None, "f", A, None), ("b", "f", B, None)],
        ["missing_tool_id"],
    ),
    "new id, no index, another name, the last call has no id": (
        [(None, "f", "", None), ("b", "g", B, None)],
        [(None, "f", "", None), ("b", "g", B, None)],
        ["missing_tool_id"],
    ),
    "new id, no index, no name, the last call has no id": ([(None, "f", "", None), ("a", None, A, None)], [("a", "f", A, None)], []),
    "new id, no index, no name, the last call has one": (
        [("a", "f", "", None), ("b", None, A, None)],
        [("a", "f", A, None)],
        ["changing_tool_id"],
    ),
    "no id, index in use, a name, both bodies whole and differ": (
        [(None, "f", A, 0), (None, "f", B, 0)],
        [(None, "f", A, 0), (None, "f", B, 0)],
        ["reused_tool_index", "missing_tool_id", "missing_tool_id"],
    ),
    "no id, index in use, a name, both bodies whole and equal": (
        [("a", "f", A, 0), (None, "f", A, 0)],
        [("a", "f", A + A, 0)],
        ["repeated_tool_name", "duplicate_arguments_dropped"],
    ),
    "no id, index in use, no name, both bodies whole": (
        [("a", "f", A, 0), (None, None, B, 0)],
        [("a", "f", A + B, 0)],
        ["invalid_tool_arguments"],
    ),
    "no id, index in use otherwise": ([("a", "f", "{", 0), (None, None, "}", 0)], [("a", "f", "{}", 0)], []),
    "no id, an unused index": ([("a", "f", A, 0), (None, "g", B, 1)], [("a", "f", A, 0), (None, "g", B, 1)], ["missing_tool_id"]),
    "no id, no index, no call yet": ([(None, None, A, None)], [(None, "", A, None)], ["missing_tool_id", "missing_tool_name"]),
    "no id, no index, a name, the last body is whole": (
        [(None, "f", A, None), (None, "f", B, None)],
        [(None, "f", A, None), (None, "f", B, None)],
        ["missing_tool_id", "missing_tool_id"],
    ),
    "no id, no index, a name, the last body is not whole": (
        [("a", "f", "{", None), (None, "f", "}", None)],
        [("a", "f", "{}", None)],
        ["repeated_tool_name"],
    ),
    "no id, no index, no name": (
        [("a", "f", A, 0), ("b", "g", "{", 1), (None, None, "}", None)],
        [("a", "f", A, 0), ("b", "g", "{}", 1)],
        [],
    ),
    "the last call is the one that was opened last": (
        [("a", "f", "", 0), ("b", "g", "", 1), ("a", None, A, 0), (None, None, B, None)],
        [("a", "f", A, 0), ("b", "g", B, 1)],
        [],
    ),
    "a body is whole by its value, not by how it was cut": (
        [(None, "f", '{"x":1}', 0), (None, None, "\n", 0), (None, "f", B, 0)],
        [(None, "f", A + "\n", 0), (None, "f", B, 0)],
        ["reused_tool_index", "missing_tool_id", "missing_tool_id"],
    ),
    "1 and true are not one body, though Python says so": (
        [("a", "f", '{"x":1}', 0), (None, "f", '{"x":true}', 0)],
        [("a", "f", '{"x":1}', 0), (None, "f", '{"x":true}', 0)],
        ["reused_tool_index", "missing_tool_id"],
    ),
    "objects are whole bodies": (
        [(None, "f", {"x": 1}, 0), (None, "f", {"y": 2}, 0)],
        [(None, "f", A, 0), (None, "f", B, 0)],
        ["reused_tool_index", "missing_tool_id", "missing_tool_id"],
    ),
}


@pytest.mark.parametrize("row", ROWS)
def test_the_table_row_by_row(row):
    fragments, expected, expected_codes = ROWS[row]
    message = fold(*fragments)
    assert shape(message) == expected
    assert codes(message) == (expected_codes or ([] if expected else ["finish_without_tool_calls"]))


# The shapes of the stream faults' group A, by their numbers.
FAULTS = {
    "001 id on the first chunk only": ([("c1", "f", "", 0), (None, None, '{"x":', 0), (None, None, "1}", 0)], [("c1", "f", A, 0)]),
    "003 two deltas in one chunk, in reverse": (
        [("b", "g", "", 1), ("a", "f", "", 0), (None, None, B, 1), (None, None, A, 0)],
        [("a", "f", A, 0), ("b", "g", B, 1)],
    ),
    "004 no index, whole calls": ([("g1", "f", A, None), ("g2", "f", B, None)], [("g1", "f", A, None), ("g2", "f", B, None)]),
    "006 index always 0, whole": ([("a", "f", A, 0), ("b", "f", B, 0)], [("a", "f", A, 0), ("b", "f", B, 0)]),
    "007 index always 0, fragments": (
        [("a", "f", "", 0), (None, None, A, 0), ("b", "f", "", 0), (None, None, B, 0)],
        [("a", "f", A, 0), ("b", "f", B, 0)],
    ),
    "008 index 0, no id, whole": ([(None, "f", A, 0), (None, "f", B, 0)], [(None, "f", A, 0), (None, "f", B, 0)]),
    "009 index begins at 1": ([("a", "f", A, 1), ("b", "g", B, 2)], [("a", "f", A, 1), ("b", "g", B, 2)]),
    "012 index on the opening only": (
        [("a", "f", "", 0), (None, None, A, None), ("b", "g", "", 1), (None, None, B, None)],
        [("a", "f", A, 0), ("b", "g", B, 1)],
    ),
    "015 id on every chunk": ([("a", "f", "", 0), ("a", None, '{"x":', 0), ("a", None, "1}", 0)], [("a", "f", A, 0)]),
    "016 id changes in every chunk": ([("x1", "f", "", 0), ("x2", None, '{"x":', 0), ("x3", "", "1}", 0)], [("x1", "f", A, 0)]),
    "017 empty id and name": ([("a", "f", "", 0), ("", "", '{"x":', 0), ("", "", "1}", 0)], [("a", "f", A, 0)]),
    "020 the name is split": ([("a", "get_", "", 0), (None, "weather", A, 0)], [("a", "get_weather", A, 0)]),
    "021 the name is empty, then real": ([("a", "", "", 0), ("a", "f", A, 0)], [("a", "f", A, 0)]),
    "022 the name never comes": ([("a", None, A, 0)], [("a", "", A, 0)]),
    "023 one call at two indexes": ([("x", "run", "", 0), ("x", "run", A, 1)], [("x", "run", A, 0)]),
    "024 two calls with one id": ([("x", "f", A, 0), ("x", "f", B, 1)], [("x", "f", A, 0), (None, "f", B, 1)]),
    "025 Kimi's own ids": (
        [("functions.f:0", "f", A, 0), ("functions.f:1", "f", B, 1)],
        [("functions.f:0", "f", A, 0), ("functions.f:1", "f", B, 1)],
    ),
    "028 an empty delta": ([("a", "f", "", 0), (None, None, None, 0), (None, None, A, 0)], [("a", "f", A, 0)]),
    "029 the legacy form": ([(None, "f", None, None), (None, None, A, None)], [(None, "f", A, None)]),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_the_faults_of_group_a(fault):
    fragments, expected = FAULTS[fault]
    message = fold(*fragments)
    assert shape(message) == expected
    assert [call.runnable for call in message.tool_calls] == [bool(call[1]) for call in expected]


NAMES = {
    "an equal one is a repeat": ([("a", "f", "", 0), ("a", "f", "", 0)], "f", []),
    "one that begins with what is held replaces it": ([("a", "get_", "", 0), ("a", "get_weather", "", 0)], "get_weather", []),
    "another one is appended while no arguments have come": (
        [("a", "get_", "", 0), ("a", "wea", "", 0), ("a", "ther", "", 0)],
        "get_weather",
        [],
    ),
    "later it is ignored, and said once a call": (
        [("a", "f", "{", 0), ("a", "g", "", 0), ("a", "h", "}", 0)],
        "f",
        ["repeated_tool_name"],
    ),
    "an equal one that comes again after arguments is said": ([("a", "f", "{", 0), ("a", "f", "}", 0)], "f", ["repeated_tool_name"]),
    "a longer one replaces it also after arguments": ([("a", "get", "{", 0), ("a", "get_it", "}", 0)], "get_it", ["repeated_tool_name"]),
    "a first name after arguments is no repeat": ([("a", "", "{", 0), ("a", "f", "}", 0)], "f", []),
    "a shorter beginning is another piece": ([("a", "ab", "", 0), ("a", "a", "", 0)], "aba", []),
}


@pytest.mark.parametrize("rule", NAMES)
def test_the_rule_for_names(rule):
    fragments, name, expected_codes = NAMES[rule]
    message = fold(*fragments, word="stop")
    assert [call.name for call in message.tool_calls] == [name]
    assert [code for code in codes(message) if code == "repeated_tool_name"] == expected_codes


ORDER = {
    "by wire index": ([("a", "f", A, 2), ("b", "g", A, 0), ("c", "h", A, 1)], "bca"),
    "then by arrival": ([("a", "f", A, 1), ("b", "g", A, 0), ("c", "h", A, 0)], "bca"),
    "a call without index sorts with the one that arrived before it": ([("a", "f", A, 1), ("b", "g", A, None), ("c", "h", A, 0)], "cab"),
    "before all if none did": ([("a", "f", A, None), ("b", "g", A, 5), ("c", "h", A, 0)], "acb"),
    "by arrival where nobody has an index": ([("b", "f", A, None), ("a", "g", A, None)], "ba"),
}


@pytest.mark.parametrize("rule", ORDER)
def test_the_order_of_calls(rule):
    fragments, expected = ORDER[rule]
    assert "".join(call.id for call in fold(*fragments).tool_calls) == expected


def test_calls_that_share_an_id_are_told_apart_by_their_index():
    message = fold(("x", "f", A, 0), ("x", "g", "{", 1), ("x", None, "}", 1), ("x", None, "\n", 0))
    assert shape(message) == [("x", "f", A + "\n", 0), (None, "g", "{}", 1)]
    assert codes(message) == ["duplicate_tool_id"]


def test_a_call_shown_twice_goes_on_at_the_second_index_too():
    # Beyond the table, by which the third fragment would open a call without a name.
    message = fold(("x", "f", "", 0), ("x", "f", "", 1), (None, None, A, 1))
    assert shape(message) == [("x", "f", A, 0)]


def test_a_call_shown_twice_takes_no_index_from_another_call():
    message = fold(("x", "f", "", 0), ("y", "g", "", 1), ("x", None, "", 1), (None, None, A, 0), (None, None, B, 1))
    assert shape(message) == [("x", "f", A, 0), ("y", "g", B, 1)]


def test_a_call_that_continues_takes_the_index_that_it_lacked():
    assert shape(fold(("x", "f", "", None), ("x", None, '{"x":', 7), (None, None, "1}", 7))) == [("x", "f", A, 7)]


def test_an_index_alone_is_nothing_but_an_empty_object_is_something():
    assert is_nothing(ToolCallFragment(index=3))
    assert not is_nothing(ToolCallFragment(arguments={}))


# ------------------------------------------------------------------------------------------ a second opinion


def parsed(body):
    """The definition of whole, in the slowest way."""
    if isinstance(body, dict):
        return body
    if not body or not body.rstrip().endswith("}"):
        return None
    try:
        value = json.loads(body)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


class SlowCall:
    """One call of the slow reference."""

    def __init__(self):
        self.ids, self.id, self.index, self.name, self.body, self.shown_at = [], None, None, "", "", set()


def slow_which(spec, calls):
    """The table of DESIGN 6.2, read from top to bottom over a plain list of calls.

    Returns:
        The call, or None for a new one; the code; whether the id is taken.
    """
    id_, name, body, index = spec
    at_index = [call for call in calls if index is not None and (call.index == index or index in call.shown_at)]
    there = at_index[-1] if at_index else None
    last = calls[-1] if calls else None
    if id_:
        seen = [call for call in calls if id_ in call.ids]
        if seen:
            exact = [call for call in seen if index is None or call.index is None or call.index == index]
            newest = seen[-1]
            if newest in exact:
                return newest, None, False
            if exact:
                return exact[-1], None, False
            if (name and newest.name and name != newest.name) or (parsed(newest.body) is not None and parsed(body) is not None):
                return None, "duplicate_tool_id", True
            return newest, "duplicate_tool_id", False
        if there is not None:
            if there.id is None:
                is_new = name and parsed(there.body) is not None and parsed(body) is not None
                return (None, "reused_tool_index", False) if is_new else (there, None, False)
            return (None, "reused_tool_index", False) if name else (there, "changing_tool_id", False)
        if index is not None or last is None:
            return None, None, False
        if name:
            is_late = last.id is None and last.name == name and parsed(last.body) is None
            return (last if is_late else None), None, False
        return last, ("changing_tool_id" if last.id else None), False
    if there is not None:
        is_new = name and parsed(there.body) is not None and parsed(body) is not None and parsed(there.body) != parsed(body)
        return (None, "reused_tool_index", False) if is_new else (there, None, False)
    if index is not None or last is None or (name and parsed(last.body) is not None):
        return None, None, False
    return last, None, False


def slow_place(spec, calls):
    id_, name, body, index = spec
    call, code, _ = slow_which(spec, calls)
    if call is None:
        call = SlowCall()
        calls.append(call)
    if id_:
        call.id = call.id or id_
        call.ids.append(id_)
    if index is not None:
        taken = any(other.index == index or index in other.shown_at for other in calls)
        if call.index is None:
            call.index = index
        elif not taken and not call.body:
            call.shown_at.add(index)  # where the code does more than the table: see the test of a call shown twice
    if name:
        if name.startswith(call.name):
            call.name = name
        elif not call.body:
            call.name += name
    call.body += body or ""
    return calls.index(call), code


SPECS = st.tuples(
    st.sampled_from([None, "", "a", "b", "c"]),
    st.sampled_from([None, "", "f", "g", "fg"]),
    st.sampled_from([None, "", "{", "}", '{"x":', "1}", A, B, " ", "{}"]),
    st.sampled_from([None, 0, 1, 2]),
)


@given(st.lists(SPECS, max_size=12))
def test_the_code_and_a_slow_reading_of_the_table_agree(specs):
    table, order, calls = CallTable(), [], []
    for spec in specs:
        piece = fragment(spec)
        if is_nothing(piece):
            assert not any(spec[:3])
            continue
        verdict = which_call(piece, table)
        had_index = verdict.call is not None and verdict.call.index is not None
        call = table.place(piece, verdict)
        if call not in order:
            order.append(call)
        if not had_index and call.index is not None and verdict.call is not None:
            # A call that takes an index late is from then on the latest there; the slow list has it where it was opened.
            assume(not any(other is not call and other.index == call.index for other in order))
        if spec[1]:
            call.grow_name(spec[1])
        if spec[2]:
            call.body.add(spec[2])
        assert (order.index(call), verdict.code) == slow_place(spec, calls)
        slow = calls[order.index(call)]
        assert (call.name, "".join(call.body.pieces), call.index) == (slow.name, slow.body, slow.index)


@given(st.lists(SPECS, max_size=12))
def test_no_fragment_is_lost_and_no_two_calls_share_an_id(specs):
    message = fold(*specs)
    assert sorted("".join(spec[2] or "" for spec in specs)) == sorted("".join(call.arguments for call in message.tool_calls))
    ids = [call.id for call in message.tool_calls]
    assert all(ids)
    assert len(set(ids)) == len(ids)


# ------------------------------------------------------------------------------------------ cost


class CountingScanner:
    """A scanner that counts the characters it is given."""

    def __init__(self, scanner):
        self._scanner, self.scanned = scanner, 0

    def __getattr__(self, name):
        return getattr(self._scanner, name)

    def scan(self, piece):
        self.scanned += len(piece)
        self._scanner.scan(piece)


@pytest.mark.parametrize("pieces", [['{"a":"}"', '"b":{}}'], ["}"], ['{"a":1}'], [" }"], ["{}", "x}"], ['{"', "}"]])
def test_asking_whether_a_body_is_whole_looks_at_each_character_once(pieces):
    body, size = Body(), 0
    body._scanner = scanner = CountingScanner(body._scanner)
    for n in range(3_000):
        body.add(pieces[n % len(pieces)])
        size += len(pieces[n % len(pieces)])
        body.whole()
    assert scanner.scanned <= size


def test_a_name_in_very_many_pieces_costs_what_its_pieces_cost():
    table = CallTable()
    call = table.place(ToolCallFragment("a"), which_call(ToolCallFragment("a"), table))
    call.grow_name("get")
    for _ in range(200_000):  # joined at each piece this would copy 20 GB
        call.grow_name("_x")
    assert call.is_called("get" + "_x" * 200_000)


WHOLE = [
    (['{"a":1}'], {"a": 1}),
    (['{"a"', ":1}"], {"a": 1}),
    (["  ", '{"a":1}', " \n"], {"a": 1}),
    (['{"a":"}'], None),
    (['{"a":"}"', "}"], {"a": "}"}),
    (['{"a":1}', "x"], None),
    (['{"a":1}', "}"], None),
    (["[{}]"], None),
    (["1"], None),
    (["}"], None),
    ([""], None),
    ([], None),
]


@pytest.mark.parametrize(("pieces", "value"), WHOLE)
def test_when_a_body_is_whole(pieces, value):
    once, always = Body(), Body()
    for piece in pieces:
        once.add(piece)
        always.add(piece)
        always.whole()  # asking in between changes nothing
    assert once.whole() == always.whole() == once.whole() == value


def test_a_final_text_fills_a_gap_and_never_adds():
    body = Body()
    body.fill('{"a":1}')
    body.fill('{"a":1}')
    assert "".join(body.pieces) == '{"a":1}'
    cut = Body()
    cut.add('{"a":')
    cut.fill('{"b":12345}')
    assert "".join(cut.pieces) == '{"a":', "another text is no continuation"
    cut.fill('{"a":12345}')
    assert "".join(cut.pieces) == '{"a":12345}'


def test_objects_and_text_together_are_not_whole():
    body = Body()
    body.add({"a": 1})
    assert body.whole() == {"a": 1}
    body.add("x")
    assert body.whole() is None
    body.fill("longer than what came so far, by far")
    assert body.pieces == ["x"]
