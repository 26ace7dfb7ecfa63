import pytest

from headrace.wire.dashscope.snapshots import Snapshots


def fed(snapshots, *messages):
    """What each message of choice 0 adds, and whether it begins anew."""
    added = [snapshots.feed([(0, message)]) for message in messages]
    return [([message for _, message in one.said], one.is_restart) for one in added]


def texts(is_incremental, *pieces):
    """The texts that come out, event by event; a restart is told by a star."""
    snapshots = Snapshots(is_incremental)
    return [
        ("*" if is_restart else "") + "|".join(message["content"] for message in said)
        for said, is_restart in fed(snapshots, *({"content": piece} for piece in pieces))
    ]


def call(arguments, name="f", **fields):
    return {"tool_calls": [{"type": "function", **fields, "function": {"name": name, "arguments": arguments}}]}


@pytest.mark.parametrize(
    ("is_incremental", "pieces", "expected"),
    [
        (True, ["a", "ab", "a"], ["a", "ab", "a"]),
        (False, ["a", "ab", "ab", "", "abc"], ["a", "b", "", "", "c"]),
        (False, ["ab", "a", "abc"], ["ab", "", "c"]),
        (False, ["ab", "xy", "xyz"], ["ab", "*xy", "z"]),
        (None, ["a", "b", "bc"], ["a", "b", "bc"]),
        (None, ["a", "ab", "abc"], ["a", "b", "c"]),
        (None, ["", "a", "", "b"], ["", "a", "", "b"]),
        (None, ["a", "a"], ["a", ""]),
    ],
)
def test_what_a_text_adds(is_incremental, pieces, expected):
    assert texts(is_incremental, *pieces) == expected


def test_a_verdict_that_the_next_piece_contradicts_is_taken_back_and_nothing_is_lost():
    assert texts(None, "ha", "haha", "!", "!") == ["ha", "ha", "*ha|haha|!", "!"]
    assert texts(None, "ha", "ha", "!") == ["ha", "", "*ha|ha|!"]


def test_a_verdict_that_was_borne_out_twice_stays_and_another_text_is_a_new_beginning():
    assert texts(None, "a", "ab", "abc", "x", "xy") == ["a", "b", "c", "*x", "y"]


def test_a_new_beginning_keeps_what_the_event_does_not_repeat():
    snapshots = Snapshots(False)
    first = {"reasoning_content": "Hm", "content": "a", "role": "assistant"}
    assert fed(snapshots, first, {"content": "b"}) == [
        ([first], False),
        ([{"reasoning_content": "Hm", "content": "b", "role": "assistant"}], True),
    ]
    assert fed(snapshots, {"reasoning_content": "Hm.", "content": "bc"}) == [([{"reasoning_content": ".", "content": "c"}], False)]


def test_the_first_text_that_comes_twice_tells_for_all():
    snapshots = Snapshots(None)
    fed(
        snapshots,
        {"reasoning_content": "Hm", "content": ""},
        {"reasoning_content": "Hm.", "content": ""},
        {"reasoning_content": "Hm..", "content": "a"},
    )
    assert (snapshots.is_incremental, snapshots.is_told) == (False, False)
    assert fed(snapshots, {"content": "ab"}) == [([{"content": "b"}], False)]


def test_names_and_arguments_of_calls_grow():
    snapshots = Snapshots(False)
    got = fed(snapshots, call("", "get_", index=0), call('{"a', "get_x", index=0), call('{"a":1}', "get_x", index=0))
    assert [message["tool_calls"][0]["function"] for said, _ in got for message in said] == [
        {"name": "get_", "arguments": ""}, {"name": "get_x", "arguments": '{"a'}, {"name": "", "arguments": '":1}'},
    ]  # fmt: skip


def test_arguments_tell_whether_pieces_are_repeated():
    snapshots = Snapshots(None)
    fed(snapshots, call('{"a', index=0), call('{"a":1', index=0))
    assert snapshots.is_incremental is False
    pieces = Snapshots(None)
    fed(pieces, call('{"a', index=0), call('":1}', index=0))
    assert pieces.is_incremental is True


def test_calls_are_known_by_index_by_id_or_by_place():
    snapshots = Snapshots(False)
    both = {"tool_calls": [{"id": "x", "function": {"arguments": "{"}}, {"function": {"arguments": "["}}, "odd", {"function": 5}]}
    more = {"tool_calls": [{"id": "x", "function": {"arguments": "{}"}}, {"function": {"arguments": "[]"}}, "odd", {"function": 5}]}
    (_, ((added,), _)) = fed(snapshots, both, more)
    assert added["tool_calls"] == [
        {"id": "x", "function": {"arguments": "}"}}, {"index": 1, "function": {"arguments": "]"}}, "odd", {"function": 5},
    ]  # fmt: skip


def test_a_new_beginning_brings_the_calls_along():
    snapshots = Snapshots(False)
    ((_, _), (said, is_restart)) = fed(snapshots, {"content": "a", **call("{}", index=0)}, {"content": "b"})
    assert (said, is_restart) == ([{"content": "b", **call("{}", index=0)}], True)


def test_a_list_of_parts_is_a_text_and_what_is_beside_it_comes_once():
    snapshots = Snapshots(False)
    image = {"image": "u"}
    got = fed(
        snapshots, {"content": [{"text": "a"}, image]}, {"content": [{"text": "ab", "mood": 1}, image]}, {"content": [5]}, {"content": None}
    )
    assert [message["content"] for said, _ in got for message in said] == [
        [{"text": "a"}, image], [{"text": "b"}, {"mood": 1}], [{"text": ""}, 5], None,
    ]  # fmt: skip


def test_choices_are_apart():
    snapshots = Snapshots(None)
    assert snapshots.feed([(0, {"content": "a"}), (1, {"content": "b"})]).said == [(0, {"content": "a"}), (1, {"content": "b"})]
    assert snapshots.feed([(1, {"content": "bc"})]).said == [(1, {"content": "c"})]
