"""What one question to an endpoint gave: the message, the failure, and the very bytes.

The rule of this file: values only. A judge sees nothing else, so what was found once can be judged again from the kept recording.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias, cast

import msgspec

from headrace.messages.message import AssistantMessage
from headrace.messages.parts import ToolCallPart
from headrace.messages.warning import Warning  # noqa: A004 - the field's word

FailureKind: TypeAlias = Literal[
    "unsendable",
    "unreachable",
    "hung",
    "broken_off",
    "forbidden",
    "busy",
    "refused",
    "server_error",
    "error_inside",
    "truncated",
    "malformed",
]
_MAX_DEPTH: Final = 12
_FAILED_KINDS: Final = frozenset({"unreachable", "hung", "forbidden"})


class Failed(msgspec.Struct, frozen=True, kw_only=True):
    """How a question failed.

    Attributes:
        kind: `unsendable` (there is no way to ask this here; nothing was sent), `unreachable`, `hung` (no bytes for too long), `broken_off`
            (the connection broke), `forbidden` (the key), `busy` (too many requests, no capacity), `refused` (the server does not take such a
            request), `server_error`, `error_inside` (an error inside an answer that had begun well), `truncated` (the answer ended before it
            said so), `malformed` (no stream of this protocol).
        words: what was said, without secrets.
        status: the HTTP status, if it was one that says no.
        code: the server's own code.
        stage: which limit ran out, of what hung.
        retry_after_s: how long the server asked to wait, or None.
    """

    kind: FailureKind
    words: str
    status: int | None = None
    code: str | None = None
    stage: str | None = None
    retry_after_s: float | None = None


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """What one question gave.

    Attributes:
        ask: the question's name.
        message: the answer so far; empty where none came.
        choices: the messages of all choices.
        indexes_seen: how many choices the wire spoke of.
        failed: how it failed, or None.
        status: the HTTP status, or None if no answer came.
        content_type: the header's, without parameters; "" if there is none.
        events: the JSON values of the body's events, in order; those that are no JSON are left out.
        has_terminator: whether the body held the marker `[DONE]`.
        comments: how many lines of comment came (keep-alive).
        reads_ms: when bytes came, in milliseconds from the request.
        text_chunks: how many chunks had text, reasoning or arguments in them.
        text_pieces: the first pieces of text, as they came.
        beginning: the first characters of the body.
        is_left: the client left before the end, as the question wanted.
        is_runaway: it was left because it went on far beyond the tokens that were asked for.
        capture: the recording's body, as a path; "" where nothing was sent.
    """

    ask: str
    message: AssistantMessage
    choices: tuple[AssistantMessage, ...] = ()
    indexes_seen: int = 1
    failed: Failed | None = None
    status: int | None = None
    content_type: str = ""
    events: tuple[Any, ...] = ()
    has_terminator: bool = False
    comments: int = 0
    reads_ms: tuple[float, ...] = ()
    text_chunks: int = 0
    text_pieces: tuple[str, ...] = ()
    beginning: str = ""
    is_left: bool = False
    is_runaway: bool = False
    capture: str = ""

    @property
    def calls(self) -> tuple[ToolCallPart, ...]:
        """The calls of the answer."""
        return self.message.tool_calls

    @property
    def text(self) -> str:
        """The text of the answer."""
        return self.message.text

    @property
    def finish(self) -> str | None:
        """Why the answer ended, as the neutral word."""
        return self.message.finish_reason

    @property
    def is_refused(self) -> bool:
        """Whether the server does not take such a request."""
        return self.failed is not None and self.failed.kind == "refused"

    @property
    def is_answered(self) -> bool:
        """Whether a whole answer came."""
        return self.failed is None

    @property
    def says_that_nobody_is_there(self) -> bool:
        """Whether it failed in a way in which every other question would fail too."""
        failed = self.failed
        return failed is not None and (failed.kind in _FAILED_KINDS or failed.status == 404)

    @property
    def output_tokens(self) -> int | None:
        """How many tokens the server says that it generated."""
        usage = self.message.usage
        return None if usage is None else usage.output_tokens

    @property
    def warnings(self) -> tuple[Warning, ...]:
        """What the decoder had to repair, over all choices."""
        return tuple(warning for message in self.choices or (self.message,) for warning in message.warnings)

    def was_told(self, setting: str) -> bool:
        """Whether a setting was sent; where a protocol has no word for it, it was left out."""
        return not any(one.code == "dropped_for_provider" and f"settings.{setting}:" in one.detail for one in self.warnings)

    def values_of(self, *names: str) -> list[tuple[str, Any]]:
        """Return the values of members of these names anywhere in the events, with the name; null, empty text and empty lists are left out."""
        found = ((key, value) for event in self.events for key, value in members(event) if key in names)
        return [(key, value) for key, value in found if value or value == 0]


Seen: TypeAlias = Sequence[Evidence]
"""What the questions of one probe gave so far, in order."""


def members(value: object, depth: int = 0) -> Iterator[tuple[str, Any]]:
    """Give the members of a JSON value and of everything in it, name and value."""
    if depth > _MAX_DEPTH:
        return
    if isinstance(value, Mapping):
        for key, member in cast("Mapping[str, Any]", value).items():
            yield key, member
            yield from members(member, depth + 1)
    elif isinstance(value, list | tuple):
        for one in cast("Sequence[Any]", value):
            yield from members(one, depth + 1)


def of(seen: Seen, ask: str) -> Evidence | None:
    """Return the latest evidence of a question, or None if it was not asked."""
    return next((evidence for evidence in reversed(seen) if evidence.ask == ask), None)
