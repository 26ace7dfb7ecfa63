"""The file that keeps a run's state, so that it can be gone on with later.

The rule of this file: the file is whole at any time, this user's alone, and as new as the last thing that must not happen twice: it is
written at each end of an answer and before and after each tool. It is gone when the run is over; after a failure it stays, so that the run
can be gone on with from there.
"""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path

from headrace.agent.events import ApprovalGiven, Event, RoundEnded, RoundStarted, ToolEnded, ToolStarted
from headrace.agent.run_result import RunResult
from headrace.errors import UsageError

_MARKS = (ApprovalGiven, RoundStarted, RoundEnded, ToolStarted, ToolEnded)


class StateFile:
    """Keeps the state of one run."""

    def __init__(self, path: Path) -> None:
        """Write to this file; nothing is written yet."""
        self._path = path

    def read(self) -> RunResult:
        """Return what the file keeps.

        Raises:
            UsageError: it cannot be read, or holds no state.
        """
        try:
            text = self._path.read_text(encoding="utf-8")
        except (OSError, UnicodeError) as error:
            why = (error.strerror or error) if isinstance(error, OSError) else error
            raise UsageError(f"--resume {self._path}: {why}", argument="resume") from error
        return RunResult.from_state(text)

    def check_free(self) -> None:
        """Check that no other run is kept there.

        Raises:
            UsageError: one is.
        """
        if self._path.exists():
            message = f"--state {self._path}: there is a run already; go on with it by --resume {self._path}, or remove the file"
            raise UsageError(message, argument="state")

    @property
    def is_there(self) -> bool:
        """Whether something is kept."""
        return self._path.exists()

    def wants(self, event: Event) -> bool:
        """Whether the state is to be written after this event."""
        return isinstance(event, _MARKS)

    def write(self, state: object) -> None:
        """Keep a state in place of the one before.

        Raises:
            UsageError: the file cannot be written.
        """
        new = self._path.with_name(f".{self._path.name}.{os.getpid()}.new")
        try:
            with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as stream:
                json.dump(state, stream, ensure_ascii=False)
                stream.write("\n")
            new.replace(self._path)
        except OSError as error:
            with contextlib.suppress(OSError):
                new.unlink()
            raise UsageError(f"--state {self._path}: {error.strerror or error}", argument="state") from error

    def end(self, result: RunResult) -> None:
        """Keep what waits for somebody, leave what was there before a failure; of a run that is over nothing is left."""
        if result.is_waiting:
            self.write(result.state)
        elif result.generate_reason != "error":
            self._path.unlink(missing_ok=True)
