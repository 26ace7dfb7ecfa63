"""What a tool may know about its run."""

from __future__ import annotations

import msgspec
import pytest

from headrace.tools.context import Context
from headrace.tools.notes import ForwardNote, ProgressNote


def test_it_is_frozen_and_holds_any_dependencies():
    context = Context(deps=object(), run_id="r", round=2, call_key="m/0", call_id="c", tool_name="t")
    with pytest.raises(AttributeError):
        context.round = 3
    assert msgspec.structs.replace(context, round=3).deps is context.deps
    assert Context[int](deps=1) == Context(deps=1)


def test_notes_go_where_the_run_says():
    notes = []
    context = Context(deps=None, emit=notes.append)
    context.progress("half", done=1, total=2)
    context.forward("event")
    assert notes == [ProgressNote("half", 1, 2), ForwardNote("event")]


def test_groups_are_switched_by_the_run():
    context = Context(deps=None, switch=lambda on, off: frozenset(on) - frozenset(off))
    assert context.switch_groups(["files", "web"], ["web"]) == {"files"}
