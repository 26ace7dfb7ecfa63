"""The law of early start: it changes when calls run, and nothing else."""

from __future__ import annotations

import json
from collections import Counter
from itertools import count, pairwise

import msgspec
from hypothesis import given
from hypothesis import strategies as st

import messages_bytes
from chat_bytes import NOON
from early_desk import DONE, Desk, agent_of, ended
from examples import few
from run_checks import run_checked

BLOCKS = st.lists(
    st.tuples(
        st.sampled_from(["look", "write", "alone", "asks", "breaks", "nowhere", "text", "broken JSON", "no object"]),
        st.integers(0, 3),
        st.sampled_from([None, "a", "b"]),
        st.sampled_from(["one", "two", None]),
    ),
    max_size=6,
)
OPTIONS = st.fixed_dictionaries(
    {},
    optional={
        "limits": st.sampled_from([{"tool_calls": 2}, {"calls_per_tool": {"look": 1}}]),
        "max_parallel_tools": st.integers(1, 3),
        "permissions": st.sampled_from(["default", "explore", "dont_ask", "bypass"]),
        "max_rounds": st.integers(1, 2),
        "run_while_pending": st.booleans(),
    },
)


@few
@given(
    st.lists(st.tuples(BLOCKS, st.sampled_from(["tool_use", "end_turn", "max_tokens", "refusal"])), min_size=1, max_size=3),
    OPTIONS,
    st.data(),
)
async def test_early_start_changes_when_calls_run_and_nothing_else(answers, options, data):
    bodies = [slices(data, body_of(blocks, word)) for blocks, word in answers]
    late, late_log = await one_run(bodies, options, early=False)
    early, early_log = await one_run(bodies, options, early=True)
    assert early.messages == late.messages
    assert early.generate_reason == late.generate_reason
    assert early.usage == late.usage
    assert not Counter(late_log) - Counter(early_log)
    if all(word != "refusal" and has_own_ids(blocks) for blocks, word in answers):
        # Nothing was dropped, so the same calls ran, and those that work on one thing in the same order.
        assert Counter(late_log) == Counter(early_log)
        for spot in ("@a", "@b"):
            assert [said for said in early_log if spot in said] == [said for said in late_log if spot in said]


def has_own_ids(blocks):
    """Return whether no two calls have one id."""
    ids = [call_id for *_, call_id in blocks if call_id]
    return len(set(ids)) == len(ids)


def body_of(blocks, word):
    """Return an answer as bytes; calls may have one id, or arguments that do not parse."""
    parts = []
    for n, (name, number, spot, call_id) in enumerate(blocks):
        arguments = json.dumps({"n": number} | ({"spot": spot} if spot and name in ("look", "write") else {}))
        match name:
            case "text":
                parts.append(messages_bytes.text(n, "so"))
            case "broken JSON":
                parts.append(messages_bytes.call(n, "look", arguments[:-1], id=f"toolu_{n}"))
            case "no object":
                parts.append(messages_bytes.call(n, "look", "[1]", id=f"toolu_{n}"))
            case _:
                parts.append(messages_bytes.call(n, name, arguments, id=call_id or f"toolu_{n}"))
    return messages_bytes.start() + b"".join(parts) + ended(word)


def slices(data, body):
    """Cut a body in pieces, between which other tasks run."""
    cuts = sorted(data.draw(st.lists(st.integers(0, len(body)), max_size=6)))
    return [body[start:end] for start, end in pairwise([0, *cuts, len(body)])]


async def one_run(bodies, options, *, early):
    """Run to the end or a pause, in a world where ids and times are always the same."""
    desk, ids = Desk(), count()
    agent = agent_of(desk, *bodies, *[DONE] * 9, early=early, new_id=lambda: f"id{next(ids)}", now=lambda: NOON, **options)
    result, _ = await run_checked(agent)
    return without_times(result), desk.log


def without_times(result):
    messages = tuple(one.replace(timing=None, created_at=NOON) if one.role == "assistant" else one for one in result.messages)
    return msgspec.structs.replace(result, messages=messages)
