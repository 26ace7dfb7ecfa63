"""Where a run stands: what it works with, what it has written down, what it sends; begun, shown as a result, kept.

The rule of this file: it decides nothing about what comes next. What it waits for is the session, the sources of tools and the claim of a
state, at the beginning and at the end.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, Final

import msgspec

from headrace._json import freeze
from headrace.agent.claims import NO_CLAIMS
from headrace.agent.elapsed import Elapsed
from headrace.agent.events import Event
from headrace.agent.hooked import Hooked
from headrace.agent.hooks import Here
from headrace.agent.journal import Journal
from headrace.agent.ledger import Ledger
from headrace.agent.offering import Changed, Offering
from headrace.agent.run_result import RunResult
from headrace.agent.run_state import Open
from headrace.agent.running import Scope
from headrace.agent.sending import Sending
from headrace.agent.session import kept
from headrace.agent.setup import Setup, Talk
from headrace.agent.sources import Sources
from headrace.agent.to_the_end import to_the_end
from headrace.errors import StateError, UsageError
from headrace.messages.fields import GenerateReason
from headrace.messages.message import AssistantMessage, Message, UserMessage

LOG: Final = logging.getLogger("headrace.agent")
_OPEN: Final = (None, "awaiting_approval", "awaiting_external")
_RETURNED: Final = ("awaiting_approval", "awaiting_external", "stopped", "all_denied")
"""The reasons that a message does not have by itself, but for the run that returned it."""


def _both(journal: Journal | None, sink: Callable[[Event], object] | None) -> Callable[[Event], object] | None:
    """Return what sees each event as it is made."""
    if journal is None:
        return sink
    if sink is None:
        return journal.note

    def see(event: Event) -> None:
        journal.note(event)
        sink(event)

    return see


@contextmanager
def _reading_more() -> Generator[None]:
    """Say of a state that was spoilt that it was, whatever its readers stumble over."""
    try:
        yield
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise UsageError(f"state.open.more cannot be read: {error!r}", argument="state.open.more") from error


class Standing:
    """Where one run stands.

    Attributes:
        run_id: the run.
        ledger: what it wrote down.
        permissions: the mode and the rules.
        offering: the tools of the present round, and the groups that are on.
        steers: words that came in and were not put in yet.
        sending: what is sent to the model.
        hooked: the hooks.
        journal: what the run is written down in, or None.
    """

    def __init__(self, setup: Setup, talk: Talk, *, sink: Callable[[Event], object] | None = None) -> None:
        """Stand before the beginning."""
        self.journal = talk.journal
        self._claims = setup.claims if talk.journal is None else NO_CLAIMS  # a journal knows by itself who may go on with a run
        chosen = None if talk.journal is None else talk.journal.run_id
        self.run_id = (chosen or setup.new_id()) if talk.saved is None else talk.saved.run_id
        self.ledger = Ledger(self.run_id, setup.rules, sink=_both(talk.journal, sink))
        self.permissions = talk.permissions
        self.offering = Offering(setup)
        self.steers: deque[UserMessage] = deque()
        self.sending: Sending
        self.hooked = Hooked(setup.hooks, self.here)
        self._setup = setup
        self._talk = talk
        self._elapsed = Elapsed(setup.now)
        self._history: tuple[Message, ...] = talk.history
        self._sources = Sources(setup.sources)
        self._has_claim = self._has_session = False

    # ------------------------------------------------------------------------------------------ beginning

    async def take_up(self, *, has_sources: bool = True) -> None:
        """Take what is needed from outside: the claim on a state, the conversation, the tools that live elsewhere if they are needed.

        Raises:
            StateError: the state was taken up before.
            ConflictError: another run holds the conversation.
        """
        talk, saved = self._talk, self._talk.saved
        self._elapsed = Elapsed(self._setup.now)
        if self._has_claim or self._has_session:
            pass  # it was interrupted while sources opened, and is ended now
        elif saved is not None and saved.open is not None:
            await self._claim(saved, saved.open)
        elif talk.store is not None and talk.session_id is not None:
            try:
                self._history = (*self._history, *await talk.store.begin(talk.session_id, self.run_id))
            except asyncio.CancelledError:  # nobody knows whether it is held by now; letting go does no harm
                await to_the_end(talk.store.commit(talk.session_id, self.run_id, ()))
                raise
            self._has_session = True
        if has_sources:
            await self._sources.open()

    async def commit(self) -> None:
        """Wait until what happened so far is kept, if the run is written down; a `StoreError` if it cannot be."""
        if self.journal is not None:
            await self.journal.commit()

    async def put_back(self) -> None:
        """Undo `take_up`, since nothing came of it: a state can be used again, a conversation is free, no source stays open."""
        talk = self._talk
        try:
            await self._sources.aclose()
            if self._has_claim and talk.saved is not None and talk.saved.open is not None:
                await self._claims.give_back(talk.saved.run_id, talk.saved.open.seq)
            if self._has_session and talk.store is not None and talk.session_id is not None:
                await talk.store.commit(talk.session_id, self.run_id, ())
        finally:
            self._has_claim = self._has_session = False

    async def _claim(self, saved: RunResult, open_: Open) -> None:
        talk = self._talk
        if not await self._claims.take(saved.run_id, open_.seq):
            raise StateError(
                f"this state of run {saved.run_id} was taken up before; its calls must not run twice: go on with the state of that result"
            )
        self._has_claim = True
        if talk.store is None or talk.session_id is None:
            return
        try:
            await talk.store.begin(talk.session_id, self.run_id)
        except BaseException:
            self._has_claim = False
            await self._claims.give_back(saved.run_id, open_.seq)
            raise

    def begin(self, given: tuple[Message, ...]) -> None:
        """Write down what the run is given, or go on where its state was taken."""
        saved, setup = self._talk.saved, self._setup
        self.tick()
        if saved is None or saved.open is None:
            self.ledger.begin(given)
            self._start_sending(self._history)
            return
        opened = saved.open
        self._history = opened.history
        self.steers.extendleft(reversed(opened.steers))
        self._elapsed = Elapsed(setup.now, opened.elapsed_s)
        self._start_sending(self._history)
        with _reading_more():
            self.sending.restore(opened.more, saved.messages)
        self.ledger.restore(saved.messages, opened)
        self.ledger.loop.offered = tuple(opened.more.get("offered", self.ledger.loop.offered))
        for reply in self._talk.replies:
            self.ledger.take_reply(reply)
        self.tick()

    def first_offer(self) -> None:
        """Look at what is offered for the first time; a `UsageError` if that cannot be."""
        saved = self._talk.saved
        with _reading_more():
            changed = self.offering.begin(None if saved is None or saved.open is None else saved.open.more)
        self._offered(changed)

    def _start_sending(self, history: tuple[Message, ...]) -> None:
        setup = self._setup
        before = history if setup.instructions is None else (setup.instructions, *history)
        view = setup.views.get(self._talk.session_id) if self._talk.saved is None else None
        self.sending = Sending(setup.context, setup.reminders, setup.offer.specs, before, view=view)

    def tick(self, *, is_time_up: bool = False) -> None:
        """Look at the clock, between two answers; the event loop has one of its own, which may say that the time is up."""
        self.ledger.at = self._setup.now()
        limit_s = self._setup.rules.limits.time_s
        if limit_s is not None:
            if is_time_up:
                self._elapsed.reach(limit_s)
            self.ledger.loop.elapsed_s = self._elapsed.s

    # ------------------------------------------------------------------------------------------ going on

    def refresh_offer(self) -> None:
        """Look at what is offered now: sources may have lost tools or got others, groups may have been switched."""
        self._offered(self.offering.look())

    def _offered(self, changed: Changed | None) -> None:
        offer = self.offering.offer
        self.ledger.loop.offered = offer.tools.names
        self.sending.offered(offer.specs)
        if changed is not None:
            self.ledger.tools_changed(changed.names, changed.detail)

    def put_in_steers(self) -> None:
        """Put in the words that came in."""
        while self.steers:
            self.ledger.put_in(self.steers.popleft())

    def own_words(self, kind: str, text: str) -> UserMessage:
        """Return a message of the framework's own."""
        return UserMessage(text, id=self._setup.new_id(), created_at=self.ledger.at, origin="framework", reminder_kind=kind)

    def scope(self) -> Scope:
        """Return what calls run in."""
        setup = self._setup
        self.sending.catch_up(self.ledger.messages)
        return Scope(
            ledger=self.ledger,
            hooked=self.hooked,
            offer=self.offering.offer,
            permissions=self.permissions,
            deps=self._talk.deps,
            messages=self.sending.history,
            runs_others=setup.runs_others,
            limit=setup.max_parallel_tools,
            timeout_s=setup.tool_timeout_s,
            context=setup.context,
            switch=self.offering.switch,
            journal=self.journal,
        )

    def here(self) -> Here:
        """Say where the run stands, for hooks."""
        ledger = self.ledger
        return Here(run_id=self.run_id, round=ledger.round, messages=tuple(ledger.messages), usage=ledger.usage, deps=self._talk.deps)

    # ------------------------------------------------------------------------------------------ the end

    def result(self, reason: GenerateReason | None) -> RunResult:
        """Return the run as a result: why it ended, what it waits for, or None while it goes on."""
        ledger, is_open = self.ledger, reason in _OPEN
        last = ledger.last
        if last is None:
            last = AssistantMessage.assemble(run_id=self.run_id, generate_reason=reason)
        elif reason in _RETURNED:
            last = msgspec.structs.replace(last, generate_reason=reason)
        return RunResult(
            run_id=self.run_id,
            session_id=self._talk.session_id,
            message=last,
            messages=tuple(ledger.messages),
            generate_reason=reason,
            usage=ledger.usage,
            rounds=ledger.round,
            pending=ledger.pending,
            undelivered=() if is_open else tuple(one for one in self.steers if one.origin != "framework"),
            permissions=self.permissions,
            output=self._output(last, reason),
            open=self._open() if is_open else None,
        )

    def _output(self, message: AssistantMessage, reason: GenerateReason | None) -> Any:
        if self._setup.rules.wanted is None:
            return message.text
        if not message.has_structured or reason in _OPEN:
            return None
        valid = self.ledger.loop.output_of(message)  # what the tool that was called makes of it, where members of a union look alike
        return None if valid is None else valid.typed

    def _open(self) -> Open:
        self.sending.catch_up(self.ledger.messages)
        return self.ledger.opened(
            history=self._history,
            keep=self._talk.keep,
            permissions=self.permissions,
            elapsed_s=self._elapsed.s,
            steers=tuple(self.steers),
            more=freeze(self.sending.state | self.offering.state),
        )

    async def keep(self) -> None:
        """Keep what the run added in its conversation, and let go of it and of the sources of tools."""
        talk = self._talk
        if unpriced := self.ledger.loop.unpriced:
            models = ", ".join(sorted(unpriced))
            LOG.warning("run %s has a limit on cost, but no price is known of %s: it counted as free", self.run_id, models)
        try:
            if talk.store is not None and talk.session_id is not None:
                await to_the_end(talk.store.commit(talk.session_id, self.run_id, kept(self.ledger.messages, talk.keep)))
                self._setup.views.put(talk.session_id, self.sending.kept_view)
        finally:
            await self.let_go()

    async def let_go(self) -> None:
        """Let go of the sources of tools: the run is over, or waits."""
        self._has_claim = self._has_session = False
        self.hooked.let_go()
        await self._sources.aclose()
