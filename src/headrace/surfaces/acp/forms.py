"""The objects of the Agent Client Protocol that a run needs: blocks of content, calls, permission requests, prompts.

The rule of this file: JSON objects, named as in the protocol; the official package reads them at the edge.

Source: https://agentclientprotocol.com/protocol/schema, version 1.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from typing import Any, Final, cast

from headrace._json import JSON, thaw
from headrace.agent.approval import Pending, Reply
from headrace.errors import UsageError
from headrace.messages.parts import MediaPart, Part, TextPart
from headrace.surfaces.content import medium, text_of, usual_type
from headrace.surfaces.surface import Form
from headrace.wire.request_fields import Fields

MARK: Final = "headrace"
_YES, _ALWAYS, _NO = "allow_once", "allow_always", "reject_once"
_TITLE: Final = 120


def block(part: Part) -> Form:
    """Return a part as a block of content."""
    if isinstance(part, MediaPart):
        if part.data is not None and part.kind in ("image", "audio"):
            encoded = base64.b64encode(part.data).decode("ascii")
            return {"type": part.kind, "data": encoded, "mimeType": part.media_type or usual_type(part.kind)}
        if part.url is not None:
            return {"type": "resource_link", "name": part.name or part.kind, "uri": part.url}
    return {"type": "text", "text": text_of([part])}


def contents(parts: Iterable[Part]) -> list[Form]:
    """Return parts as what a call shows."""
    return [{"type": "content", "content": block(part)} for part in parts]


def raw_input(parsed: Mapping[str, Any] | None, arguments: str) -> JSON:
    """Return a call's arguments: the object, or the text if it is none."""
    return arguments if parsed is None else thaw(dict(parsed))


def title(name: str, arguments: str = "") -> str:
    """Return what a call is called for a person."""
    text = f"{name} {arguments}".strip() if arguments not in ("", "{}") else name
    return text if len(text) <= _TITLE else f"{text[: _TITLE - 1]}…"


# ---------------------------------------------------------------------------------------------- questions


def permission_request(pending: Pending) -> Form:
    """Return a question as the members of `session/request_permission` beside the session's id.

    The protocol asks for a yes or a no; a call whose value somebody else has to give cannot be asked about (`is_askable`).
    """
    in_doubt = pending.kind == "in_doubt"
    options = [{"optionId": _YES, "name": "Run it again" if in_doubt else "Allow", "kind": _YES}]
    if pending.suggestions and not in_doubt:
        options.append({"optionId": _ALWAYS, "name": f"Always {pending.suggestions[0]}", "kind": _ALWAYS})
    options.append({"optionId": _NO, "name": "Give it up" if in_doubt else "Reject", "kind": _NO})
    return {
        "toolCall": {
            "toolCallId": pending.call_key,
            "title": title(pending.call.name, pending.call.arguments),
            "status": "pending",
            "rawInput": raw_input(pending.call.parsed, pending.call.arguments),
            **({"content": contents([TextPart(pending.reason)])} if pending.reason else {}),
        },
        "options": options,
    }


def is_askable(pending: Pending) -> bool:
    """Return whether a person in front of an editor can answer a question."""
    return pending.kind != "external"


def read_permission(outcome: Mapping[str, Any], pending: Pending) -> Reply | None:
    """Return a person's answer; None: the prompt was cancelled, and nobody answered.

    Args:
        outcome: the member `outcome` of the response.
        pending: the question.

    Raises:
        UsageError: no such option was given; then nothing is allowed.
    """
    if outcome.get("outcome") == "cancelled":
        return None
    chosen = outcome.get("optionId") if outcome.get("outcome") == "selected" else None
    if chosen == _YES:
        return pending.approve()
    if chosen == _ALWAYS and pending.suggestions and pending.kind != "in_doubt":
        return pending.approve(rules=pending.suggestions[:1])
    if chosen == _NO:
        return pending.deny()
    raise UsageError(f"outcome.optionId is {chosen!r}, which was no option", argument="outcome.optionId")


# ---------------------------------------------------------------------------------------------- prompts


def read_prompt(blocks: JSON) -> tuple[Part, ...]:
    """Return the blocks of a prompt as parts of a user's message.

    A file that is only named is told by its name and address; one that is embedded with its text between tags that name it.

    Raises:
        UsageError: a block is none.
    """
    fields = Fields({"prompt": blocks}, "")
    return tuple(_part(one) for one in fields.objects("prompt"))


def _part(fields: Fields) -> Part:
    match fields.required_text("type"):
        case "text":
            return TextPart(fields.required_text("text"))
        case "image" | "audio" as kind:
            media_type = fields.required_text("mimeType")
            return medium(f"data:{media_type};base64,{fields.required_text('data')}", media_type, kind=kind)
        case "resource_link":
            return TextPart(f"[{fields.required_text('name')}]({fields.required_text('uri')})")
        case "resource":
            return _resource(fields.required_object("resource"))
        case _:
            raise fields.unknown("type", "text, image, audio, resource_link, resource")


def _resource(fields: Fields) -> Part:
    uri, text, media_type = fields.required_text("uri"), fields.text("text"), fields.text("mimeType")
    if text is not None:
        return TextPart(f'<resource uri="{uri}">\n{text}\n</resource>')
    return medium(f"data:{media_type or ''};base64,{fields.required_text('blob')}", media_type, name=uri.rpartition("/")[2] or None)


def fields_of(form: object) -> dict[str, Any]:
    """Return an object of the official package as JSON."""
    dump = getattr(form, "model_dump", None)
    return cast("dict[str, Any]", form if dump is None else dump(mode="json", by_alias=True, exclude_none=True))
