"""Events as JSON: one event is one object, as in a log or a line of output.

The rule of this file: what is written and read again is equal. Typed decoding does the work (the fast way); where it refuses, a way that
goes part by part keeps what is unknown and says exactly what is wrong and where.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Final, cast

import msgspec

from headrace._json import JSON, dumps, loads, thaw
from headrace.agent.events import Event, ReminderAdded, RoundEnded, RunEnded, RunStarted, SubRun, ToolEnded, ToolOutput, ToolStarted
from headrace.errors import UsageError
from headrace.messages.json_form import has_opaque, opaque_form, to_dict
from headrace.messages.message import READER, AssistantMessage, UserMessage
from headrace.messages.parts import OpaquePart, Part, ToolResultPart, part_from_json

_DECODER: Final[msgspec.json.Decoder[Any]] = msgspec.json.Decoder(cast("Any", Event))


def encode_event(event: Event) -> bytes:
    """Return an event as compact JSON."""
    return dumps(_form(event) if _holds_opaque(event) else event)


def decode_event(data: bytes | str) -> Event:
    """Read an event; parts of a type that this version does not know are kept.

    Raises:
        UsageError: it is no event; the error says where.
    """
    try:
        return cast("Event", _DECODER.decode(data))
    except (msgspec.MsgspecError, UsageError, UnicodeError):
        pass
    try:
        return _slowly(loads(data))
    except (msgspec.ValidationError, ValueError) as error:
        raise UsageError(f"event: {error}", argument="event") from error


def _form(event: Event) -> dict[str, JSON]:
    """Return the form of an event that holds a part of an unknown type."""
    form: dict[str, JSON] = msgspec.to_builtins(event)
    match event:
        case RunStarted():
            form["input"] = [to_dict(message) for message in event.input]
        case RoundEnded(message=message) | RunEnded(message=message) | ReminderAdded(message=message) if message is not None:
            form["message"] = to_dict(message)
        case ToolOutput():
            form["output"] = _part_form(event.output)
        case ToolEnded():
            form["result"] = _part_form(event.result)
        case _:
            assert isinstance(event, SubRun)
            form["event"] = _form(event.event)
    return form


def _part_form(part: Part) -> JSON:
    if isinstance(part, ToolResultPart):
        form: dict[str, JSON] = msgspec.to_builtins(part)
        return form | {"parts": [_part_form(nested) for nested in part.parts]}
    return thaw(opaque_form(part)) if isinstance(part, OpaquePart) else msgspec.to_builtins(part)


def _holds_opaque(event: Event) -> bool:
    match event:
        case RunStarted():
            return any(has_opaque(message.parts) for message in event.input)
        case RoundEnded(message=message) | RunEnded(message=message) | ReminderAdded(message=message):
            return message is not None and has_opaque(message.parts)
        case ToolOutput():
            return has_opaque((event.output,))
        case ToolEnded():
            return has_opaque((event.result,))
        case SubRun():
            return _holds_opaque(event.event)
        case _:
            return False


_PLAIN: Final = {"input": (), "message": None, "output": {"type": "text", "text": ""}, "result": {"type": "tool_result", "call_id": ""}}
"""What stands in for a field while the rest of the event is read."""


def _slowly(form: JSON) -> Event:
    """Read an event part by part, so that unknown types of parts are kept."""
    if not isinstance(form, dict):
        raise UsageError(f"event is a {type(form).__name__}, not an object", argument="event")
    fields = cast("dict[str, JSON]", form)
    if fields.get("type") == "subrun":
        inner = _slowly(fields.get("event"))
        outer = msgspec.convert({**fields, "event": msgspec.to_builtins(_STAND_IN)}, type=SubRun)
        return msgspec.structs.replace(outer, event=inner)
    held = {name: fields[name] for name in _PLAIN if isinstance(fields.get(name), (dict, list))}
    stand_ins = {name: _PLAIN[name] for name in held}
    if fields.get("type") == "reminder_added":
        stand_ins["message"] = {"role": "user"}
    event = msgspec.convert({**fields, **stand_ins}, type=cast("Any", Event))
    values: dict[str, Any] = {name: _READ[name](value, f"event.{name}") for name, value in held.items()}
    return _checked(cast("Event", msgspec.structs.replace(event, **values)))


def _checked(event: Event) -> Event:
    """Refuse a message of another role than the event's."""
    match event:
        case RoundEnded(message=message) | RunEnded(message=message) if not isinstance(message, AssistantMessage | None):
            raise UsageError(f"event.message is a {type(message).__name__}, not an AssistantMessage", argument="event.message")
        case ReminderAdded(message=message) if not isinstance(message, UserMessage):
            raise UsageError(f"event.message is a {type(message).__name__}, not a UserMessage", argument="event.message")
        case ToolEnded(result=result) if not isinstance(result, ToolResultPart):
            raise UsageError(f"event.result is a {type(result).__name__}, not a ToolResultPart", argument="event.result")
        case _:
            return event


_READ: Final[dict[str, Any]] = {
    "input": READER.many_from,
    "message": READER.one_from,
    "output": part_from_json,
    "result": part_from_json,
}
_STAND_IN: Final = ToolStarted(1, "", 0, datetime.min.replace(tzinfo=UTC), "")
