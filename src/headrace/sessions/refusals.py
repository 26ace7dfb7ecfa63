"""What a store refuses, and in which words: the same in all stores.

The rule of this file: pure; it says what is wrong with what somebody wants to write, given what is there.
"""

from __future__ import annotations

from collections.abc import Sequence

from headrace._json import check_text
from headrace.errors import ConflictError, FencedError, NotFoundError, UsageError
from headrace.sessions.records import Batch, Entry, RunStatus


def check_texts(**texts: str | None) -> None:
    """Refuse what not every database can hold as text.

    Raises:
        UsageError: one of them is no text, holds a zero byte or half of a surrogate pair; the error names it.
    """
    for name, text in texts.items():
        if text is None:
            continue
        if not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise UsageError(f"{name} is a {type(text).__name__}, not a text", argument=name)
        if "\0" in text:
            raise UsageError(f"{name} holds a zero byte, which not every database can keep", argument=name)
        check_text(text, name)


def check_batch(batch: Batch) -> None:
    """Refuse a batch whose numbers do not grow.

    Raises:
        UsageError: an event's number is not above the one before it, or the first not above `after`.
    """
    last = batch.after
    for n, entry in enumerate(batch.entries):
        if entry.seq <= last:
            raise UsageError(f"batch.entries[{n}].seq is {entry.seq}; it must be above {last}", argument=f"batch.entries[{n}].seq")
        last = entry.seq


def is_written(batch: Batch, *, epoch: int, status: RunStatus, last_seq: int, present: Sequence[Entry]) -> bool:
    """Return whether a batch is in the log already; False: it is to be written now.

    Args:
        batch: what somebody wants to write.
        epoch: the run's.
        status: how the run stands.
        last_seq: the last number in its log.
        present: what its log holds above `batch.after`, up to `batch.last_seq`; may be empty where `last_seq` is `batch.after`.

    Raises:
        FencedError: another epoch holds the run.
        ConflictError: the log ends elsewhere, or the run has ended.
    """
    check_epoch(batch.run_id, wanted=batch.epoch, epoch=epoch)
    if last_seq == batch.after and not (batch.entries and status == "ended"):
        if status == "ended" and batch.status != "ended":
            raise ConflictError(f"run {batch.run_id!r} has ended: nothing follows")
        return False
    if batch.entries and last_seq >= batch.last_seq and tuple(present) == batch.entries:
        return True
    if status == "ended":
        raise ConflictError(f"run {batch.run_id!r} has ended with event {last_seq}: nothing follows")
    raise ConflictError(f"the log of run {batch.run_id!r} ends with event {last_seq}, and the batch goes on after {batch.after}")


def check_epoch(run_id: str, *, wanted: int, epoch: int) -> None:
    """Refuse a writer that is not, or no longer, the run's.

    Raises:
        FencedError: the run is in another epoch than the writer.
    """
    if epoch != wanted:
        raise FencedError(f"run {run_id!r} was taken over: it is in epoch {epoch}, and this writer in {wanted}; it must stop")


def check_claim(run_id: str, *, wanted: int, epoch: int, status: RunStatus) -> None:
    """Refuse to hand a run over.

    Raises:
        ConflictError: it has another epoch than the one wanted, or has ended.
    """
    if status == "ended":
        raise ConflictError(f"run {run_id!r} has ended; there is nothing to take up")
    if epoch != wanted:
        raise ConflictError(f"run {run_id!r} was taken up by another: it is in epoch {epoch}, not {wanted}")


def check_holder(session_id: str, *, run_id: str, holder: str | None) -> None:
    """Refuse to work on a conversation on which another run works.

    Raises:
        ConflictError: another run holds it.
    """
    if holder not in (None, run_id):
        help_ = "wait for it (if it waits itself, for an answer: resume it, or give it up), or use another session"
        raise ConflictError(f"another run works on session {session_id!r}: {holder}; {help_}")


def check_user(user: str) -> None:
    """Refuse to delete what belongs to nobody.

    Raises:
        UsageError: the user is empty.
    """
    check_texts(user=user)
    if not user:
        raise UsageError("user is empty; what belongs to nobody in particular is not deleted by its user", argument="user")


def no_run(run_id: str) -> NotFoundError:
    """Return the error for a run that is not there."""
    return NotFoundError(f"there is no run {run_id!r}")


def no_session(session_id: str) -> NotFoundError:
    """Return the error for a conversation that is not there."""
    return NotFoundError(f"there is no session {session_id!r}")


def run_exists(run_id: str) -> ConflictError:
    """Return the error for a run that is there already."""
    return ConflictError(f"there is a run {run_id!r} already")


def session_exists(session_id: str) -> ConflictError:
    """Return the error for a conversation that is there already."""
    return ConflictError(f"there is a session {session_id!r} already; delete it, or use another id")
