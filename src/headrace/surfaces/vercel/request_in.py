"""A chat's post, in our words: UI messages as a conversation, and what it answers to what a run asked.

The rule of this file: what has the wrong type is an error with its path; parts that only a page needs (`data-*`, sources) are let pass. An
answer counts if it is in the last message, is clear, and, where there is a secret, stands beside the signature of the question: else it
is refused, and nothing runs.

Source: `ui/http-chat-transport.ts`, `ui/ui-messages.ts` and `ui/validate-ui-messages.ts` of the package `ai`, version 7.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Literal, cast

import msgspec

from headrace._json import EMPTY, JSON, dumps_text
from headrace.agent.approval import Pending, Reply
from headrace.errors import StateError, UsageError
from headrace.messages.message import Message
from headrace.messages.parts import Part, ProviderToolPart, RefusalPart, TextPart, ToolResultPart, make
from headrace.surfaces.answers import Questions
from headrace.surfaces.content import call, medium, reasoning, result
from headrace.surfaces.history import Conversation, split_input
from headrace.surfaces.vercel.signature import is_signed
from headrace.surfaces.vercel.voice import MARK
from headrace.wire.request_fields import Fields, read_body

Trigger = Literal["submit-message", "regenerate-message"]
_TRIGGERS: Final[dict[str, Trigger]] = {"submit-message": "submit-message", "regenerate-message": "regenerate-message"}
_DYNAMIC: Final = "dynamic-tool"
_TOOL: Final = "tool-"


class VercelRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A post.

    Attributes:
        chat_id: the chat.
        trigger: whether something new was said, or the last answer is wanted anew.
        message_id: the message that this is about, if the client says it.
        messages: the conversation as the client has it; without the last answer, if that is wanted anew.
        last: the last message as it came, if it is an answer: it holds the answers to questions.
        extra: members of the body that are the application's own.
    """

    chat_id: str
    trigger: Trigger = "submit-message"
    message_id: str | None = None
    messages: tuple[Message, ...] = ()
    last: dict[str, Any] | None = None
    extra: dict[str, Any] = EMPTY

    @property
    def split(self) -> tuple[tuple[Message, ...], tuple[Message, ...]]:
        """The history, and what is new."""
        return split_input(self.messages)


def read_request(body: bytes) -> VercelRequest:
    """Read a post.

    Raises:
        UsageError: it is none; `argument` is the path of what is wrong.
    """
    fields = read_body(body)
    chat_id, trigger = fields.required_text("id"), _TRIGGERS.get(fields.text("trigger") or "submit-message")
    if trigger is None:
        raise fields.unknown("trigger", "submit-message, regenerate-message")
    if fields.any("messages") is None:
        raise UsageError("messages is missing", argument="messages")
    held = list(fields.objects("messages"))
    is_answer = bool(held) and held[-1].values().get("role") == "assistant"
    if is_answer and trigger == "regenerate-message":
        held.pop()
        is_answer = False
    reader = _Reader()
    for message in held:
        reader.read(message)
    return VercelRequest(
        chat_id=chat_id,
        trigger=trigger,
        message_id=fields.text("messageId"),
        messages=reader.conversation.messages,
        last=held[-1].values() if is_answer else None,
        extra=fields.rest(),
    )


def read_answers(request: VercelRequest, pending: Sequence[Pending], *, secret: bytes | None = None) -> tuple[Reply, ...]:
    """Return the answers that a post holds to the questions of a run.

    Args:
        request: the post.
        pending: what the run waits for.
        secret: what the questions were signed with.

    Raises:
        StateError: an answer is to no question that is open, to another call, or its signature is missing or wrong.
        UsageError: an answer is not clear.
    """
    questions = Questions(pending)
    if request.last is None:
        return ()
    for part in Fields(request.last, "messages[-1]").objects("parts"):
        if _is_tool(part):
            _read_answer(part, questions, secret)
    return tuple(questions.replies)


def _read_answer(part: Fields, questions: Questions, secret: bytes | None) -> None:
    state, call_id = part.text("state"), part.required_text("toolCallId")
    if state == "approval-responded":
        approval = part.required_object("approval")
        digest = approval.required_text("id")
        question = questions.take(digest, approval.path)
        if question.call_key != call_id:
            raise StateError(f"{approval.path}: the question {digest!r} is about another call than {call_id!r}", argument=approval.path)
        held = {"approval_id": digest, "call_id": call_id, "name": _name(part), "arguments": part.any("input")}
        if secret is not None and not is_signed(secret, approval.text("signature"), **held):
            raise StateError(f"{approval.path}.signature is not that of this question", argument=f"{approval.path}.signature")
        if not isinstance(approval.any("approved"), bool):
            raise UsageError(f"{approval.path}.approved is neither true nor false", argument=f"{approval.path}.approved")
        questions.decide(question, {"approved": approval.any("approved"), "reason": approval.text("reason")}, approval.path)
    elif state == "output-error" or (state == "output-available" and not part.boolean("preliminary")):
        waiting = questions.external(call_id)
        if waiting is None:
            return
        if state == "output-error":
            questions.replies.append(waiting.answer(part.text("errorText") or "it failed", is_error=True))
        else:
            questions.replies.append(waiting.answer(part.any("output")))


def _is_tool(part: Fields) -> bool:
    kind = part.required_text("type")
    return kind == _DYNAMIC or kind.startswith(_TOOL)


def _name(part: Fields) -> str:
    kind = part.required_text("type")
    return part.required_text("toolName") if kind == _DYNAMIC else kind.removeprefix(_TOOL)


class _Reader:
    """Reads messages, one after the other."""

    def __init__(self) -> None:
        """Start before the first message."""
        self.conversation = Conversation()

    def read(self, fields: Fields) -> None:
        """Take the next message."""
        identifier, role = fields.text("id"), fields.required_text("role")
        parts = list(fields.objects("parts"))
        match role:
            case "user":
                said = [made for part in parts if (made := _said(part)) is not None]
                self.conversation.user(said, identifier)
            case "system":
                self.conversation.system("".join(part.text("text") or "" for part in parts), identifier)
            case "assistant":
                self._answer(parts, identifier)
            case _:
                raise fields.unknown("role", "user, assistant, system")

    def _answer(self, parts: list[Fields], identifier: str | None) -> None:
        """Take an answer: each step is one message of the model's, with the results behind it."""
        steps: list[list[Fields]] = [[]]
        for part in parts:
            if part.required_text("type") == "step-start":
                steps.append([])
            else:
                steps[-1].append(part)
        for number, step in enumerate(steps):
            self._step(step, None if identifier is None else f"{identifier}/{number}")

    def _step(self, parts: list[Fields], identifier: str | None) -> None:
        self.conversation.cut()
        results: list[ToolResultPart] = []
        for part in parts:
            if _is_tool(part):
                results += self._tool(part, identifier)
            elif part.required_text("type") == "reasoning":
                thought, provider = reasoning(part.text("text") or "", _sealed(part, "providerMetadata"))
                self.conversation.answer([thought], identifier, provider)
            elif (made := _said(part)) is not None:
                self.conversation.answer([made], identifier)
        for one in results:
            self.conversation.result(one)

    def _tool(self, part: Fields, identifier: str | None) -> list[ToolResultPart]:
        state, call_id, name = part.text("state"), part.required_text("toolCallId"), _name(part)
        if state == "input-streaming" or "path" in _ours(part, "callProviderMetadata"):
            return []  # it never became a call, or it is one of a sub-agent's
        given = part.any("input")
        if given is None:
            given = part.any("rawInput")
        arguments = cast("Any", given if isinstance(given, (str, dict)) else dumps_text(given))
        if part.boolean("providerExecuted"):
            parsed = cast("dict[str, Any]", given) if isinstance(given, dict) else None
            text = arguments if isinstance(arguments, str) else dumps_text(arguments)
            self.conversation.answer(
                [ProviderToolPart(id=call_id, name=name, arguments=text, parsed=parsed, result=part.any("output"))], identifier
            )
            return []
        made, provider = call(call_id, name, arguments, _sealed(part, "callProviderMetadata"))
        self.conversation.answer([made], identifier, provider)
        return _results(part, call_id, name, state)


def _results(part: Fields, call_id: str, name: str, state: str | None) -> list[ToolResultPart]:
    match state:
        case "output-available" if not part.boolean("preliminary"):
            output: JSON = part.any("output")
            return [
                ToolResultPart(call_id=call_id, name=name, parts=output if isinstance(output, str) else {"type": "json", "value": output})
            ]
        case "output-error":
            return [result(call_id, name, [TextPart(part.text("errorText") or "")], is_error=True)]
        case "output-denied":
            approval = part.object("approval")
            reason = (approval.text("reason") if approval is not None else None) or "A person denied this call."
            return [make(ToolResultPart, call_id=call_id, name=name, parts=(TextPart(reason),), state="denied")]
        case _:
            return []


def _said(part: Fields) -> Part | None:
    match part.required_text("type"):
        case "text":
            text = part.required_text("text")
            return RefusalPart(text) if _ours(part, "providerMetadata").get("kind") == "refusal" else TextPart(text)
        case "file":
            return medium(part.required_text("url"), part.required_text("mediaType"), name=part.text("filename"))
        case _:
            return None


def _ours(part: Fields, member: str) -> dict[str, Any]:
    """Return what we put into the metadata of a part."""
    metadata = part.object(member)
    held = None if metadata is None else metadata.object(MARK)
    return {} if held is None else held.values()


def _sealed(part: Fields, member: str) -> str | None:
    sealed = _ours(part, member).get("sealed")
    return sealed if isinstance(sealed, str) else None
