"""The model's side of a round: asked, read until the answer is whole, heard by hooks, and asked again where an answer is void.

The rule of this file: it waits for the model and for what has a say in its answer; what is kept of the answer, and what comes next, is
decided elsewhere.
"""

from __future__ import annotations

from headrace.agent.asking import Asked, Asking
from headrace.agent.early import Early
from headrace.agent.heard import Heard, Hearing
from headrace.agent.hooks import Stop
from headrace.agent.reading import Reading
from headrace.agent.setup import Setup
from headrace.agent.standing import Standing
from headrace.errors import ContextLengthError
from headrace.messages.message import AssistantMessage


class Listening:
    """Gets the answers of one run.

    Attributes:
        is_forced: the answer on its way must be the last.
    """

    def __init__(self, setup: Setup, run: Standing) -> None:
        """Ask nothing yet."""
        self._setup = setup
        self._run = run
        self._ledger = run.ledger
        self._asking = Asking(setup, run)
        self._hearing = Hearing(setup, run)
        self._call: Asked | None = None
        self._reading: Reading | None = None
        self._early: Early | None = None
        self.is_forced = self._has_recovered = False

    @property
    def is_open(self) -> bool:
        """Whether the model was asked and its stream has not ended by itself."""
        return self._reading is not None and not self._reading.is_whole

    async def call(self, *, is_forced: bool) -> Asked | Stop:
        """Return what is to be asked in a new round, or that a hook ends the run."""
        return await self._asking.call(is_forced=is_forced)

    async def begin(self, call: Asked) -> None:
        """A round has begun: ask."""
        self.is_forced, self._has_recovered = self._ledger.loop.spent is not None, False  # a summary may have used up a limit
        self._reading = self._asking.reading()
        await self._run.commit()
        await self._ask(call)

    async def read(self) -> Heard | Stop | None:
        """Take the next chunk, or more where nobody watches. Returns the answer once it is whole, or that a hook ends the run in its place; None: there is more to read.

        Raises:
            HeadraceError: the model or the network failed.
            Exception: what a hook, or a stranger's model, raised.
        """
        assert self._reading is not None
        try:
            if self._ledger.is_unseen and self._early is None:
                await self._reading.read_all()
            while not self._reading.is_whole and await self._reading.read():
                if self._early is not None:
                    await self._look_early()
                if self._ledger.is_watched:
                    return None
        except ContextLengthError:
            if self._has_recovered or self._ledger.blocks.has_begun:
                raise
            await self.let_go()
            self._has_recovered = True
            if not await self._asking.compact(is_recovery=True):
                raise
            return await self._ask_again(is_shorter=True)
        await self._reading.aclose()
        self._ledger.at = self._setup.now()
        heard = await self._hearing.answer(self._reading.message)
        return await self._ask_again() if heard is None else heard

    async def _ask(self, call: Asked) -> None:
        await self.drop_early()
        self._call, self._reading = call, self._asking.reading()
        # Hooks have a say in every call, before it runs; so with such hooks none starts early.
        if self._setup.early_start and not self.is_forced and not self._run.hooked.table.before_tool_call:
            self._early = Early(self._ledger, self._run.scope())
        await self._asking.open(call, self._reading)

    async def _ask_again(self, *, is_shorter: bool = False) -> Stop | None:
        """The answer is void: ask for another one, which must be the last if a limit is reached by now."""
        call = None if is_shorter else self._call
        self._reading = self._asking.reading()  # of the void one nothing is left to be kept, or counted
        if not self.is_forced and self._ledger.loop.spent is not None:
            self.is_forced, call = True, None
            self._ledger.reach_limit()
        said = await self._asking.call_again(is_forced=self.is_forced) if call is None else call
        if isinstance(said, Stop):
            return said
        await self._ask(said)
        return None

    # ------------------------------------------------------------------------------------------ calls that start early

    async def _look_early(self) -> None:
        """Start calls that are whole already; those of an answer that is void now are dropped."""
        if self._early is not None and self._early.blocks is not self._ledger.blocks:
            await self.drop_early()
            self._early = Early(self._ledger, self._run.scope())
        if self._early is not None:
            self._early.look()

    def take_early(self) -> Early | None:
        """Hand over the calls that started early: their answer is whole."""
        early, self._early = self._early, None
        return early

    async def drop_early(self) -> None:
        """Cancel the calls that started early, and await them."""
        early = self.take_early()
        if early is not None:
            await early.cancel()

    # ------------------------------------------------------------------------------------------ breaking off

    async def let_go(self) -> None:
        """Close the stream, and cancel what started early."""
        try:
            await self.drop_early()
        finally:
            if self._reading is not None:
                await self._reading.aclose()

    def broken_off(self, error: Exception | None) -> AssistantMessage | None:
        """Return the answer as far as it came; None: nothing was asked."""
        return None if self._reading is None else self._reading.broken_off(error)
