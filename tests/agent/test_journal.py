"""A run that is written down: what is kept before what, and what a call that was under way goes on from."""

from __future__ import annotations

import json
from typing import Any

import pytest

from headrace.agent import events
from headrace.agent.agent import Agent
from headrace.agent.event_codec import decode_event, encode_event
from headrace.agent.session import Session
from headrace.errors import StoreError, UsageError
from headrace.models.scripted import ScriptedModel
from headrace.tools.context import Context
from headrace.tools.suspend import Suspend
from headrace.tools.tool import tool
from pausing import call, calls

Line = tuple[str, str]


class Book:
    """A journal in a list: what was noted and what was kept, in order, with the state at each commit."""

    def __init__(self, *, run_id: str | None = None, fails_at: int | None = None) -> None:
        self.run_id = run_id
        self.lines: list[Line] = []
        self.states: list[str] = []
        self.events: list[events.Event] = []
        self._fails_at = fails_at

    def attach(self, state: Any) -> None:
        self._state = state

    def note(self, event: events.Event) -> None:
        self.events.append(decode_event(encode_event(event)))
        self.lines.append(("noted", event.type))

    async def commit(self) -> None:
        if self._fails_at == len(self.states):
            raise StoreError("the disk is full")
        self.states.append(json.dumps(self._state().state))
        self.lines.append(("kept", ""))

    async def tool(self, call_key: str, call: Any, run: Any) -> Any:
        await self.commit()
        self.lines.append(("ran", call.name))
        return await run()


def agent(*answers: Any, tools: Any = (), **options: Any) -> Agent:
    return Agent(ScriptedModel(*answers), tools=tools, **options)


@tool
async def act(what: str) -> str:
    """Act."""
    return f"did {what}"


async def test_a_tool_runs_once_the_note_that_it_started_is_kept():
    book = Book()
    await agent(calls("well", call("a", what="x")), "done", tools=[act]).run("go", journal=book)
    lines = book.lines
    ran = lines.index(("ran", "act"))
    assert ("noted", "tool_started") in lines[:ran]
    assert lines[ran - 1] == ("kept", "")
    assert json.loads(book.states[1])["open"]["started"] == {"0": 0}


async def test_a_model_is_asked_once_all_that_happened_before_is_kept():
    book = Book()
    await agent(calls(call("a", what="x")), "done", tools=[act]).run("go", journal=book)
    second = [n for n, line in enumerate(book.lines) if line == ("noted", "round_started")][1]
    assert book.lines[second + 1] == ("kept", "")


async def test_a_run_has_its_result_once_what_led_to_it_is_kept():
    book = Book()
    await agent("done").run("go", journal=book)
    assert book.lines[-2:] == [("kept", ""), ("noted", "run_ended")]
    assert json.loads(book.states[-1])["open"] is not None


async def test_the_journal_names_the_run():
    result = await agent("done").run("go", journal=Book(run_id="mine"))
    assert result.run_id == "mine"


@pytest.mark.parametrize("fails_at", range(4))
async def test_what_cannot_be_kept_fails_the_run_and_leaves_its_conversation_alone(fails_at):
    session = Session("talk")
    ran: list[str] = []

    @tool
    async def act(what: str) -> str:
        """Act."""
        ran.append(what)
        return "did"

    script = agent(calls(call("a", what="x")), "done", tools=[act])
    with pytest.raises(StoreError, match="disk"):
        await script.run("go", session=session, journal=Book(fails_at=fails_at))
    assert session.messages == ()
    assert ran == ([] if fails_at < 2 else ["x"])


# ------------------------------------------------------------------------------------------ calls that go on


def counting(seen: list[Any], to_death: Any = None) -> Any:
    """A tool that counts; where it gets to 2 for the first time, its process dies, as far as what was kept by then tells."""

    @tool
    async def count(to: int, context: Context) -> str:
        """Count, one after the other."""
        begin = 0 if context.resumption is None else context.resumption.state["at"]
        seen.append(("from", begin))
        for n in range(begin, to):
            context.keep({"at": n})
            if to_death is not None and n == 2:
                await context.secure()
                to_death()
                break
            seen.append(n)
        return f"counted to {to}"

    return count


async def test_a_call_that_says_from_where_it_goes_on_is_not_in_doubt():
    book, seen, dead = Book(), [], []
    first = counting(seen, lambda: dead.append(book.states[-1]))
    await agent(calls(call("a", "count", to=4)), "", tools=[first], max_rounds=1).run("go", journal=book)
    result = await agent("done", tools=[counting(seen)]).resume(dead[0], journal=Book())
    assert result.message.text == "done"
    assert seen == [("from", 0), 0, 1, ("from", 2), 2, 3]


async def test_without_it_the_call_is_in_doubt():
    book = Book()
    await agent(calls(call("a", what="x")), "done", tools=[act]).run("go", journal=book)
    result = await agent("done", tools=[act]).resume(book.states[1])
    assert [pending.kind for pending in result.pending] == ["in_doubt"]


async def test_a_call_that_suspends_keeps_what_its_suspend_says():
    @tool
    async def ask(context: Context) -> str:
        """Ask."""
        context.keep({"at": "before"})
        if context.resumption is None:
            raise Suspend(state={"at": "asked"})
        return context.resumption.state["at"]

    result = await agent(calls(call("a", "ask")), "done", tools=[ask]).run("go", journal=Book())
    opened = json.loads(json.dumps(result.state))["open"]
    assert opened["inside"] == {}
    assert opened["waiting"]["0"]["state"] == {"at": "asked"}


async def test_what_a_call_keeps_must_be_json():
    @tool
    async def odd(context: Context) -> str:
        """Keep something odd."""
        with pytest.raises(UsageError, match="keep"):
            context.keep(object())
        return "ok"

    result = await agent(calls(call("a", "odd")), "done", tools=[odd]).run("go")
    assert result.message.text == "done"


async def test_outside_of_a_run_nothing_is_kept():
    context = Context(deps=None)
    context.keep({"at": 1})
    await context.secure()


# ------------------------------------------------------------------------------------------ agents inside


def outer(*answers: Any, inner: Agent) -> Agent:
    return agent(*answers, tools=[inner.as_tool("helper", "Helps.")])


async def test_an_agent_inside_goes_on_from_where_it_was():
    ran: list[str] = []
    dead: list[str] = []
    book = Book()

    @tool
    async def act(what: str) -> str:
        """Act."""
        if what == "two":
            dead.append(book.states[-1])
        ran.append(what)
        return f"did {what}"

    first = agent(calls(call("i", what="one")), calls(call("j", what="two")), "inside is done", tools=[act])
    await outer(calls(call("a", "helper", task="help")), "done", inner=first).run("go", journal=book)
    assert ran == ["one", "two"]
    second = agent("inside is done", tools=[act])
    result = await outer("done", inner=second).resume(dead[0], journal=Book())
    # The inner call that had started is in doubt, and asked about with the outer call named.
    (pending,) = result.pending
    assert (pending.kind, pending.call.arguments, len(pending.path)) == ("in_doubt", '{"what":"two"}', 1)
    third = agent("inside is done", tools=[act])
    result = await outer("done", inner=third).resume(json.dumps(result.state), pending.answer("did two"), journal=Book())
    assert result.message.text == "done"
    assert ran == ["one", "two"]


async def test_an_agent_inside_that_had_its_answer_gives_it():
    book = Book()
    inner = agent("the inside answer")
    states: list[Any] = []

    class Late(Book):
        def note(self, event: events.Event) -> None:
            super().note(event)
            if isinstance(event, events.SubRun) and event.event.type == "run_ended":
                states.append(json.dumps(self._state().state))

    book = Late()
    await agent(calls(call("a", "helper", task="help")), "done", tools=[inner.as_tool("helper", "Helps.")]).run("go", journal=book)
    unasked = agent(tools=[])
    result = await agent("done", tools=[unasked.as_tool("helper", "Helps.")]).resume(states[0], journal=Book())
    assert "the inside answer" in str(result.messages[-2])
