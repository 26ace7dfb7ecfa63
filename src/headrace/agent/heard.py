"""What hooks make of an answer that has come whole: kept as it is or replaced, asked for again, the last one or not.

The rule of this file: the answer is not in the history yet, so it can still be void; what readers saw of it is then void as well.
"""

from __future__ import annotations

from typing import Final

import msgspec

from headrace.agent.hooks import Retry, Stop
from headrace.agent.setup import Setup
from headrace.agent.standing import Standing
from headrace.errors import StateError
from headrace.messages.fields import GenerateReason
from headrace.messages.message import AssistantMessage

MAX_RETRIES: Final = 20
"""How often hooks may ask for another answer in one run."""
_FINAL: Final[tuple[GenerateReason, ...]] = ("completed", "structured_output", "length", "content_filter", "max_rounds", "limit")
_REPLIED_TO: Final[tuple[GenerateReason, ...]] = ("completed", "structured_output", "length")
"""The final answers after which the model can be called again, if somebody has more to say."""


class Heard(msgspec.Struct, frozen=True):
    """An answer as hooks leave it.

    Attributes:
        message: the answer.
        stop: the run ends with it, because a hook says so.
    """

    message: AssistantMessage
    stop: Stop | None = None


class Hearing:
    """Hears the hooks of one run about its answers."""

    def __init__(self, setup: Setup, run: Standing) -> None:
        """Nobody has said anything."""
        self._setup = setup
        self._run = run
        self._retries = 0

    async def answer(self, message: AssistantMessage) -> Heard | None:
        """Return an answer as hooks leave it; None: it is void, and the model is to be asked again.

        Raises:
            StateError: hooks asked for another answer again and again.
            Exception: what a hook raised.
        """
        hooked, stop = self._run.hooked, None
        if hooked.table.after_model_call:
            said = await hooked.answer(message)
            if isinstance(said, Retry):
                self._discard(message, said)
                return None
            if isinstance(said, Stop):
                stop = said
            elif said is not message:
                message = self._run.ledger.replace_answer(said, self._retries + 1, self._setup.new_id())
        reason = self._run.ledger.loop.judge(message)  # may raise what a `validate` function raises, while the answer can still be marked
        if hooked.table.after_run and stop is None and reason in _FINAL:
            await self._is_final(message, reason)
        return Heard(message, stop)

    async def _is_final(self, message: AssistantMessage, reason: GenerateReason | None) -> None:
        run = self._run
        if run.steers and reason in _REPLIED_TO:
            return  # the run goes on anyway
        more = await run.hooked.answered(message)
        if more is not None and reason in _REPLIED_TO:
            run.steers.append(run.own_words("go_on", more.text))

    def _discard(self, message: AssistantMessage, retry: Retry) -> None:
        self._retries += 1
        if self._retries > MAX_RETRIES:
            last = retry.reason or "none"
            raise StateError(f"hooks asked for another answer {self._retries} times in one run; the last reason: {last}")
        reason = retry.reason or "a hook asked for another answer"
        self._run.ledger.discard_whole(message, self._retries, reason, self._setup.new_id())
