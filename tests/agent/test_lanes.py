"""Which calls may run: order, resources, barriers, the limit, and what it costs."""

from __future__ import annotations

from headrace.agent.lanes import Lanes


def lanes(plan, limit=8):
    """Take a plan like `a b | a`: a letter is a resource, `-` none, `|` a call that runs alone."""
    made = Lanes(limit)
    for n, word in enumerate(plan.split()):
        made.add(n, resource=None if word in "-|" else word, is_alone=word == "|")
    return made


def test_calls_on_one_resource_run_one_after_another_and_others_pass_them():
    made = lanes("a a b a - b")
    assert made.start() == [0, 2, 4]
    made.end(2)
    assert made.start() == [5]
    made.end(0)
    assert made.start() == [1]
    made.end(1)
    assert made.start() == [3]


def test_a_slot_is_not_held_for_a_call_that_waits_for_its_resource():
    made = lanes("a a b c", limit=2)
    assert made.start() == [0, 2]
    made.end(2)
    assert made.start() == [3]


def test_the_earliest_that_may_run_goes_first():
    made = lanes("a b a c", limit=2)
    assert made.start() == [0, 1]
    made.end(0)
    assert made.start() == [2]  # free now, and before the call on c


def test_one_that_runs_alone_waits_for_all_before_it_and_holds_all_behind_it():
    made = lanes("a a | a - |")
    assert made.start() == [0]
    made.end(0)
    assert made.start() == [1]
    made.end(1)
    assert made.start() == [2]
    assert made.start() == []
    made.end(2)
    assert made.start() == [3, 4]
    made.end(3)
    assert made.start() == []
    made.end(4)
    assert made.start() == [5]
    assert not made.is_empty
    made.end(5)
    assert made.is_empty


def test_one_that_comes_later_keeps_behind_one_that_runs_alone():
    made = lanes("|")
    assert made.start() == [0]
    made.add(1)
    assert made.start() == []
    made.end(0)
    assert made.start() == [1]


def test_what_waits_can_be_dropped():
    made = lanes("a a b | c", limit=1)
    assert made.start() == [0]
    made.drop_waiting()
    assert not made.is_empty
    made.end(0)
    assert made.start() == []
    assert made.is_empty


class CountedName(str):
    """A resource's name that counts how often it is looked up."""

    looks = 0
    __slots__ = ()

    def __hash__(self):
        CountedName.looks += 1
        return str.__hash__(self)

    def __eq__(self, other):
        return str.__eq__(self, other)


def test_ten_times_the_calls_cost_ten_times_the_work():
    def looks(count):
        CountedName.looks = 0
        made = Lanes(4)
        for n in range(count):
            made.add(n, resource=CountedName("a"))
        while started := made.start():
            for n in started:
                made.end(n)
        assert made.is_empty
        return CountedName.looks

    assert looks(1000) <= 10 * looks(100)
