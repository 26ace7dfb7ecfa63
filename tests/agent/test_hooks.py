"""What hooks are given as: sorted by the points where they say something, and slips of the pen refused."""

from __future__ import annotations

import msgspec
import pytest

from headrace.agent.agent import Agent
from headrace.agent.hooks import HOOK_NAMES, NO_HOOKS, Ask, Hooks, HookTable, Stop, Veto
from headrace.errors import UsageError
from headrace.models.scripted import ScriptedModel
from watched import hook


def test_there_is_a_hook_before_and_after_each_of_run_round_model_call_and_tool_call():
    assert sorted(HOOK_NAMES) == sorted(
        f"{when}_{what}" for when in ("before", "after") for what in ("run", "round", "model_call", "tool_call")
    )


def test_hooks_are_sorted_by_the_points_where_they_say_something_in_the_order_given():
    first, second, third = hook("before_run"), hook("after_run"), hook("before_run")
    table = HookTable.of([first, second, third])
    assert table.before_run == (first, third)
    assert table.after_run == (second,)
    assert not any(getattr(table, name) for name in HOOK_NAMES if name not in ("before_run", "after_run"))


def test_a_hook_that_is_inherited_counts():
    class Base(Hooks):
        async def before_round(self, here):
            """Say nothing."""

    class Child(Base):
        pass

    assert len(HookTable.of([Child()]).before_round) == 1


def test_no_hooks_and_hooks_that_override_nothing_cost_nothing():
    assert HookTable.of(()) == HookTable.of([Hooks(), Hooks()]) == NO_HOOKS


def test_one_hook_needs_no_list():
    only = hook("before_run")
    assert HookTable.of(only).before_run == (only,)


@pytest.mark.parametrize("wrong", [Hooks, "x", 1, lambda here: None, None])
def test_what_is_no_hooks_object_is_refused_at_once(wrong):
    with pytest.raises(UsageError, match=r"hooks\[0\] is .*subclasses of Hooks"):
        Agent(ScriptedModel("x"), hooks=[wrong])


def test_a_hook_of_an_unknown_name_is_refused_at_once_since_nobody_would_ever_call_it():
    class Slip(Hooks):
        async def before_tool(self, here, call):
            return Veto()

    with pytest.raises(UsageError, match=r"Slip\.before_tool is no hook; the hooks are: .*before_tool_call"):
        Agent(ScriptedModel("x"), hooks=Slip())


def test_helpers_of_other_names_and_fields_are_no_hooks():
    class Helped(Hooks):
        limit = 3

        def _before_all(self):
            """Help."""

        def count(self):
            """Help."""

    assert HookTable.of([Helped()]) == NO_HOOKS


def test_the_words_of_hooks_are_values():
    assert Stop("a") == Stop("a")
    assert Ask("why", {"a": 1}).arguments == {"a": 1}
    with pytest.raises(AttributeError):
        Veto("x").reason = "y"
    assert msgspec.json.encode(Stop("x")) == b'{"reason":"x"}'
