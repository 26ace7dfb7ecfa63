"""What a view remembers beside the history, as JSON, so that it goes on in another process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from headrace.errors import UsageError
from headrace.messages.message import Message

STATE_VERSION: Final = 1


class ViewState(msgspec.Struct, frozen=True, kw_only=True):
    """What a view remembers.

    Attributes:
        version: of this form.
        first_kept, first_kept_id: the place and the id of the first message that was not left out.
        is_cut: whether messages were left out.
        summary: of them, or None.
        question: the place of the words that began the turn into which the cut fell, or None.
        caps: the places of the messages that were made shorter, and to how many tokens each of their results, or their content.
        factor: by how much the estimate is too low.
    """

    version: int = STATE_VERSION
    first_kept: int = 0
    first_kept_id: str | None = None
    is_cut: bool = False
    summary: str | None = None
    question: int | None = None
    caps: tuple[tuple[int, int], ...] = ()
    factor: float = 1.0


def read_state(state: Mapping[str, Any], history: Sequence[Message]) -> ViewState:
    """Read the state of a view of a history.

    Raises:
        UsageError: it is no such state, of a newer version, or of another history.
    """
    try:
        held = msgspec.convert(dict(state), type=ViewState)
    except (msgspec.ValidationError, TypeError, ValueError) as error:
        raise UsageError(f"the state of the view cannot be read: {error}", argument="state") from error
    if held.version > STATE_VERSION:
        raise UsageError(f"the state of the view has version {held.version}; this headrace reads {STATE_VERSION}", argument="state")
    if not held.is_cut:
        return held
    is_there = 0 <= held.first_kept < len(history) and (held.question is None or 0 <= held.question < held.first_kept)
    if not is_there or history[held.first_kept].id != held.first_kept_id:
        message = f"the state of the view begins at message {held.first_kept}, {held.first_kept_id!r}, which this history does not have"
        raise UsageError(message, argument="state")
    return held
