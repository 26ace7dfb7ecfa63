"""An independent judge of streams of Gemini's protocol, as events; it shares no code with what writes them."""

from __future__ import annotations

from gateway_ground import datas


def gemini_faults(text):  # noqa: C901 - one walk, a line for each thing that can be wrong
    """What is wrong with a stream of `streamGenerateContent`."""
    events = datas(text)
    if not events or not all(isinstance(event, dict) for event in events):
        return ["there is no event, or one that is no object"]
    is_whole = "error" not in events[-1]
    if not is_whole:
        error = events.pop()["error"]
        if not (error["code"] and error["message"] and error["status"]):
            return ["an error that does not say what it is"]
    faults, finish, ids, has_said = [], {}, [], set()
    if len({(event["responseId"], event["modelVersion"]) for event in events}) > 1:
        faults.append("id or model change")
    for event in events:
        for candidate in event.get("candidates", ()):
            at = candidate.get("index", 0)
            if at in finish:
                faults.append("something behind the finish reason")
            content = candidate.get("content", {})
            if content.get("role", "model") != "model":
                faults.append("it is not the model's")
            for part in content.get("parts", ()):
                has_said.add(at)
                faults += _call_faults(part.get("functionCall"), ids)
            if "finishReason" in candidate:
                finish[at] = candidate["finishReason"]
    if len(set(ids)) != len(ids):
        faults.append("two calls have one id")
    is_refused = any("promptFeedback" in event for event in events)  # the question itself
    if is_whole and not is_refused and (not finish or not has_said <= set(finish)):
        faults.append("no finish reason")
    if is_whole and any("usageMetadata" in event for event in events[:-1]):
        faults.append("usage before the end")
    return faults


def _call_faults(call, ids):
    if call is None:
        return []
    if "id" in call:
        ids.append(call["id"])
    return [] if call.get("name") and isinstance(call.get("args", {}), dict) else ["a call without a name, or arguments that are no object"]
