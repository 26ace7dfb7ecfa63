"""What is asked of the model: made shorter by a model or a window, made shorter once more when the provider says so, and reminders."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime, timedelta

import pytest

from chat_bytes import StillClock, text_stream
from headrace.agent import events
from headrace.agent.agent import Agent
from headrace.agent.context.policy import ContextPolicy
from headrace.agent.context.reminders import ReminderRules
from headrace.agent.hooks import Hooks, ModelCall, Stop
from headrace.errors import ConnectionLostError, ContextLengthError, StateError
from headrace.messages.chunk import AssistantMessageChunk
from headrace.messages.message import AssistantMessage, UserMessage
from headrace.messages.parts import RefusalPart, ToolCallPart
from headrace.messages.usage import Usage
from headrace.models.model import Model
from headrace.models.script import Scripted, chunks_of
from headrace.models.scripted import ScriptedModel
from headrace.tools.tool import tool
from messages_bytes import body as anthropic_body
from messages_bytes import text as anthropic_text
from seed_runs import check, of, run
from servers import Reply, scripted_server
from talks import text
from wire_judge import wire_problems

SMALL = ContextPolicy(max_tokens=1_000)
LONG_AGO = [
    message for n in range(12) for message in (UserMessage(f"Question {n}. {text(60)}"), AssistantMessage(f"Answer {n}. {text(60)}"))
]
TOO_LONG = ContextLengthError("prompt is too long")
FAILURES = (ConnectionLostError, ContextLengthError, RuntimeError)


@tool
def look(n: int) -> str:
    """Look at something."""
    return f"thing {n}"


@tool
def broken() -> str:
    """Fail."""
    raise ValueError("no power")


def look_at(n, name="look", **fields):
    return AssistantMessage([ToolCallPart(id=f"c{n}", name=name, arguments={"n": n} if name == "look" else {})], **fields)


def said(request):
    """The texts of a request's messages."""
    return [message.text for message in request.messages]


def is_summary_request(request):
    return request.messages[-1].text.endswith("Write the summary now.")


def legal(model):
    """Whatever was sent, every provider takes."""
    for request in model.requests:
        assert wire_problems(request.messages, request.tools) == []


# ---------------------------------------------------------------------------------------------- by a model


async def test_what_is_sent_is_short_while_what_is_kept_is_whole():
    summarizer = ScriptedModel(AssistantMessage("## Goal\nSell the house.", usage=Usage(input_tokens=700, output_tokens=20)))
    model = ScriptedModel(AssistantMessage("Done.", usage=Usage(input_tokens=300, output_tokens=5)))
    agent = Agent(model, instructions="Be brief.", context=ContextPolicy(max_tokens=1_000, summary_model=summarizer))
    result, made = await run(agent, "And now?", history=LONG_AGO)
    sent = said(model.requests[0])
    assert sent[0] == "Be brief."
    assert "## Goal\nSell the house." in sent[1]
    assert sent[-1] == "And now?"
    assert len(sent) < 10
    assert "Question 0." in said(summarizer.requests[0])[1]
    (event,) = of(made, events.ContextCompacted)
    assert (event.messages_before, event.messages_after) == (26, len(sent))
    assert event.detail.endswith("messages left out, with a summary")
    assert [message.text for message in result.messages] == ["And now?", "Done."]
    assert result.usage == Usage(input_tokens=1_000, output_tokens=25)
    legal(model)


async def test_a_session_keeps_the_whole_conversation():
    model = ScriptedModel(*(f"Answer {n}. {text(60)}" for n in range(20)))
    agent = Agent(model, context=ContextPolicy(max_tokens=1_000, summarize=False))
    for n in range(20):
        await run(agent, f"Question {n}. {text(60)}", session="s")
    kept = agent.sessions.get("s").messages
    assert [message.text.split(".")[0] for message in kept] == [f"{word} {n}" for n in range(20) for word in ("Question", "Answer")]
    assert max(len(request.messages) for request in model.requests) < 20
    assert said(model.requests[-1])[0] == "The conversation before this was left out, to save room."
    legal(model)


async def test_the_agents_own_model_writes_the_summary_without_what_is_said_of_its_answers_and_tools():
    model = ScriptedModel("A summary.", "Done.")
    settings = {"max_tokens": 5, "stop": ["x"], "parallel_tool_calls": False, "temperature": 0.5, "extra_body": {"a": 1}}
    await run(Agent(model, tools=[look], settings=settings, context=SMALL), history=LONG_AGO)
    asked, answered = model.requests
    assert is_summary_request(asked)
    assert asked.tools == ()
    assert (asked.settings.max_tokens, asked.settings.stop, asked.settings.parallel_tool_calls) == (None, None, None)
    assert (asked.settings.temperature, asked.settings.extra_body) == (0.5, {"a": 1})
    assert answered.settings.max_tokens == 5


async def test_another_model_writes_the_summary_with_its_own_settings_alone():
    summarizer = ScriptedModel("A summary.", settings={"max_tokens": 99})
    agent = Agent(ScriptedModel("Done."), settings={"temperature": 0.5}, context=ContextPolicy(max_tokens=1_000, summary_model=summarizer))
    await run(agent, history=LONG_AGO)
    assert (summarizer.requests[0].settings.max_tokens, summarizer.requests[0].settings.temperature) == (99, None)


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "   ",
        ConnectionLostError("gone"),
        ContextLengthError("too long as well"),
        RuntimeError("lost its way"),
        AssistantMessage([RefusalPart("I will not.")]),
        AssistantMessage("half a", finish_reason="content_filter"),
        Scripted("A summary that dies", slice_chars=3, dies_after=2),
    ],
    ids=["empty", "blank", "lost", "too long", "stranger", "refused", "filtered", "died"],
)
async def test_a_summary_that_fails_leaves_a_note_in_its_place_and_the_run_goes_on(answer):
    model = ScriptedModel("Done.")
    agent = Agent(model, context=ContextPolicy(max_tokens=1_000, summary_model=ScriptedModel(answer)))
    result, made = await run(agent, "And now?", history=LONG_AGO)
    assert result.generate_reason == "completed"
    sent = said(model.requests[0])
    assert sent[0] == "The conversation before this was left out, to save room."
    assert sent[-1] == "And now?"
    detail = of(made, events.ContextCompacted)[0].detail
    assert ", without a summary" in detail
    assert ("gone" in detail or "long as well" in detail or "lost its way" in detail) == (type(answer) in FAILURES)


async def test_what_a_summary_cost_that_failed_is_counted():
    spent = AssistantMessage("never mind", usage=Usage(input_tokens=700, output_tokens=2), finish_reason="content_filter")
    agent = Agent(ScriptedModel("Done."), context=ContextPolicy(max_tokens=1_000, summary_model=ScriptedModel(spent)))
    result, _ = await run(agent, history=LONG_AGO)
    assert result.usage == Usage(input_tokens=700, output_tokens=2)
    broke = [*chunks_of(spent), ConnectionLostError("gone")]
    agent = Agent(ScriptedModel("Done."), context=ContextPolicy(max_tokens=1_000, summary_model=ScriptedModel(broke)))
    result, _ = await run(agent, history=LONG_AGO)
    assert result.usage == Usage(input_tokens=700, output_tokens=2)


async def test_a_misspelt_summary_is_read():
    model = ScriptedModel("Done.")
    summarizer = ScriptedModel("**Gaol**\nSell it.\nnext steps: ask Ada")
    await run(Agent(model, context=ContextPolicy(max_tokens=1_000, summary_model=summarizer)), history=LONG_AGO)
    assert said(model.requests[0])[0].endswith("## Goal\nSell it.\n\n## Next step\nask Ada")


async def test_a_summary_model_that_cannot_be_used_at_all_is_told_the_caller():
    agent = Agent(ScriptedModel("Done."), context=ContextPolicy(max_tokens=1_000, summary_model=ScriptedModel()))
    made = []
    with pytest.raises(StateError) as caught:
        await agent.run("go", history=LONG_AGO, on_event=made.append)
    check(made, caught.value.result)


@pytest.mark.parametrize("way", ["interrupt", "cancel", "leave"])
async def test_a_run_is_left_while_the_summary_is_asked_for(way):
    never, asked = asyncio.Event(), asyncio.Event()

    def hang(_request):
        asked.set()
        return Scripted("A summary.", gates={0: never})

    agent = Agent(ScriptedModel("never asked"), context=ContextPolicy(max_tokens=1_000, summary_model=ScriptedModel(hang)))
    made = []

    async def read(run_):
        async for _ in run_:
            pass

    async with agent.stream("go", history=LONG_AGO, session="s", on_event=made.append) as run_:
        reading = asyncio.create_task(read(run_))
        await asked.wait()
        if way == "interrupt":
            run_.interrupt()
        else:
            reading.cancel()
        await asyncio.wait({reading})
        assert reading.cancelled() == (way != "interrupt")
    check(made, run_.result)
    assert run_.result.generate_reason == "interrupted"
    assert agent.model.requests == []
    assert agent.sessions.get("s").holder is None


async def test_a_long_run_is_made_shorter_again_and_again_and_carries_the_summary_on():
    answers = [AssistantMessage([ToolCallPart(id="c", name="look", arguments={"n": n, "why": text(80)})]) for n in range(24)]
    model = ScriptedModel(*answers, "Done.")
    summaries = ScriptedModel(*(f"Summary {n}." for n in range(10)))
    agent = Agent(model, tools=[look], context=ContextPolicy(max_tokens=1_000, summary_model=summaries))
    result, made = await run(agent, "Look at everything.")
    count = len(of(made, events.ContextCompacted))
    assert count == len(summaries.requests) > 2
    for n, request in enumerate(summaries.requests[1:]):
        assert f"<earlier_summary>\nSummary {n}.\n</earlier_summary>" in said(request)[1]
    last = said(model.requests[-1])
    assert f"Summary {count - 1}." in last[0]
    assert last[1] == "Look at everything."
    assert len(result.messages) == 1 + 2 * 24 + 1
    legal(model)


async def test_the_tools_of_a_request_count_as_well():
    @tool(description=text(900))
    def heavy() -> str:
        return ""

    history = LONG_AGO[:4]
    light, laden = ScriptedModel("Done."), ScriptedModel("Done.")
    policy = ContextPolicy(max_tokens=1_000, summarize=False)
    _, made = await run(Agent(light, context=policy), history=history)
    assert of(made, events.ContextCompacted) == []
    _, made = await run(Agent(laden, tools=[heavy], context=policy), history=history)
    assert len(of(made, events.ContextCompacted)) == 1


# ---------------------------------------------------------------------------------------------- the provider says that it is too long


@pytest.mark.parametrize("policy", [None, SMALL, ContextPolicy(summarize=False)], ids=["unbounded", "bounded", "window"])
async def test_a_context_that_the_provider_finds_too_long_is_made_shorter_once_and_sent_again(policy):
    history = LONG_AGO[:8]
    first = [] if policy is not None and not policy.summarize else ["A summary."]
    model = ScriptedModel(TOO_LONG, *first, "Done.")
    result, made = await run(Agent(model, context=policy), "And now?", history=history)
    assert result.generate_reason == "completed"
    assert [event.type for event in made].count("round_started") == 1
    assert len(of(made, events.ContextCompacted)) == 1
    assert said(model.requests[-1])[-1] == "And now?"
    assert len(model.requests[-1].messages) < len(model.requests[0].messages) / 1.5
    legal(model)


async def test_a_context_that_stays_too_long_fails_the_run_with_what_there_is():
    model = ScriptedModel(look_at(1), TOO_LONG, "A summary.", ContextLengthError("still too long"), "never asked")
    made = []
    with pytest.raises(ContextLengthError, match="still") as caught:
        await Agent(model, tools=[look]).run("And now?", history=LONG_AGO, session="s", on_event=made.append)
    result = caught.value.result
    check(made, result)
    assert [message.role for message in result.messages] == ["user", "assistant", "tool"]
    assert len(model.requests) == 4
    assert of(made, events.ErrorRaised)[0].kind == "context_length"


async def test_what_cannot_be_made_shorter_fails_with_the_providers_own_words():
    model = ScriptedModel(TOO_LONG, "never asked")
    made = []
    with pytest.raises(ContextLengthError, match="prompt is too long") as caught:
        await Agent(model).run("And now?", on_event=made.append)
    check(made, caught.value.result)
    assert len(model.requests) == 1
    assert of(made, events.ContextCompacted) == []


async def test_after_something_was_shown_a_round_is_not_asked_again():
    model = ScriptedModel([AssistantMessageChunk("Well, "), TOO_LONG], "never asked")
    made = []
    with pytest.raises(ContextLengthError) as caught:
        await Agent(model).run("And now?", history=LONG_AGO, on_event=made.append)
    check(made, caught.value.result)
    assert caught.value.result.message.text == "Well, "
    assert len(model.requests) == 1


async def test_each_round_may_recover_once():
    model = ScriptedModel(TOO_LONG, "One.", look_at(1), TOO_LONG, "Two.", look_at(2), "Done.")
    result, made = await run(Agent(model, tools=[look]), "And now?", history=LONG_AGO)
    assert result.message.text == "Done."
    assert len(of(made, events.ContextCompacted)) == 2
    assert "Two." in said(model.requests[-1])[0]
    legal(model)


async def test_a_forced_answer_recovers_as_well():
    model = ScriptedModel(look_at(1), TOO_LONG, "A summary.", "Done.")
    result, _ = await run(Agent(model, tools=[look], max_rounds=1), "And now?", history=LONG_AGO)
    assert (result.generate_reason, result.message.text) == ("max_rounds", "Done.")
    assert model.requests[-1].tool_choice == "none"


async def test_a_summary_that_uses_up_a_limit_makes_the_answer_the_last():
    spent = AssistantMessage("A summary.", usage=Usage(input_tokens=900, output_tokens=100))
    for answers, policy in (((spent, "Done."), SMALL), ((TOO_LONG, spent, "Done."), None)):
        model = ScriptedModel(*answers)
        result, made = await run(Agent(model, tools=[look], limits={"tokens": 1_000}, context=policy), history=LONG_AGO)
        assert (result.generate_reason, result.message.text) == ("limit", "Done.")
        assert model.requests[-1].tool_choice == "none"
        assert [event.which for event in of(made, events.LimitReached)] == ["tokens"]


async def test_a_run_is_interrupted_while_the_summary_of_a_recovery_is_asked_for():
    never, asked = asyncio.Event(), asyncio.Event()

    def hang(_request):
        asked.set()
        return Scripted("A summary.", gates={0: never})

    model = ScriptedModel(look_at(1), TOO_LONG, hang)
    agent, made = Agent(model, tools=[look]), []
    async with agent.stream("go", history=LONG_AGO, on_event=made.append) as run_:
        reading = asyncio.create_task(run_.finish())
        await asked.wait()
        run_.interrupt()
        result = await reading
    check(made, result)
    assert result.generate_reason == "interrupted"
    assert [message.role for message in result.messages] == ["user", "assistant", "tool"]


async def test_a_hook_that_stops_the_call_after_a_recovery_leaves_a_legal_end():
    class Second(Hooks):
        asked = 0

        async def before_model_call(self, here, call: ModelCall):
            self.asked += 1
            return Stop("enough") if self.asked == 2 else None

    result, made = await run(Agent(ScriptedModel(TOO_LONG, "A summary."), hooks=Second()), "go", history=LONG_AGO)
    assert result.generate_reason == "stopped"
    assert [event.type for event in made].count("round_ended") == [event.type for event in made].count("round_started") == 1


@pytest.mark.parametrize(
    ("protocol", "refusal", "answer"),
    [
        (
            "openai-chat",
            {"error": {"message": "This model's maximum context length is 8192 tokens.", "code": "context_length_exceeded"}},
            text_stream("Done."),
        ),
        (
            "anthropic",
            {"type": "error", "error": {"type": "invalid_request_error", "message": "prompt is too long: 210000 tokens > 200000 maximum"}},
            [anthropic_body(anthropic_text(0, "Done."))],
        ),
    ],
)
async def test_a_refusal_of_a_real_server_leads_to_one_compaction_and_one_more_call(protocol, refusal, answer):
    refused = Reply([json.dumps(refusal).encode()], status=400, headers=[("content-type", "application/json")], framing="length")
    policy = ContextPolicy(summarize=False)

    async with scripted_server([refused, Reply(answer), refused, refused]) as server:
        url = server.url if protocol == "anthropic" else f"{server.url}/v1"
        async with Model(f"{protocol}:m", base_url=url, api_key="k", clock=StillClock()) as model:
            agent = Agent(model, context=policy)
            result, made = await run(agent, "And now?", history=LONG_AGO)
            assert result.message.text == "Done."
            assert len(of(made, events.ContextCompacted)) == 1
            made = []
            with pytest.raises(ContextLengthError) as caught:
                await agent.run("And now?", history=LONG_AGO, on_event=made.append)
            check(made, caught.value.result)
            assert len(of(made, events.ContextCompacted)) == 1
        bodies = [json.loads(one.body) for one in server.requests]
        assert [len(body["messages"]) > 20 for body in bodies] == [True, False, True, False]


# ---------------------------------------------------------------------------------------------- reminders


def reminders_in(model):
    """By request: the kinds of the framework's messages at its end."""
    return [[message.reminder_kind for message in request.messages if message.origin == "framework"] for request in model.requests]


async def test_by_default_only_a_call_that_keeps_failing_is_told_and_kept_nowhere():
    model = ScriptedModel(*(look_at(n, "broken") for n in range(4)), "I give up.")
    result, made = await run(Agent(model, tools=[broken], max_rounds=5, limits={"time_s": 10**6}))
    assert reminders_in(model) == [[], [], [], ["repeated_failing_call"], []]
    assert "failed 3 times in a row" in said(model.requests[3])[-1]
    assert all(message.origin != "framework" for message in result.messages)
    assert of(made, events.ReminderAdded) == []
    legal(model)


class HandClock(StillClock):
    """Goes on when a test says so."""

    at = datetime(2026, 3, 1, 10, tzinfo=UTC)

    def now(self):
        return self.at


async def test_all_kinds_are_told_when_asked_and_stand_behind_the_results():
    clock = HandClock()

    @tool
    def broken() -> str:
        """Fail after an hour."""
        clock.at += timedelta(hours=1)
        raise ValueError("no power")

    usage = Usage(input_tokens=20, output_tokens=10)
    model = ScriptedModel(*[lambda _: look_at(1, "broken", usage=usage, created_at=clock.at)] * 3, "Done.", clock=clock)
    limits = {"tokens": 100}
    await run(Agent(model, tools=[broken], max_rounds=4, limits=limits, reminders=ReminderRules(), now=clock.now))
    assert reminders_in(model) == [[], ["time"], ["time"], ["time", "repeated_failing_call", "limits_near"]]
    for request in model.requests:
        kinds = [message.origin == "framework" for message in request.messages]
        assert kinds == sorted(kinds)
    legal(model)


async def test_no_reminders_at_all():
    model = ScriptedModel(*(look_at(n, "broken") for n in range(4)), "I give up.")
    await run(Agent(model, tools=[broken], reminders=None))
    assert reminders_in(model) == [[], [], [], [], []]


async def test_reminders_that_are_kept_are_messages_and_events_of_the_run():
    model = ScriptedModel(*(look_at(n, "broken") for n in range(3)), "I give up.")
    agent = Agent(model, tools=[broken], reminders=ReminderRules(keep_reminders=True, limits_at=None, silence_s=None))
    result, made = await run(agent, session="s")
    (event,) = of(made, events.ReminderAdded)
    assert event.message in result.messages
    assert event.message.reminder_kind == "repeated_failing_call"
    assert reminders_in(model) == [[], [], [], ["repeated_failing_call"]]
    assert event.message in agent.sessions.get("s").messages
    legal(model)


async def test_a_call_that_is_made_again_after_a_recovery_says_its_reminders_again():
    model = ScriptedModel(*(look_at(n, "broken") for n in range(3)), TOO_LONG, "A summary.", "I give up.")
    result, _ = await run(Agent(model, tools=[broken]), history=LONG_AGO)
    assert reminders_in(model)[3] == ["repeated_failing_call"]
    assert reminders_in(model)[5] == ["summary", "repeated_failing_call"]
    assert result.message.text == "I give up."
    legal(model)


async def test_an_empty_answer_is_told_and_kept():
    model = ScriptedModel("", "Here.")
    result, made = await run(Agent(model, reminders=None))
    assert [message.reminder_kind for message in result.messages if message.origin == "framework"] == ["empty_response"]
    assert len(of(made, events.ReminderAdded)) == 1
    legal(model)


async def test_a_new_question_in_a_session_is_not_met_with_an_old_reminder():
    model = ScriptedModel(*(look_at(n, "broken") for n in range(3)), "I give up.", "Fine.")
    agent = Agent(model, tools=[broken])
    await run(agent, "go", session="s")
    await run(agent, "I repaired it, try again", session="s")
    assert reminders_in(model) == [[], [], [], ["repeated_failing_call"], []]
