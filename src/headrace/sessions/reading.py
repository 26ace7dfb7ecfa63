"""A run's log, read: everything after an event, then live, in whatever process the run goes on.

The rule of this file: a reader gets each event once and in order, whoever writes; it holds neither the run nor its writer up.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from typing import Final

from headrace.errors import NotFoundError
from headrace.sessions.recent import Recent
from headrace.sessions.records import Entry
from headrace.sessions.store import Store

PAGE: Final = 500
"""How many events are read at once, at most."""
FIRST: Final = 64
LEAST: Final = 4
PAGE_BYTES: Final = 512 * 1024
"""Pages begin small, and where events are large they stay so: a reader that is slow holds the page that it has not taken."""
WAIT_S: Final = 15.0
"""How long a reader waits before it looks again whether the run is still there."""
_END: Final = b'{"type":"run_ended"'


def is_end(entry: Entry) -> bool:
    """Whether with this event the run ended or came to wait."""
    return entry.data.startswith(_END)


async def kept(store: Store, run_id: str, after: int = 0) -> AsyncGenerator[tuple[Entry, ...]]:
    """Give the events of a run above `after` that are kept by now, in pages; of a run that is not there none."""
    while entries := await store.entries(run_id, after, PAGE):
        yield entries
        if len(entries) < PAGE:
            return
        after = entries[-1].seq


async def read(
    store: Store,
    run_id: str,
    after: int = 0,
    *,
    follow: bool = False,
    recent: Callable[[str], Recent | None] = lambda _run_id: None,
) -> AsyncGenerator[tuple[Entry, ...]]:
    """Give the events of a run above `after`, in pages, and then live.

    It ends when the run has ended, or is deleted; without `follow` also when it waits for somebody.

    Args:
        store: where the log is.
        run_id: the run.
        after: the number of the last event that the reader has.
        follow: go on through pauses.
        recent: the end of a log that is written in this process, if there is one.

    Raises:
        NotFoundError: there is no such run.
    """
    await store.run(run_id)
    page = FIRST
    while True:
        held = recent(run_id)
        entries = None if held is None else held.above(after)
        if entries is None:
            entries = await store.entries(run_id, after, page)
            page = max(LEAST, page // 4) if sum(len(entry.data) for entry in entries) > PAGE_BYTES else min(PAGE, page * 2)
        if entries:
            after = entries[-1].seq
            yield entries
            if not is_end(entries[-1]):
                continue
        elif held is not None and not held.is_over:
            await held.news()
            continue
        try:
            record = await store.run(run_id)
        except NotFoundError:
            return
        if record.last_seq > after:
            continue
        if record.status == "ended" or (record.status == "waiting" and not follow):
            return
        await store.changed(run_id, after, WAIT_S)
