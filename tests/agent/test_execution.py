"""One tool call, and every way that it can end."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import math
import os
import subprocess
import sys
import threading
from typing import Annotated

import pydantic
import pytest

from headrace.agent.execution import run_tool
from headrace.agent.threads import DaemonThreads
from headrace.errors import ToolError, UsageError
from headrace.messages.parts import JsonPart, MediaPart, TextPart, ToolCallPart, ToolResultPart
from headrace.tools.context import Context
from headrace.tools.media import media_file
from headrace.tools.notes import ForwardNote, ProgressNote
from headrace.tools.output import Output
from headrace.tools.suspend import Suspend
from headrace.tools.tool import Tool, tool

CONTEXT = Context(deps={"db": 1}, run_id="r", round=2, call_key="m1/0", call_id="c1", tool_name="f")
IMAGE = MediaPart(kind="image", data=b"\x89PNG", media_type="image/png")
colour = contextvars.ContextVar("colour", default="none")


async def run(function, arguments=None, **options):
    made = Tool.of(function)
    call = ToolCallPart(id="c1", name=made.name, arguments={} if arguments is None else arguments)
    return await run_tool(made, call, CONTEXT, **options)


def kinds(work):
    """Give the same work as a sync function and as an async one."""

    def f():
        return work()

    async def g():
        return work()

    return [f, g]


def both(work):
    return pytest.mark.parametrize("function", kinds(work), ids=["sync", "async"])


def called(function):
    """Give a plain function `f` that calls another, sync or not, and returns what that gives."""

    def f():
        return function()

    return f


def fail(error):
    raise error


@pytest.fixture
def hang():
    """A function that returns when the test is over."""
    release = threading.Event()
    yield release.wait
    release.set()


async def for_ever():
    await asyncio.Event().wait()


class TestSuccess:
    @pytest.mark.parametrize(
        ("value", "parts"),
        [
            ("sunny", (TextPart("sunny"),)),
            (None, ()),
            (3, (JsonPart(3),)),
            ({"type": "sun"}, (JsonPart({"type": "sun"}),)),
            (IMAGE, (IMAGE,)),
            ([TextPart("a"), IMAGE], (TextPart("a"), IMAGE)),
        ],
    )
    async def test_what_it_returns_is_the_output(self, value, parts):
        for function in kinds(lambda: value):
            result = await run(function)
            assert result == ToolResultPart(call_id="c1", name=function.__name__, parts=parts)

    async def test_arguments_are_validated_and_converted(self):
        def add(a: int, b: Annotated[int, pydantic.Field(ge=0)] = 1):
            return a + b

        assert (await run(add, {"a": "2"})).parts == (JsonPart(3),)

    async def test_the_context_is_injected(self):
        def sync(context: Context[dict[str, int]]):
            return [context.deps, context.call_key, context.round]

        async def not_sync(a: int, *, context: Context):
            return [context.deps, context.call_key, context.round]

        assert (await run(sync)).parts == (await run(not_sync, {"a": 1})).parts == (JsonPart([{"db": 1}, "m1/0", 2]),)

    async def test_sync_runs_in_a_daemon_thread_and_async_in_the_callers_task(self):
        seen = {}

        def sync():
            seen["thread"] = threading.current_thread()

        async def not_sync():
            seen["task"] = asyncio.current_task()

        await run(sync)
        await run(not_sync)
        assert seen["thread"].daemon
        assert seen["thread"] is not threading.current_thread()
        assert seen["task"] is asyncio.current_task()

    async def test_context_variables_are_carried_into_the_thread(self):
        colour.set("red")
        assert (await run(called(colour.get))).text == "red"

    async def test_methods_partials_and_callable_objects(self):
        class Shop:
            @tool
            def price(self, a: int):
                return a * 2

            async def __call__(self, a: int):
                return a * 3

        async def power(a: int, b: int):
            return a**b

        assert (await run(Shop().price, {"a": 2})).parts == (JsonPart(4),)
        assert (await run(Shop(), {"a": 2})).parts == (JsonPart(6),)
        assert (await run(functools.partial(power, b=3), {"a": 2})).parts == (JsonPart(8),)

    async def test_a_sync_function_that_gives_a_coroutine_or_a_generator_is_finished_in_the_right_place(self):
        async def answer():
            return "a"

        async def pieces():
            yield "a"
            yield "b"

        async def generator():
            return (piece for piece in "xy")

        assert (await run(called(answer))).text == "a"
        assert (await run(called(pieces))).text == "ab"
        assert (await run(generator)).text == "xy"


class TestPieces:
    @staticmethod
    def sync():
        yield "a"
        yield None
        yield "b"
        yield {"n": 1}
        yield "c"

    @staticmethod
    async def not_sync():
        for piece in TestPieces.sync():
            yield piece

    @pytest.mark.parametrize("name", ["sync", "not_sync"])
    async def test_pieces_are_shown_in_order_and_joined_in_the_result(self, name):
        shown = []
        result = await run(getattr(self, name), on_output=shown.append)
        assert shown == [TextPart("a"), TextPart("b"), JsonPart({"n": 1}), TextPart("c")]
        assert result.parts == (TextPart("ab"), JsonPart({"n": 1}), TextPart("c"))
        assert result.state == "success"

    async def test_they_are_shown_live(self):
        shown = asyncio.Queue()

        def sync(go: threading.Event):
            yield "first"
            go.wait()
            yield "second"

        async def not_sync(go: asyncio.Event):
            yield "first"
            await go.wait()
            yield "second"

        for function, event in ((sync, threading.Event()), (not_sync, asyncio.Event())):
            made = Tool(name="f", parameters={}, function=functools.partial(function, event))
            call = ToolCallPart(id="1", name="f")
            task = asyncio.create_task(run_tool(made, call, CONTEXT, on_output=shown.put_nowait))
            assert await shown.get() == TextPart("first")
            event.set()
            assert await shown.get() == TextPart("second")
            assert (await task).text == "firstsecond"

    async def test_what_came_before_a_failure_is_kept(self):
        def sync():
            yield "half"
            raise ValueError("no more")

        async def not_sync():
            yield "half"
            raise ValueError("no more")

        for function in (sync, not_sync):
            result = await run(function)
            assert (result.state, result.text) == ("error", "half\nValueError: no more")

    async def test_a_generator_is_closed_when_nobody_listens_any_more(self):
        go, closed = threading.Event(), threading.Event()

        def sync():
            try:
                yield "a"
                go.wait()
                yield "b"
                yield "c"
            finally:
                closed.set()

        shown = asyncio.Event()
        task = asyncio.create_task(run(sync, on_output=lambda part: shown.set()))
        await shown.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        go.set()
        assert await asyncio.to_thread(closed.wait, 30)

    async def test_an_async_generator_is_closed_when_its_time_is_up(self):
        closed = []

        async def not_sync():
            try:
                yield "a"
                await for_ever()
            finally:
                closed.append(True)

        result = await run(not_sync, timeout_s=0.01)
        assert (result.state, result.text, closed) == ("timed_out", "a\nnot_sync did not finish within 0.01 s", [True])

    async def test_what_on_output_raises_is_the_callers_own(self):
        error = KeyError("bug")
        for function in (self.sync, self.not_sync, *kinds(lambda: "a")):
            with pytest.raises(KeyError) as caught:
                await run(function, on_output=lambda part: fail(error))
            assert caught.value is error


class TestFailures:
    @both(lambda: fail(ToolError("No such city; try Bern.")))
    async def test_the_text_of_a_tool_error_goes_to_the_model_as_it_is(self, function):
        result = await run(function)
        assert (result.state, result.text) == ("error", "No such city; try Bern.")

    @both(lambda: fail(ValueError("boom")))
    async def test_any_other_exception_is_said_with_its_type(self, function):
        result = await run(function)
        assert (result.state, result.text, result.metadata) == ("error", "ValueError: boom", {"error_type": "ValueError"})

    @pytest.mark.parametrize("error", [StopIteration(1), asyncio.CancelledError("mine"), TimeoutError("mine"), MemoryError()])
    async def test_exceptions_that_mean_something_to_python_are_results_too(self, error):
        for function in kinds(lambda: fail(error)):
            result = await run(function, timeout_s=30)
            assert result.state == "error"
            assert type(error).__name__ in result.text

    @pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(3)])
    @pytest.mark.parametrize("kind", [0, 1])
    def test_leaving_the_program_passes_through(self, error, kind):
        function = kinds(lambda: fail(error))[kind]
        loop = asyncio.new_event_loop()
        try:
            with pytest.raises(type(error)) as caught:
                loop.run_until_complete(run(function))
        finally:
            loop.close()
        assert caught.value is error

    @pytest.mark.parametrize(
        ("value", "words"),
        [
            (object(), "a object has no JSON form"),
            (b"x", "return MediaPart"),
            ({"a": float("nan")}, r"output.a is nan"),
        ],
    )
    async def test_an_output_that_is_no_json_is_an_error_that_names_the_type(self, value, words):
        for function in kinds(lambda: value):
            result = await run(function)
            assert result.state == "error"
            assert result.text.startswith(f"{function.__name__} ran, but its output cannot be sent: ")
            assert words in result.text

    async def test_a_serialiser_that_raises_is_an_error_result(self):
        class Odd(pydantic.BaseModel):
            data: bytes = b"\xff"

        result = await run(called(Odd))
        assert result.state == "error"
        assert "UnicodeDecodeError" in result.text

    async def test_bad_arguments_are_listed_and_the_tool_does_not_run(self):
        ran = []

        def f(city: str, days: int):
            ran.append(city)

        result = await run(f, {"days": "soon"})
        assert (result.state, ran) == ("error", [])
        assert "- city: is required" in result.text
        assert "- days: Input should be a valid integer" in result.text
        assert "http" not in result.text

    async def test_a_validator_that_raises_something_odd_is_an_error_result(self):
        def f(a: Annotated[int, pydantic.AfterValidator(lambda value: fail(KeyError("odd")))]): ...

        result = await run(f, {"a": 1})
        assert (result.state, result.text) == ("error", "KeyError: 'odd'")

    @pytest.mark.parametrize(
        "call",
        [
            ToolCallPart(id="c1", name="f", arguments='{"a": 1'),
            ToolCallPart(id="c1", name="f", arguments={}, runnable=False),
            ToolCallPart(id="c1", name="f", kind="custom", arguments="text"),
        ],
    )
    async def test_a_call_that_is_not_runnable_never_runs(self, call):
        ran = []
        result = await run_tool(Tool(name="f", function=lambda: ran.append(1)), call, CONTEXT)
        assert (result.state, ran) == ("error", [])
        assert result.text.startswith("The call was not run: ")

    async def test_an_external_tool_is_not_run_here(self):
        with pytest.raises(UsageError, match="external"):
            await run(Tool(name="f", external=True, function=lambda: 1))

    async def test_annotations_that_do_not_do_for_a_tool_are_the_callers_affair(self):
        def f(a: Nowhere): ...  # noqa: F821

        with pytest.raises(UsageError, match="Nowhere"):
            await run(f, {"a": 1})

    async def test_a_system_without_threads_is_an_error_result(self, monkeypatch):
        threads = DaemonThreads(1)
        with monkeypatch.context() as patch:
            patch.setattr(threading.Thread, "start", lambda thread: fail(RuntimeError("can't start new thread")))
            result = await run(tool(name="f")(lambda: 1), threads=threads)
        assert (result.state, result.text) == ("error", "RuntimeError: can't start new thread")
        assert (await run(tool(name="f")(lambda: "its place is free"), threads=threads)).text == "its place is free"

    async def test_output_is_cut_and_the_cut_is_said(self):
        @tool(max_output_bytes=10)
        def f():
            yield "0123456"
            yield "789abc"
            yield "more"

        shown = []
        result = await run(f, on_output=shown.append)
        assert result.parts == (TextPart("0123456789"), TextPart("\n[cut here: 7 more bytes of output were left out]"))
        assert result.metadata == {"kept_bytes": 10, "cut_bytes": 7}
        assert (result.state, shown) == ("success", [TextPart("0123456"), TextPart("789")])


class TestTimeouts:
    async def test_a_sync_tool_that_hangs_is_timed_out_and_said_to_run_on(self, hang):
        result = await run(called(hang), timeout_s=0.01)
        assert (result.state, result.metadata) == ("timed_out", {"may_still_run": True})
        assert result.text == "f did not finish within 0.01 s; it may still be running"

    async def test_an_async_tool_that_hangs_is_cancelled(self):
        cancelled = []

        async def f():
            try:
                await for_ever()
            except asyncio.CancelledError:
                cancelled.append(True)
                raise

        result = await run(f, timeout_s=0.01)
        assert (result.state, result.text, result.metadata) == ("timed_out", "f did not finish within 0.01 s", {})
        assert cancelled == [True]

    async def test_an_async_tool_that_answers_its_cancellation_is_timed_out_all_the_same(self):
        async def f():
            try:
                await for_ever()
            except asyncio.CancelledError:
                raise ValueError("stopped") from None

        assert (await run(f, timeout_s=0.01)).state == "timed_out"

    async def test_the_tools_own_limit_wins_over_the_callers(self, hang):
        assert (await run(tool(timeout_s=0.01)(called(hang)), timeout_s=3600)).state == "timed_out"
        assert (await run(tool(name="f", timeout_s=math.inf)(lambda: "a"), timeout_s=1e-9)).state == "success"

    async def test_a_coroutine_from_a_thread_is_under_the_same_limit(self):
        result = await run(called(for_ever), timeout_s=0.05)
        assert result.state == "timed_out"

    def test_a_sync_tool_that_hangs_does_not_keep_the_interpreter_from_ending(self):
        code = """
import asyncio, threading
from headrace.agent.execution import run_tool
from headrace.messages.parts import ToolCallPart
from headrace.tools.context import Context
from headrace.tools.media import media_file
from headrace.tools.notes import ForwardNote, ProgressNote
from headrace.tools.output import Output
from headrace.tools.suspend import Suspend
from headrace.tools.tool import tool
@tool
def hang() -> None:
    threading.Event().wait()
print(asyncio.run(run_tool(hang, ToolCallPart(id="1", name="hang"), Context(deps=None), timeout_s=0.01)).state)
"""
        env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True, timeout=60, env=env)
        assert (done.stdout, done.returncode) == ("timed_out\n", 0), done.stderr

    async def test_when_every_thread_hangs_a_call_is_said_not_to_have_run(self, hang):
        threads, ran = DaemonThreads(1), []
        assert (await run(called(hang), timeout_s=0.01, threads=threads)).state == "timed_out"
        result = await run(tool(name="g")(lambda: ran.append(1)), timeout_s=0.01, threads=threads)
        assert (result.state, result.text) == ("not_run", "g was not started within 0.01 s: all 1 threads for tools are busy")
        assert ran == []


class TestRetries:
    @staticmethod
    def flaky(errors, **options):
        left = list(errors)

        @tool(idempotent=True, **options)
        async def f():
            if left:
                error = left.pop(0)
                await for_ever() if error is None else fail(error)
            return "done"

        return f, left

    async def test_exceptions_and_timeouts_are_tried_again(self):
        f, _ = self.flaky([ValueError(), None, KeyError()], retries=3, timeout_s=0.01)
        result = await run(f)
        assert (result.state, result.text, result.metadata) == ("success", "done", {"attempts": 4})

    async def test_the_last_failure_is_the_result(self):
        f, left = self.flaky([ValueError("a"), ValueError("b"), ValueError("c")], retries=1)
        result = await run(f)
        assert (result.state, result.text, result.metadata["attempts"], len(left)) == ("error", "ValueError: b", 2, 1)

    async def test_a_tool_error_is_said_at_once(self):
        f, left = self.flaky([ToolError("no"), ToolError("no")], retries=3)
        assert ((await run(f)).text, len(left)) == ("no", 1)

    async def test_bad_output_is_said_at_once(self):
        ran = []

        @tool(idempotent=True, retries=3)
        def f():
            ran.append(1)
            return object()

        assert ((await run(f)).state, ran) == ("error", [1])

    async def test_without_retries_there_is_one_try(self):
        f, left = self.flaky([ValueError(), ValueError()])
        assert ((await run(f)).state, len(left)) == ("error", 1)

    async def test_what_has_been_shown_is_not_shown_twice(self):
        ran = []

        @tool(idempotent=True, retries=3)
        async def f():
            ran.append(1)
            yield "a"
            raise ValueError("b")

        assert ((await run(f, on_output=lambda part: None)).text, len(ran)) == ("a\nValueError: b", 1)
        assert ((await run(f)).text, len(ran)) == ("a\nValueError: b", 1 + 4)

    async def test_each_try_gets_the_arguments_anew(self):
        seen = []

        @tool(idempotent=True, retries=1)
        def f(names: list[str]):
            seen.append(list(names))
            names.append("changed")
            raise ValueError

        await run(f, {"names": ["a"]})
        assert seen == [["a"], ["a"]]


class TestCancellation:
    async def test_it_passes_through_an_async_tool(self):
        begun = asyncio.Event()

        async def f():
            begun.set()
            await for_ever()

        task = asyncio.create_task(run(f))
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    async def test_it_passes_through_while_a_sync_tool_runs_on(self, hang):
        begun, loop = asyncio.Event(), asyncio.get_running_loop()

        def f():
            loop.call_soon_threadsafe(begun.set)
            hang()

        task = asyncio.create_task(run(f))
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    async def test_a_timeout_of_the_caller_is_the_callers(self, hang):
        for function in (for_ever, called(hang)):
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.01):
                    await run(function, timeout_s=30)

    async def test_a_cancellation_that_the_tool_made_itself_is_no_cancellation_of_the_caller(self):
        async def f():
            inner = asyncio.create_task(for_ever())
            inner.cancel()
            await inner

        result = await run(f)
        assert (result.state, result.text) == ("error", "CancelledError")
        assert asyncio.current_task().cancelling() == 0

    async def test_a_coroutine_that_nobody_awaits_any_more_is_closed(self):
        go, ended, loop, begun = threading.Event(), threading.Event(), asyncio.get_running_loop(), asyncio.Event()

        async def answer():
            return "a"

        made = []

        def f():
            loop.call_soon_threadsafe(begun.set)
            go.wait()
            made.append(answer())
            return made[0]

        threads = DaemonThreads(1)
        task = asyncio.create_task(run(f, threads=threads))
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        go.set()
        await threads.start(ended.set, "last")  # there is one place: f has ended
        assert await asyncio.to_thread(ended.wait, 30)
        assert made[0].cr_frame is None

    def test_a_thread_that_ends_after_its_loop_is_harmless(self, monkeypatch):
        go, said = threading.Event(), []
        monkeypatch.setattr(threading, "excepthook", said.append)
        threads = DaemonThreads(1)
        assert asyncio.run(run(tool(name="f")(lambda: go.wait() and "late"), timeout_s=0.01, threads=threads)).state == "timed_out"
        go.set()
        assert asyncio.run(run(tool(name="f")(lambda: "next"), threads=threads)).text == "next"
        assert said == []


class TestEditedArguments:
    async def test_they_stand_in_for_the_calls_own_and_the_call_stays_as_it_is(self):
        made = Tool.of(called(str))

        @tool
        def f(city: str, context: Context):
            return f"{city} {context.call_id}"

        call = ToolCallPart(id="c1", name="f", arguments={"city": "Bern"})
        result = await run_tool(f, call, CONTEXT, arguments={"city": "Basel"})
        assert (result.text, result.call_id, call.parsed) == ("Basel c1", "c1", {"city": "Bern"})
        assert (await run_tool(made, call, CONTEXT, arguments={})).text == ""

    async def test_they_are_checked_like_any_others(self):
        def f(city: str): ...

        call = ToolCallPart(id="c1", name="f", arguments={"city": "Bern"})
        assert "- city: is required" in (await run_tool(Tool.of(f), call, CONTEXT, arguments={})).text

    async def test_they_do_not_make_a_call_run_that_must_not(self):
        ran = []
        call = ToolCallPart(id="c1", name="f", arguments={}, runnable=False)
        assert (await run_tool(Tool(name="f", function=lambda: ran.append(1)), call, CONTEXT, arguments={})).state == "error"
        assert ran == []


class TestSuspension:
    @both(lambda: fail(Suspend(["somebody"], {"n": 1})))
    async def test_it_leaves_as_itself(self, function):
        with pytest.raises(Suspend) as caught:
            await run(function, timeout_s=30)
        assert (caught.value.pending, caught.value.state) == (("somebody",), {"n": 1})

    async def test_from_generators_too_and_what_they_gave_out_was_shown(self):
        def sync():
            yield "asking"
            raise Suspend

        async def not_sync():
            yield "asking"
            raise Suspend

        for function in (sync, not_sync):
            shown = []
            with pytest.raises(Suspend):
                await run(function, on_output=shown.append)
            assert shown == [TextPart("asking")]

    async def test_it_is_never_tried_again(self):
        ran = []

        @tool(idempotent=True, retries=3)
        def f():
            ran.append(1)
            raise Suspend

        with pytest.raises(Suspend):
            await run(f)
        assert ran == [1]

    async def test_a_call_that_goes_on_finds_its_state_and_the_answers(self):
        def f(context: Context):
            return context.resumption

        made = Tool.of(f)
        context = Context(deps=None, resumption={"n": 1})
        assert (await run_tool(made, ToolCallPart(id="c1", name="f", arguments={}), context)).parts == (JsonPart({"n": 1}),)


class TestNotes:
    """Progress and forwarded events: in order with the output, from wherever the tool is."""

    @staticmethod
    def sync(context: Context):
        context.progress("one", done=1, total=2)
        yield "a"
        context.forward("event")
        context.progress("two", done=2, total=2)
        yield "b"

    @staticmethod
    async def not_sync(context: Context):
        for piece in TestNotes.sync(context):
            yield piece

    async def test_they_come_in_order_with_the_output_and_are_no_part_of_the_result(self):
        for function in (self.sync, self.not_sync):
            heard = []
            result = await run(function, on_output=heard.append)
            notes = ProgressNote("one", 1, 2), TextPart("a"), ForwardNote("event"), ProgressNote("two", 2, 2), TextPart("b")
            assert heard == list(notes)
            assert result.text == "ab"

    async def test_outside_of_a_run_they_do_nothing(self):
        assert (await run(self.sync)).text == "ab"
        assert list(self.sync(CONTEXT)) == ["a", "b"]
        assert CONTEXT.switch_groups(["a"]) == frozenset()

    async def test_from_a_thread_that_never_pauses_only_the_newest_progress_is_heard_between_other_things(self):
        heard, go = [], threading.Event()

        def f(context: Context):
            for n in range(1000):
                context.progress(done=n)
            context.forward("first")
            for n in range(1000):
                context.progress(done=n)
            go.set()
            return "done"

        loop = asyncio.get_running_loop()
        task = asyncio.create_task(run(f, on_output=heard.append))
        loop.call_soon(lambda: loop.call_soon(go.wait, 30))  # the loop is busy while the thread speaks
        await task
        forwarded = heard.index(ForwardNote("first"))
        assert heard[forwarded - 1] == heard[-2] == ProgressNote(done=999)
        assert heard[-1] == TextPart("done")
        assert len(heard) < 100

    async def test_they_come_live(self):
        heard, go = asyncio.Queue(), threading.Event()

        def f(context: Context):
            context.progress("half")
            go.wait(30)

        task = asyncio.create_task(run(f, on_output=heard.put_nowait))
        assert await heard.get() == ProgressNote("half")
        go.set()
        await task

    async def test_from_a_thread_of_the_tools_own(self):
        heard = []

        async def f(context: Context):
            await asyncio.to_thread(context.forward, "event")
            return "a"

        await run(f, on_output=heard.append)
        assert heard == [ForwardNote("event"), TextPart("a")]

    async def test_after_the_end_nothing_is_heard_any_more(self):
        heard, kept = [], []

        def f(context: Context):
            kept.append(context)

        await run(f, on_output=heard.append)
        kept[0].progress("late")
        await asyncio.to_thread(kept[0].forward, "late")
        assert heard == []

    async def test_a_loop_that_is_gone_is_harmless(self):
        kept = []

        def f(context: Context):
            kept.append(context)

        await asyncio.to_thread(lambda: asyncio.run(run(f, on_output=fail)))
        kept[0].progress("late")

    async def test_what_the_listener_raises_is_the_callers_own(self):
        error = KeyError("bug")
        for function in (self.sync, self.not_sync):
            with pytest.raises(KeyError) as caught:
                await run(function, on_output=lambda what: fail(error))
            assert caught.value is error

    async def test_wrong_progress_is_the_tools_own_mistake(self):
        def f(context: Context):
            context.progress(done=math.nan)

        for options in ({}, {"on_output": lambda what: None}):
            assert "progress.done is nan" in (await run(f, **options)).text

    async def test_after_forwarded_events_there_is_no_other_try(self):
        ran = []

        @tool(idempotent=True, retries=3)
        async def f(context: Context):
            ran.append(1)
            context.progress("trying")
            if len(ran) > 1:
                context.forward("event")
            raise ValueError("no")

        assert (await run(f, on_output=lambda what: None)).metadata["attempts"] == 2


class TestMedia:
    """Images and files as results."""

    async def test_an_image_among_text_and_data(self):
        for function in kinds(lambda: ["Here it is:", IMAGE, {"width": 3}]):
            assert (await run(function)).parts == (TextPart("Here it is:"), IMAGE, JsonPart({"width": 3}))

    async def test_an_image_as_a_piece_is_shown_live(self):
        def f():
            yield "drawing"
            yield IMAGE
            yield "done"

        shown = []
        result = await run(f, on_output=shown.append)
        assert tuple(shown) == result.parts == (TextPart("drawing"), IMAGE, TextPart("done"))

    async def test_a_file(self, tmp_path):
        (tmp_path / "a.png").write_bytes(b"\x89PNG")
        result = await run(called(lambda: media_file(tmp_path / "a.png")))
        assert result.parts == (MediaPart(kind="image", data=b"\x89PNG", media_type="image/png", name="a.png"),)

    async def test_a_dictionary_is_never_taken_for_media_and_a_path_is_its_text(self, tmp_path):
        form = {"type": "media", "kind": "image", "url": "https://example.org/a.png"}
        assert (await run(called(lambda: form))).parts == (JsonPart(form),)
        assert (await run(called(lambda: tmp_path))).parts == (JsonPart(str(tmp_path)),)

    async def test_an_open_file_is_refused_with_its_type(self, tmp_path):
        def f():
            with (tmp_path / "a.txt").open("wb") as file:
                return file

        result = await run(f)
        assert (result.state, "a BufferedWriter has no JSON form" in result.text) == ("error", True)

    async def test_media_over_the_bound_are_left_out_whole_and_the_text_stays(self, monkeypatch):
        monkeypatch.setattr(Output.__init__, "__defaults__", (10,))
        big = MediaPart(kind="image", data=b"x" * 11, media_type="image/png")
        result = await run(called(lambda: ["a picture", big]))
        assert result.parts == (TextPart("a picture"), TextPart("\n[cut here: 11 more bytes of output were left out]"))
        assert (result.state, result.metadata) == ("success", {"kept_bytes": 9, "cut_bytes": 11})


async def test_many_calls_at_once_stay_under_the_cap():
    lock, running, most = threading.Lock(), [0], [0]
    barrier = threading.Barrier(3)

    def f():
        with lock:
            running[0] += 1
            most[0] = max(most[0], running[0])
        barrier.wait(30)  # three run together, and no fourth comes
        with lock:
            running[0] -= 1

    threads = DaemonThreads(3)
    results = await asyncio.gather(*(run(f, threads=threads) for _ in range(30)))
    assert {result.state for result in results} == {"success"}
    assert most[0] == 3
