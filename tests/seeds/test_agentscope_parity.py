"""AgentScope: what its messages, events, permission pauses and external executions can say, each said by a run of ours."""

from __future__ import annotations

import json
from typing import Any, get_args

import pytest

from headrace.agent import events
from headrace.agent.agent import Agent
from headrace.agent.approval import Answer, Approve, Deny
from headrace.agent.context.policy import ContextPolicy
from headrace.agent.hooks import GoOn, Hooks, Stop
from headrace.agent.permission.judging import Permissions
from headrace.agent.permission.rules import Rule
from headrace.errors import ConflictError, ConnectionLostError, StateError, UsageError
from headrace.messages.fields import GenerateReason
from headrace.messages.message import AssistantMessage, Message, UserMessage
from headrace.messages.parts import MediaPart, ReasoningPart, TextPart
from headrace.messages.usage import Usage
from headrace.models.answer import AttemptDiscarded
from headrace.models.script import Scripted, chunks_of
from headrace.models.scripted import ScriptedModel
from headrace.tools.context import Context
from headrace.tools.suspend import Suspend
from headrace.tools.tool import tool
from seed_runs import asks, call, check, check_requests, fail, go_on, of, run


@tool
async def note(a: int = 0) -> str:
    """Note a number."""
    return f"a={a}"


@tool(external=True)
async def outside(q: str) -> str:
    """Something that the caller does."""


def asking():
    """A tool that a person must allow, and the list of what it did."""
    done = []

    @tool(needs_approval=True)
    async def act(what: str) -> str:
        """Do something."""
        done.append(what)
        return f"did {what}"

    return act, done


def acts(*what):
    return asks(*(call(f"c{n}", "act", json.dumps({"what": one})) for n, one in enumerate(what)))


def out(*questions):
    return asks(*(call(f"x{n}", "outside", json.dumps({"q": one})) for n, one in enumerate(questions)))


# ---------------------------------------------------------------------------------------------- generate reasons


class StopAfterRound(Hooks):
    async def after_round(self, here, message):
        return Stop("enough")


async def interrupted():
    made = []
    async with Agent(ScriptedModel(Scripted("some words", slice_chars=3))).stream("go", on_event=made.append) as watched:
        async for event in watched:
            if isinstance(event, events.TextDelta):
                watched.interrupt()
    return watched.result, made


async def failed():
    error, made = await fail(Agent(ScriptedModel(Scripted("half a text", slice_chars=5, dies_after=1))), ConnectionLostError)
    return error.result, made


async def denied():
    act, _ = asking()
    agent = Agent(ScriptedModel(acts("a", "b")), tools=[act], stop_on_denial=True)
    result, made = await run(agent)
    return await go_on(agent, result, [one.deny() for one in result.pending], made)


REASONS: dict[str, tuple[str, Any]] = {
    # ours: (AgentScope's word, or what it makes of it; the run)
    "completed": ("MODEL_STOP", lambda: run(Agent(ScriptedModel("hi")))),
    "structured_output": ("STRUCTURED_OUTPUT", lambda: run(Agent(ScriptedModel('{"a": 1}'), output_type=dict[str, int]))),
    "awaiting_approval": ("PERMISSION_ASKING", lambda: run(Agent(ScriptedModel(acts("a")), tools=[asking()[0]]))),
    "awaiting_external": ("TOOL_SUSPENDED", lambda: run(Agent(ScriptedModel(out("a")), tools=[outside]))),
    "all_denied": ("ALL_TOOLS_DENIED", denied),
    "interrupted": ("INTERRUPTED", interrupted),
    "max_rounds": ("MAX_ITERATIONS", lambda: run(Agent(ScriptedModel(asks(call("a")), "so far"), tools=[note], max_rounds=1))),
    "limit": ("none", lambda: run(Agent(ScriptedModel(asks(call("a")), "so far"), tools=[note], max_tool_calls=1))),
    "stopped": ("MIDDLEWARE_STOP_REQUESTED", lambda: run(Agent(ScriptedModel(asks(call("a"))), tools=[note], hooks=StopAfterRound()))),
    "length": ("none", lambda: run(Agent(ScriptedModel(AssistantMessage("half", finish_reason="length"))))),
    "content_filter": ("none", lambda: run(Agent(ScriptedModel(AssistantMessage("no", finish_reason="content_filter"))))),
    "error": ("none", failed),
}


def test_the_table_has_every_generate_reason():
    assert {*REASONS, "tool_calls"} == set(get_args(GenerateReason))


@pytest.mark.parametrize("reason", REASONS)
async def test_each_generate_reason_is_on_the_result_its_message_and_the_last_event(reason):
    result, made = await REASONS[reason][1]()
    assert result.generate_reason == made[-1].generate_reason == reason
    assert result.message.generate_reason == reason
    assert made[-1].message == result.message
    assert Message.from_json(result.message.to_json()) == result.message
    assert Message.from_json(result.message.to_json()).generate_reason == reason


async def test_tool_calls_is_on_the_message_of_each_tool_round():
    result, _ = await run(Agent(ScriptedModel(asks(call("a")), asks(call("b")), "done"), tools=[note]))
    assert [message.generate_reason for message in result.messages if message.role == "assistant"] == ["tool_calls"] * 2 + ["completed"]
    assert AssistantMessage("not returned by an agent").generate_reason is None


@pytest.mark.parametrize("point", ["before_model_call", "after_model_call", "before_tool_call", "after_round", "before_round"])
async def test_a_stop_is_possible_before_and_after_reasoning_and_acting(point):
    """REASONING_STOP_REQUESTED and ACTING_STOP_REQUESTED: where it was stopped is seen in the results; the word is one."""

    async def stop(self, *_):
        return Stop("enough")

    hooks = type("Stops", (Hooks,), {point: stop})()
    agent = Agent(ScriptedModel(asks(call("a")), "next"), tools=[note], hooks=hooks)
    result, made = await run(agent, session="s")
    assert result.generate_reason == "stopped"
    assert bool(of(made, events.ToolStarted)) == (point == "after_round")
    results = [part for message in result.messages if message.role == "tool" for part in message.results]
    assert [part.state for part in results] == {
        "after_model_call": ["not_run"],
        "before_tool_call": ["not_run"],
        "after_round": ["success"],
    }.get(point, [])


# ---------------------------------------------------------------------------------------------- marks


async def test_what_the_framework_puts_in_is_marked_and_says_its_kind():
    """METADATA_SYNTHETIC, METADATA_REMINDER_KIND: fields here, which no key of a caller's can overwrite."""
    result, made = await run(Agent(ScriptedModel("", "there")))
    (event,) = of(made, events.ReminderAdded)
    reminder = result.messages[2]
    assert event.message == reminder
    assert (reminder.origin, reminder.reminder_kind) == ("framework", "empty_response")
    assert Message.from_json(reminder.to_json()) == reminder
    assert [message.origin for message in result.messages] == ["user", "model", "framework", "model"]


async def test_a_call_that_keeps_failing_is_told_to_the_model_and_not_kept():
    """HINT_BLOCK for three equal failures: there it is kept in the reply; here it is sent and no part of the history."""

    @tool
    async def broken() -> str:
        raise ValueError("no")

    model = ScriptedModel(*[asks(call(f"c{n}", "broken", "{}")) for n in range(3)], "I give up")
    result, _ = await run(Agent(model, tools=[broken]))
    assert model.requests[3].messages[-1].reminder_kind == "repeated_failing_call"
    assert all(message.origin != "framework" for message in result.messages)


async def test_words_that_steer_are_the_user_s_and_are_told_as_an_event():
    """HINT_BLOCK from outside: a user message here, of origin `user`."""
    agent = Agent(ScriptedModel(asks(call("a")), "done"), tools=[note])
    made = []
    async with agent.stream("go", on_event=made.append) as watched:
        async for event in watched:
            if isinstance(event, events.ToolStarted):
                watched.steer("be quick")
    check(made, watched.result)
    assert [(event.message.text, event.message.origin) for event in of(made, events.ReminderAdded)] == [("be quick", "user")]


# ---------------------------------------------------------------------------------------------- confirm


async def test_confirm_request_names_run_message_and_call_and_is_kept_in_the_state():
    """METADATA_CONFIRM_REQUEST_REPLY_ID: there the id of the event's reply sits in the message's metadata."""
    act, _ = asking()
    agent = Agent(ScriptedModel(acts("a"), "done"), tools=[act])
    result, made = await run(agent)
    (asked,) = of(made, events.ApprovalRequired)
    assert asked.pending == result.pending[0] == made[-1].pending[0]
    assert asked.pending.call_key.rpartition("/")[0] == result.messages[-1].id
    assert asked.run_id == result.run_id == result.message.run_id
    restored = json.loads(json.dumps(result.state))
    assert restored["pending"][0]["call_key"] == asked.pending.call_key
    result, made = await go_on(agent, result, [Approve(asked.pending.call_key)], made)
    assert result.run_id == asked.run_id
    assert result.output == "done"


async def test_confirm_result_yes_runs_the_call_with_the_arguments_that_were_shown():
    """ConfirmResult(confirmed=True)."""
    act, done = asking()
    agent = Agent(ScriptedModel(acts("a"), "done"), tools=[act])
    result, made = await run(agent)
    assert done == []
    result, made = await go_on(agent, result, [result.pending[0].approve()], made)
    (given,) = of(made, events.ApprovalGiven)
    assert isinstance(given.answer, Approve)
    assert done == ["a"]


async def test_confirm_result_with_an_edited_call_runs_what_was_edited_and_checks_it():
    """ConfirmResult.tool_call edited. Java checks the raw text and runs the parsed one, so one can be edited without the other."""
    act, done = asking()
    agent = Agent(ScriptedModel(acts("a"), "done"), tools=[act])
    result, made = await run(agent)
    with pytest.raises(UsageError, match="what"):
        await agent.resume(result.state, [result.pending[0].approve({"what": 7, "more": 1})])
    result, made = await go_on(agent, result, [result.pending[0].approve({"what": "b"})], made)
    assert done == ["b"]
    assert result.messages[1].tool_calls[0].parsed == {"what": "a"}
    assert "did b" in result.messages[2].results[0].text


async def test_confirm_result_with_rules_remembers_them_for_the_run():
    """ConfirmResult.rules: "always"; the suggestions come with the question."""
    act, done = asking()
    agent = Agent(ScriptedModel(acts("a"), acts("b"), "done"), tools=[act])
    result, made = await run(agent)
    question = result.pending[0]
    assert question.suggestions[-1] == Rule.parse("allow act")
    result, made = await go_on(agent, result, [question.approve(rules=question.suggestions[-1:])], made)
    assert (done, result.output) == (["a", "b"], "done")
    assert Rule.parse("allow act") in result.permissions.rules


async def test_confirm_result_no_is_a_denied_result_with_the_reason_and_the_loop_goes_on():
    """ConfirmResult(confirmed=False): a DENIED result "Permission denied by user"; here with the person's own reason."""
    act, done = asking()
    agent = Agent(ScriptedModel(acts("a"), "then not"), tools=[act])
    result, made = await run(agent)
    result, _ = await go_on(agent, result, [Deny(result.pending[0].call_key, "not today")], made)
    assert done == []
    (told,) = result.messages[2].results
    assert told.state == "denied"
    assert "not today" in told.text
    assert result.generate_reason == "completed"


async def test_confirm_results_may_cover_a_part_and_the_rest_waits_on():
    """A subset is allowed in both editions."""
    act, done = asking()
    agent = Agent(ScriptedModel(acts("a", "b"), "done"), tools=[act])
    result, made = await run(agent)
    result, made = await go_on(agent, result, [result.pending[1].approve()], made)
    assert (done, result.generate_reason, len(result.pending)) == (["b"], "awaiting_approval", 1)
    result, made = await go_on(agent, result, (), made)
    assert (result.generate_reason, len(result.pending)) == ("awaiting_approval", 1)
    result, _ = await go_on(agent, result, [result.pending[0].approve()], made)
    assert (done, result.output) == (["b", "a"], "done")


@pytest.mark.parametrize(
    "wrong",
    [
        lambda key: [Approve(key), Approve(key)],
        lambda key: [Approve("")],
        lambda key: [Approve("nobody/0")],
        lambda key: [Approve(key), None],
        lambda key: [Answer(key, "x")],
        lambda key: [{"call_key": key}],
    ],
    ids=["twice", "empty id", "not asking", "null entry", "wrong kind", "a map"],
)
async def test_confirm_results_that_do_not_fit_are_refused_and_nothing_happens(wrong):
    """Java: an IllegalStateException for each; maps after a JSON round trip are silently not picked up."""
    act, done = asking()
    agent = Agent(ScriptedModel(acts("a"), "done"), tools=[act])
    result, made = await run(agent)
    with pytest.raises(UsageError):
        await agent.resume(result.state, wrong(result.pending[0].call_key))
    assert done == []
    result, _ = await go_on(agent, result, [result.pending[0].approve()], made)
    assert (done, result.output) == (["a"], "done")


@pytest.mark.parametrize("runs_others", [True, False])
async def test_the_other_calls_of_the_round_run_or_wait_as_was_said(runs_others):
    """Java: the whole batch waits. Python: those that are allowed run."""
    act, _ = asking()
    answer = asks(call("c", "act", '{"what": "a"}'), call("n"))
    agent = Agent(ScriptedModel(answer, "done"), tools=[act, note], run_while_pending=runs_others)
    result, made = await run(agent)
    assert bool(of(made, events.ToolStarted)) == runs_others
    result, _ = await go_on(agent, result, [result.pending[0].approve()], made)
    assert [part.text for part in result.messages[2].results] == ["did a", "a=1"]


async def test_every_call_denied_ends_the_run_if_that_was_asked_for_and_goes_on_if_not():
    """ALL_TOOLS_DENIED; `stop_on_reject` is declared in Python and read nowhere."""
    result, _ = await denied()
    assert result.generate_reason == "all_denied"
    act, _ = asking()
    agent = Agent(ScriptedModel(acts("a"), "then not"), tools=[act])
    result, made = await run(agent)
    result, _ = await go_on(agent, result, [result.pending[0].deny()], made)
    assert result.output == "then not"


async def test_a_new_message_while_a_run_waits_is_refused_until_it_is_given_up():
    """Python: ValueError for a new message while parked; USER_INTERRUPT on a parked reply closes its calls, and asks no model."""
    act, done = asking()
    model = ScriptedModel(acts("a"), "next")
    agent = Agent(model, tools=[act])
    result, _ = await run(agent, session="s")
    with pytest.raises(ConflictError, match="another run"):
        await agent.run("something else", session="s")
    closed = await agent.give_up(json.dumps(result.state))
    assert closed.generate_reason == "interrupted"
    assert closed.messages[-1].results[0].state == "interrupted"
    assert (await agent.run("something else", session="s")).output == "next"
    assert done == []
    check_requests(model)


async def test_a_parked_run_goes_on_in_another_process_with_its_rounds_usage_and_type():
    """Python: asking calls, suggested rules, the structured schema and cur_iter survive a JSON round trip."""
    act, done = asking()

    def agent_with(*answers):
        return Agent(ScriptedModel(*answers), tools=[act], max_rounds=1, output_type=dict[str, int])

    first = acts("a").replace(usage=Usage(input_tokens=5, output_tokens=2))
    result, made = await run(agent_with(first))
    last = AssistantMessage('{"a": 1}', usage=Usage(input_tokens=7, output_tokens=1))
    result, made = await go_on(agent_with(last), result, [result.pending[0].approve()], made)
    assert (done, result.output, result.rounds) == (["a"], {"a": 1}, 2)
    assert (result.usage.input_tokens, result.usage.output_tokens) == (12, 3)
    assert of(made, events.LimitReached)[0].which == "rounds"


# ---------------------------------------------------------------------------------------------- external execution


async def test_external_request_and_its_result():
    """REQUIRE_EXTERNAL_EXECUTION, TOOL_SUSPENDED, METADATA_EXTERNAL_EXECUTION_REQUEST_REPLY_ID, EXTERNAL_EXECUTION_RESULT."""
    agent = Agent(ScriptedModel(out("a", "b"), "done"), tools=[outside])
    result, made = await run(agent)
    assert result.generate_reason == "awaiting_external"
    asked = [event.pending for event in of(made, events.ExternalRequired)]
    assert [(one.kind, one.call.parsed["q"]) for one in asked] == [("external", "a"), ("external", "b")]
    result, made = await go_on(agent, result, [asked[1].answer("B")], made)
    assert [one.call_key for one in result.pending] == [asked[0].call_key]
    result, made = await go_on(agent, result, [Answer(asked[0].call_key, "it broke", is_error=True)], made)
    assert [(part.text, part.state) for part in result.messages[2].results] == [("it broke", "error"), ("B", "success")]
    assert [event.type for event in made if "external" in event.type] == ["external_required", "external_required"]


@pytest.mark.parametrize(
    "wrong", [lambda key: [Answer(key, "1"), Answer(key, "2")], lambda key: [Answer("x/1", "1")], lambda key: [Approve(key)]]
)
async def test_external_results_of_a_foreign_or_repeated_id_are_refused(wrong):
    """Both editions: an error for duplicate and foreign ids."""
    agent = Agent(ScriptedModel(out("a"), "done"), tools=[outside])
    result, _ = await run(agent)
    with pytest.raises(StateError):
        await agent.resume(result.state, wrong(result.pending[0].call_key))


async def test_external_results_are_checked_against_the_declared_type():
    """Python 2.0.11: results are checked against the tool's declared shape before they are accepted."""

    @tool(external=True)
    async def count(q: str) -> int:
        """Count."""

    agent = Agent(ScriptedModel(asks(call("a", "count", '{"q": "x"}')), "done"), tools=[count])
    result, made = await run(agent)
    with pytest.raises(UsageError):
        await agent.resume(result.state, [result.pending[0].answer("many")])
    result, _ = await go_on(agent, result, [result.pending[0].answer(3)], made)
    assert result.output == "done"


async def test_a_tool_may_suspend_the_run_itself():
    """ToolSuspendException; METADATA_SUSPENDED. Here what it must remember is in the state, and no half result is in the history."""
    agent = Agent(ScriptedModel(asks(call("a", "book", "{}")), "done"), tools=[book])
    result, made = await run(agent)
    assert result.is_waiting
    assert [message.role for message in result.messages] == ["user", "assistant"]
    result, _ = await go_on(agent, result, [result.pending[0].answer("room 7")], made)
    assert result.output == "done"
    assert result.messages[2].results[0].state == "success"


@tool
async def book(context: Context) -> str:
    """Book a room."""
    if context.resumption is None:
        raise Suspend(state={"booking": 7})
    return "booked"


# ---------------------------------------------------------------------------------------------- modes


@pytest.mark.parametrize(
    ("mode", "state"),
    [("default", "awaits"), ("accept_edits", "awaits"), ("explore", "denied"), ("bypass", "success"), ("dont_ask", "denied")],
)
async def test_each_of_the_five_modes_judges_a_call_that_wants_a_yes(mode, state):
    act, done = asking()
    agent = Agent(ScriptedModel(acts("a"), "done"), tools=[act], permissions=mode)
    result, _ = await run(agent)
    found = "awaits" if result.is_waiting else result.messages[2].results[0].state
    assert found == state
    assert bool(done) == (state == "success")


async def test_a_rule_denies_allows_and_asks_by_tool_and_arguments():
    act, done = asking()
    permissions = Permissions().with_rules("allow act(what=good)", "deny act(what=bad)", "ask note")
    answer = asks(call("1", "act", '{"what": "good"}'), call("2", "act", '{"what": "bad"}'), call("3"))
    agent = Agent(ScriptedModel(answer, "done"), tools=[act, note], permissions=permissions)
    result, made = await run(agent)
    assert done == ["good"]
    assert [question.call.name for question in result.pending] == ["note"]
    result, _ = await go_on(agent, result, [result.pending[0].approve()], made)
    assert [part.state for part in result.messages[2].results] == ["success", "denied", "success"]


# ---------------------------------------------------------------------------------------------- events


@tool(group="more")
async def grouped() -> str:
    return "grouped"


@tool
async def lively(context: Context) -> str:
    context.progress("half way", done=1, total=2)
    yield "a piece"


async def all_kinds():
    """Runs that between them do everything that has an event."""
    inner = Agent(ScriptedModel("inner answer")).as_tool("inner", "An agent.")
    thinking = AssistantMessage([ReasoningPart("hm"), TextPart("so"), call("a", "lively", "{}"), call("b", "inner", '{"task": "t"}')])
    seen = []
    _, made = await run(Agent(ScriptedModel(thinking, "", "done"), tools=[lively, inner]))
    seen += made
    again = [*list(chunks_of(AssistantMessage("half a ")))[:-2], AttemptDiscarded(1, "lost"), *chunks_of(AssistantMessage("whole"))]
    _, made = await run(Agent(ScriptedModel(again)))
    seen += made
    agent = Agent(ScriptedModel(asks(call("a", "act", '{"what": "a"}'), call("b", "outside", '{"q": "b"}'))), tools=[asking()[0], outside])
    result, made = await run(agent)
    seen += made
    before = len(made)
    result, made = await go_on(agent, result, [result.pending[0].approve()], made)
    seen += made[before:]
    switching = asks(call("a", "switch_tools", '{"on": ["more"]}'))
    context = ContextPolicy(max_messages=3, keep_messages=1, summarize=False)
    agent = Agent(
        ScriptedModel(switching, *[asks(call("g", "grouped", "{}"))] * 3, "end"), tools=[grouped], groups=[], context=context, max_rounds=4
    )
    _, made = await run(agent)
    seen += made
    return [*seen, *(await failed())[1]]


async def test_every_event_of_ours_is_given_by_some_run_and_is_the_same_after_json():
    seen = await all_kinds()
    assert {event.type for event in seen} == {one.__struct_config__.tag for one in get_args(events.Event)}


async def test_a_reply_s_events_come_in_order_and_a_resumed_one_does_not_begin_again():
    """REPLY_START, MODEL_CALL_START, blocks, MODEL_CALL_END, results, …, REPLY_END; a parked reply there has no end at all."""
    act, _ = asking()
    agent = Agent(ScriptedModel(asks("so ", call("c", "act", '{"what": "a"}')), "done"), tools=[act])
    result, made = await run(agent)
    before = len(made)
    result, made = await go_on(agent, result, [result.pending[0].approve()], made)
    assert [event.type for event in made[:before]] == [
        "run_started",
        "round_started",
        "text_started",
        "text_delta",
        "tool_call_started",
        "tool_call_arguments",
        "text_ended",
        "tool_call_ended",
        "round_ended",
        "approval_required",
        "run_ended",
    ]
    assert [event.type for event in made[before:]] == [
        "approval_given",
        "tool_started",
        "tool_output",
        "tool_ended",
        "round_started",
        "text_started",
        "text_delta",
        "text_ended",
        "round_ended",
        "run_ended",
    ]
    assert len({event.run_id for event in made}) == 1


async def test_model_call_end_has_usage_and_the_reason_and_the_run_s_end_their_sum():
    """MODEL_CALL_END: usage; finished_reason there is one of two words, and the provider's own is read by nobody."""
    answer = asks(call("a")).replace(usage=Usage(input_tokens=3, output_tokens=2, cache_read_tokens=1))
    result, made = await run(
        Agent(ScriptedModel(answer, AssistantMessage("end", usage=Usage(input_tokens=4, output_tokens=1))), tools=[note])
    )
    first, second = of(made, events.RoundEnded)
    assert (first.usage.input_tokens, first.message.finish_reason, first.message.finish_reason_raw) == (3, "tool_calls", "tool_calls")
    assert (second.usage.output_tokens, second.message.finish_reason) == (1, "stop")
    assert (made[-1].usage.input_tokens, made[-1].usage.output_tokens, made[-1].usage.cache_read_tokens) == (7, 3, 1)
    assert result.message.timing is not None


async def test_an_error_inside_the_stream_is_an_event_and_the_run_ends():
    """P: no REPLY_END; J: `sink.error` first, so AGENT_END is dropped. There the kind of error is put on by the service alone."""
    _, made = await failed()
    assert [event.type for event in made[-2:]] == ["error", "run_ended"]
    assert (made[-2].kind, made[-2].retryable) == ("connection_lost", True)


async def test_what_a_sub_agent_does_is_seen_with_the_call_that_runs_it():
    """`source` path "main/researcher", SUBAGENT_EXPOSED: here the events themselves, inside `subrun` events of the call."""
    inner = Agent(ScriptedModel("inner answer")).as_tool("inner", "An agent.")
    _, made = await run(Agent(ScriptedModel(asks(call("b", "inner", '{"task": "t"}')), "done"), tools=[inner]))
    inside = of(made, events.SubRun)
    (started,) = of(made, events.ToolStarted)
    assert {event.call_key for event in inside} == {started.call_key}
    assert [event.event.type for event in inside] == [
        "run_started", "round_started", "text_started", "text_delta", "text_ended", "round_ended", "run_ended",
    ]  # fmt: skip
    assert "".join(event.event.text for event in of(inside, events.SubRun) if isinstance(event.event, events.TextDelta)) == "inner answer"


async def test_a_hook_may_have_the_model_go_on_after_its_answer():
    """A middleware that swallows REPLY_END forces another round; a second time without progress is a RuntimeError there."""

    class Doubt(Hooks):
        async def after_run(self, here, message):
            return GoOn("Are you sure?") if here.round == 1 else None

    result, made = await run(Agent(ScriptedModel("yes", "quite sure"), hooks=Doubt()))
    assert result.output == "quite sure"
    assert of(made, events.ReminderAdded)[0].message.text == "Are you sure?"


async def test_the_stop_of_max_rounds_is_one_forced_answer_that_runs_nothing():
    """EXCEED_MAX_ITERS: P 2.0.11 still executes what the forced answer calls; J: a failed summary reads as MODEL_STOP."""
    forced = asks("so far", call("z"))
    model = ScriptedModel(asks(call("a")), forced)
    result, made = await run(Agent(model, tools=[note], max_rounds=1))
    assert model.requests[1].tool_choice == "none"
    assert result.generate_reason == "max_rounds"
    assert len(of(made, events.ToolStarted)) == 1
    assert result.messages[-1].results[0].state == "not_run"
    (reached,) = of(made, events.LimitReached)
    assert (reached.which, reached.limit) == ("rounds", 1)


async def test_a_data_block_of_the_model_is_in_the_message():
    """Java drops image, audio and data blocks that a model gives out; its DATA_BLOCK events are never sent by the agent."""
    answer = AssistantMessage([MediaPart(kind="image", url="https://example.org/a.png"), "see"])
    result, made = await run(Agent(ScriptedModel(answer)))
    assert result.message.parts[0] == answer.parts[0]
    assert of(made, events.RoundEnded)[0].message.parts[0] == answer.parts[0]


# ---------------------------------------------------------------------------------------------- messages


def test_a_copy_keeps_its_class_id_and_time():
    """Java: `withContent`, `withMetadata` and `withGenerateReason` give the base class."""
    message = AssistantMessage("a", name="ann", metadata={"k": 1})
    for changes in ({"parts": "b"}, {"metadata": {"k": 2}}, {"generate_reason": "completed"}):
        copy = message.replace(**changes)
        assert (type(copy), copy.id, copy.created_at, copy.name) == (AssistantMessage, message.id, message.created_at, "ann")


def test_usage_of_a_message_survives_json_whole():
    """Java: `getChatUsage` from metadata loses the cached tokens."""
    usage = Usage(input_tokens=10, output_tokens=3, cache_read_tokens=4, cache_write_tokens=1, reasoning_tokens=2)
    message = Message.from_json(AssistantMessage("x", usage=usage).to_json())
    assert message.usage == usage
    assert usage.total_tokens == 13


def test_metadata_that_is_handed_out_cannot_change_the_message():
    """Java: `getMetadata().put` changes a message that its documentation calls immutable."""
    message = UserMessage("x", metadata={"a": {"b": [1]}})
    with pytest.raises(TypeError):
        message.metadata["a"]["b"].append(2)
    with pytest.raises(TypeError):
        message.metadata["c"] = 1
