"""What a client says to a run, from its JSON: inputs, answers, words that steer.

The rule of this file: media are of a type that is named and known, and within a bound; what is wrong is said with its path.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, cast

import msgspec

from headrace.agent.approval import Reply
from headrace.agent.permission.rules import Rule
from headrace.errors import UsageError
from headrace.messages.checked import located
from headrace.messages.message import READER, Message, UserMessage
from headrace.messages.parts import MediaPart, OpaquePart, Part, ToolResultPart
from headrace.server.app.limits import Limits

_TYPE: Final = re.compile(r"(image|audio|video|application|text)/[a-z0-9][a-z0-9!#$&^_.+-]{0,99}")
_KINDS: Final[Mapping[str, tuple[str, ...]]] = {
    "image": ("image/",),
    "audio": ("audio/",),
    "video": ("video/",),
    "document": ("application/", "text/"),
}
_HIDES_SCRIPTS: Final = ("image/svg+xml", "text/html", "application/xhtml+xml", "application/javascript", "text/javascript")
_SCHEMES: Final = ("https://", "http://", "data:")


class Inputs:
    """Reads what clients say, within bounds."""

    def __init__(self, limits: Limits, *, new_id: Callable[[], str], now: Callable[[], datetime]) -> None:
        """Take the bounds, and what stamps new messages."""
        self._limits = limits
        self._new_id = new_id
        self._now = now

    def messages(self, given: str | list[dict[str, Any]], path: str = "input") -> tuple[Message, ...]:
        """Return the messages of an input: a text, a list of parts, or a list of messages.

        Raises:
            UsageError: it is none, or empty; the error names the place.
        """
        if isinstance(given, str) or not any("role" in one for one in given):
            return (self.words(given, path),)
        messages = READER.many_from(given, path)
        for n, message in enumerate(messages):
            self.check(message.parts, f"{path}[{n}].parts")
        return tuple(message if message.id else message.replace(id=self._new_id(), created_at=self._now()) for message in messages)

    def words(self, given: str | list[dict[str, Any]], path: str) -> UserMessage:
        """Return what a person says: a text, or a list of parts.

        Raises:
            UsageError: it is none, or empty.
        """
        if isinstance(given, str):
            parts: list[Any] = [{"type": "text", "text": given}] if given else []
        else:
            parts = given
        try:
            message = READER.one_from({"role": "user", "parts": parts}, path)
        except UsageError as error:
            place = (error.argument or path).replace(f"{path}.parts[", f"{path}[", 1)
            raise UsageError(str(error).replace(f"{path}.parts[", f"{path}[", 1), argument=place) from error
        if not message.parts or not isinstance(message, UserMessage):
            raise UsageError(f"{path} is empty; give a text, parts or messages", argument=path)
        self.check(message.parts, path)
        return message.replace(id=self._new_id(), created_at=self._now())

    def check(self, parts: Sequence[Part], path: str) -> None:
        """Refuse media that have no known type or are too large, and more parts than a message may have.

        Raises:
            UsageError: there are such; the error names the place.
        """
        if len(parts) > self._limits.max_parts:
            raise UsageError(f"{path} has {len(parts)} parts; at most {self._limits.max_parts} are taken", argument=path)
        for n, part in enumerate(parts):
            if isinstance(part, OpaquePart):
                raise UsageError(
                    f"{path}[{n}].type is {str(part.raw.get('type'))[:100]!r}, which is no type of a part", argument=f"{path}[{n}].type"
                )
            if isinstance(part, MediaPart):
                self._check_medium(part, f"{path}[{n}]")
            elif isinstance(part, ToolResultPart):
                self.check(part.parts, f"{path}[{n}].parts")

    def _check_medium(self, part: MediaPart, path: str) -> None:
        if part.url is not None and not part.url.lower().startswith(_SCHEMES):
            raise UsageError(f"{path}.url is no address of the web", argument=f"{path}.url")
        if part.media_type is not None:
            _check_type(part.media_type, part.kind, f"{path}.media_type")
        if part.data is None:
            return
        if part.media_type is None:
            raise UsageError(f"{path}.media_type is missing; bytes need one", argument=f"{path}.media_type")
        if len(part.data) > self._limits.max_upload_bytes:
            said = f"{path}.data has {len(part.data)} bytes; at most {self._limits.max_upload_bytes} are taken"
            raise UsageError(said, argument=f"{path}.data")


def _check_type(media_type: str, kind: str, path: str) -> None:
    plain = media_type.partition(";")[0].strip().lower()
    if not _TYPE.fullmatch(plain) or plain in _HIDES_SCRIPTS:
        raise UsageError(f"{path} is no type of media that is taken", argument=path)
    if not plain.startswith(_KINDS.get(kind, ())):
        raise UsageError(f"{path} is no type of a part whose kind is {kind}", argument=path)


def replies_of(given: Sequence[dict[str, Any]], path: str = "answers") -> tuple[Reply, ...]:
    """Return answers to questions; rules in them are texts, or objects.

    Raises:
        UsageError: one is none.
    """
    replies: list[Reply] = []
    for n, form in enumerate(given):
        place = f"{path}[{n}]"
        rules = form.get("rules", [])
        if isinstance(rules, list):
            read = [_rule(one, f"{place}.rules[{m}]") for m, one in enumerate(cast("list[object]", rules))]
            form = {**form, "rules": [msgspec.to_builtins(rule) for rule in read]}  # noqa: PLW2901 - the same one, its rules read
        if form.get("kind") == "answer":
            form.pop("rules", None)
        try:
            replies.append(msgspec.convert(form, type=cast("Any", Reply)))
        except msgspec.ValidationError as error:
            raise located(error, place) from error
        except UsageError as error:
            raise UsageError(f"{place}: {error}", argument=f"{place}.{error.argument or ''}".rstrip(".")) from error
    return tuple(replies)


def _rule(given: object, path: str) -> Rule:
    try:
        return Rule.parse(given) if isinstance(given, str) else msgspec.convert(given, type=Rule)
    except msgspec.ValidationError as error:
        raise located(error, path) from error
    except UsageError as error:
        raise UsageError(f"{path}: {error}", argument=path) from error
