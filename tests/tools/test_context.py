"""What a tool may know about its run."""

from __future__ import annotations

import msgspec
import pytest

from headrace.tools.context import Context


def test_it_is_frozen_and_holds_any_dependencies():
    context = Context(deps=object(), run_id="r", round=2, call_key="m/0", call_id="c", tool_name="t")
    with pytest.raises(AttributeError):
        context.round = 3
    assert msgspec.structs.replace(context, round=3).deps is context.deps
    assert Context[int](deps=1) == Context(deps=1)
