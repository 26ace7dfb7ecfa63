"""An independent judge of streams: says in what a stream is not as its vendor would send it. It shares no code with what writes them."""

from __future__ import annotations

import json

from canonical_gemini import gemini_faults
from canonical_responses import responses_faults
from gateway_ground import datas


def chat_faults(text):
    """What is wrong with a stream of Chat Completions."""
    events = datas(text)
    if not events:
        return ["there is no event"]
    if isinstance(events[-1], dict) and "error" in events[-1]:
        own = ["an event behind the error"] if any("error" in event for event in events[:-1]) else []
        return own + _chat_body_faults(events[:-1], is_whole=False)
    if events[-1] != "[DONE]":
        return ["no [DONE]"]
    return _chat_body_faults(events[:-1], is_whole=True)


def _chat_body_faults(events, *, is_whole):  # noqa: C901, PLR0912 - one walk, a line for each thing that can be wrong
    faults, finish, calls, usages = [], {}, {}, 0
    if len({(event["id"], event["model"], event["created"], event["object"]) for event in events}) > 1:
        faults.append("id, model or time change")
    for n, event in enumerate(events):
        if event.get("usage"):
            usages += 1
            if event["choices"] or n != len(events) - 1:
                faults.append("usage is not the last event's alone")
        for choice in event["choices"]:
            at = choice["index"]
            if at in finish:
                faults.append("something behind the finish reason")
            if choice["finish_reason"] is not None:
                finish[at] = choice["finish_reason"]
            for entry in choice["delta"].get("tool_calls", ()):
                key = (at, entry["index"])
                if key not in calls:
                    if entry["index"] != sum(1 for one, _ in calls if one == at):
                        faults.append("indexes are not dense")
                    body = entry.get(entry.get("type"), {})
                    if not entry.get("id") or not body.get("name"):
                        faults.append("the first fragment of a call has no id or name")
                    calls[key] = {"id": entry["id"], "text": ""}
                elif entry.get("id"):
                    faults.append("a later fragment has an id")
                calls[key]["text"] += entry.get("function", {}).get("arguments", "")
    ids = [call["id"] for call in calls.values()]
    if len(set(ids)) != len(ids):
        faults.append("two calls have one id")
    if not is_whole:
        return faults
    if usages > 1:
        faults.append("usage twice")
    for at, word in finish.items():
        own = [call for (one, _), call in calls.items() if one == at]
        if word == "tool_calls" and not own:
            faults.append("tool_calls without calls")
        if own and word == "stop":
            faults.append("stop with calls")
        faults += ["arguments are no object" for call in own if word == "tool_calls" and not _is_object(call["text"])]
    return faults if finish else [*faults, "no finish reason"]


def messages_faults(text):
    """What is wrong with a stream of the Messages protocol."""
    events = [event for event in datas(text) if event["type"] != "ping"]
    names = [line.removeprefix("event: ") for line in text.splitlines() if line.startswith("event: ") and line != "event: ping"]
    faults = [] if names == [event["type"] for event in events] else ["the names of the events are not their types"]
    if not events:
        return ["there is no event"]
    if events[-1]["type"] == "error":
        return faults + _block_faults(events[:-1], is_whole=False)
    if [events[0]["type"], events[-2]["type"], events[-1]["type"]] != ["message_start", "message_delta", "message_stop"]:
        faults.append("it does not begin or end as it should")
    return faults + _block_faults(events, is_whole=True)


def _block_faults(events, *, is_whole):  # noqa: C901 - the same
    faults, opened, kinds, ids, text = [], None, [], [], ""
    for event in events:
        match event["type"]:
            case "content_block_start":
                if opened is not None or event["index"] != len(kinds):
                    faults.append("blocks overlap or are not numbered densely")
                opened, text = event["index"], ""
                kinds.append(event["content_block"]["type"])
                if kinds[-1] == "tool_use":
                    ids.append(event["content_block"]["id"])
                    if not event["content_block"]["id"] or not event["content_block"]["name"]:
                        faults.append("a call begins without id or name")
            case "content_block_delta":
                if event["index"] != opened:
                    faults.append("a delta of a block that is not open")
                text += event["delta"].get("partial_json", "")
            case "content_block_stop":
                opened = None
                if kinds[-1] == "tool_use" and is_whole and not _is_object(text) and _stop_of(events) == "tool_use":
                    faults.append("arguments are no object")
            case _:
                pass
    if opened is not None and is_whole:
        faults.append("a block stays open")
    if len(set(ids)) != len(ids):
        faults.append("two calls have one id")
    if is_whole and (_stop_of(events) == "tool_use") and "tool_use" not in kinds:
        faults.append("tool_use without calls")
    if is_whole and "tool_use" in kinds and _stop_of(events) == "end_turn":
        faults.append("end_turn with calls")
    return faults


def _stop_of(events):
    return next((event["delta"]["stop_reason"] for event in events if event["type"] == "message_delta"), None)


def _is_object(text):
    try:
        return isinstance(json.loads(text or "{}"), dict)
    except ValueError:
        return False


JUDGES = {
    "openai-chat": chat_faults,
    "anthropic-messages": messages_faults,
    "openai-responses": responses_faults,
    "gemini": gemini_faults,
}
