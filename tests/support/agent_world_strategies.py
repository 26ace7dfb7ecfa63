"""Random worlds for agents."""

from __future__ import annotations

import msgspec
from hypothesis import strategies as st

from agent_ground import NAMES
from agent_worlds import Line, Said, World

ARGUMENTS = [f'{{"n": {n}}}' for n in range(9)]
BAD = ["{}", '{"n"', "[1]", "", '{"n": "x"}']
ASKING = ("risky", "suspends", "outside", "maybe")
"""Tools that make a run wait; they are called more often than others."""
TEXTS = ("some words", " ", "swap it", "stop it", "more of it", '{"n": 1}', '{"n": "x"}')
ASKED_AGAIN = "say it again"
"""A text for which hooks have the model asked again."""


def worlds(*, names=NAMES, texts=TEXTS, ids=("",), **fixed):
    """Random worlds.

    Args:
        names: of the tools that are called.
        texts: what is said.
        ids: of calls; the empty one stands for one that no other call of the answer has.
        fixed: what is the same in all of them.
    """
    fields = {
        "lines": st.lists(lines(parts(names, texts, ids)), min_size=1, max_size=4).map(tuple),
        "in_part": st.booleans(),
        "max_rounds": st.sampled_from([None, 1, 2, 3]),
        "max_parallel_tools": st.integers(1, 3),
        "max_tool_calls": st.sampled_from([None, None, 1, 4]),
        "calls_per_tool": st.sampled_from([None, None, 1]),
        "run_while_pending": st.booleans(),
        "early_start": st.booleans(),
        "stop_on_denial": st.booleans(),
        "max_messages": st.sampled_from([None, None, 4]),
        "output": st.sampled_from([None, None, None, "native", "tool", "prompted"]),
        "has_hooks": st.booleans(),
    }
    return st.builds(World, **fields | {name: st.just(value) for name, value in fixed.items()})


def parts(names, texts, ids):
    names = [*names, *ASKING, *ASKING]
    call = st.builds(Said, st.just("call"), st.sampled_from([*ARGUMENTS, *ARGUMENTS, *BAD]), st.sampled_from(names), st.sampled_from(ids))
    sub = st.builds(Said, st.just("call"), st.sampled_from(['{"task": "3"}', '{"task": "1"}']), st.just("sub"))
    others = (
        st.builds(Said, st.just("text"), st.sampled_from(texts)),
        st.builds(Said, st.just("reasoning"), st.sampled_from(["", "thinking"])),
        st.builds(Said, st.just("refusal"), st.just("no")),
        st.builds(Said, st.just("call"), st.sampled_from(['{"n": 1}', "{}"]), st.just("answer")),
    )
    return st.integers(0, 9).flatmap(lambda n: call if n < 6 else sub if n == 6 else st.one_of(*others))


def lines(said):
    return st.builds(
        Line,
        st.lists(said, min_size=1, max_size=5).map(with_ids) | st.just(()),
        seldom("stop", "length", "content_filter", "pause", "error"),
        seldom(0, 1, 3, 8),
        st.sampled_from([3, 100]),
    )


def seldom(*values):
    """Mostly None."""
    return st.sampled_from([*[None] * (6 * len(values)), *values])


def with_ids(said: list[Said]) -> tuple[Said, ...]:
    """Give calls ids that are their own in one answer, and the same again in the next."""
    return tuple(msgspec.structs.replace(part, id=part.id or f"c{n}") if part.kind == "call" else part for n, part in enumerate(said))
