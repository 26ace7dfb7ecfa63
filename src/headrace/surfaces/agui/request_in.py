"""A client's `RunAgentInput`, in our words.

The rule of this file: what has the wrong type is an error with its path; members that we do not know are let pass, as the specification
asks of a consumer. The package of the protocol is not needed: its models are what tests compare with.

Source: https://ag-ui.com/spec/1.0/schema.json, RunAgentInput.
"""

from __future__ import annotations

from typing import Any, Final, Literal, cast

import msgspec

from headrace.errors import UsageError
from headrace.messages.message import Message
from headrace.messages.parts import MediaPart, Part, TextPart
from headrace.surfaces.content import call, medium, reasoning, result
from headrace.surfaces.history import Conversation, split_input
from headrace.surfaces.surface import Form
from headrace.surfaces.tools_in import external_tool
from headrace.tools.tool import Tool
from headrace.wire.request_fields import Fields, read_body

_MEDIA: Final = ("image", "audio", "video", "document")
_ROLES: Final = "user, assistant, system, developer, tool, reasoning, activity"


class ResumeEntry(msgspec.Struct, frozen=True):
    """An answer to a question.

    Attributes:
        interrupt_id: the question's id: its digest.
        status: whether it was answered, or left.
        payload: the answer.
    """

    interrupt_id: str
    status: Literal["resolved", "cancelled"]
    payload: Any = None


class ToolResult(msgspec.Struct, frozen=True):
    """What the client says that a call gave.

    Attributes:
        call_key: the call.
        parts: the content.
        error: what went wrong, if something did.
    """

    call_key: str
    parts: tuple[Part, ...]
    error: str | None = None


class AguiRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request.

    Attributes:
        thread_id, run_id, parent_run_id: the client's names for the conversation, this leg, and the run that it comes from.
        protocol_version: what it declared, or None.
        messages: the whole conversation as the client has it.
        forms: the same as they came, for `AguiOut`.
        results: what the client says that calls gave, in order; `answers_in` finds those that a run waits for.
        tools: the tools that the client runs itself.
        context: what the client tells beside the conversation: descriptions and values.
        state: the client's state.
        forwarded: `forwardedProps`.
        resume: answers to what was asked.
    """

    thread_id: str
    run_id: str
    parent_run_id: str | None = None
    protocol_version: str | None = None
    messages: tuple[Message, ...] = ()
    forms: tuple[Form, ...] = ()
    results: tuple[ToolResult, ...] = ()
    tools: tuple[Tool[..., Any], ...] = ()
    context: tuple[tuple[str, str], ...] = ()
    state: Any = None
    forwarded: Any = None
    resume: tuple[ResumeEntry, ...] = ()

    @property
    def split(self) -> tuple[tuple[Message, ...], tuple[Message, ...]]:
        """The history, and what is new."""
        return split_input(self.messages)

    @property
    def context_text(self) -> str:
        """The context as one text for a model; "" if there is none."""
        return "\n".join(f"{description}: {value}" for description, value in self.context)


def read_request(body: bytes) -> AguiRequest:
    """Read a request.

    Raises:
        UsageError: it is none; `argument` is the path of what is wrong.
    """
    fields = read_body(body)
    thread_id, run_id = fields.required_text("threadId"), fields.required_text("runId")
    if fields.any("messages") is None:
        raise UsageError("messages is missing", argument="messages")
    held = list(fields.objects("messages"))
    reader = _Reader()
    for message in held:
        reader.read(message)
    return AguiRequest(
        thread_id=thread_id,
        run_id=run_id,
        parent_run_id=fields.text("parentRunId"),
        protocol_version=fields.text("protocolVersion"),
        messages=reader.conversation.messages,
        forms=tuple(message.values() for message in held),
        results=tuple(reader.results),
        tools=tuple(_tool(tool) for tool in fields.objects("tools")),
        context=tuple((one.required_text("description"), one.required_text("value")) for one in fields.objects("context")),
        state=fields.any("state"),
        forwarded=fields.any("forwardedProps"),
        resume=tuple(_entry(entry) for entry in fields.objects("resume")),
    )


def _tool(fields: Fields) -> Tool[..., Any]:
    parameters = fields.object("parameters")
    schema = None if parameters is None else parameters.values()
    return external_tool(fields.required_text("name"), fields.text("description") or "", schema, fields.path)


def _entry(fields: Fields) -> ResumeEntry:
    status = fields.required_text("status")
    if status not in ("resolved", "cancelled"):
        raise fields.unknown("status", "resolved, cancelled")
    return ResumeEntry(fields.required_text("interruptId"), cast("Any", status), fields.any("payload"))


class _Reader:
    """Reads messages, one after the other."""

    def __init__(self) -> None:
        """Start before the first message."""
        self.conversation = Conversation()
        self.results: list[ToolResult] = []

    def read(self, fields: Fields) -> None:
        """Take the next message; what a sub-agent said is no part of the conversation."""
        identifier, role = fields.required_text("id"), fields.required_text("role")
        is_inner = fields.text("subagentRunId") is not None
        match role:
            case "tool":
                self._tool(fields, is_inner=is_inner)
            case _ if is_inner:
                pass
            case "user":
                self.conversation.user(content_parts(fields), identifier, fields.text("name"))
            case "assistant":
                self._assistant(fields, identifier)
            case "reasoning":
                part, provider = reasoning(fields.text("content") or "", fields.text("encryptedValue"))
                self.conversation.answer([part], identifier.partition("/")[0], provider)
            case "system" | "developer":
                self.conversation.system(fields.required_text("content"), identifier)
            case "activity":
                pass
            case _:
                raise fields.unknown("role", _ROLES)

    def _assistant(self, fields: Fields, identifier: str) -> None:
        text = fields.text("content")
        parts: list[Part] = [TextPart(text)] if text else []
        provider: str | None = None
        for one in fields.objects("toolCalls"):
            function = one.required_object("function")
            part, made_by = call(
                one.required_text("id"), function.required_text("name"), function.text("arguments") or "", one.text("encryptedValue")
            )
            provider = provider or made_by
            parts.append(part)
        self.conversation.answer(parts, identifier.partition("/")[0], provider)

    def _tool(self, fields: Fields, *, is_inner: bool) -> None:
        call_key, error = fields.required_text("toolCallId"), fields.text("error")
        parts = content_parts(fields)
        self.results.append(ToolResult(call_key, parts, error))
        if not is_inner:
            name = self.conversation.names.get(call_key, "")
            given = parts or ((TextPart(error),) if error else ())
            self.conversation.result(result(call_key, name, given, is_error=error is not None))


def content_parts(fields: Fields) -> tuple[Part, ...]:
    """Return the content of a message: a text, or a list of parts."""
    value = fields.any("content")
    if isinstance(value, str):
        return (TextPart(value),) if value else ()
    if value is None:
        raise UsageError(f"{fields.at('content')} is missing", argument=fields.at("content"))
    return tuple(_part(part) for part in fields.objects("content"))


def _part(fields: Fields) -> Part:
    kind = fields.required_text("type")
    if kind == "text":
        return TextPart(fields.required_text("text"))
    if kind not in _MEDIA:
        raise fields.unknown("type", ", ".join(("text", *_MEDIA)))
    source = fields.required_object("source")
    where, value, media_type = source.required_text("type"), source.required_text("value"), source.text("mimeType")
    match where:
        case "data":
            return medium(f"data:{media_type or ''};base64,{value}", media_type, kind=cast("Any", kind))
        case "url":
            return medium(value, media_type, kind=cast("Any", kind))
        case "file":
            return MediaPart(kind=cast("Any", kind), file_id=value, media_type=media_type)
        case _:
            raise source.unknown("type", "data, url, file")
