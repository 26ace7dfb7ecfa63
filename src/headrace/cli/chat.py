"""`headrace chat`: a conversation.

The rule of this file: whatever happens in one answer (an error, Ctrl-C, a question that nobody answers), the conversation goes on, with
what was said kept; only leaving ends it. In a pipe there is nobody to ask: there a call that waits ends the conversation.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
from typing import Final

import msgspec

from headrace import _sync
from headrace.agent.run_result import RunResult
from headrace.cli.answers import waiting_lines
from headrace.cli.approvals import Asker
from headrace.cli.commands import Said, obey
from headrace.cli.conversation import Conversation, Where
from headrace.cli.exits import DONE, FAILED, INTERRUPTED, WAITING, complain
from headrace.cli.interrupts import interrupting
from headrace.cli.kept import Watchable
from headrace.cli.reader import PROMPT, Reader, entry_of_words, is_command, reader_of_terminal, words_of_entry
from headrace.cli.render import Renderer
from headrace.cli.run import code_of_result, shower, tell, watch
from headrace.cli.screen import Screen, screen_of
from headrace.cli.segments import Segment
from headrace.cli.sessions import found
from headrace.cli.setup import Choices, model_id, tools_of
from headrace.cli.steering import Steering
from headrace.cli.transcript import transcript
from headrace.errors import HeadraceError, UsageError
from headrace.messages.message import UserMessage
from headrace.sessions.opening import open_store
from headrace.sessions.store import Store

MAX_NAME: Final = 100
"""How many characters the name of a new conversation may have."""


class Kept(msgspec.Struct, frozen=True):
    """Whether and where a chat is kept, and which one goes on.

    Attributes:
        is_continued: go on with the last conversation.
        session: the id of the conversation to go on with, or of a new one; None: a new one without a name.
        database: where conversations are kept; None: where the user's are.
        is_off: keep nothing.
    """

    is_continued: bool = False
    session: str | None = None
    database: str | None = None
    is_off: bool = False

    def is_wanted(self, *, is_prompt: bool) -> bool:
        """Whether anything is kept: at a prompt unless it is switched off, in a pipe only if something of it is asked for."""
        asked = self.is_continued or self.session is not None or self.database is not None
        if self.is_off and asked:
            raise UsageError("--no-save and -c, --session or --database exclude each other", argument="no_save")
        return asked or (is_prompt and not self.is_off)


def chat_command(choices: Choices, kept: Kept = Kept()) -> int:  # noqa: B008 - a frozen value
    """Talk until somebody leaves; returns the exit status: in a pipe 1 if an answer failed, 3 if a call waits for somebody.

    Raises:
        UsageError: a choice does not do.
        StoreError: the conversation cannot be kept.
    """
    return _sync.run(_chat(choices, kept))


async def _chat(choices: Choices, kept: Kept) -> int:
    reader = reader_of_terminal()
    async with contextlib.AsyncExitStack() as stack:
        where = Where()
        if kept.is_wanted(is_prompt=reader.is_prompt):
            store = await stack.enter_async_context(open_store(kept.database))
            where = Where(store, await _session_of(store, kept))
        chat = Chat(Conversation(choices, where), reader, screen_of(sys.stdout))
        stack.push_async_callback(chat.conversation.aclose)
        await chat.conversation.open()
        code = await chat.talk()
    # At a prompt a person saw what failed; a script sees the status alone.
    return DONE if chat.reader.is_prompt and code == FAILED else code


async def _session_of(store: Store, kept: Kept) -> str | None:
    """Return the conversation to go on with, or None for a new one.

    Raises:
        UsageError: the last one is to go on, and there is none.
    """
    if kept.session is None and not kept.is_continued:
        return None
    if kept.session is None:
        last = await store.sessions(limit=1)
        if not last:
            raise UsageError("there is no conversation to go on with yet; without -c a new one begins", argument="continue")
        return last[0].id
    try:
        return (await found(store, kept.session)).id
    except UsageError:  # none begins so: it is the name of a new one
        if len(kept.session) > MAX_NAME or not kept.session.isprintable():
            raise
        return kept.session


class Chat:
    """A conversation with somebody, at a prompt or in a pipe.

    Attributes:
        conversation: what was chosen and said.
        reader: where entries come from.
    """

    def __init__(self, conversation: Conversation, reader: Reader, screen: Screen) -> None:
        """Say nothing yet."""
        self.conversation = conversation
        self.reader = reader
        self._screen = screen
        self._steering = Steering(reader, screen)
        self._told: set[str] = set()

    async def talk(self) -> int:
        """Take entries until the end; returns the exit status."""
        await self._greet()
        code, was_interrupted = await self._pick_up(), False
        if code in (INTERRUPTED, WAITING) and not self.reader.is_prompt:
            return code
        while not self.conversation.is_over:
            try:
                entry = await self._entry()
            except KeyboardInterrupt:
                if not self.reader.is_prompt:
                    raise
                if was_interrupted:
                    return code
                was_interrupted = True
                self._write("Ctrl-C again, or Ctrl-D, leaves\n")
                continue
            was_interrupted = False
            if entry is None:
                return code
            if not entry.strip():
                continue
            try:
                ended = await self._take(entry)
                if ended in (INTERRUPTED, WAITING) and not self.reader.is_prompt:
                    return ended
            except HeadraceError as error:
                if isinstance(error.result, RunResult):
                    self.conversation.note(error.result)
                tell(error)
                code = FAILED
        return code

    async def _entry(self) -> str | None:
        """Return what comes next: what a run did not hear any more, or the next entry."""
        left = self._steering.take()
        if not left:
            return await self.reader.read()
        # Words that were said one after the other are one question; a command stands alone.
        count = next((n for n, entry in enumerate(left) if is_command(entry)), len(left)) or 1
        entry, self._steering.left = "\n".join(left[:count]), left[count:]
        self._write(f"{PROMPT}{entry}\n")
        return entry

    async def _take(self, entry: str) -> int:
        if is_command(entry):
            return await self._obey(entry)
        question = words_of_entry(entry)
        code = await (self._answer(question) if self.reader.is_prompt else self._answer_in_pipe(question))
        if sys.stdout.isatty():
            self._screen.write([Segment("\n")])
        return code

    async def _obey(self, entry: str) -> int:
        """Do a command; one that asks a model can be interrupted."""
        task: asyncio.Task[Said] = asyncio.ensure_future(obey(self.conversation, entry))
        with interrupting(lambda: _cancel(task)) as interrupts:
            try:
                said = await task
            except asyncio.CancelledError:
                if interrupts.wants_to_leave:
                    raise KeyboardInterrupt from None
                if not interrupts.count:
                    raise
                self._write("interrupted; nothing was changed\n")
                return INTERRUPTED
        self._screen.write(said)
        return DONE

    # ------------------------------------------------------------------------------------------ answers

    async def _answer(self, question: str) -> int:
        """Have a question answered, and ask the person on the way about what waits."""
        renderer = Renderer(shows_waiting=False, told=self._told)
        return await self._through(await self._watched(await self.conversation.ask(question), renderer), renderer)

    async def _through(self, result: RunResult, renderer: Renderer) -> int:
        """Ask the person about what waits until nothing does."""
        conversation = self.conversation
        asker = Asker(self.reader, self._screen, tool_of=conversation.tool_of, name_of=renderer.name_of)
        while result.is_waiting:
            replies = None
            try:
                replies = await asker.ask(result)
            finally:
                if replies is None:
                    result = await conversation.give_up(result)
                    self._write("given up; what came is kept\n")
            if replies is None:
                break
            result = await self._watched(await conversation.answer(result, replies), renderer)
        conversation.note(result)
        return self._ended(result)

    async def _pick_up(self) -> int:
        """Go on with the run that was left in the conversation, if there is one."""
        conversation, kept = self.conversation, self.conversation.kept
        record = None if kept is None else await kept.left(conversation.agent)
        if kept is None or record is None:
            return DONE
        renderer = Renderer(shows_waiting=False, told=self._told)
        try:
            if record.status == "waiting":
                result = await kept.result(conversation.agent, record.id)
            else:
                self._write("the last answer broke off; it goes on\n")
                result = await self._watched(await kept.taken_up(conversation.agent, record, conversation.permissions), renderer)
            if result.is_waiting and not self.reader.is_prompt:
                return await self._left_waiting(result)
            return await self._through(result, renderer)
        except HeadraceError as error:
            tell(error)
            return FAILED

    async def _watched(self, run: Watchable, renderer: Renderer) -> RunResult:
        screen, steering = self._screen, self._steering
        async with steering.listening(run, lambda: screen.write(renderer.end())):
            return await watch(run, lambda event: steering.show(lambda: screen.write(renderer.feed(event))))

    def _ended(self, result: RunResult) -> int:
        """Look after the words that came too late for a model call: they are asked next, unless the person stopped it all."""
        self._steering.left[:0] = [entry_of_words(message.text) for message in result.undelivered]
        if result.generate_reason == "interrupted" and (left := self._steering.take()):
            self._write("".join(f"not said: {words}\n" for words in left))
        return code_of_result(result)

    async def _answer_in_pipe(self, question: str) -> int:
        conversation = self.conversation
        result = await watch(await conversation.ask(question), shower(conversation.agent))
        if not result.is_waiting:
            conversation.note(result)
            return code_of_result(result)
        return await self._left_waiting(result)

    async def _left_waiting(self, result: RunResult) -> int:
        """Nobody is here to be asked."""
        for line in waiting_lines(result.pending):
            screen_of(sys.stderr).write((Segment(f"{line}\n", "warning"),))
        complain(
            "a call waits for somebody, and nobody is here to be asked; --mode bypass or --allow RULE lets it run, --mode dont_ask denies it"
        )
        self.conversation.note(await self.conversation.give_up(result))
        return WAITING

    # ------------------------------------------------------------------------------------------ words

    async def _greet(self) -> None:
        if not self.reader.is_prompt:
            return
        conversation = self.conversation
        before = () if conversation.kept is None else await conversation.messages()
        tools, mode = ", ".join(tools_of(conversation.agent).names), conversation.permissions.mode
        words = [model_id(conversation.choices), f"tools: {tools}" if tools else "", f"mode: {mode}" if mode != "default" else ""]
        self._screen.write(
            [
                Segment("headrace", "title"),
                Segment(f" · {' · '.join(word for word in words if word)} · /help, Ctrl-D leaves\n", "note"),
                *(Segment(f"{problem}\n", "warning") for problem in conversation.problems),
                Segment("\n"),
            ]
        )
        if before:
            last = next((n for n in range(len(before) - 1, -1, -1) if isinstance(before[n], UserMessage)), 0)
            self._write(f"going on after {len(before)} messages; the last ones were:\n\n")
            for message in before[last:]:
                self._screen.write(transcript(message))

    def _write(self, words: str) -> None:
        self._screen.write([Segment(words, "note")])


def _cancel(task: asyncio.Task[Said]) -> None:
    task.cancel()
