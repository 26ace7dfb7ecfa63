"""Daemon threads with a cap."""

from __future__ import annotations

import asyncio
import contextvars
import os
import queue
import subprocess
import sys
import threading

import pytest

from headrace.agent.threads import DaemonThreads

colour = contextvars.ContextVar("colour", default="none")


class Work:
    """Work that says when it has begun and ends when it is told."""

    def __init__(self):
        self.begun, self.release = threading.Event(), threading.Event()
        self.thread = None

    def __call__(self):
        self.thread = threading.current_thread()
        self.name = self.thread.name
        self.colour = colour.get()
        self.begun.set()
        self.release.wait()


@pytest.fixture
def work():
    made = []

    def make():
        made.append(Work())
        return made[-1]

    yield make
    for one in made:
        one.release.set()


async def begun(work):
    assert await asyncio.to_thread(work.begun.wait, 30)


async def waits(threads, work):
    """Start work that finds no place; return the task that waits for one."""
    before = len(threads._waiting)
    task = asyncio.create_task(threads.start(work, "w"))
    await asyncio.sleep(0)  # one step of the task: it asks for a place
    assert len(threads._waiting) == before + 1
    return task


async def test_the_work_runs_in_a_named_daemon_thread_with_the_callers_context_variables(work):
    one = work()
    colour.set("red")
    await DaemonThreads(1).start(one, "headrace-tool-f")
    await begun(one)
    assert one.thread.daemon
    assert one.thread is not threading.current_thread()
    assert (one.name, one.colour) == ("headrace-tool-f", "red")


async def test_who_finds_no_place_waits_in_order(work):
    threads, works = DaemonThreads(2), [work() for _ in range(4)]
    await threads.start(works[0], "0")
    await threads.start(works[1], "1")
    waiting = [await waits(threads, one) for one in works[2:]]
    works[1].release.set()
    await begun(works[2])
    assert not works[3].begun.is_set()
    works[0].release.set()
    await begun(works[3])
    await asyncio.gather(*waiting)


async def test_who_is_cancelled_while_waiting_takes_no_place(work):
    threads, works = DaemonThreads(1), [work() for _ in range(3)]
    await threads.start(works[0], "0")
    cancelled, patient = await waits(threads, works[1]), await waits(threads, works[2])
    cancelled.cancel()
    with pytest.raises(asyncio.CancelledError):
        await cancelled
    works[0].release.set()
    await patient
    await begun(works[2])
    assert not works[1].begun.is_set()


async def test_a_place_that_comes_at_the_moment_of_a_cancellation_is_passed_on(work):
    threads, last = DaemonThreads(1), work()
    await threads._take_place()
    waiting = await waits(threads, work())
    threads._give_place()  # the grant is on its way to the waiting task …
    waiting.cancel()  # … which is cancelled before it comes
    with pytest.raises(asyncio.CancelledError):
        await waiting
    await threads.start(last, "last")
    await begun(last)


async def test_a_loop_that_closed_while_it_waited_is_passed_over(work):
    threads, last = DaemonThreads(1), work()
    await threads._take_place()
    loop = asyncio.new_event_loop()
    threads._waiting.append((loop, loop.create_future()))
    loop.close()
    threads._give_place()
    await threads.start(last, "last")
    await begun(last)


async def test_a_thread_that_has_done_its_work_is_used_again_and_ends_when_idle(work):
    threads, first, second = DaemonThreads(1, idle_s=30), work(), work()
    first.release.set()
    second.release.set()
    await threads.start(first, "first")
    await threads.start(second, "second")  # there is one place: the first has given it back
    await begun(second)
    assert (first.thread, second.name) == (second.thread, "second")

    threads, last = DaemonThreads(1, idle_s=0), work()
    last.release.set()
    await threads.start(last, "last")
    await begun(last)
    await asyncio.to_thread(last.thread.join, 30)
    assert not last.thread.is_alive()
    assert threads._idle == []


def test_a_thread_that_is_chosen_at_the_moment_when_it_would_end_does_the_work():
    class Inbox:
        is_empty = True

        def get(self, timeout=None):
            if self.is_empty:
                self.is_empty = False  # the job comes right after the time is over
                raise queue.Empty
            return "job"

    # It is not among the idle ones, so it has been chosen.
    assert DaemonThreads(1)._next(Inbox()) == "job"


async def test_in_another_process_every_place_is_free_again(work):
    threads, last = DaemonThreads(1), work()
    await threads.start(work(), "hangs")
    threads._process = -1
    await threads.start(last, "last")
    await begun(last)


async def test_work_that_raises_gives_its_place_back(work, monkeypatch):
    said = []
    monkeypatch.setattr(threading, "excepthook", said.append)
    threads, last = DaemonThreads(1), work()

    def fail():
        raise KeyError("lost")

    await threads.start(fail, "fail")
    await threads.start(last, "last")
    await begun(last)
    assert [type(one.exc_value) for one in said] == [KeyError]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork (POSIX)")
def test_a_forked_process_has_threads_of_its_own():
    code = """
import asyncio, os, threading
from headrace.agent.threads import DaemonThreads
threads = DaemonThreads(1)
async def work():
    done, loop = asyncio.Event(), asyncio.get_running_loop()
    await threads.start(lambda: loop.call_soon_threadsafe(done.set), "w")
    await done.wait()
asyncio.run(work())
if (child := os.fork()) == 0:
    asyncio.run(work())
    os._exit(7)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, env=env, check=True)
    assert done.stdout == "7\n"
