"""Where a chat's lines come from: a prompt on a terminal, or a pipe.

The rule of this file: a reader gives what was meant as one entry, newlines in it included, None at the end of input, and raises
`KeyboardInterrupt` for Ctrl-C.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Final, Protocol

from headrace.cli.interrupts import plainly_interruptible
from headrace.cli.keyboard import forget_keys
from headrace.errors import MissingExtraError

PROMPT: Final = "> "
MORE: Final = ". "
SAY: Final = "+ "
"""Stands before words for a run that goes on."""
_DUMB: Final = ("dumb", "unknown")
_STATE_VARIABLE: Final = "HEADRACE_STATE"


class Reader(Protocol):
    """Gives entries."""

    @property
    def is_prompt(self) -> bool:
        """Whether a person types them."""
        ...

    @property
    def edit_words(self) -> str:
        """How a default is edited, in words; empty where it cannot be."""
        ...

    async def read(self) -> str | None:
        """Return the next entry, or None at the end."""
        ...

    async def ask(self, prompt: str, *, default: str = "") -> str | None:
        """Ask something beside the conversation.

        Args:
            prompt: what stands before the cursor.
            default: what stands there already, to be edited; where that cannot be, an empty entry means it.
        """
        ...

    def forget(self) -> None:
        """Drop what a person typed before anybody could know a question: a yes has to be meant."""
        ...


class LineReader:
    """Reads lines of a pipe, a file or a terminal that can do no more; a line that ends with a backslash goes on in the next one.

    Attributes:
        is_prompt: whether to ask for each line.
    """

    edit_words = ""

    def __init__(self, *, is_prompt: bool = False) -> None:
        """Read standard input."""
        self.is_prompt = is_prompt

    async def read(self) -> str | None:
        """Return the next entry."""
        return self._entry(PROMPT)

    async def ask(self, prompt: str, *, default: str = "") -> str | None:
        """Ask; see `Reader`."""
        if default:
            print(f"{default}\n(Enter alone leaves it so)", flush=True)
        entry = self._entry(prompt)
        return default if entry == "" else entry

    def forget(self) -> None:
        """Drop what was typed; see `Reader`."""
        if self.is_prompt and sys.stdin.isatty():
            forget_keys(sys.stdin.fileno())

    def _entry(self, prompt: str) -> str | None:
        lines: list[str] = []
        while True:
            # Nothing else is going on between two runs, so the loop may stand still; a thread could not be stopped while it reads.
            with plainly_interruptible():
                if self.is_prompt:
                    print(MORE if lines else prompt, end="", flush=True)
                try:
                    line = sys.stdin.readline()
                except KeyboardInterrupt:
                    if self.is_prompt:
                        print(flush=True)
                    raise
            if not line:
                return "\n".join(lines) if lines else None
            line = line.rstrip("\r\n")
            if not line.endswith("\\"):
                return "\n".join([*lines, line])
            lines.append(line[:-1])


class PromptReader:
    """Reads at a prompt: editing, history, several lines.

    Enter sends; Esc Enter, and Enter after a backslash, begin a new line; what is pasted keeps its lines.
    """

    is_prompt = True
    edit_words = "Enter sends them, Esc Enter begins a new line" + (", Ctrl-X Ctrl-E opens $EDITOR" if sys.platform != "win32" else "")

    def __init__(self, session: Any, questions: Any) -> None:
        """Read with these two `prompt_toolkit.PromptSession`s: for the conversation, and for what is asked beside it."""
        self._session = session
        self._questions = questions

    async def read(self) -> str | None:
        """Return the next entry; raises `KeyboardInterrupt` for Ctrl-C."""
        return await self._entry(self._session, PROMPT)

    async def ask(self, prompt: str, *, default: str = "") -> str | None:
        """Ask; see `Reader`."""
        return await self._entry(self._questions, prompt, default=default)

    async def say(self, default: str) -> str | None:
        """Read words for a run that goes on; they are begun already, and Ctrl-C is for this line alone."""
        return await self._entry(self._questions, SAY, default=default, handle_sigint=False)

    async def _entry(self, session: Any, prompt: str, **options: Any) -> str | None:
        read: Callable[..., Awaitable[str]] = session.prompt_async
        try:
            return await read(prompt, **options)
        except EOFError:
            return None

    def forget(self) -> None:
        """Drop what was typed; see `Reader`."""
        from prompt_toolkit.input.typeahead import clear_typeahead  # noqa: PLC0415 - an extra

        clear_typeahead(self._questions.app.input)
        forget_keys(sys.stdin.fileno())


def is_command(entry: str) -> bool:
    """Whether an entry is a command, no words for the model."""
    return entry.startswith("/") and not entry.startswith("//")


def words_of_entry(entry: str) -> str:
    """Return what an entry says to the model; words that begin with `/` are entered with `//`."""
    return entry[1:] if entry.startswith("//") else entry


def entry_of_words(words: str) -> str:
    """Return the entry that says these words."""
    return f"/{words}" if words.startswith("/") else words


def reader_of_terminal() -> Reader:
    """Return the reader that fits: a prompt if both ends are a terminal, else lines.

    Raises:
        MissingExtraError: the extra `cli` is not installed.
    """
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return LineReader()
    if os.environ.get("TERM", "").lower() in _DUMB:
        return LineReader(is_prompt=True)
    try:
        from prompt_toolkit import PromptSession  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise MissingExtraError("cli", feature="headrace chat", module="prompt-toolkit") from error

    def session(history: Any) -> PromptSession[str]:
        return PromptSession(
            history=history,
            key_bindings=_bindings(),
            multiline=True,
            prompt_continuation=lambda width, _line, _wraps: MORE.rjust(width),
            enable_open_in_editor=True,
            # A resize in the middle of an answer must not clear what was said.
            erase_when_done=False,
        )

    return PromptReader(session(_history()), session(None))


def history_path() -> Path:
    """The file that keeps what was entered.

    In `HEADRACE_STATE` if it is set, else the platform's state folder: `$XDG_STATE_HOME/headrace` or `~/.local/state/headrace`, on macOS
    `~/Library/Application Support/headrace`, on Windows `headrace` in `%LOCALAPPDATA%`.
    """
    chosen = os.environ.get(_STATE_VARIABLE)
    if chosen:
        return Path(chosen).expanduser() / "history"
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA")
        return (Path(base) if base else Path.home() / "AppData" / "Local") / "headrace" / "history"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "headrace" / "history"
    xdg = os.environ.get("XDG_STATE_HOME", "")
    return (Path(xdg) if Path(xdg).is_absolute() else Path.home() / ".local" / "state") / "headrace" / "history"


def _history() -> Any:
    """The kept history, for this user's eyes alone; one in memory where no file can be written."""
    from prompt_toolkit.history import FileHistory, InMemoryHistory  # noqa: PLC0415 - an extra

    path = history_path()
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600))
        with contextlib.suppress(OSError):
            path.chmod(0o600)
    except OSError:
        return InMemoryHistory()
    return FileHistory(str(path))


def _bindings() -> Any:
    from prompt_toolkit.key_binding import KeyBindings  # noqa: PLC0415 - an extra

    bindings = KeyBindings()

    @bindings.add("enter")
    def _enter(event: Any) -> None:
        buffer = event.current_buffer
        if buffer.document.current_line_before_cursor.endswith("\\") and not buffer.document.text_after_cursor:
            buffer.delete_before_cursor(1)
            buffer.insert_text("\n")
        else:
            buffer.validate_and_handle()

    @bindings.add("escape", "enter")
    def _newline(event: Any) -> None:
        event.current_buffer.insert_text("\n")

    @bindings.add("c-d")
    def _leave(event: Any) -> None:
        if event.current_buffer.text:
            event.current_buffer.delete()
        else:
            event.app.exit(exception=EOFError)

    @bindings.add("c-c")
    def _clear(event: Any) -> None:
        if event.current_buffer.text:
            event.current_buffer.reset()
        else:
            event.app.exit(exception=KeyboardInterrupt)

    return bindings
