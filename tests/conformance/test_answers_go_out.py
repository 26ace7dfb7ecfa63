"""Every recorded stream, whatever its protocol, leaves as a stream of each protocol that we serve, and means the same there.

A sample of them by default; `HEADRACE_THOROUGH=1` takes all.
"""

from __future__ import annotations

import importlib.util
import os
import sys

import pytest

from answers_out import essence, written
from conformance_folder import CONFORMANCE
from decoding_runs import decoded
from headrace.wire.protocols import WIRES

SERVED = [name for name, wire in WIRES.items() if wire.serves]
EVERY = 1 if os.environ.get("HEADRACE_THOROUGH", "") not in {"", "0"} else 4
LOADERS = (("cases", "load_cases"), ("corpus", "load_corpus"), ("captures", "load_captures"))
STOPS = {"openai-chat": {"pause", "other"}, "anthropic-messages": {"other"}}
"""Finish reasons that a wire has no word for."""
STAY = {
    "truncated_tool_arguments", "invalid_tool_arguments", "arguments_not_object", "leaked_special_tokens", "possible_inline_tool_call",
    "lenient_json",
}  # fmt: skip
"""What is still odd about an answer that has left: what the model itself said, and half a character in escaped form."""


def load_items():
    spec = importlib.util.spec_from_file_location("conformance_runner", CONFORMANCE / "conformance.py")
    runner = sys.modules.get(spec.name)
    if runner is None:
        runner = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(runner)
    found = [item for folder, load in LOADERS if (CONFORMANCE / folder).is_dir() for item in getattr(runner, load)(CONFORMANCE / folder)]
    return [item for item in found if item.protocol in WIRES]


ITEMS = load_items()


def sampled():
    """Fault cases all, recordings in part: each protocol's by their place."""
    places = {}
    for item in ITEMS:
        place = places[item.protocol] = places.get(item.protocol, -1) + 1
        if item.kind == "case" or place % EVERY == 0:
            yield item


def without_zeros(counts):
    return {name: count or None for name, count in (counts or {}).items()}


def expected(before, after, target):
    """What the essence becomes on its way out, by the rules of the wire that it goes to."""
    wanted = essence(before)
    if after["error"] is not None and before["error"] is None:
        # Only a call that cannot be run, or an answer begun anew, may end a whole stream as an error.
        is_broken = after["error"]["code"] == "malformed_function_call" and any(
            not call["runnable"] for call in after["tool_calls"] or before["tool_calls"]
        )
        assert is_broken or "began anew" in after["error"]["message"]
        return None
    for given, came in zip(before["tool_calls"], after["tool_calls"], strict=False):
        assert came["runnable"] == given["runnable"]
    if before["error"] is not None:
        wanted["finish_reason"] = "error"
        wanted["usage"] = essence(after)["usage"]  # of an answer that failed it is told where there is a place for it
    elif before["finish_reason"] in STOPS[target] or (before["finish_reason"] == "tool_calls" and not before["tool_calls"]):
        wanted["finish_reason"] = "stop"
    if "truncated_tool_arguments" in before["warnings"] and before["error"] is None:
        wanted["finish_reason"] = after["finish_reason"] if after["finish_reason"] == "length" else None
    return wanted


@pytest.mark.parametrize("target", SERVED)
@pytest.mark.parametrize("item", [pytest.param(item, id=f"{item.kind}: {item.name}") for item in sampled()])
def test_a_recorded_stream_means_the_same_when_it_has_left(item, target):
    chunks, result = decoded(b"".join(item.segments), protocol=item.protocol, options=item.options, provider=item.provider)
    body = written(target, chunks)
    _, again = decoded(body, protocol=target)
    before, after = result.summary(), again.summary()
    wanted = expected(before, after, target)
    if wanted is None:
        return
    got = essence(after)
    wanted["usage"], got["usage"] = without_zeros(wanted["usage"]), without_zeros(got["usage"])
    assert got == wanted
    assert set(after["warnings"]) <= STAY
