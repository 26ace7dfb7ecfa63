"""The agent from outside: rounds, tools, limits, failures, sessions, wrong use."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime, timedelta
from itertools import count, pairwise

import pytest

from headrace.agent import events
from headrace.agent.agent import Agent
from headrace.agent.fold import fold
from headrace.agent.session import MemorySessions, Session
from headrace.errors import (
    APIError,
    ConflictError,
    ConnectionLostError,
    RateLimitError,
    StreamTruncatedError,
    UsageError,
)
from headrace.messages.message import AssistantMessage, SystemMessage, ToolMessage, UserMessage
from headrace.messages.parts import JsonPart, MediaPart, ReasoningPart, TextPart, ToolCallPart
from headrace.messages.request import Request
from headrace.messages.usage import Usage
from headrace.models.answer import AttemptDiscarded
from headrace.models.script import Scripted, chunks_of
from headrace.models.scripted import ScriptedModel
from headrace.tools.context import Context
from headrace.tools.tool import Tool, tool
from headrace.wire.openai_chat.request_out import encode_request
from headrace.wire.profile import DEFAULT
from legal_history import chat_problems, problems


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def call(call_id="a", name="add", arguments='{"a": 1, "b": 2}', **fields):
    return ToolCallPart(id=call_id, name=name, arguments=arguments, **fields)


def calls(*parts, **fields):
    return AssistantMessage([part if not isinstance(part, str) else TextPart(part) for part in parts], **fields)


def sent(request):
    """The request as a strict server sees it."""
    body = json.loads(encode_request(request, DEFAULT).body)
    assert chat_problems(body) == []
    return body


async def run(agent, given="go", **options):
    """Run, and check what holds for every run: folded events are the stored messages, which are a legal history."""
    made = []
    result = await agent.run(given, on_event=made.append, **options)
    check(made, result)
    return result, made


def check(made, result):
    assert [event.seq for event in made] == list(range(1, len(made) + 1))
    assert {event.run_id for event in made} == {result.run_id}
    assert isinstance(made[0], events.RunStarted)
    assert isinstance(made[-1], events.RunEnded)
    assert sum(isinstance(event, events.RunStarted | events.RunEnded) for event in made) == 2
    assert fold(made) == result.messages
    assert problems(result.messages) == []
    assert made[-1].generate_reason == result.generate_reason
    assert made[-1].usage == result.usage
    started = [key_of(event) for event in made if type(event).__name__.endswith("Started") and key_of(event)]
    ended = [key_of(event) for event in made if type(event).__name__.endswith("Ended") and key_of(event)]
    assert sorted(started) == sorted(set(started)) == sorted(ended)


def key_of(event):
    match event:
        case events.TextStarted() | events.TextEnded():
            return (event.kind, event.message_id, event.part)
        case events.ReasoningStarted() | events.ReasoningEnded():
            return ("reasoning", event.message_id, event.part)
        case events.ToolCallStarted() | events.ToolCallEnded():
            return ("call", event.call_key, 0)
        case _:
            return None


# ---------------------------------------------------------------------------------------------- rounds


async def test_an_answer_without_calls_is_the_final_one():
    model = ScriptedModel("Hello!")
    result, _ = await run(Agent(model, instructions="Be brief."), "hi")
    assert result.message.text == result.output == "Hello!"
    assert result.generate_reason == result.message.generate_reason == "completed"
    assert [message.role for message in result.messages] == ["user", "assistant"]
    assert [message.text for message in model.requests[0].messages] == ["Be brief.", "hi"]
    assert result.message.run_id == result.run_id
    assert result.session_id is None


async def test_text_first_and_the_call_late_still_runs_the_call_and_keeps_the_text():
    model = ScriptedModel(calls("Let me think. ", call(), "Done thinking."), "It is 3.", slice_chars=5)
    result, made = await run(Agent(model, tools=[add]))
    first = result.messages[1]
    assert [type(part).__name__ for part in first.parts] == ["TextPart", "ToolCallPart", "TextPart"]
    assert first.generate_reason == "tool_calls"
    assert result.messages[2].results[0].parts == (JsonPart(3),)
    assert result.message.text == "It is 3."
    live = [event.text for event in made if isinstance(event, events.TextDelta)]
    assert "".join(live) == "Let me think. Done thinking.It is 3."
    assert max(len(text) for text in live) == 5
    assert [event.is_final for event in made if isinstance(event, events.RoundEnded)] == [False, True]


async def test_a_tool_runs_only_when_the_round_is_over():
    ran_after = []
    model = ScriptedModel(calls("x", call(), "y"), "ok", slice_chars=1)
    made = []

    @tool
    def add(a: int, b: int) -> int:
        ran_after.append(type(made[-1]).__name__ if made else "")
        return a + b

    await Agent(model, tools=[add]).run("go", on_event=made.append)
    kinds = [type(event).__name__ for event in made]
    assert ran_after in (["ToolStarted"], ["RoundEnded"])
    assert kinds.index("RoundEnded") < kinds.index("ToolStarted")


async def test_parallel_results_stand_in_the_order_of_the_calls_whatever_ends_first():
    order = []
    gates = {n: asyncio.Event() for n in range(3)}
    gates[2].set()

    @tool
    async def wait(n: int) -> str:
        await gates[n].wait()
        order.append(n)
        if n:
            gates[n - 1].set()
        return f"done {n}"

    parts = [call(f"c{n}", "wait", json.dumps({"n": n})) for n in range(3)]
    model = ScriptedModel(calls(*parts), "ok")
    result, made = await run(Agent(model, tools=[wait]))
    assert order == [2, 1, 0]
    tools = result.messages[2]
    assert isinstance(tools, ToolMessage)
    assert [(part.call_id, part.text) for part in tools.results] == [(f"c{n}", f"done {n}") for n in range(3)]
    ended = [event.result.call_id for event in made if isinstance(event, events.ToolEnded)]
    assert ended == ["c2", "c1", "c0"]
    sent(model.requests[1])


async def test_output_in_pieces_is_live():
    @tool
    async def look() -> str:
        yield "one "
        yield "two"

    result, made = await run(Agent(ScriptedModel(calls(call("a", "look", "{}")), "ok"), tools=[look]))
    assert [event.output.text for event in made if isinstance(event, events.ToolOutput)] == ["one ", "two"]
    assert result.messages[2].results[0].text == "one two"


async def test_a_tool_knows_its_run():
    seen = []

    @tool
    def look(context: Context[dict]) -> str:
        seen.append(context)
        return "ok"

    model = ScriptedModel("x", calls("let me look", call("w", "look", "{}")), "ok")
    agent = Agent(model, tools=[look])
    await agent.run("warm up")
    result, made = await run(agent, "go", deps={"db": 1})
    (context,) = seen
    (started,) = [event for event in made if isinstance(event, events.ToolStarted)]
    assert context.deps == {"db": 1}
    assert (context.run_id, context.round, context.call_id, context.tool_name) == (result.run_id, 1, "w", "look")
    assert context.call_key == started.call_key == f"{result.messages[1].id}/1"
    assert context.messages == result.messages[:2]


async def test_the_wire_s_ids_may_repeat_from_round_to_round():
    model = ScriptedModel(calls(call("same"), id="resp"), calls(call("same"), id="resp"), AssistantMessage("ok", id="resp"))
    result, made = await run(Agent(model, tools=[add]))
    keys = [event.call_key for event in made if isinstance(event, events.ToolEnded)]
    assert len(set(keys)) == 2
    assert {message.metadata["response_id"] for message in result.messages if isinstance(message, AssistantMessage)} == {"resp"}
    assert sum(len(message["tool_calls"]) for message in sent(model.requests[2])["messages"] if "tool_calls" in message) == 2


async def test_usage_is_summed_over_the_rounds():
    model = ScriptedModel(calls(call(), usage={"input_tokens": 10, "output_tokens": 2}), AssistantMessage("ok", usage={"input_tokens": 20}))
    result, made = await run(Agent(model, tools=[add]))
    assert result.usage == Usage(input_tokens=30, output_tokens=2)
    assert [event.usage.input_tokens for event in made if isinstance(event, events.RoundEnded)] == [10, 20]


async def test_bad_calls_get_results_that_help_and_another_round():
    model = ScriptedModel(
        calls(call("a", "nope", "{}"), call("b", arguments='{"a": 1'), call("c", arguments='{"a": "x", "b": 2}'), call("d")), "ok"
    )
    result, made = await run(Agent(model, tools=[add]))
    unknown, cut, misfit, good = result.messages[2].results
    assert unknown.state == cut.state == misfit.state == "error"
    assert "The tools are: add" in unknown.text
    assert "JSON" in cut.text
    assert "a" in misfit.text
    assert good.parts == (JsonPart(3),)
    started = [event.call_key for event in made if isinstance(event, events.ToolStarted)]
    assert len(started) == 2
    body = sent(model.requests[1])
    assert json.loads(body["messages"][1]["tool_calls"][1]["function"]["arguments"]) == {"_invalid_arguments": '{"a": 1'}


async def test_a_tool_that_raises_or_takes_too_long_becomes_a_result():
    @tool
    async def fail() -> str:
        raise RuntimeError("no luck")

    @tool
    async def hang() -> str:
        await asyncio.Event().wait()

    model = ScriptedModel(calls(call("a", "fail", "{}"), call("b", "hang", "{}")), "ok")
    result, _ = await run(Agent(model, tools=[fail, hang], tool_timeout_s=0.01))
    assert [part.state for part in result.messages[2].results] == ["error", "timed_out"]


async def test_a_length_without_calls_ends_the_run():
    result, _ = await run(Agent(ScriptedModel(AssistantMessage("half a", finish_reason="length"))))
    assert (result.generate_reason, result.message.text) == ("length", "half a")


async def test_a_filtered_answer_runs_no_call():
    result, made = await run(Agent(ScriptedModel(calls("x", call(), finish_reason="content_filter")), tools=[add]))
    assert result.generate_reason == "content_filter"
    assert result.messages[-1].results[0].state == "not_run"
    assert not any(isinstance(event, events.ToolStarted) for event in made)


async def test_a_pause_is_asked_to_go_on_with_the_content_unchanged():
    model = ScriptedModel(AssistantMessage([TextPart("searching"), ReasoningPart("hm", signature="s")], finish_reason="pause"), "found")
    result, _ = await run(Agent(model))
    assert [message.text for message in result.messages] == ["go", "searching", "found"]
    assert result.messages[1].generate_reason is None
    assert model.requests[1].messages[-1] == result.messages[1]


async def test_a_model_that_pauses_for_ever_is_stopped_and_it_is_said():
    model = ScriptedModel(*[AssistantMessage("searching", finish_reason="pause")] * 9)
    result, made = await run(Agent(model))
    assert (result.generate_reason, result.rounds) == ("limit", 9)
    assert [(event.which, event.limit) for event in made if isinstance(event, events.LimitReached)] == [("pauses", 8)]


async def test_an_empty_answer_gets_one_reminder():
    model = ScriptedModel("", "now I know")
    result, made = await run(Agent(model))
    reminder = result.messages[2]
    assert (reminder.origin, reminder.reminder_kind) == ("framework", "empty_response")
    assert [event.message for event in made if isinstance(event, events.ReminderAdded)] == [reminder]
    assert result.message.text == "now I know"
    result, _ = await run(Agent(ScriptedModel("", AssistantMessage([ReasoningPart("hm")]))))
    assert result.generate_reason == "completed"
    assert result.message.parts == (ReasoningPart("hm"),)


# ---------------------------------------------------------------------------------------------- limits


def endless(n):
    return [calls("again", call(f"c{k}")) for k in range(n)]


async def test_after_max_rounds_the_model_must_answer_and_the_answer_is_kept():
    model = ScriptedModel(*endless(2), "so far: 3", "next answer")
    sessions = MemorySessions()
    agent = Agent(model, tools=[add], max_rounds=2, sessions=sessions)
    result, made = await run(agent, session="s")
    assert [request.tool_choice for request in model.requests] == ["auto", "auto", "none"]
    assert all(request.tools == agent.tools.specs for request in model.requests)
    assert result.generate_reason == result.message.generate_reason == "max_rounds"
    assert result.message.text == "so far: 3"
    assert [event.which for event in made if isinstance(event, events.LimitReached)] == ["rounds"]
    assert sum(isinstance(event, events.ToolStarted) for event in made) == 2
    await agent.run("and now?", session="s")
    assert [message.text for message in model.requests[3].messages][-2:] == ["so far: 3", "and now?"]
    for request in model.requests:
        sent(request)


async def test_calls_in_the_forced_answer_are_not_run_and_the_next_request_is_legal():
    model = ScriptedModel(*endless(1), calls("more!", call("late")), "ok")
    agent = Agent(model, tools=[add], max_rounds=1)
    result, _ = await run(agent, session="s")
    assert result.generate_reason == "max_rounds"
    assert [part.state for part in result.messages[-1].results] == ["not_run"]
    assert result.message.text == "more!"
    await agent.run("next", session="s")
    sent(model.requests[2])


@pytest.mark.parametrize("failure", ["", RateLimitError("busy"), Scripted("half an answer", slice_chars=4, dies_after=2)])
async def test_a_forced_answer_that_is_empty_or_fails_still_ends_as_max_rounds(failure):
    model = ScriptedModel(*endless(1), failure, "ok")
    agent = Agent(model, tools=[add], max_rounds=1)
    result, made = await run(agent, session="s")
    assert result.generate_reason == result.message.generate_reason == "max_rounds"
    assert not any(isinstance(event, events.ErrorRaised) for event in made)
    assert result.messages[-1] is result.message
    assert ("error" in result.message.metadata) == (failure != "")
    await agent.run("next", session="s")
    sent(model.requests[2])


async def test_without_tools_nothing_is_forbidden():
    model = ScriptedModel("", "x")
    await run(Agent(model, max_rounds=1))
    assert [request.tool_choice for request in model.requests] == ["auto", "auto"]


@pytest.mark.parametrize("limit", [None, 0])
async def test_rounds_can_be_unlimited(limit):
    model = ScriptedModel(*endless(60), "done")
    result, _ = await run(Agent(model, tools=[add], max_rounds=limit))
    assert (result.rounds, result.generate_reason) == (61, "completed")


async def test_a_thousand_calls_in_one_round_run_a_few_at_a_time():
    running, most = 0, 0

    @tool
    async def work(n: int) -> int:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)
        running -= 1
        return n

    model = ScriptedModel(calls(*(call(f"c{n}", "work", json.dumps({"n": n})) for n in range(1000))), "ok")
    result, _ = await run(Agent(model, tools=[work], max_parallel_tools=4))
    assert most == 4
    assert [part.parts[0].value for part in result.messages[2].results] == list(range(1000))


async def test_calls_beyond_max_tool_calls_are_not_run_and_the_model_must_answer():
    model = ScriptedModel(calls(*(call(f"c{n}") for n in range(1000))), "ok")
    result, made = await run(Agent(model, tools=[add], max_tool_calls=3))
    states = [part.state for part in result.messages[2].results]
    assert states == ["success"] * 3 + ["not_run"] * 997
    assert sum(isinstance(event, events.ToolStarted) for event in made) == 3
    assert (result.generate_reason, model.requests[1].tool_choice) == ("limit", "none")


# ---------------------------------------------------------------------------------------------- failures


async def failing(agent, error, given="go", **options):
    made = []
    with pytest.raises(error) as caught:
        await agent.run(given, on_event=made.append, **options)
    result = caught.value.result
    check(made, result)
    assert [type(event).__name__ for event in made[-2:]] == ["ErrorRaised", "RunEnded"]
    assert result.generate_reason == "error"
    return result, made, caught.value


async def test_a_stream_that_dies_raises_and_keeps_what_came_marked():
    model = ScriptedModel(Scripted(calls("I will ", call(), call("b")), slice_chars=6, dies_after=4), "ok")
    agent = Agent(model, tools=[add])
    result, made, error = await failing(agent, ConnectionLostError, session="s")
    kept = result.message
    assert kept.text == "I will "
    assert (kept.generate_reason, kept.finish_reason) == ("error", None)
    assert not any(part.runnable for part in kept.tool_calls)
    assert result.messages[-1].results[0].state == "not_run"
    assert kept.metadata["error"]["kind"] == "connection_lost"
    assert made[-2].kind == "connection_lost"
    assert made[-2].retryable
    assert error.partial is not None
    assert not any(isinstance(event, events.ToolStarted) for event in made)
    await agent.run("again", session="s")
    sent(model.requests[1])


async def test_a_refusal_before_the_first_chunk_keeps_the_question_alone():
    model = ScriptedModel(RateLimitError("busy", retryable=True), "ok")
    agent = Agent(model)
    result, made, _ = await failing(agent, RateLimitError, session="s")
    assert [message.text for message in result.messages] == ["go"]
    assert result.message.parts == ()
    assert result.message.generate_reason == "error"
    assert made[-3].message is None
    assert agent.sessions.get("s").messages == result.messages


async def test_an_error_in_a_later_round_keeps_the_rounds_before():
    model = ScriptedModel(*endless(1), StreamTruncatedError("cut"))
    result, _, _ = await failing(Agent(model, tools=[add]), StreamTruncatedError)
    assert [message.role for message in result.messages] == ["user", "assistant", "tool"]


async def test_an_answer_that_ends_with_an_error_word_raises():
    model = ScriptedModel(AssistantMessage("half", finish_reason="error", finish_reason_raw="network_error"))
    result, _, error = await failing(Agent(model), APIError)
    assert error.code == "network_error"
    assert result.message.text == "half"
    assert error.partial == result.message


async def test_a_fault_in_a_stranger_s_model_closes_the_history_too():
    model = ScriptedModel([*list(chunks_of(AssistantMessage("half a sentence"), 4))[:2], ZeroDivisionError("oops")])
    made = []
    agent = Agent(model)
    with pytest.raises(ZeroDivisionError):
        await agent.run("go", session="s", on_event=made.append)
    assert fold(made) == agent.sessions.get("s").messages
    assert [message.text for message in fold(made)] == ["go", "half"]
    assert made[-2].kind == "zero_division"


async def test_a_request_that_cannot_be_made_fails_as_a_run():
    class Picky(ScriptedModel):
        def stream(self, messages, **options):
            raise UsageError("no such setting", argument="settings")

    result, made, _ = await failing(Agent(Picky()), UsageError)
    assert [type(event).__name__ for event in made] == ["RunStarted", "RoundStarted", "RoundEnded", "ErrorRaised", "RunEnded"]
    assert result.rounds == 1


async def test_wrong_use_in_a_tool_stops_the_others_and_closes_every_call():
    release = asyncio.Event()
    ended = []

    @tool
    async def hang() -> str:
        try:
            await release.wait()
        finally:
            ended.append("hang")

    class Broken(Tool):
        def keywords(self, arguments, context):
            raise UsageError("annotations", argument="broken")

    broken = Broken(name="broken", function=lambda: 1)
    model = ScriptedModel(calls(call("a", "hang", "{}"), call("b", "broken", "{}"), call("c")))
    result, _, _ = await failing(Agent(model, tools=[hang, broken, add]), UsageError)
    assert ended == ["hang"]
    assert [part.state for part in result.messages[2].results][:2] == ["interrupted", "interrupted"]


async def test_a_discarded_attempt_leaves_no_trace_in_the_history():
    whole = list(chunks_of(calls("Better. ", call()), 3))
    model = ScriptedModel([*chunks_of(calls("Bad st", call("x", "nope")), 3), AttemptDiscarded(1, "died"), *whole], "ok")
    result, made = await run(Agent(model, tools=[add]))
    assert result.messages[1].text == "Better. "
    (discarded,) = [event for event in made if isinstance(event, events.AttemptDiscarded)]
    assert (discarded.attempt, discarded.reason) == (1, "died")
    assert discarded.message_id != result.messages[1].id
    assert [type(event).__name__ for event in made].count("ToolStarted") == 1


# ---------------------------------------------------------------------------------------------- sessions and input


async def test_a_session_remembers_over_two_runs():
    model = ScriptedModel(calls(call()), "It is 3.", "You asked for 1 + 2.")
    agent = Agent(model, tools=[add], instructions="Be brief.")
    await run(agent, "1 + 2?", session="s")
    result, _ = await run(agent, "What did I ask?", session="s")
    assert [message.role for message in model.requests[2].messages] == ["system", "user", "assistant", "tool", "assistant", "user"]
    assert [message.text for message in result.messages] == ["What did I ask?", "You asked for 1 + 2."]
    assert result.session_id == "s"
    assert len(agent.sessions.get("s").messages) == 6


async def test_a_session_that_keeps_answers_sends_no_calls_again():
    model = ScriptedModel(calls("let me see", call()), "It is 3.", "ok")
    agent = Agent(model, tools=[add])
    await run(agent, "1 + 2?", session="s", keep="answers")
    await run(agent, "thanks", session="s", keep="answers")
    assert [message.text for message in model.requests[2].messages] == ["1 + 2?", "It is 3.", "thanks"]


async def test_a_session_of_one_s_own_serves_any_agent():
    talk = Session("mine")
    await run(Agent(ScriptedModel("one")), "a", session=talk)
    model = ScriptedModel("two")
    await run(Agent(model), "b", session=talk)
    assert [message.text for message in model.requests[0].messages] == ["a", "one", "b"]


async def test_without_a_session_nothing_is_kept():
    model = ScriptedModel("one", "two")
    agent = Agent(model)
    await run(agent, "a")
    await run(agent, "b")
    assert [message.text for message in model.requests[1].messages] == ["b"]


async def test_two_runs_at_once_on_one_session_are_refused():
    gate, begun = asyncio.Event(), asyncio.Event()

    async def slowly(request):
        begun.set()
        await gate.wait()
        return "one"

    agent = Agent(ScriptedModel(slowly, "two", "three"))
    first = asyncio.create_task(agent.run("a", session="s"))
    await begun.wait()
    with pytest.raises(ConflictError, match="session 's'"):
        await agent.run("b", session="s")
    assert (await agent.run("c", session="t")).output == "two"
    gate.set()
    assert (await first).output == "one"
    assert (await agent.run("d", session="s")).output == "three"


async def test_history_comes_first_and_is_kept_nowhere_and_dangling_calls_in_it_do_no_harm():
    model = ScriptedModel("ok")
    agent = Agent(model)
    before = [UserMessage("old"), calls("hm", call("dangling"))]
    result, _ = await run(agent, "new", history=before, session="s")
    assert [message.text for message in result.messages] == ["new", "ok"]
    assert agent.sessions.get("s").messages == result.messages
    assert list(model.requests[0].messages[:2]) == before
    sent(model.requests[0])


@pytest.mark.parametrize(
    ("given", "texts"),
    [
        ("hi", ["hi"]),
        (UserMessage("hi"), ["hi"]),
        ([UserMessage("a"), UserMessage("b")], ["a", "b"]),
        ([TextPart("look "), "here"], ["look here"]),
        (TextPart("hi"), ["hi"]),
        ({"q": 1}, [""]),
        ([MediaPart(kind="image", url="u")], [""]),
    ],
)
async def test_input_is_a_text_parts_a_message_or_messages(given, texts):
    result, _ = await run(Agent(ScriptedModel("ok")), given)
    assert [message.text for message in result.messages[:-1]] == texts
    assert all(message.parts for message in result.messages)


async def test_an_empty_list_goes_on_with_the_history():
    model = ScriptedModel("ok")
    result, _ = await run(Agent(model), [], history=[UserMessage("before")])
    assert [message.text for message in model.requests[0].messages] == ["before"]
    assert [message.text for message in result.messages] == ["ok"]


async def test_the_same_ids_and_times_give_equal_events():
    def once():
        numbers, minutes = count(1), count(0)
        made = []
        model = ScriptedModel(calls("x", call(), id="w1", created_at=datetime(2026, 1, 1, tzinfo=UTC)), AssistantMessage("ok", id="w2"))
        agent = Agent(
            model,
            tools=[add],
            new_id=lambda: f"id{next(numbers)}",
            now=lambda: datetime(2026, 1, 1, tzinfo=UTC) + timedelta(minutes=next(minutes)),
        )
        return agent, made

    agent, made = once()
    result = await agent.run("go", on_event=made.append)
    assert result.run_id == "id2"
    assert [message.id for message in result.messages] == ["id1", "id3", "id3/results", "id4"]
    assert [event.call_key for event in made if isinstance(event, events.ToolStarted)] == ["id3/1"]
    assert all(earlier.at <= later.at for earlier, later in pairwise(made))


async def test_system_prompt_and_tools_are_the_same_objects_in_every_request():
    model = ScriptedModel(*endless(2), "ok")
    await run(Agent(model, tools=[add], instructions="Be brief."))
    assert len({id(request.messages[0]) for request in model.requests}) == 1
    assert len({id(request.tools[0]) for request in model.requests}) == 1
    for early, late in zip(model.requests, model.requests[1:], strict=False):
        assert all(one is other for one, other in zip(early.messages, late.messages, strict=False))


async def test_settings_go_into_every_request():
    model = ScriptedModel("ok", settings={"top_p": 0.5})
    await run(Agent(model, settings={"temperature": 0.0}))
    request: Request = model.requests[0]
    assert (request.settings.temperature, request.settings.top_p) == (0.0, 0.5)


def test_an_agent_runs_from_synchronous_code():
    assert Agent(ScriptedModel(calls(call()), "It is 3."), tools=[add]).run_sync("1 + 2?").output == "It is 3."


async def test_an_agent_runs_from_synchronous_code_inside_a_running_loop():
    assert Agent(ScriptedModel("ok")).run_sync("hi").output == "ok"


# ---------------------------------------------------------------------------------------------- construction


async def test_a_model_that_was_given_stays_open_when_the_agent_is_closed():
    class Closing(ScriptedModel):
        closed = 0

        async def aclose(self):
            self.closed += 1

    model = Closing("ok")
    async with Agent(model) as agent:
        assert (await agent.run("x")).output == "ok"
    assert model.closed == 0


async def test_a_model_may_be_given_by_its_id_and_is_closed_with_the_agent(monkeypatch):
    monkeypatch.setenv("DEEPSEEK_API_KEY", "k")
    async with Agent("deepseek:some-model") as agent:
        assert agent.model.id == "deepseek:some-model"


@pytest.mark.parametrize(
    ("options", "argument"),
    [
        ({"model": 3}, "model"),
        ({"max_rounds": -1}, "max_rounds"),
        ({"max_rounds": "3"}, "max_rounds"),
        ({"max_rounds": True}, "max_rounds"),
        ({"max_tool_calls": 0}, "max_tool_calls"),
        ({"max_parallel_tools": 0}, "max_parallel_tools"),
        ({"max_parallel_tools": None}, "max_parallel_tools"),
        ({"tool_timeout_s": 0}, "tool_timeout_s"),
        ({"tool_timeout_s": "1"}, "tool_timeout_s"),
        ({"instructions": 3}, "instructions"),
        ({"settings": {"warmth": 1}}, "warmth"),
        ({"tools": [add, add]}, "add"),
        ({"tools": [3]}, None),
    ],
)
def test_wrong_use_is_told_at_once_and_names_the_argument(options, argument):
    with pytest.raises(UsageError) as caught:
        Agent(**({"model": ScriptedModel()} | options))
    assert argument is None or caught.value.argument == argument


@pytest.mark.parametrize(
    ("given", "options", "argument"),
    [
        ("", {}, "input"),
        (None, {}, "input"),
        ("x", {"session": ""}, "session"),
        ("x", {"session": 3}, "session"),
        ("x", {"keep": "all"}, "keep"),
        ("x", {"history": "text"}, "history"),
        ("x", {"history": UserMessage("one")}, "history"),
        ("x", {"history": [UserMessage("one"), "two"]}, "history[1]"),
        ("x", {"history": 3}, "history"),
        (object(), {}, "content"),
    ],
)
async def test_wrong_use_of_a_run_is_told_at_once(given, options, argument):
    with pytest.raises(UsageError) as caught:
        Agent(ScriptedModel()).stream(given, **options)
    assert caught.value.argument == argument


def test_instructions_may_be_a_message_and_the_agent_shows_what_it_is():
    words = SystemMessage("Be brief.")
    agent = Agent(ScriptedModel(), tools=[add], instructions=words)
    assert agent._setup.instructions is words
    assert Agent(ScriptedModel(), instructions="")._setup.instructions is None
    assert repr(agent) == "Agent('scripted:model', tools=[add])"


def wire_of(*sent):
    return b"".join(b"event: " + event["type"].encode() + b"\ndata: " + json.dumps(event).encode() + b"\n\n" for event in sent)


async def test_a_message_that_its_provider_begins_anew_voids_what_came_before_it():
    def start(name):
        return {
            "type": "message_start",
            "message": {"id": name, "role": "assistant", "model": "m", "content": [], "usage": {"input_tokens": 1}},
        }

    def block(index, **fields):
        return {"type": "content_block_start", "index": index, "content_block": fields}

    def text(index, words):
        return {"type": "content_block_delta", "index": index, "delta": {"type": "text_delta", "text": words}}

    body = wire_of(
        start("first"),
        block(0, type="text", text=""),
        text(0, "The first try"),
        block(1, type="tool_use", id="t1", name="lookup", input={}),
        start("second"),
        block(0, type="text", text=""),
        text(0, "The answer."),
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 3}},
        {"type": "message_stop"},
    )
    agent = Agent(ScriptedModel(body, protocol="anthropic-messages"))
    async with agent.stream("Go.") as run:
        seen = [event async for event in run]
    assert run.result.message.text == "The answer."
    assert not run.result.message.tool_calls
    assert [event.type for event in seen].count("attempt_discarded") == 1
    assert fold(seen) == run.result.messages
    started = {event.call_key for event in seen if event.type == "tool_call_started"}
    assert started == {event.call_key for event in seen if event.type == "tool_call_ended"}


async def test_the_same_agent_with_more_tools_is_another_one():
    plain = Agent(ScriptedModel(calls(call(name="clock", arguments="{}")), "done", "again"), tools=[])

    @tool
    def clock() -> str:
        """Say the time."""
        return "noon"

    more = plain.with_tools([clock])
    assert (plain.tools.names, more.tools.names) == ((), ("clock",))
    assert (await more.run("time?")).message.text == "done"
    assert (await plain.run("hello")).message.text == "again"
    with pytest.raises(UsageError, match="two tools"):
        more.with_tools([clock])
