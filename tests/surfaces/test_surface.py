"""What all surfaces share: a life, legs, numbers, what is known, server-sent events."""

from __future__ import annotations

from headrace.agent.events import RunEnded
from headrace.surfaces.surface import Blocks, Counted, Known, Surface, legs, sse
from surface_runs import with_external, with_inner_question, with_question, with_tool


class Told(Surface[str]):
    """Tells the types of events."""

    def write(self, item, *, number=None):
        return item.encode()

    def _begin(self, event):
        self._out.append("begin")

    def _break_off(self, message):
        self._out.append(message)

    def _tell(self, event):
        self._out.append(event.type)
        self._is_over = isinstance(event, RunEnded)

    _HANDLERS = dict.fromkeys([RunEnded], _tell)


def test_the_life_of_a_surface():
    surface = Told()
    log = with_tool().log
    assert surface.feed(log[0]) == ["begin"]
    assert [item for event in log[1:] for item in surface.feed(event)] == ["run_ended"]
    assert (surface.is_over, surface.feed(log[0]), surface.close()) == (True, [], [])
    broken = Told()
    assert (broken.close("gone"), broken.close("again"), broken.is_over) == (["gone"], [], True)


def test_items_are_counted_and_those_that_were_seen_are_left_out():
    log = with_tool().log
    for after in range(4):
        counted = Counted(Told(), after)
        items = [item for event in log for item in counted.feed(event)] + counted.close()
        assert items == [(1, "begin"), (2, "run_ended")][after:]
    assert Counted(Told()).close("gone") == [(1, "gone")]


def test_a_log_is_cut_at_its_pauses():
    played = with_question()
    assert [len(legs(played.log)), legs([])] == [1, []]
    played.resume(played.pending["pay"].approve())
    first, second = legs(played.log)
    assert [*first, *second] == played.log
    assert (first[-1].type, second[0].type) == ("run_ended", "approval_given")
    assert legs(played.log[:-1])[-1] == second[:-1]


def test_what_is_known_of_earlier_legs():
    known = Known()
    for event in with_inner_question().log:
        known.feed(event)
    assert sorted(known.names.values()) == ["clerk", "pay"]
    (asked,) = known.asked.values()
    assert asked.path
    for event in with_external().log:
        known.feed(event)
    assert {one.kind for one in known.asked.values()} == {"approval", "external"}


def test_blocks_end_once_and_in_the_order_in_which_they_began():
    blocks = Blocks()
    for name in "abc":
        blocks.start(name, name.upper())
    assert (blocks.end("b"), blocks.end("b"), "a" in blocks, "b" in blocks) == (True, False, True, False)
    assert list(blocks.take()) == [("a", "A"), ("c", "C")]
    assert list(blocks.take()) == []


def test_server_sent_events():
    assert sse({"a": 1}) == b'data: {"a":1}\n\n'
    assert sse(b"{}", number=3, event="x") == b"id: 3\nevent: x\ndata: {}\n\n"
