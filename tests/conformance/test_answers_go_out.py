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
STOPS = {
    "openai-chat": {"pause", "other"}, "openai-responses": {"pause", "other"}, "anthropic-messages": {"other"}, "gemini": {"pause"},
}  # fmt: skip
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
    return {name: count for name, count in (counts or {}).items() if count}


def expected(before, after, target):
    """What the essence becomes on its way out, by the rules of the wire that it goes to; None if it had to become an error."""
    wanted = essence(before, with_ids=has_own_ids(before))
    if after["error"] is not None and before["error"] is None:
        # Only a call that cannot be run, or an answer begun anew, may end a whole stream as an error.
        assert "cannot be run" in after["error"]["message"] or "began anew" in after["error"]["message"]
        assert not any(call["runnable"] for call in after["tool_calls"])
        return None
    if target == "anthropic-messages" and wanted["refusal"]:
        wanted.update(text=wanted["text"] + wanted["refusal"], refusal="", finish_reason="content_filter")
    if target == "gemini":  # no place for a refusal, for arguments that are no object, for what was written to a cache
        calls = [call for call in wanted["tool_calls"] if "arguments" in call]
        usage = {name: count for name, count in (wanted["usage"] or {}).items() if name != "cache_write_tokens"}
        if usage:  # thoughts are a part of the output here, whatever a server counts
            usage["output_tokens"] = max(usage["output_tokens"] or 0, usage["reasoning_tokens"] or 0)
        wanted.update(text=wanted["text"] + wanted["refusal"], refusal="", tool_calls=calls, usage=usage)
    if before["error"] is not None:
        wanted["finish_reason"] = "error"
        wanted["usage"] = after["usage"]  # of an answer that failed it is told where there is a place for it
    elif before["finish_reason"] in STOPS[target] or (before["finish_reason"] == "tool_calls" and not before["tool_calls"]):
        wanted["finish_reason"] = "stop"
    elif "truncated_tool_arguments" in before["warnings"]:
        wanted["finish_reason"] = "length"
    return wanted


def has_own_ids(summary):
    """Whether every call had an id: one that we make is another on each wire."""
    return not any(call.get("id_made_up") for call in summary["tool_calls"])


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
    got = essence(after, with_ids=has_own_ids(before))
    wanted["usage"], got["usage"] = without_zeros(wanted["usage"]), without_zeros(got["usage"])
    assert got == wanted
    assert set(after["warnings"]) <= STAY
