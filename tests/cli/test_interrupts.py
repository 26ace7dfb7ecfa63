"""Ctrl-C, once, twice and three times."""

from __future__ import annotations

import asyncio
import signal
import threading

import pytest

from headrace.cli.interrupts import interrupting, plainly_interruptible


async def test_the_first_one_interrupts_and_the_second_one_cancels():
    before = signal.getsignal(signal.SIGINT)
    first = asyncio.Event()
    with interrupting(first.set) as interrupts:
        signal.raise_signal(signal.SIGINT)
        await first.wait()
        assert (interrupts.count, interrupts.wants_to_leave) == (1, False)
        signal.raise_signal(signal.SIGINT)
        assert interrupts.wants_to_leave
        with pytest.raises(asyncio.CancelledError):
            await asyncio.Event().wait()
        asyncio.current_task().uncancel()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) == before


def test_while_a_line_is_read_the_first_one_is_pythons_own():
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt), plainly_interruptible():
        signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) == before


def test_elsewhere_than_in_the_main_thread_nothing_is_changed():
    seen = []

    async def work():
        with interrupting(lambda: None) as interrupts, plainly_interruptible():
            seen.append(interrupts.count)

    thread = threading.Thread(target=lambda: asyncio.run(work()))
    thread.start()
    thread.join()
    assert seen == [0]
