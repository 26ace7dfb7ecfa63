"""`headrace chat`: a conversation.

The rule of this file: whatever happens in one answer (an error, Ctrl-C, a question that nobody answers), the conversation goes on, with
what was said kept; only leaving ends it. In a pipe there is nobody to ask: there a call that waits ends the conversation.
"""

from __future__ import annotations

import asyncio
import sys

from headrace import _sync
from headrace.agent.run import Run
from headrace.agent.run_result import RunResult
from headrace.cli.answers import waiting_lines
from headrace.cli.approvals import Asker
from headrace.cli.commands import Said, obey
from headrace.cli.conversation import Conversation
from headrace.cli.exits import DONE, FAILED, INTERRUPTED, WAITING, complain
from headrace.cli.interrupts import interrupting
from headrace.cli.reader import PROMPT, Reader, entry_of_words, is_command, reader_of_terminal, words_of_entry
from headrace.cli.render import Renderer
from headrace.cli.run import code_of_result, shower, tell, watch
from headrace.cli.screen import Screen, screen_of
from headrace.cli.segments import Segment
from headrace.cli.setup import Choices, model_id, tools_of
from headrace.cli.steering import Steering
from headrace.errors import HeadraceError


def chat_command(choices: Choices) -> int:
    """Talk until somebody leaves; returns the exit status: in a pipe 1 if an answer failed, 3 if a call waits for somebody.

    Raises:
        UsageError: a choice does not do.
    """
    return _sync.run(_chat(choices))


async def _chat(choices: Choices) -> int:
    chat = Chat(Conversation(choices), reader_of_terminal(), screen_of(sys.stdout))
    try:
        await chat.conversation.open()
        code = await chat.talk()
    finally:
        await chat.conversation.aclose()
    # At a prompt a person saw what failed; a script sees the status alone.
    return DONE if chat.reader.is_prompt and code == FAILED else code


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
        self._greet()
        code, was_interrupted = DONE, False
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
        conversation, renderer = self.conversation, Renderer(shows_waiting=False, told=self._told)
        agent, session = conversation.agent, conversation.session
        asker = Asker(self.reader, self._screen, tool_of=conversation.tool_of, name_of=renderer.name_of)
        run = agent.stream(question, session=session, permissions=conversation.permissions)
        while True:
            result = await self._watched(run, renderer)
            if not result.is_waiting:
                break
            replies = None
            try:
                replies = await asker.ask(result)
            finally:
                if replies is None:
                    result = await agent.give_up(result.state, session=session)
                    self._write("given up; what came is kept\n")
            if replies is None:
                break
            run = agent.resume_stream(result.state, replies, session=session)
        conversation.note(result)
        return self._ended(result)

    async def _watched(self, run: Run, renderer: Renderer) -> RunResult:
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
        agent, session = conversation.agent, conversation.session
        result = await watch(agent.stream(question, session=session, permissions=conversation.permissions), shower(agent))
        if not result.is_waiting:
            conversation.note(result)
            return code_of_result(result)
        for line in waiting_lines(result.pending):
            screen_of(sys.stderr).write((Segment(f"{line}\n", "warning"),))
        complain(
            "a call waits for somebody, and nobody is here to be asked; --mode bypass or --allow RULE lets it run, --mode dont_ask denies it"
        )
        conversation.note(await agent.give_up(result.state, session=session))
        return WAITING

    # ------------------------------------------------------------------------------------------ words

    def _greet(self) -> None:
        if not self.reader.is_prompt:
            return
        conversation = self.conversation
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

    def _write(self, words: str) -> None:
        self._screen.write([Segment(words, "note")])


def _cancel(task: asyncio.Task[Said]) -> None:
    task.cancel()
