"""What a tool raises to pause the run."""

from __future__ import annotations

import pytest

from headrace.errors import HeadraceError, UsageError
from headrace.tools.suspend import Suspend


def test_it_holds_what_is_waited_for_and_what_to_remember():
    state = {"ticket": [1]}
    suspend = Suspend(["a", "b"], state)
    state["ticket"].append(2)
    assert (suspend.pending, suspend.state) == (("a", "b"), {"ticket": [1]})
    assert (Suspend().pending, Suspend().state) == ((), None)


def test_it_is_no_error_of_ours():
    assert not issubclass(Suspend, HeadraceError)


def test_a_state_that_another_process_could_not_read_is_refused():
    with pytest.raises(UsageError, match=r"Suspend.state.when"):
        Suspend(state={"when": object()})
