"""Whether a client understood a stream: what it gave, held against what the stream means.

The rule, which docs/peers.md tells readers:

- A whole answer is understood if text, calls (name, arguments, id), the reason of the end, reasoning, refusal and usage are what the stream
  means. Calls may stand in any order; `stop` beside calls is as good as `tool_calls`, since the calls are there to be seen; where the server sent
  no id, any one will do that is not empty and not another call's.
- A call that cannot be run (arguments cut or no JSON, no name) is understood if nobody could run it by mistake: the client raises, or gives
  its text without an object, or leaves it out of an answer that it says was cut. `{}` or a repaired object for it is wrong.
- A failed stream is understood if the client says so: it raises, or it gives no reason of the end although it gives one at other times.
- What a client does not make of a clean stream (a control) is not held against it on a broken one. Where that is a failure or a broken call
  that it hides from everybody, the word is `own`: it is the client's own, and no stream could help it.

Everything here is pure.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

JSON = dict[str, Any]

RIGHT, OWN, WRONG, ERROR, CRASH, HANG = "right", "own", "wrong", "error", "crash", "hang"
NOT_CARRIED = "not carried"
"""The stream means what Chat Completions has no form for."""
AS_WHOLE = "broken call as whole"
UNREAD = "arguments unread"
"""A call whose arguments the client could not read and gave as text: it does not run, and nothing of it is made up."""
HIDES = frozenset({AS_WHOLE, "broken call left out", "failure not said"})
ALWAYS_HELD = frozenset({"text", "calls", "ids", UNREAD})
"""What every client makes of clean streams, or is no client."""
FINISHED = {
    "stop": "done",
    "end_turn": "done",
    "tool_calls": "done",
    "tool_call": "done",
    "function_call": "done",
    "length": "length",
    "max_tokens": "length",
    "content_filter": "content_filter",
    "refusal": "content_filter",
    "error": "error",
}
"""From clients' words for the end to ours; every other word says nothing more than that there was an end."""


def judge_all(truths: Iterable[JSON], got: JSON, inabilities: Iterable[str] = ()) -> tuple[str, list[str]]:
    """Return the verdict by the meaning of several that suits the client best; the first one is what is said otherwise."""
    verdicts = [judge(truth, got, inabilities) for truth in truths]
    return next((verdict for verdict in verdicts if verdict[0] == RIGHT), verdicts[0])


def judge(truth: JSON, got: JSON, inabilities: Iterable[str] = ()) -> tuple[str, list[str]]:
    """Return the word for what a client made of a stream, and what differs.

    Args:
        truth: the summary of the stream's decoding.
        got: a client's line (see `clients/talk.py`), or {"error": {"type": "crash" or "hang"}} where there was none.
        inabilities: what it does not make of clean streams.
    """
    unable = frozenset(inabilities)
    raised = got.get("error")
    if raised and raised["type"] in {CRASH, HANG}:
        return raised["type"], []
    if raised:
        if truth["error"] is not None or is_cut(truth) or broken(truth):
            return RIGHT, []
        return ERROR, [raised["type"]]
    found = differences(truth, got, gives_finish="finish: done" not in unable)
    held = [word for word in found if word not in unable]
    if held:
        return WRONG, held
    return (OWN, found) if HIDES & set(found) else (RIGHT, [])


def differences(truth: JSON, got: JSON, *, gives_finish: bool = True) -> list[str]:
    """Return in what a client's answer differs from what the stream means, in words.

    Args:
        truth: as in `judge`.
        got: as in `judge`, and nothing was raised.
        gives_finish: whether the client says why a clean answer ended.
    """
    calls = _calls(truth, got)
    if truth["error"] is not None:
        is_said = got["finish"] == "error" or (got["finish"] is None and gives_finish)
        return [*(word for word in calls if word == AS_WHOLE), *([] if is_said else ["failure not said"])]
    found = [name for name in ("text", "reasoning", "refusal") if not _same_words(name, truth, got)]
    return [*found, *calls, *_finish(truth, got), *_usage(truth, got)]


def is_cut(truth: JSON) -> bool:
    """Whether an answer did not reach its own end, so that an exception is one way to say so."""
    return truth["finish_reason"] in {"length", "content_filter"}


def broken(truth: JSON) -> list[JSON]:
    """Return the calls that must not run."""
    return [call for call in truth["tool_calls"] if "raw" in call or not call["name"]]


def _same_words(name: str, truth: JSON, got: JSON) -> bool:
    if name == "text":
        return got["text"] in {truth["text"], truth["text"] + truth["refusal"]}
    return bool(got[name] == truth[name])


def _calls(truth: JSON, got: JSON) -> list[str]:
    hurt = broken(truth)
    left = list(got["tool_calls"])
    found: set[str] = set()
    for call in truth["tool_calls"]:
        if call in hurt:
            continue
        match = _take(left, call)
        if match is None:
            unread = next((one for one in left if one["name"] == call["name"] and one["arguments"] is None), None)
            found.add("calls" if unread is None else UNREAD)
            if unread is not None:
                left.remove(unread)
        elif not _same_id(call, match, got["tool_calls"]):
            found.add("ids")
    runnable = [call for call in left if isinstance(call["arguments"], dict) and call["name"] in _names(truth)]
    as_whole = [call for call in runnable if call["name"] in {one["name"] for one in hurt}]
    if as_whole:
        found.add(AS_WHOLE)
    if len(runnable) > len(as_whole) or len(left) > len(hurt):
        found.add("calls")
    if len(left) < len(hurt) and FINISHED.get(got["finish"] or "") != "length":
        found.add("broken call left out")
    return sorted(found)


def _names(truth: JSON) -> set[str]:
    return {call["name"] for call in truth["tool_calls"] if call["name"]}


def _take(left: list[JSON], call: JSON) -> JSON | None:
    """Take the call out that has this name and these arguments, the one with the same id first."""
    same = [one for one in left if one["name"] == call["name"] and _plain(one["arguments"]) == _plain(call["arguments"])]
    same.sort(key=lambda one: one["id"] != call["id"])
    if not same:
        return None
    left.remove(same[0])
    return same[0]


def _plain(value: object) -> str:
    return json.dumps(value, sort_keys=True)


def _same_id(call: JSON, match: JSON, everybody: list[JSON]) -> bool:
    if not call.get("id_made_up"):
        return bool(match["id"] == call["id"])
    return bool(match["id"]) and [one["id"] for one in everybody].count(match["id"]) == 1


def _finish(truth: JSON, got: JSON) -> list[str]:
    if truth["finish_reason"] is None:
        return []
    meant = FINISHED.get(truth["finish_reason"], "other")
    if got["finish"] is None:
        return [f"finish: {meant}"]
    given = FINISHED.get(got["finish"], "other")
    if truth["refusal"] and given == "content_filter":
        return []
    is_free = bool(broken(truth)) or meant in {"other", "error"}  # a cut call may be said as `length`, and is as often said as `tool_calls`
    return [] if given == meant or (is_free and given != "content_filter") else [f"finish: {meant}"]


def _usage(truth: JSON, got: JSON) -> list[str]:
    counted = got["usage"] or {"input": 0, "output": 0}
    if truth["usage"] is None:
        return ["usage made up"] if counted["input"] or counted["output"] else []
    meant = {"input": truth["usage"]["input_tokens"], "output": truth["usage"]["output_tokens"]}
    return ["usage"] if any(meant[name] is not None and meant[name] != counted[name] for name in meant) else []


def inabilities_of(controls: Iterable[tuple[JSON, JSON]]) -> list[str]:
    """Return what a client does not make of clean streams: all that differs in a control, in words of `differences`.

    Args:
        controls: for each, what it means and what the client gave.
    """
    found: set[str] = set()
    pairs = [(truth, got) for truth, got in controls if not got.get("error")]
    gives_finish = any(got["finish"] is not None for truth, got in pairs if truth["error"] is None)
    for truth, got in pairs:
        found.update(differences(truth, got, gives_finish=gives_finish))
    return sorted(found - ALWAYS_HELD)
