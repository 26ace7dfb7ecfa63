"""Messages: one turn of one role, frozen, in one model for every provider.

The rule of this file: a message cannot change after it is made; what it holds is checked when it is made and when it
is decoded. Constructors that people call stamp an id and a time; `assemble`, which machines call, stamps nothing.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self, TypeVar, Unpack, cast, overload

import msgspec

from headrace._json import EMPTY, JSON, check_text, freeze
from headrace.errors import UsageError
from headrace.messages.checked import convert_checked
from headrace.messages.fields import AssistantFields, Content, GenerateReason, MessageFields, Origin, Role, Timing, ToolFields, utc
from headrace.messages.finish import FinishReason
from headrace.messages.json_form import MessageReader, to_dict, to_json
from headrace.messages.parts import (
    JsonPart,
    MediaPart,
    OpaquePart,
    Part,
    ReasoningPart,
    RefusalPart,
    ResultState,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    parts_of,
)
from headrace.messages.structured import convert
from headrace.messages.usage import Usage
from headrace.messages.warning import Warning  # noqa: A004 - the field's word

__all__ = [  # the words of `fields.py` belong to messages, so they can be had here too
    "ROLES", "AssistantMessage", "GenerateReason", "Message", "Origin", "Role", "SystemMessage", "Timing", "ToolMessage", "UserMessage",
]  # fmt: skip

P = TypeVar("P", bound=Part)
T = TypeVar("T")
_NOTHING: Final[tuple[()]] = ()


class MessageMeta(msgspec.StructMeta):
    """Gives messages the constructor that people call; decoding and `assemble` do not come by here."""

    def __call__(cls: type[T], content: object = _NOTHING, /, **fields: Any) -> T:  # noqa: N805 - a metaclass, which ruff cannot see
        """Make a message: the content as the one positional argument, all else by keyword.

        Raises:
            UsageError: the content is no JSON, the role may not carry it, or a field is unknown or of a wrong type.
        """
        kind: Any = cls
        if kind is Message:
            raise UsageError("Message is the base class: use Message.of(role, …) or a class of one role", argument="role")
        if "parts" in fields:
            if content is not _NOTHING:
                raise UsageError(f"{kind.__name__} got its parts twice", argument="parts")
            content = fields.pop("parts")
        return cast("T", kind._make(content, fields))


class Message(msgspec.Struct, frozen=True, gc=False, omit_defaults=True, tag_field="role", metaclass=MessageMeta):
    """One turn of one role; the base of the four classes.

    Attributes:
        parts: the content.
        id: names the message; None only if it was assembled or stored without one.
        name: the speaker's name, or None.
        created_at: when it was made, in UTC, or None if unknown.
        metadata: JSON of the caller's own; no provider sees it.
        origin: who made it; `framework` means synthetic.
        reminder_kind: for a synthetic reminder: which one.
    """

    parts: tuple[Part, ...] = ()
    id: str | None = None
    name: str | None = None
    created_at: datetime | None = None
    metadata: dict[str, Any] = EMPTY
    origin: Origin = "user"
    reminder_kind: str | None = None

    _ROLE: ClassVar[Role]
    _ORIGIN: ClassVar[Origin] = "user"
    _ALLOWED: ClassVar[tuple[type[Any], ...] | None] = None
    _JSON: ClassVar[tuple[str, ...]] = ()
    _TEXT: ClassVar[tuple[str, ...]] = ("id", "name", "reminder_kind")

    @staticmethod
    def of(role: str, content: object = (), /, **fields: Any) -> Message:
        """Make a message of a role named by text.

        Raises:
            UsageError: there is no such role.
        """
        kind = ROLES.get(role)
        if kind is None:
            raise UsageError(f"there is no role {role!r}; the roles are {', '.join(ROLES)}", argument="role")
        return cast("Message", cast("Any", kind)(content, **fields))

    @classmethod
    def assemble(cls, parts: Sequence[Part] = (), **fields: Any) -> Self:
        """Make a message from its stored fields, as machines do: no id and no time is stamped."""
        return cast("Self", msgspec.StructMeta.__call__(cls, parts=tuple(parts), **fields))

    @classmethod
    def _make(cls, content: object, fields: dict[str, Any]) -> Self:
        fields.setdefault("id", uuid.uuid4().hex)
        fields.setdefault("created_at", datetime.now(UTC))
        fields.setdefault("origin", cls._ORIGIN)
        return cls._checked(parts_of(content), fields)

    @classmethod
    def _checked(cls, parts: tuple[Part, ...], fields: dict[str, Any]) -> Self:
        unknown = set(fields) - set(cls.__struct_fields__)
        if unknown:
            raise UsageError(f"{cls.__name__} has no field {min(unknown)!r}", argument=min(unknown))
        if fields.get("metadata", EMPTY) is None:
            fields["metadata"] = EMPTY
        for name in ("metadata", *cls._JSON):
            if fields.get(name) is not None:
                fields[name] = freeze(fields[name], name)
        if isinstance(fields.get("created_at"), datetime):
            fields["created_at"] = utc(fields["created_at"])
        checked = convert_checked({**fields, "parts": ()}, cls, cls.__name__)
        return cls.assemble(parts, **{name: getattr(checked, name) for name in fields})

    def __post_init__(self) -> None:
        """Freeze what could be changed from outside, and check which parts the role may carry."""
        kind = type(self)
        if self.metadata is not EMPTY:
            msgspec.structs.force_setattr(self, "metadata", freeze(self.metadata, "metadata"))
        if self.created_at is not None:
            msgspec.structs.force_setattr(self, "created_at", utc(self.created_at))
        if (
            self.origin is not kind._ORIGIN and self.origin == kind._ORIGIN
        ):  # a default is left out of JSON by identity, and a pickle gives another equal text
            msgspec.structs.force_setattr(self, "origin", kind._ORIGIN)
        for field in kind._JSON:
            value: JSON = getattr(self, field)
            if value is not None:
                msgspec.structs.force_setattr(self, field, freeze(value, field))
        for field in kind._TEXT:
            text = getattr(self, field)
            if text is not None and not (type(text) is str and text.isascii()) and isinstance(text, str):
                check_text(text, field)
        for n, part in enumerate(self.parts):
            if not kind._may_carry(part):
                raise UsageError(f"parts[{n}]: a {kind._ROLE} message cannot carry a {type(part).__name__}", argument=f"parts[{n}]")

    @classmethod
    def _may_carry(cls, part: Part) -> bool:
        return cls._ALLOWED is None or isinstance(part, cls._ALLOWED)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by fields; the constructor that people call is not the stored form."""
        return (_rebuild, (type(self), msgspec.structs.asdict(self)))

    @property
    def role(self) -> Role:
        """The role: `system`, `user`, `assistant` or `tool`."""
        return self._ROLE

    @property
    def text(self) -> str:
        """The text parts, joined with nothing."""
        return self.join_text("")

    def join_text(self, separator: str = "\n") -> str:
        """Return the text parts joined with a separator; those inside tool results count."""
        inner = (nested for part in self.parts for nested in (part.parts if isinstance(part, ToolResultPart) else (part,)))
        return separator.join(part.text for part in inner if isinstance(part, TextPart))

    @property
    def reasoning(self) -> str:
        """The reasoning parts' text, joined with nothing."""
        return "".join(part.text for part in self.parts if isinstance(part, ReasoningPart))

    @property
    def refusal(self) -> str:
        """The refusal parts' text, joined with nothing."""
        return "".join(part.text for part in self.parts if isinstance(part, RefusalPart))

    @property
    def tool_calls(self) -> tuple[ToolCallPart, ...]:
        """The tool calls that the client has to run, in order."""
        return tuple([part for part in self.parts if isinstance(part, ToolCallPart)])

    def parts_of(self, part_type: type[P], *, kind: str | None = None) -> tuple[P, ...]:
        """Return the parts of one class, in order; `kind` narrows media (`image`, …) and calls (`function`, …)."""
        return tuple([part for part in self.parts if isinstance(part, part_type) and (kind is None or getattr(part, "kind", None) == kind)])

    @overload
    def first(self) -> Part | None: ...
    @overload
    def first(self, part_type: type[P]) -> P | None: ...
    def first(self, part_type: type[Any] = object) -> Any:
        """Return the first part (of one class), or None."""
        return next((part for part in self.parts if isinstance(part, part_type)), None)

    def has(self, part_type: type[Any]) -> bool:
        """Return whether there is a part of this class."""
        for part in self.parts:  # noqa: SIM110 - asked often, of few parts
            if isinstance(part, part_type):
                return True
        return False

    @property
    def has_structured(self) -> bool:
        """Whether the message holds structured output; null is one where an agent has returned the message as `structured_output`."""
        is_answer = getattr(self, "generate_reason", None) == "structured_output"
        return is_answer or getattr(self, "structured_output", None) is not None

    @overload
    def structured(self) -> dict[str, Any]: ...
    @overload
    def structured(self, target: type[T]) -> T: ...
    def structured(self, target: Any = dict) -> Any:
        """Return the structured output as a type, in a copy: a pydantic model, dataclass, TypedDict, msgspec Struct or dict.

        Raises:
            NoStructuredOutputError: there is none.
            InvalidStructuredOutputError: it does not convert.
        """
        return convert(getattr(self, "structured_output", None), target, is_there=self.has_structured)

    def replace(self, **changes: Any) -> Self:
        """Return a copy of the same class with some fields changed; `parts` takes what the constructor takes.

        Raises:
            UsageError: there is no such field, or the value does not fit.
        """
        fields = {name: getattr(self, name) for name in self.__struct_fields__} | changes
        return self._checked(parts_of(fields.pop("parts"), "parts"), fields)

    def to_json(self) -> bytes:
        """Return the message as compact JSON; `from_json` gives an equal message."""
        return to_json(self)

    def to_dict(self) -> dict[str, JSON]:
        """Return the message as plain dictionaries and lists, ready for any JSON encoder; the caller may change them."""
        return to_dict(self)

    @classmethod
    def from_json(cls, data: bytes | str) -> Self:
        """Read a message of this class (`Message` itself: of any role) from JSON. Nothing is stamped: an id that is missing stays None.

        Raises:
            UsageError: it is no such message; the error names the path, such as `message.parts[0].text`.
        """
        return cls._expect(READER.read(data))

    @classmethod
    def from_dict(cls, data: Mapping[str, JSON]) -> Self:
        """Like `from_json`, from dictionaries and lists."""
        return cls._expect(READER.one_from(data))

    @classmethod
    def _expect(cls, message: Message) -> Self:
        if not isinstance(message, cls):
            raise UsageError(f"message.role is {message.role!r}, but {cls.__name__} was asked to read it", argument="message.role")
        return message


class SystemMessage(Message, frozen=True, tag="system", kw_only=True):
    """Instructions to the model; text only."""

    _ROLE = "system"
    _ALLOWED = (TextPart,)

    if TYPE_CHECKING:  # what `MessageMeta` takes

        def __init__(self, content: Content = (), /, **fields: Unpack[MessageFields]) -> None:
            """Take the content, and the other fields by keyword."""


class UserMessage(Message, frozen=True, tag="user", kw_only=True):
    """What a person (or a program in their place) says: text, media, JSON."""

    _ROLE = "user"
    _ALLOWED = (TextPart, MediaPart, JsonPart, OpaquePart)

    if TYPE_CHECKING:  # what `MessageMeta` takes

        def __init__(self, content: Content = (), /, **fields: Unpack[MessageFields]) -> None:
            """Take the content, and the other fields by keyword."""


class AssistantMessage(Message, frozen=True, tag="assistant", kw_only=True, omit_defaults=True):
    """What the model said in one turn.

    Attributes:
        model: the model's name, as the provider reports it.
        provider: who answered.
        run_id: the run it belongs to.
        usage: what the call used.
        timing: how long the call took; None when replayed.
        finish_reason: why the model stopped, neutral.
        finish_reason_raw: the provider's word for it.
        generate_reason: why an agent returned this message; None until one does.
        structured_output: the typed answer, as JSON; None where there is none, or where it is null: `has_structured` says which.
        parsed: an output parser's value.
        warnings: what was repaired or odd.
        logprobs: log-probabilities, as the provider puts them.
        prompt_token_ids, completion_token_ids: token ids, where the server gives them.
    """

    origin: Origin = "model"
    model: str | None = None
    provider: str | None = None
    run_id: str | None = None
    usage: Usage | None = None
    timing: Timing | None = None
    finish_reason: FinishReason | None = None
    finish_reason_raw: str | None = None
    generate_reason: GenerateReason | None = None
    structured_output: Any = None
    parsed: Any = None
    warnings: tuple[Warning, ...] = ()
    logprobs: Any = None
    prompt_token_ids: tuple[int, ...] | None = None
    completion_token_ids: tuple[int, ...] | None = None

    _ROLE = "assistant"
    _ORIGIN = "model"
    _JSON = ("structured_output", "parsed", "logprobs")
    _TEXT = ("id", "name", "reminder_kind", "model", "provider", "run_id", "finish_reason_raw")

    if TYPE_CHECKING:  # what `MessageMeta` takes

        def __init__(self, content: Content = (), /, **fields: Unpack[AssistantFields]) -> None:
            """Take the content, and the other fields by keyword."""

    @classmethod
    def _checked(cls, parts: tuple[Part, ...], fields: dict[str, Any]) -> Self:
        if fields.get("usage") is not None:
            fields["usage"] = Usage.of(fields["usage"])
        return super()._checked(parts, fields)

    @classmethod
    def _may_carry(cls, part: Part) -> bool:
        return not isinstance(part, ToolResultPart)


class ToolMessage(Message, frozen=True, tag="tool", kw_only=True):
    """What tools gave back.

    `ToolMessage(text_or_parts, call_id=…, name=…, state="success")` makes one `ToolResultPart`; a list of
    `ToolResultPart`s is taken as it is.
    """

    origin: Origin = "tool"

    _ROLE = "tool"
    _ORIGIN = "tool"
    _ALLOWED = (ToolResultPart, OpaquePart)

    if TYPE_CHECKING:  # what `MessageMeta` takes

        def __init__(self, content: Content = (), /, **fields: Unpack[ToolFields]) -> None:
            """Take the content, and the other fields by keyword."""

    @classmethod
    def _make(cls, content: object, fields: dict[str, Any]) -> Self:
        call_id, state = fields.pop("call_id", None), fields.pop("state", None)
        parts = parts_of(content)
        is_results = bool(parts) and all(isinstance(part, (ToolResultPart, OpaquePart)) for part in parts)
        if is_results and call_id is None and state is None:
            return super()._make(parts, fields)
        if not isinstance(call_id, str):
            raise UsageError("ToolMessage needs call_id=…, the id of the call it answers", argument="call_id")
        name = fields.get("name")
        result = ToolResultPart(call_id=call_id, name=name or "", parts=parts, state=cast("ResultState", state or "success"))
        return super()._make((result,), fields)

    @property
    def results(self) -> tuple[ToolResultPart, ...]:
        """The results, in order."""
        return self.parts_of(ToolResultPart)


ROLES: Final[dict[str, type[Message]]] = {
    "system": SystemMessage,
    "user": UserMessage,
    "assistant": AssistantMessage,
    "tool": ToolMessage,
}
"""Every message class by its `role` in JSON."""

READER: Final = MessageReader(ROLES)
"""Reads a message of any role from JSON."""


def _rebuild(kind: type[Message], fields: dict[str, Any]) -> Message:
    return kind.assemble(**fields)
