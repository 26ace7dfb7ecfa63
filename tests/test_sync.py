"""`run`: a coroutine from synchronous code, with and without a loop around it."""

from __future__ import annotations

import asyncio
import contextvars
import signal
import threading

import pytest

from headrace._sync import run

colour = contextvars.ContextVar("colour", default="none")


def inside_a_loop(function, *args):
    """Call a synchronous function from a coroutine, as a cell in Jupyter does, with Python's own Ctrl-C handling."""

    async def cell():
        return function(*args)

    loop = asyncio.new_event_loop()
    try:
        return loop.run_until_complete(cell())
    finally:
        loop.close()


def plainly(function, *args):
    return function(*args)


@pytest.fixture(params=[plainly, inside_a_loop])
def call(request):
    """Both places that `run` can be called from."""
    return request.param


async def double(value):
    await asyncio.sleep(0)
    return value * 2


def test_the_result_comes_back(call):
    assert call(run, double(21)) == 42


async def test_it_works_inside_an_async_test_too():
    assert run(double(21)) == 42


def test_what_the_coroutine_raises_comes_out_as_it_is(call):
    error = KeyError("lost")

    async def fail():
        raise error

    with pytest.raises(KeyError) as caught:
        call(run, fail())
    assert caught.value is error


def test_system_exit_passes_through(call):
    async def leave():
        raise SystemExit(3)

    with pytest.raises(SystemExit) as caught:
        call(run, leave())
    assert caught.value.code == 3


def test_context_variables_are_seen_inside_and_stay_the_callers_own(call):
    async def repaint():
        seen = colour.get()
        colour.set("green")
        return seen

    token = colour.set("red")
    try:
        assert call(run, repaint()) == "red"
        assert colour.get() == "red"
    finally:
        colour.reset(token)


def test_without_a_running_loop_no_thread_is_made():
    async def where():
        return threading.current_thread()

    assert run(where()) is threading.current_thread()


def test_inside_a_running_loop_another_thread_does_the_work():
    async def where():
        return threading.current_thread()

    assert inside_a_loop(run, where()) is not threading.current_thread()


def test_the_loop_is_closed_and_the_thread_gone_when_run_returns(call):
    before = set(threading.enumerate())

    async def which():
        return asyncio.get_running_loop(), threading.current_thread()

    loop, thread = call(run, which())
    assert loop.is_closed()
    assert thread is threading.current_thread() or not thread.is_alive()
    assert set(threading.enumerate()) == before


def test_tasks_and_generators_that_were_left_behind_are_ended(call):
    ended = []

    async def wait_for_ever():
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("task")

    async def numbers():
        try:
            yield 1
            yield 2
        finally:
            ended.append("generator")

    async def leave_things_behind():
        task = asyncio.create_task(wait_for_ever())
        generator = numbers()
        await anext(generator)
        await asyncio.sleep(0)
        return task, generator

    task, _generator = call(run, leave_things_behind())
    assert task.cancelled()
    assert sorted(ended) == ["generator", "task"]


def test_a_loop_that_the_caller_has_set_is_left_alone():
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    try:
        run(double(1))
        assert asyncio.get_event_loop() is loop
    finally:
        asyncio.set_event_loop(None)
        loop.close()


class TestCtrlC:
    """The signal goes to the main thread, where Python handles it, whichever thread runs the coroutine."""

    pytestmark = pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="needs signals to threads (POSIX)")

    @staticmethod
    def press():
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    def test_it_cancels_the_coroutine_which_has_ended_when_the_interrupt_comes_out(self, call):
        seen = []

        async def work():
            self.press()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                seen.append("cancelled")
                await asyncio.sleep(0)
                seen.append("cleaned up")
                raise

        before = set(threading.enumerate())
        with pytest.raises(KeyboardInterrupt):
            call(run, work())
        assert seen == ["cancelled", "cleaned up"]
        assert set(threading.enumerate()) == before

    def test_a_second_one_does_not_wait_for_the_clean_up(self):
        release, ended = threading.Event(), threading.Event()

        async def work():
            self.press()
            try:
                await asyncio.Event().wait()
            finally:
                self.press()
                while not release.wait(5):  # Python drops an interrupt that falls into a callback of its own, and a person presses again
                    self.press()
                ended.set()

        with pytest.raises(KeyboardInterrupt):
            inside_a_loop(run, work())
        assert not ended.is_set()
        release.set()
        assert ended.wait(timeout=30)
