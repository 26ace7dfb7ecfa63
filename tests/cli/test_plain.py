"""A run's events in a pipe: the answer alone on one stream, what happened on the other."""

from __future__ import annotations

from datetime import UTC, datetime

from headrace.agent import events
from headrace.agent.agent import Agent
from headrace.cli.plain import PlainRun
from headrace.errors import ConnectionLostError
from headrace.messages.message import AssistantMessage
from headrace.messages.parts import RefusalPart, TextPart, ToolCallPart
from headrace.models.script import Scripted
from headrace.models.scripted import ScriptedModel
from headrace.tools.tool import tool


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def asked(*parts):
    return AssistantMessage([*parts, ToolCallPart(id="c", name="add", arguments={"a": 1, "b": 2})])


async def play(*answers, tools=(), **options):
    """Run, and return (answers as they came, activity)."""
    plain, answer, activity = PlainRun(has_tools=bool(tools)), [], ""
    try:
        async with Agent(ScriptedModel(*answers, slice_chars=2), tools=tools, **options).stream("?") as run:
            async for event in run:
                output = plain.feed(event)
                answer += [output.answer] if output.answer else []
                activity += output.activity
    except ConnectionLostError:
        activity += "(raised)"
    return answer, activity


async def test_without_tools_the_answer_comes_as_it_is_said():
    answer, activity = await play("Hello.")
    assert answer == ["He", "ll", "o.", "\n"]
    assert activity == "· 1 round\n"


async def test_an_answer_that_ends_its_line_gets_no_second_newline():
    answer, _ = await play("Hi.\n")
    assert "".join(answer) == "Hi.\n"


async def test_with_tools_only_the_final_answer_goes_out():
    answer, activity = await play(asked(TextPart("I add.")), "It is 3.", tools=[add])
    assert answer == ["It is 3.\n"]
    assert activity == '→ add {"a":1,"b":2}\nI add.\n← add 3\n· 2 rounds\n'


async def test_a_result_that_failed_says_so():
    bad = AssistantMessage([ToolCallPart(id="c", name="add", arguments={"a": "x"})])
    _, activity = await play(bad, "Sorry.", tools=[add])
    assert "← add [error] " in activity


async def test_a_refusal_is_no_answer():
    answer, activity = await play(AssistantMessage([RefusalPart("I will not.")]))
    assert answer == []
    assert activity.startswith("refused: I will not.\n")


async def test_what_had_come_of_an_answer_that_died_goes_out():
    for tools in ((), [add]):
        answer, activity = await play(Scripted("Half an answer", dies_after=3), tools=tools)
        assert "".join(answer) == "Half a\n"
        assert "the answer broke off" in activity


async def test_the_text_of_a_forced_answer_goes_out_whatever_calls_stand_beside_it():
    answer, activity = await play(asked(), asked(TextPart("It is 3.")), tools=[add], max_rounds=1)
    assert "".join(answer) == "It is 3.\n"
    assert "[not_run]" in activity


async def test_the_text_of_a_tool_round_in_which_the_run_ended_is_told_once_and_is_no_answer():
    plain, answer, activity = PlainRun(has_tools=True), "", ""
    async with Agent(ScriptedModel(asked(TextPart("I add."))), tools=[add]).stream("?") as run:
        async for event in run:
            output = plain.feed(event)
            answer, activity = answer + output.answer, activity + output.activity
            if event.type == "round_ended":
                run.interrupt()
    assert answer == ""
    assert activity.count("I add.") == 1
    assert "interrupted" in activity


# ---------------------------------------------------------------------------------------------- waiting


@tool(needs_approval=True)
def pay(amount: int) -> str:
    """Pay."""
    return f"paid {amount}"


async def test_a_run_that_waits_has_no_answer_yet_and_what_was_said_before_is_not_given_when_it_goes_on():
    call = AssistantMessage([TextPart("I shall pay."), ToolCallPart(id="c", name="pay", arguments={"amount": 3})])
    agent = Agent(ScriptedModel(call, "Paid."), tools=[pay])
    first, then = PlainRun(has_tools=True), PlainRun(has_tools=True)
    async with agent.stream("?") as run:
        told = [first.feed(event) async for event in run]
    assert "".join(output.answer for output in told) == ""
    assert "I shall pay." in "".join(output.activity for output in told)
    async with agent.resume_stream(run.result.state) as waits_again:
        again = [then.feed(event) async for event in waits_again]
    assert "".join(output.answer for output in again) == ""
    last = PlainRun(has_tools=True)
    async with agent.resume_stream(waits_again.result.state, [waits_again.result.pending[0].approve()]) as run:
        told = [last.feed(event) async for event in run]
    assert "".join(output.answer for output in told) == "Paid.\n"
    assert "".join(output.activity for output in told) == "· approved\n← pay paid 3\n· 2 rounds\n"


def test_how_far_a_tool_is_and_what_a_sub_agent_does_is_activity():
    plain, head = PlainRun(has_tools=True), (1, "run", 1, datetime(2026, 1, 2, tzinfo=UTC))
    plain.feed(events.ToolCallEnded(*head, "m/0", "c", "find", "{}", {}, True))
    assert plain.feed(events.ToolProgress(*head, "m/0", "load", 1, 2)).activity == "· find: load (1/2)\n"
    inner = events.ToolCallEnded(*head, "s/0", "c", "fetch", "{}", {}, True)
    assert plain.feed(events.SubRun(*head, "m/0", inner)).activity == "┊ → fetch {}\n"
