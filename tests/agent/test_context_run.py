"""The context over whole runs: long results that go out and are read on, pauses, sessions, sub-agents, and talks of thousands of rounds."""

from __future__ import annotations

import asyncio
import gc
import json
import re
import subprocess
import sys
import tracemalloc

from hypothesis import given
from hypothesis import strategies as st

from headrace.agent import events
from headrace.agent.agent import Agent
from headrace.agent.approval import Answer, Approve
from headrace.agent.context.offload import MemoryResults
from headrace.agent.context.policy import ContextPolicy
from headrace.agent.context.reminders import ReminderRules
from headrace.agent.fold import fold
from headrace.agent.hooks import Hooks
from headrace.errors import ContextLengthError
from headrace.messages.message import AssistantMessage, UserMessage
from headrace.messages.parts import MediaPart, TextPart, ToolCallPart, ToolResultPart
from headrace.models.scripted import ScriptedModel
from headrace.tools.context import Context
from headrace.tools.tool import tool
from legal_history import problems
from seed_runs import check, of, run
from talks import text
from wire_judge import wire_problems

LONG_AGO = [
    message for n in range(12) for message in (UserMessage(f"Question {n}. {text(60)}"), AssistantMessage(f"Answer {n}. {text(60)}"))
]
WINDOW = ContextPolicy(max_tokens=1_000, summarize=False)


def asks(name, call_id="c", **arguments):
    return AssistantMessage([ToolCallPart(id=call_id, name=name, arguments=arguments)])


def said(request):
    return [message.text for message in request.messages]


def legal(model):
    for request in model.requests:
        assert wire_problems(request.messages, request.tools) == []


@tool
def log(lines: int) -> str:
    """Give a long log."""
    return "".join(f"line {n}\n" for n in range(lines))


@tool(needs_approval=True)
def sell(what: str) -> str:
    """Sell something."""
    return f"sold {what}"


def result_of(request):
    """The last result that a request shows."""
    return request.messages[-1].results[-1].text


def reference_in(request):
    """The reference and the offset that the last result names."""
    found = re.search(r'read_result\(reference="([^"]+)", offset=(\d+)\)', result_of(request))
    assert found
    return found[1], int(found[2])


# ---------------------------------------------------------------------------------------------- long results


async def test_a_long_result_is_kept_short_and_read_on_in_the_next_round():
    store = MemoryResults()

    def read_on(request):
        reference, offset = reference_in(request)
        return asks("read_result", "r", reference=reference, offset=offset, limit=30)

    model = ScriptedModel(asks("log", lines=5_000), read_on, "Done.")
    agent = Agent(model, tools=[log], context=ContextPolicy(max_result_tokens=200, offload=store))
    result, made = await run(agent)
    whole = log(5_000)
    short = result.messages[2].results[0]
    assert short.text.startswith("line 0\n")
    assert short.text.endswith("line 4999\n")
    assert len(short.text) < 1_500
    key, offset = reference_in(model.requests[1])
    assert key == f"{result.messages[1].id}/0"
    assert short.metadata["moved_out"] == {"key": key, "characters": len(whole)}
    assert result.messages[4].results[0].text.startswith(whole[offset : offset + 30])
    assert of(made, events.ToolEnded)[0].result == short
    assert (await store.get(key, 0, 10**6)).text == whole
    legal(model)


async def test_a_model_can_read_the_whole_of_a_result_piece_by_piece():
    pieces = []

    def read_on(request):
        if not pieces:
            pieces.append("")
            return asks("read_result", "r", reference=reference_in(request)[0])
        piece, _, note = result_of(request).rpartition("\n[characters ")
        pieces.append(piece)
        more = re.search(r"go on with offset=(\d+)", note)
        if more is None:
            return "Done."
        reference = request.messages[-2].tool_calls[0].parsed["reference"]
        return asks("read_result", "r", reference=reference, offset=int(more[1]))

    model = ScriptedModel(asks("log", lines=3_000), *[read_on] * 10)
    result, _ = await run(Agent(model, tools=[log], context=ContextPolicy(max_result_tokens=200, offload=MemoryResults())))
    assert result.message.text == "Done."
    assert "".join(pieces) == log(3_000)


async def test_what_comes_from_outside_goes_out_as_well():
    @tool(external=True)
    def measure() -> str:
        """Measure in the field."""
        raise AssertionError

    class Given(Hooks):
        async def before_tool_call(self, here, call):
            return ToolResultPart(call_id=call.id, name=call.name, parts=log(4_000)) if call.name == "log" else None

    store = MemoryResults()
    both = AssistantMessage([ToolCallPart(id="a", name="measure", arguments={}), ToolCallPart(id="b", name="log", arguments={"lines": 1})])
    model = ScriptedModel(both, "Done.")
    agent = Agent(model, tools=[measure, log], hooks=Given(), context=ContextPolicy(max_result_tokens=100, offload=store))
    paused = await agent.run("go")
    result = await agent.resume(paused.state, [Answer(call_key=paused.pending[0].call_key, value=log(3_000))])
    short = result.messages[2].results
    assert max(len(one.text) for one in short) < 1_000
    for one, whole in zip(short, (log(3_000), log(4_000)), strict=True):
        assert (await store.get(one.metadata["moved_out"]["key"], 0, 10**6)).text == whole


async def test_a_store_that_fails_costs_the_rest_of_a_result_and_not_the_run(caplog):
    class Full(MemoryResults):
        async def put(self, key, parts):
            raise OSError("the disk is full")

    model = ScriptedModel(asks("log", lines=5_000), "Done.")
    result, _ = await run(Agent(model, tools=[log], context=ContextPolicy(max_result_tokens=100, offload=Full())))
    assert result.message.text == "Done."
    assert "characters left out here" in result_of(model.requests[1])
    assert "read_result" not in result_of(model.requests[1])
    assert "could not be moved out" in caplog.text


async def test_without_a_store_the_middle_is_lost_and_no_reading_tool_is_offered():
    model = ScriptedModel(asks("log", lines=5_000), "Done.")
    await run(Agent(model, tools=[log], context=ContextPolicy(max_result_tokens=200)))
    assert [spec.name for spec in model.requests[0].tools] == ["log"]
    assert "characters left out here" in result_of(model.requests[1])
    assert "read_result" not in result_of(model.requests[1])


async def test_runs_and_agents_share_a_store_and_their_results_have_keys_of_their_own():
    store = MemoryResults()
    policy = ContextPolicy(max_result_tokens=100, offload=store)
    models = [ScriptedModel(asks("log", lines=1_000 + n), "Done.") for n in range(4)]
    agents = [Agent(model, tools=[log], context=policy) for model in models]
    await asyncio.gather(*(run(agent, session="s") for agent in agents))
    keys = [reference_in(model.requests[1])[0] for model in models]
    assert len(set(keys)) == len(store) == 4
    for n, key in enumerate(keys):
        assert (await store.get(key, 0, 10**6)).text == log(1_000 + n)


async def test_a_result_that_went_out_is_read_on_in_a_later_run_of_the_session():
    store = MemoryResults()
    reference = None

    def remember(request):
        nonlocal reference
        reference, _ = reference_in(request)
        return "It is long."

    model = ScriptedModel(
        asks("log", lines=2_000), remember, lambda _: asks("read_result", "r", reference=reference, offset=7, limit=6), "line 1"
    )
    agent = Agent(model, tools=[log], context=ContextPolicy(max_result_tokens=100, offload=store))
    await run(agent, session="s")
    result, _ = await run(agent, "What is its second line?", session="s")
    assert result.messages[2].results[0].text.startswith("line 1")


async def test_a_reference_that_nobody_has_is_told_the_model():
    model = ScriptedModel(asks("read_result", reference="nowhere/0"), "Pity.")
    result, _ = await run(Agent(model, context=ContextPolicy(max_result_tokens=100, offload=MemoryResults())))
    assert result.messages[2].results[0].state == "error"
    assert "no result is kept under 'nowhere/0'" in result.messages[2].results[0].text


async def test_images_of_a_long_result_stay_and_failures_are_cut_as_well():
    @tool
    def picture() -> list:
        """Give a picture and many words."""
        return [MediaPart(kind="image", data=b"png", media_type="image/png"), TextPart(text(2_000))]

    @tool
    def fail() -> str:
        """Fail at length."""
        raise ValueError(text(5_000))

    both = AssistantMessage([ToolCallPart(id="a", name="picture", arguments={}), ToolCallPart(id="b", name="fail", arguments={})])
    model = ScriptedModel(both, "Done.")
    store = MemoryResults()
    result, _ = await run(Agent(model, tools=[picture, fail], context=ContextPolicy(max_result_tokens=100, offload=store)))
    seen, failed = result.messages[2].results
    assert any(isinstance(part, MediaPart) for part in seen.parts)
    assert failed.state == "error"
    assert len(seen.text) < 1_000 > len(failed.text)
    assert len(store) == 2


# ---------------------------------------------------------------------------------------------- sessions and pauses


async def test_a_long_session_is_summed_up_when_it_has_grown_and_not_at_each_question():
    summaries = ScriptedModel(*(f"Summary {n}." for n in range(30)))
    model = ScriptedModel(*(f"Answer {n}. {text(60)}" for n in range(40)))
    agent = Agent(model, instructions="Be brief.", context=ContextPolicy(max_tokens=1_000, summary_model=summaries))
    for n in range(40):
        await run(agent, f"Question {n}. {text(60)}", session="s")
    assert 2 < len(summaries.requests) < 15
    last = said(model.requests[-1])
    assert f"Summary {len(summaries.requests) - 1}." in last[1]
    assert len(agent.sessions.get("s").messages) == 80
    legal(model)


async def test_a_session_that_keeps_only_answers_is_made_shorter_as_well():
    model = ScriptedModel(*(f"Answer {n}. {text(60)}" for n in range(20)))
    agent = Agent(model, context=WINDOW)
    for n in range(20):
        await run(agent, f"Question {n}. {text(60)}", session="s", keep="answers")
    assert max(len(request.messages) for request in model.requests) < 20
    legal(model)


RESUME = """
import asyncio, json, sys
from headrace import Agent, Approve, ContextPolicy, ScriptedModel, tool

@tool(needs_approval=True)
def sell(what: str) -> str:
    "Sell something."
    return f"sold {what}"

async def main():
    state = json.load(sys.stdin)
    model = ScriptedModel("Done.")
    agent = Agent(model, tools=[sell], instructions="Be brief.", context=ContextPolicy(max_tokens=1_000, summarize=False))
    result = await agent.resume(state, [Approve(call_key=state["pending"][0]["call_key"])])
    sent = [message.text for message in model.requests[0].messages]
    print(json.dumps({"sent": sent, "reason": result.generate_reason}))

asyncio.run(main())
"""


async def test_a_run_that_goes_on_in_another_process_sends_the_same_view():
    model = ScriptedModel(asks("sell", what="house"), "Done.")
    agent = Agent(
        model, tools=[sell], instructions="Be brief.", context=ContextPolicy(max_tokens=1_000, summary_model=ScriptedModel("A summary."))
    )
    result = await agent.run("Sell it.", history=LONG_AGO)
    state = json.dumps(result.state)
    done = subprocess.run([sys.executable, "-c", RESUME], input=state, capture_output=True, text=True, check=False)  # noqa: ASYNC221 - short
    assert done.returncode == 0, done.stderr
    elsewhere = json.loads(done.stdout)
    here = await agent.resume(state, [Approve(call_key=result.pending[0].call_key)])
    assert here.generate_reason == elsewhere["reason"] == "completed"
    assert elsewhere["sent"] == said(model.requests[1])
    assert "A summary." in elsewhere["sent"][1]
    assert len(elsewhere["sent"]) == len(model.requests[0].messages) + 2
    legal(model)


async def test_the_instructions_of_an_agent_may_change_between_a_pause_and_its_resume():
    model = ScriptedModel(asks("sell", what="house"), "Done.")
    result = await Agent(model, tools=[sell], context=WINDOW).run("Sell it.", history=LONG_AGO)
    other = Agent(model, tools=[sell], instructions="Be brief.", context=WINDOW)
    done = await other.resume(result.state, [Approve(call_key=result.pending[0].call_key)])
    assert done.message.text == "Done."
    assert said(model.requests[1])[0] == "Be brief."
    legal(model)


async def test_a_reminder_is_not_said_again_after_a_pause():
    @tool
    def broken() -> str:
        """Fail."""
        raise ValueError("no power")

    both = AssistantMessage([ToolCallPart(id="a", name="broken", arguments={}), ToolCallPart(id="b", name="sell", arguments={"what": "x"})])
    for rules in (ReminderRules(limits_at=None, silence_s=None), ReminderRules(limits_at=None, silence_s=None, keep_reminders=True)):
        model = ScriptedModel(*[asks("broken")] * 3, both, "Done.")
        agent = Agent(model, tools=[broken, sell], reminders=rules)
        made = []
        paused = await agent.run("go", on_event=made.append)
        assert paused.is_waiting
        done = await agent.resume(
            json.loads(json.dumps(paused.state)), [Approve(call_key=paused.pending[0].call_key)], on_event=made.append
        )
        assert fold(made) == done.messages
        assert problems(done.messages) == []
        told = [sum(message.origin == "framework" for message in request.messages) for request in model.requests]
        assert told == ([0, 0, 0, 1, 1] if rules.keep_reminders else [0, 0, 0, 1, 0])
        legal(model)


async def test_a_tool_sees_the_whole_history_where_the_model_sees_its_end():
    seen = []

    @tool
    def look_back(context: Context) -> str:
        """Look back."""
        seen.extend(context.messages)
        return f"{len(seen)} messages"

    model = ScriptedModel(asks("look_back"), "Done.")
    await run(Agent(model, tools=[look_back], context=WINDOW), "And now?", history=LONG_AGO)
    assert [message.text for message in seen] == [*(message.text for message in LONG_AGO), "And now?", ""]
    assert len(model.requests[1].messages) < 20


async def test_a_sub_agents_context_is_its_own():
    inner_model = ScriptedModel(*(asks("log", lines=200) for _ in range(6)), "Found it.")
    inner = Agent(inner_model, tools=[log], context=ContextPolicy(max_tokens=1_500, summarize=False))
    outer_model = ScriptedModel(asks("find", task="the error"), "Done.")
    outer = Agent(outer_model, tools=[inner.as_tool("find", "Finds errors.")], context=ContextPolicy(max_messages=50))
    result, made = await run(outer, history=LONG_AGO)
    assert of(made, events.ContextCompacted) == []
    inside = [event.event for event in of(made, events.SubRun)]
    assert any(isinstance(event, events.ContextCompacted) for event in inside)
    assert result.messages[2].results[0].text == "Found it."
    assert max(len(request.messages) for request in inner_model.requests) < 12
    legal(inner_model)
    legal(outer_model)


# ---------------------------------------------------------------------------------------------- whatever happens

ANSWERS = st.lists(
    st.one_of(
        st.builds(lambda lines, n: asks("log", f"c{n}", lines=lines), st.sampled_from([1, 20, 400]), st.integers(0, 2)),
        st.builds(
            lambda lines: AssistantMessage(
                [ToolCallPart(id=f"c{n}", name="log" if size else "broken", arguments={"lines": size}) for n, size in enumerate(lines)]
            ),
            st.lists(st.sampled_from([0, 5, 200]), min_size=1, max_size=3),
        ),
        st.just(asks("broken")),
        st.just(""),
        st.just(ContextLengthError("prompt is too long")),
    ),
    max_size=12,
)
POLICIES = st.builds(
    ContextPolicy,
    max_tokens=st.sampled_from([None, 300, 1_000]),
    max_messages=st.sampled_from([None, 3, 8]),
    keep=st.sampled_from([0.1, 0.5]),
    summarize=st.booleans(),
    summary_model=st.builds(lambda last: ScriptedModel(*[f"A summary. {last}"] * 40), st.sampled_from(["", text(500)])),
    max_result_tokens=st.sampled_from([None, 100]),
)


@given(ANSWERS, POLICIES, st.sampled_from([(), tuple(LONG_AGO[:6])]), st.booleans())
async def test_whatever_is_asked_and_left_out_what_is_sent_is_legal_and_holds_the_question(answers, policy, history, keeps):
    @tool
    def broken(lines: int = 0) -> str:
        """Fail."""
        raise ValueError("no power")

    model = ScriptedModel(*answers, *["The end."] * 20)
    rules = ReminderRules(keep_reminders=keeps, failures=2)
    agent = Agent(model, tools=[log, broken], context=policy, reminders=rules, max_rounds=8, limits={"tokens": 10**9})
    made = []
    try:
        result = await agent.run("What now?", history=history, session="s", on_event=made.append)
    except ContextLengthError as error:
        result = error.result
    check(made, result)
    assert agent.sessions.get("s").messages == result.messages
    legal(model)
    for request in model.requests:
        assert any(message.text.startswith("What now?") for message in request.messages)
        assert request.messages[0].role == "user"


# ---------------------------------------------------------------------------------------------- long talks


async def test_of_two_thousand_rounds_each_costs_the_same_and_what_is_sent_stays_small():
    rounds, watched = 2_000, 200
    n, calls, longest = 0, 0, 0
    costs = []

    def count(_frame, event, _argument):
        nonlocal calls
        calls += event in ("call", "c_call")

    def answer(request):
        nonlocal n, calls, longest
        n, longest = n + 1, max(longest, len(request.messages))
        model.requests.clear()  # what the test itself keeps is not the agent's
        if n in (100, rounds - watched):
            calls = 0
            sys.setprofile(count)
        elif n in (100 + watched, rounds):
            sys.setprofile(None)
            costs.append(calls)
        return asks("note", n=n) if n < rounds else "Done."

    @tool
    async def note(n: int) -> str:
        """Note a number."""
        return f"noted {n}"

    model = ScriptedModel(*[answer] * rounds)
    agent = Agent(model, tools=[note], max_rounds=None, context=ContextPolicy(max_messages=40, summarize=False))
    try:
        result = await agent.run("Count.")
    finally:
        sys.setprofile(None)
    early, late = costs
    assert late <= 1.1 * early
    assert longest <= 41
    assert result.rounds == rounds
    assert len(result.messages) == 2 * rounds
    assert problems(result.messages) == []


async def test_beside_the_history_nothing_grows_with_the_rounds():
    n, held = 0, {}

    def answer(_request):
        nonlocal n
        n += 1
        if n in (100, 200, 300):
            gc.collect()
            held[n] = tracemalloc.get_traced_memory()[0]
        model.requests.clear()
        return asks("note", n=n) if n < 301 else "Done."

    @tool
    async def note(n: int) -> str:
        """Note a number."""
        return f"noted {n}"

    model = ScriptedModel(*[answer] * 301)
    agent = Agent(model, tools=[note], max_rounds=None, context=ContextPolicy(max_messages=40, summarize=False))
    tracemalloc.start()
    try:
        await agent.run("Count.")
    finally:
        tracemalloc.stop()
    first, second = held[200] - held[100], held[300] - held[200]
    assert second <= 1.2 * first  # lists grow in steps
    assert second / 100 < 8_000  # bytes of a round: the answer, its call and its result
