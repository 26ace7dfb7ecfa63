"""What people write when they make a chunk, turned into deltas.

The rule of this file: what a person gives is checked and copied here, once, and a mistake is a `UsageError` that names the argument;
so what is in a chunk can be folded later without a surprise, and nothing outside can change it.
"""

from __future__ import annotations

import copy
import inspect
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final, TypedDict, TypeVar, cast, get_args

import msgspec

from headrace._json import JSON, freeze
from headrace.errors import UsageError, UsageTypeError
from headrace.messages.checked import convert_checked
from headrace.messages.deltas import (
    Delta,
    FinishDelta,
    LogprobsDelta,
    MessageStart,
    MetadataDelta,
    ParsedDelta,
    PartDelta,
    ReasoningDelta,
    RefusalDelta,
    TextDelta,
    TokenIdsDelta,
    ToolCallFragment,
    ToolResultDelta,
    UsageDelta,
)
from headrace.messages.message import AssistantMessage, Message, SystemMessage, UserMessage
from headrace.messages.parts import ProviderToolPart, ResultState, ToolCallPart, ToolResultPart, parts_of
from headrace.messages.usage import Usage

T = TypeVar("T")
_CALLED: Final = re.compile(r"^\w+\(\) ")
_QUOTED: Final = re.compile(r"'(\w+)'$")


class ChunkMeta(msgspec.StructMeta):
    """Gives chunks the constructor that people call; decoders make theirs from deltas."""

    def __call__(cls: type[T], *args: Any, **fields: Any) -> T:  # noqa: N805 - a metaclass, which ruff cannot see
        """Make a chunk from what a person wrote.

        Raises:
            UsageError: an argument is missing, unknown or wrong; the error names it.
        """
        kind: Any = cls
        try:
            deltas = kind._MAKE_DELTAS(*args, **fields)
        except TypeError as error:  # of the call itself: what is in the arguments is checked, and raises `UsageError`
            what = _CALLED.sub("", str(error))
            named = _QUOTED.search(what)
            raise UsageTypeError(f"{cls.__name__} {what}", argument=named[1] if named else cls.__name__) from error
        return cast("T", kind.from_deltas(deltas))

    @property
    def __signature__(cls) -> inspect.Signature:  # noqa: N805 - a metaclass, which ruff cannot see
        """What the class takes, for `help()` and its like."""
        kind: Any = cls
        return inspect.signature(kind._MAKE_DELTAS)


class PlainFields(TypedDict, total=False):
    """What the chunks of users and systems take by keyword."""

    name: str | None
    metadata: Mapping[str, Any] | None
    snapshot_keys: Iterable[str]


def no_deltas() -> list[Delta]:
    """Return what makes the identity."""
    return []


def assistant_deltas(
    content: object = None,
    *,
    reasoning: str | None = None,
    refusal: str | None = None,
    tool_calls: Iterable[ToolCallFragment | ToolCallPart] | None = None,
    usage: Usage | Mapping[str, Any] | None = None,
    finish_reason: str | None = None,
    metadata: Mapping[str, Any] | None = None,
    snapshot_keys: Iterable[str] = (),
    parsed: object = None,
    logprobs: JSON = None,
    prompt_token_ids: Iterable[int] | None = None,
    completion_token_ids: Iterable[int] | None = None,
    name: str | None = None,
    id: str | None = None,  # noqa: A002 - the field's name
    model: str | None = None,
) -> list[Delta]:
    """Return the deltas of a piece of what the model says: reasoning, content, calls, then what is known about them."""
    start = MessageStart(id=_text(id, "id"), model=_text(model, "model"), name=_text(name, "name"))
    deltas: list[Delta] = [start] if name or id or model else []
    if _text(reasoning, "reasoning"):
        deltas.append(ReasoningDelta(reasoning or ""))
    deltas += _content(content, AssistantMessage)
    if _text(refusal, "refusal"):
        deltas.append(RefusalDelta(refusal or ""))
    deltas += [_fragment(call, f"tool_calls[{n}]") for n, call in enumerate(_items(tool_calls, "tool_calls"))]
    deltas += _metadata(metadata, snapshot_keys)
    if parsed is not None:
        deltas.append(ParsedDelta(_kept(parsed)))
    if logprobs is not None:
        deltas.append(LogprobsDelta(freeze(logprobs, "logprobs")))
    if prompt_token_ids is not None or completion_token_ids is not None:
        deltas.append(TokenIdsDelta(_ids(prompt_token_ids, "prompt_token_ids"), _ids(completion_token_ids, "completion_token_ids")))
    if usage is not None:
        deltas.append(UsageDelta(Usage.of(usage)))
    word = _text(finish_reason, "finish_reason")
    return deltas if word is None else [*deltas, FinishDelta(word)]


def tool_deltas(
    content: object = None,
    *,
    call_id: str | None = None,
    name: str | None = None,
    state: ResultState | None = None,
    metadata: Mapping[str, Any] | None = None,
    snapshot_keys: Iterable[str] = (),
) -> list[Delta]:
    """Return the deltas of a piece of a tool's result: whose it is, then the content."""
    if state is not None and state not in get_args(ResultState):
        raise UsageError(f"state is {state!r}; it is one of {', '.join(get_args(ResultState))}", argument="state")
    deltas: list[Delta] = []
    if _text(name, "name"):
        deltas.append(MessageStart(name=name))
    if _text(call_id, "call_id") or name or state:
        deltas.append(ToolResultDelta(call_id or None, name or None, state))
    return [*deltas, *_content(content, None), *_metadata(metadata, snapshot_keys)]


def user_deltas(
    content: object = None, *, name: str | None = None, metadata: Mapping[str, Any] | None = None, snapshot_keys: Iterable[str] = ()
) -> list[Delta]:
    """Return the deltas of a piece of what a person says."""
    return _plain(UserMessage, content, name, metadata, snapshot_keys)


def system_deltas(
    content: object = None, *, name: str | None = None, metadata: Mapping[str, Any] | None = None, snapshot_keys: Iterable[str] = ()
) -> list[Delta]:
    """Return the deltas of a piece of instructions."""
    return _plain(SystemMessage, content, name, metadata, snapshot_keys)


def _plain(
    kind: type[Message], content: object, name: str | None, metadata: Mapping[str, Any] | None, snapshot_keys: Iterable[str]
) -> list[Delta]:
    start: list[Delta] = [MessageStart(name=name)] if _text(name, "name") else []
    return [*start, *_content(content, kind), *_metadata(metadata, snapshot_keys)]


def _content(content: object, kind: type[Message] | None) -> list[Delta]:
    """Return text as text, which joins, and everything else as whole parts; `kind` says who may carry what, None is a tool's result."""
    if isinstance(content, str):
        # Half a surrogate pair is let through: its other half may come with the next chunk.
        return [TextDelta(str(content))] if content else []
    parts = parts_of(content)
    for n, part in enumerate(parts):
        if kind is None and isinstance(part, (ToolResultPart, ToolCallPart, ProviderToolPart)):
            raise UsageError(f"content[{n}] is a {type(part).__name__}; results hold text, media and JSON", argument=f"content[{n}]")
        if kind is not None and not kind._may_carry(part):
            raise UsageError(f"content[{n}]: a {kind.__name__} cannot carry a {type(part).__name__}", argument=f"content[{n}]")
    return [PartDelta(part) for part in parts]


def _metadata(metadata: Mapping[str, Any] | None, snapshot_keys: Iterable[str]) -> list[Delta]:
    values = freeze({} if metadata is None else metadata, "metadata")
    if not isinstance(values, dict):
        raise UsageError(f"metadata is a {type(metadata).__name__}, not a mapping", argument="metadata")
    keys = tuple(_items(snapshot_keys, "snapshot_keys"))
    for n, key in enumerate(keys):
        if not isinstance(key, str):
            raise UsageError(f"snapshot_keys[{n}] is a {type(key).__name__}, not text", argument=f"snapshot_keys[{n}]")
    return [MetadataDelta(cast("dict[str, Any]", values), keys)] if values or keys else []


def _fragment(call: object, path: str) -> ToolCallFragment:
    if isinstance(call, ToolCallPart):
        return ToolCallFragment(
            call.id, call.name, call.arguments, call.index, call.kind, is_id_optional=call.id_made_up, provider_data=call.provider_data
        )
    if not isinstance(call, ToolCallFragment):
        raise UsageError(f"{path} is a {type(call).__name__}, not a ToolCallFragment", argument=path)
    checked = convert_checked(msgspec.structs.asdict(call), ToolCallFragment, path)
    if isinstance(checked.arguments, dict):
        checked = msgspec.structs.replace(checked, arguments=freeze(checked.arguments, f"{path}.arguments"))
    return msgspec.structs.replace(checked, provider_data=freeze(checked.provider_data, f"{path}.provider_data"))


def _kept(parsed: object) -> object:
    """Return a copy that nobody else can change: frozen if it is JSON, else a deep copy."""
    try:
        return freeze(parsed, "parsed")
    except UsageError:
        return copy.deepcopy(parsed)


def _text(value: object, name: str) -> str | None:
    if value is not None and not isinstance(value, str):
        raise UsageError(f"{name} is a {type(value).__name__}, not text", argument=name)
    return value


def _items(values: object, name: str) -> list[Any]:
    if values is None:
        return []
    if isinstance(values, (str, Mapping)) or not isinstance(values, Iterable):
        raise UsageError(f"{name} is a {type(values).__name__}, not a list", argument=name)  # pyright: ignore[reportUnknownArgumentType]
    return list(values)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]


def _ids(values: object, name: str) -> tuple[int, ...] | None:
    if values is None:
        return None
    ids = tuple(_items(values, name))
    for n, token in enumerate(ids):
        if type(token) is not int:
            raise UsageError(f"{name}[{n}] is a {type(token).__name__}, not a whole number", argument=f"{name}[{n}]")
    return ids
