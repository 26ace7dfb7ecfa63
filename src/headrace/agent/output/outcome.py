"""What an answer is worth where a type was asked for: it fits, the model can try again, or it cannot.

The rule of this file: every text here is for a model or a person to act on, and bounded.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Literal, TypeAlias

import msgspec

from headrace._json import JSON
from headrace.errors import ModelOutputError, OutputValidationError, RefusalError
from headrace.messages.message import AssistantMessage

MAX_MISTAKES: Final = 20
"""How many mistakes a text lists; the rest is counted."""
MAX_TEXT_CHARS: Final = 4_000


class Valid(msgspec.Struct, frozen=True):
    """The answer fits.

    Attributes:
        value: the answer as JSON, without wrapping, as the model wrote it: what `message.structured_output` keeps.
        typed: the answer as the type that was asked for.
        call_id: the id of the call that gave it, or None for a text.
        place: which of the message's calls that was, from 0.
    """

    value: JSON
    typed: Any
    call_id: str | None = None
    place: int | None = None


class Invalid(msgspec.Struct, frozen=True):
    """The answer does not fit, and the model can try again.

    Attributes:
        text: what is wrong and where, for the model.
        call_id: the id of the call whose result that text is, or None for a text.
        place: which of the message's calls that was, from 0.
    """

    text: str
    call_id: str | None = None
    place: int | None = None

    def error(self, message: AssistantMessage, tries: int) -> OutputValidationError:
        """Return the error for a model that used up its tries."""
        return OutputValidationError(f"the answer did not fit its type after {tries} {'try' if tries == 1 else 'tries'}. {self.text}", partial=message)  # fmt: skip


class Failed(msgspec.Struct, frozen=True):
    """There is no answer, and asking again would not help.

    Attributes:
        reason: why.
        text: the same in words; of a refusal, the model's own.
    """

    reason: Literal["refusal", "length", "content_filter"]
    text: str

    def error(self, message: AssistantMessage) -> ModelOutputError:
        """Return the error to raise."""
        if self.reason == "refusal":
            return RefusalError(f"the model refused: {bounded(self.text)}", partial=message)
        return OutputValidationError(f"there is no answer of the type: {self.text}", partial=message)


Outcome: TypeAlias = Valid | Invalid | Failed


def misfit_text(mistakes: Sequence[str]) -> str:
    """Return what a model is told about an answer that does not fit."""
    lines = ["The answer does not fit:", *(f"- {mistake}" for mistake in mistakes[:MAX_MISTAKES])]
    if len(mistakes) > MAX_MISTAKES:
        lines.append(f"- and {len(mistakes) - MAX_MISTAKES} more")
    return bounded("\n".join(lines))


def bounded(text: str) -> str:
    """Return the text, cut to a bound."""
    return text if len(text) <= MAX_TEXT_CHARS else f"{text[: MAX_TEXT_CHARS - 1]}…"
