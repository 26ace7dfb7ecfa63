"""An independent judge of streams of the Responses protocol; it shares no code with what writes them."""

from __future__ import annotations

import json

from gateway_ground import datas

_ENDS = {"response.completed": "completed", "response.incomplete": "incomplete", "response.failed": "failed"}


def responses_faults(text):
    """What is wrong with a stream of the Responses protocol."""
    events = datas(text)
    names = [line.removeprefix("event: ") for line in text.splitlines() if line.startswith("event: ")]
    if not events:
        return ["there is no event"]
    faults = [] if names == [event["type"] for event in events] else ["the names of the events are not their types"]
    if [event["sequence_number"] for event in events] != list(range(len(events))):
        faults.append("the events are not numbered densely")
    if events[-1]["type"] == "error":
        return faults + _item_faults(events[:-1])
    if [event["type"] for event in events[:2]] != ["response.created", "response.in_progress"]:
        faults.append("it does not begin as it should")
    status = _ENDS.get(events[-1]["type"])
    last = events[-1].get("response", {})
    if status is None or last.get("status") != status:
        return [*faults, "it does not end as it should"]
    faults += _item_faults(events)
    if status == "failed":
        return faults if last["error"] else [*faults, "it failed without an error"]
    if status == "incomplete" and not last["incomplete_details"]:
        faults.append("it is incomplete without a reason")
    ended = [event for event in events if event["type"] == "response.output_item.done"]
    done = [event["item"] for event in sorted(ended, key=lambda event: event["output_index"])]
    if last["output"] != done or len(done) != sum(event["type"] == "response.output_item.added" for event in events):
        faults.append("the whole at the end is not what came")
    if any(event["response"]["usage"] for event in events[:-1] if "response" in event):
        faults.append("usage before the end")
    return faults


def _item_faults(events):  # noqa: C901 - one walk, a line for each thing that can be wrong
    """Items come one after the other, but for calls of which nothing but the name has come yet."""
    faults, gathered, calls, count = [], {}, [], 0
    for event in events:
        kind = event["type"]
        if kind == "response.output_item.added":
            if any(gathered.values()) or event["output_index"] != count:
                faults.append("items overlap or are not numbered densely")
            gathered[event["item"]["id"]], count = "", count + 1
            if event["item"]["type"] == "function_call":
                calls.append(event["item"]["call_id"])
                if not event["item"]["call_id"] or not event["item"]["name"]:
                    faults.append("a call begins without id or name")
        elif kind == "response.output_item.done":
            if event["item"]["id"] not in gathered:
                faults.append("an item ends that is not open")
            faults += _call_faults(event["item"], gathered.pop(event["item"]["id"], ""))
        elif "item_id" in event:
            text = gathered.get(event["item_id"])
            if text is None:
                faults.append("something of an item that is not open")
            if kind == "response.output_text.done" and event["text"] != text:
                faults.append("a text at its end is not what came")
            if kind.endswith("part.done"):
                gathered[event["item_id"]] = ""
            elif kind.endswith(".delta"):
                gathered[event["item_id"]] = (text or "") + event["delta"]
    if len(set(calls)) != len(calls):
        faults.append("two calls have one id")
    return faults


def _call_faults(item, gathered):
    if item["type"] != "function_call":
        return []
    if item["arguments"] != gathered:
        return ["arguments at their end are not what came"]
    try:
        is_object = isinstance(json.loads(item["arguments"]), dict)
    except ValueError:
        is_object = False
    return [] if is_object or item["status"] == "incomplete" else ["arguments are no object"]
