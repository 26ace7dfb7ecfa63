"""What was left out of conversations is remembered, up to a bound."""

from __future__ import annotations

from headrace.agent.context.kept_views import KeptViews


def test_the_last_state_of_each_conversation_is_remembered():
    views = KeptViews()
    views.put("a", {"first_kept": 1})
    views.put("b", {"first_kept": 2})
    views.put("a", {"first_kept": 3})
    assert views.get("a") == {"first_kept": 3}
    assert views.get("b") == {"first_kept": 2}
    assert views.get("c") is None
    assert views.get(None) is None


def test_of_a_conversation_of_which_nothing_is_left_out_nothing_is_remembered():
    views = KeptViews()
    views.put("a", {"first_kept": 1})
    views.put("a", None)
    assert views.get("a") is None
    assert len(views) == 0


def test_the_conversations_that_were_not_used_for_the_longest_time_are_forgotten_first():
    views = KeptViews(limit=2)
    for name in ("a", "b", "a", "c"):
        views.put(name, {"first_kept": 1})
    assert [views.get(name) is not None for name in ("a", "b", "c")] == [True, False, True]
