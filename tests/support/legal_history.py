"""An independent judge of histories: says what a provider would refuse. It shares no code with the library's own repairs."""

from __future__ import annotations

from typing import Any

from headrace.messages.message import AssistantMessage, Message, ToolMessage


def problems(messages: list[Message] | tuple[Message, ...]) -> list[str]:
    """What is wrong with a history: calls without a result in the next message, results without a call, broken order."""
    found: list[str] = []
    for n, message in enumerate(messages):
        follower = messages[n + 1] if n + 1 < len(messages) else None
        if isinstance(message, AssistantMessage) and message.tool_calls:
            calls = [call.id for call in message.tool_calls]
            results = [result.call_id for result in follower.results] if isinstance(follower, ToolMessage) else []
            if calls != results:
                found.append(f"messages[{n}]: the calls {calls} got the results {results}")
            if len(set(calls)) != len(calls) or not all(calls):
                found.append(f"messages[{n}]: the ids {calls} do not name the calls")
        if isinstance(message, ToolMessage):
            before = messages[n - 1] if n else None
            if not (isinstance(before, AssistantMessage) and before.tool_calls):
                found.append(f"messages[{n}]: results without calls before them")
    ids = [message.id for message in messages]
    if len(set(ids)) != len(ids) or None in ids:
        found.append(f"the ids {ids} do not name the messages")
    return found


def chat_problems(body: dict[str, Any]) -> list[str]:
    """What a strict Chat Completions server would refuse in a request's messages."""
    found: list[str] = []
    open_ids: list[str] = []
    seen: set[str] = set()
    for n, message in enumerate(body["messages"]):
        if message["role"] == "tool":
            if message["tool_call_id"] not in open_ids:
                found.append(f"messages[{n}]: a result for {message['tool_call_id']!r}, which waits for none")
            else:
                open_ids.remove(message["tool_call_id"])
            continue
        if open_ids:
            found.append(f"messages[{n}]: comes before the results of {open_ids}")
            open_ids = []
        for call in message.get("tool_calls", ()):
            if call["id"] in seen:
                found.append(f"messages[{n}]: the id {call['id']!r} again")
            seen.add(call["id"])
            open_ids.append(call["id"])
    if open_ids:
        found.append(f"the end: no results of {open_ids}")
    return found
