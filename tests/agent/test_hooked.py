"""Hooks in a run: what each point may say, in which order, and what becomes of a hook that is wrong or raises."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

import messages_bytes
from headrace.agent import events
from headrace.agent.agent import Agent
from headrace.agent.approval import Approve, Deny
from headrace.agent.heard import MAX_RETRIES
from headrace.agent.hooks import HOOK_NAMES, Ask, GoOn, Hooks, Retry, Stop, Veto
from headrace.agent.running import MAX_RETRIES as MAX_TOOL_RETRIES
from headrace.errors import ArgumentsError, ConnectionLostError, StateError, ToolError, UsageError
from headrace.messages.message import AssistantMessage, UserMessage
from headrace.messages.parts import TextPart, ToolCallPart, ToolResultPart
from headrace.messages.request import Settings, ToolSpec
from headrace.messages.usage import Usage
from headrace.models.script import Scripted
from headrace.models.scripted import ScriptedModel
from headrace.tools.tool import tool
from watched import Said, hook, watch, watch_resumed


class Tools:
    """Tools that note what they ran with."""

    def __init__(self):
        self.ran = []

        @tool
        async def send(text: str) -> str:
            self.ran.append(text)
            return f"sent {text}"

        @tool(idempotent=True)
        async def look(text: str) -> str:
            self.ran.append(text)
            return f"{text} {len(self.ran)}"

        self.all = [send, look]


def call(call_id="a", name="send", text="hello"):
    return ToolCallPart(id=call_id, name=name, arguments={"text": text})


def asking(*calls):
    return AssistantMessage([TextPart("let me see "), *(calls or [call()])], usage=Usage(input_tokens=10, output_tokens=5))


def agent_with(*hooks, answers=None, tools=None, **options):
    answers = [asking(), AssistantMessage("done", usage=Usage(input_tokens=20, output_tokens=1))] if answers is None else answers
    return Agent(ScriptedModel(*answers), tools=(tools or Tools()).all, hooks=hooks, **options)


def result_for(call, text="mine", **fields):
    return ToolResultPart(call_id=call.id, name=call.name, parts=(TextPart(text),), **fields)


# ---------------------------------------------------------------------------------------------- every point


async def test_hooks_are_called_at_every_point_in_the_order_of_the_run():
    at = []

    class All(Hooks):
        pass

    for name in HOOK_NAMES:

        async def note(self, here, *arguments, name=name):
            at.append((name, here.round))

        setattr(All, name, note)
    watched = await watch(agent_with(All()))
    assert watched.result.output == "done"
    assert at == [
        ("before_run", 0),
        ("before_round", 0),
        ("before_model_call", 0),
        ("after_model_call", 1),
        ("before_tool_call", 1),
        ("after_tool_call", 1),
        ("after_round", 1),
        ("before_round", 1),
        ("before_model_call", 1),
        ("after_model_call", 2),
        ("after_run", 2),
        ("after_round", 2),
    ]


async def test_here_says_where_the_run_stands():
    said = Said()
    watched = await watch(agent_with(hook("before_tool_call", said=said)), deps={"user": 7})
    here, asked = said.calls[0]
    assert here.run_id == watched.result.run_id
    assert here.deps == {"user": 7}
    assert [message.role for message in here.messages] == ["user", "assistant"]
    assert here.usage == Usage(input_tokens=10, output_tokens=5)
    assert asked.parsed == {"text": "hello"}


@pytest.mark.parametrize("name", HOOK_NAMES)
async def test_hooks_of_one_point_are_called_in_the_order_given(name):
    first, second = [], []
    await watch(agent_with(hook(name, always=lambda *a: first.append(len(second))), hook(name, always=lambda *a: second.append(1))))
    assert first == list(range(len(second)))
    assert first


@pytest.mark.parametrize("name", HOOK_NAMES)
@pytest.mark.parametrize(
    "error", [ValueError("no"), ConnectionLostError("its own"), ToolError("t"), UsageError("u"), TimeoutError()], ids=type
)
async def test_a_hook_that_raises_at_any_point_fails_the_run_with_that_very_error(name, error):
    agent = agent_with(hook(name, error))
    watched = await watch(agent)
    assert watched.error is error
    assert getattr(error, "result", watched.result) is watched.result
    assert watched.of(events.ErrorRaised)[0].message == str(error)
    assert watched.result.messages[0].text == "go"
    agent.model._answers = [*agent.model._answers[: len(agent.model.requests)], "next"]
    assert (await agent.run("again", session="s")).output == "next"


@pytest.mark.parametrize("name", HOOK_NAMES)
@pytest.mark.parametrize("wrong", [42, "words", b"x", object(), {1, 2}], ids=lambda value: type(value).__name__)
async def test_what_a_point_does_not_understand_is_an_error_that_names_the_hook_and_what_it_may_return(name, wrong):
    watched = await watch(agent_with(hook(name, wrong)))
    assert isinstance(watched.error, UsageError)
    assert str(watched.error).startswith(f"Speaker.{name} returned a {type(wrong).__name__}; it may return ")


WORDS = {
    "Stop": Stop(),
    "Retry": Retry(),
    "Veto": Veto(),
    "Ask": Ask(),
    "GoOn": GoOn("more"),
    "AssistantMessage": AssistantMessage("x"),
    "messages": [UserMessage("x")],
}
MAY = {
    "before_run": {"Stop", "messages"},
    "after_run": {"GoOn"},
    "before_round": {"Stop"},
    "after_round": {"Stop"},
    "before_model_call": {"Stop", "AssistantMessage"},
    "after_model_call": {"Stop", "Retry", "AssistantMessage"},
    "before_tool_call": {"Stop", "Veto", "Ask"},
    "after_tool_call": {"Retry"},
}


@pytest.mark.parametrize(("name", "word"), [(name, word) for name in HOOK_NAMES for word in WORDS if word not in MAY[name]])
async def test_a_word_of_another_point_is_refused(name, word):
    watched = await watch(agent_with(hook(name, WORDS[word])))
    assert isinstance(watched.error, UsageError)


@pytest.mark.parametrize("name", HOOK_NAMES)
async def test_a_hook_that_is_not_async_says_so(name):
    class Plain(Hooks):
        pass

    setattr(Plain, name, lambda self, here, *arguments: None)
    watched = await watch(agent_with(Plain()))
    assert str(watched.error) == f"Plain.{name} is not async; write async def {name}"


@pytest.mark.parametrize("name", [name for name in HOOK_NAMES if "Stop" in MAY[name]])
async def test_a_stop_at_any_point_ends_the_run_as_stopped_with_results_for_open_calls(name):
    tools = Tools()
    watched = await watch(agent_with(hook(name, Stop("enough")), tools=tools))
    assert watched.error is None
    assert watched.result.generate_reason == watched.result.message.generate_reason == "stopped"
    states = {"after_model_call": ["not_run"], "before_tool_call": ["not_run"], "after_round": ["success"]}
    assert [result.state for result in watched.results] == states.get(name, [])
    if states.get(name) == ["not_run"]:
        assert watched.results[0].text == "Not run: the run was stopped. enough"
        assert tools.ran == []


@pytest.mark.parametrize("name", [name for name in HOOK_NAMES if "Stop" in MAY[name]])
async def test_after_a_stop_no_later_hook_of_the_point_is_asked(name):
    later = Said()
    await watch(agent_with(hook(name, Stop()), hook(name, said=later)))
    assert len(later) == 0


@pytest.mark.parametrize("name", HOOK_NAMES)
async def test_an_interrupt_while_a_hook_waits_ends_the_run(name):
    reached, cancelled = asyncio.Event(), []

    class Slow(Hooks):
        pass

    async def wait(self, here, *arguments):
        reached.set()
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.append(True)

    setattr(Slow, name, wait)
    agent = agent_with(Slow())
    async with agent.stream("go", session="s") as run:

        async def stop():
            await reached.wait()
            run.interrupt()

        task = asyncio.create_task(stop())
        result = await run.finish()
        await task
    assert cancelled == [True]
    assert result.generate_reason == ("completed" if name == "after_round" and result.message.text == "done" else "interrupted")
    assert asyncio.current_task().cancelling() == 0
    assert agent.sessions.get("s").messages == result.messages
    assert agent.sessions.get("s").holder is None


# ---------------------------------------------------------------------------------------------- before and after a run


async def test_before_run_changes_the_input_that_is_kept_and_each_hook_sees_what_the_one_before_left():
    second = Said()
    watched = await watch(agent_with(hook("before_run", [UserMessage("other")]), hook("before_run", said=second), answers=["x"]))
    assert [message.text for message in second.calls[0][1]] == ["other"]
    assert [message.text for message in watched.result.messages] == ["other", "x"]
    assert watched.of(events.RunStarted)[0].input == watched.result.messages[:1]


async def test_a_run_that_is_stopped_before_it_begins_keeps_what_was_asked():
    agent = agent_with(hook("before_run", Stop()))
    watched = await watch(agent)
    assert [message.text for message in watched.result.messages] == ["go"]
    assert agent.model.requests == []
    assert watched.types == ["RunStarted", "RunEnded"]


@pytest.mark.parametrize("wrong", [UserMessage("x"), {"role": "user"}, ["x"], iter(())], ids=lambda value: type(value).__name__)
async def test_before_run_takes_messages_in_a_list_and_nothing_that_only_looks_like_it(wrong):
    watched = await watch(agent_with(hook("before_run", wrong)))
    assert isinstance(watched.error, UsageError)


async def test_after_run_may_have_the_model_go_on():
    agent = agent_with(hook("after_run", GoOn("check it again")), answers=["first", "second"])
    watched = await watch(agent)
    assert [message.text for message in watched.result.messages] == ["go", "first", "check it again", "second"]
    assert watched.result.messages[2].reminder_kind == "go_on"
    assert [event.is_final for event in watched.of(events.RoundEnded)] == [False, True]
    assert watched.result.undelivered == ()


async def test_a_hook_that_always_wants_more_ends_with_the_rounds():
    said = Said()
    agent = agent_with(hook("after_run", always=GoOn("more"), said=said), answers=["again"] * 10, max_rounds=3)
    watched = await watch(agent)
    assert watched.result.generate_reason == "max_rounds"
    assert len(agent.model.requests) == 4
    assert len(said) == 4, "it sees the forced answer too, which stands"
    assert [event.which for event in watched.of(events.LimitReached)] == ["rounds"]
    assert watched.result.undelivered == ()


async def test_wanting_more_and_tool_rounds_count_together():
    agent = agent_with(hook("after_run", always=GoOn("more")), answers=[asking(), "one", asking(call("b")), "end"], max_rounds=3)
    watched = await watch(agent)
    assert watched.result.generate_reason == "max_rounds"
    assert [message.text for message in watched.result.messages if message.role == "user"] == ["go", "more"]


async def test_after_run_is_not_asked_when_words_that_steer_lead_on_anyway():
    said = Said()
    agent = agent_with(hook("after_run", said=said), answers=["first", "second"])
    async with agent.stream("go") as run:
        async for event in run:
            if isinstance(event, events.TextDelta) and event.round == 1:
                run.steer("and now?")
    assert run.result.output == "second"
    assert [message.text for _, message in said.calls] == ["second"]


async def test_after_run_is_not_asked_about_a_run_that_fails_or_is_stopped():
    said = Said()
    failing = agent_with(hook("after_run", said=said), answers=[AssistantMessage("x", finish_reason="error")])
    assert (await watch(failing)).error is not None
    stopped = agent_with(hook("after_run", said=said), hook("after_model_call", Stop()), answers=["x"])
    assert (await watch(stopped)).result.generate_reason == "stopped"
    assert len(said) == 0


async def test_after_run_sees_an_answer_that_a_filter_cut_which_stands():
    said = Said()
    agent = agent_with(hook("after_run", always=GoOn("more"), said=said), answers=[AssistantMessage("x", finish_reason="content_filter")])
    watched = await watch(agent)
    assert watched.result.generate_reason == "content_filter"
    assert len(said) == 1


async def test_a_typed_answer_can_be_sent_back_by_a_hook():
    async def low(self, here, message):
        return GoOn("larger") if "1" in message.text else None

    class Larger(Hooks):
        after_run = low

    agent = Agent(ScriptedModel('{"result": 1}', '{"result": 2}'), output_type=dict[str, int], hooks=[Larger()])
    watched = await watch(agent)
    assert watched.result.output == {"result": 2}
    assert watched.result.generate_reason == "structured_output"


# ---------------------------------------------------------------------------------------------- before and after a model call


async def test_what_before_model_call_changes_is_sent_and_kept_nowhere():
    def change(here, call):
        return msgspec.structs.replace(
            call, messages=(*call.messages, UserMessage("psst")), settings=call.settings.updated(Settings(temperature=0.5))
        )

    second = Said()
    agent = agent_with(hook("before_model_call", always=change), hook("before_model_call", said=second))
    watched = await watch(agent)
    assert [request.messages[-1].text for request in agent.model.requests] == ["psst", "psst"]
    assert agent.model.requests[0].settings.temperature == 0.5
    assert [call.messages[-1].text for _, call in second.calls] == ["psst", "psst"]
    assert "psst" not in [message.text for message in watched.result.messages]


async def test_a_tool_that_a_hook_takes_away_is_not_offered_and_does_not_run():
    tools = Tools()

    def without_send(here, call):
        return msgspec.structs.replace(call, tools=tuple(spec for spec in call.tools if spec.name != "send"))

    agent = agent_with(hook("before_model_call", without_send), answers=[asking(), asking(call("b")), "done"], tools=tools)
    watched = await watch(agent)
    assert [spec.name for spec in agent.model.requests[0].tools] == ["look"]
    assert "There is no tool 'send'. The tools are: look." in watched.results[0].text
    assert watched.results[1].state == "success", "in the next round it is there again"
    assert tools.ran == ["hello"]


async def test_a_tool_that_a_hook_makes_up_is_offered_and_unknown():
    def more(here, call):
        return msgspec.structs.replace(call, tools=(*call.tools, ToolSpec(name="extra", description="", parameters={"type": "object"})))

    watched = await watch(agent_with(hook("before_model_call", more), answers=[asking(call(name="extra")), "done"]))
    assert watched.results[0].metadata["error_type"] == "UnknownToolError"


async def test_a_hook_may_answer_in_the_model_s_place_which_is_then_not_asked():
    cached = AssistantMessage("from the cache", generate_reason="interrupted", id="old", usage=Usage(input_tokens=99))
    later, after = Said(), Said()
    agent = agent_with(
        hook("before_model_call", cached), hook("before_model_call", said=later), hook("after_model_call", said=after), answers=["asked"]
    )
    watched = await watch(agent)
    assert watched.result.output == "from the cache"
    assert watched.result.generate_reason == "completed"
    assert watched.result.usage == Usage()
    assert agent.model.requests == []
    assert [event.text for event in watched.of(events.TextDelta)] == ["from the cache"]
    assert (len(later), [message.text for _, message in after.calls]) == (0, ["from the cache"])
    assert (await watch(agent, "again")).result.output == "asked"


async def test_an_answer_in_the_model_s_place_may_call_tools():
    tools = Tools()
    agent = agent_with(hook("before_model_call", AssistantMessage([call(text="of the hook")])), answers=["done"], tools=tools)
    watched = await watch(agent)
    assert tools.ran == ["of the hook"]
    assert watched.result.output == "done"


async def test_an_answer_in_the_model_s_place_of_a_forced_one_ends_the_run():
    agent = agent_with(hook("before_model_call", None, AssistantMessage([call("z")])), max_rounds=1)
    watched = await watch(agent)
    assert watched.result.generate_reason == "max_rounds"
    assert [result.state for result in watched.results] == ["success", "not_run"]


async def test_hooks_see_that_an_answer_is_forced():
    said = Said()
    agent = agent_with(hook("before_model_call", said=said), max_rounds=1)
    await watch(agent)
    assert [(call.is_forced, call.tool_choice) for _, call in said.calls] == [(False, "auto"), (True, "none")]


async def test_an_answer_that_is_replaced_is_void_for_readers_and_they_see_the_new_one():
    agent = agent_with(hook("after_model_call", lambda here, message: message.replace(parts=[TextPart("[cut]")])), answers=["secret"])
    watched = await watch(agent)
    assert watched.result.output == "[cut]"
    assert "secret" not in str(watched.result.messages)
    texts = [event.text for event in watched.of(events.TextDelta)]
    assert texts == ["secret", "[cut]"]
    (void,) = watched.of(events.AttemptDiscarded)
    assert void.message_id != watched.result.message.id
    assert void.reason == "the answer was replaced"


async def test_each_hook_sees_the_answer_as_the_one_before_it_left_it_and_readers_see_the_last():
    def add(letter):
        return hook("after_model_call", lambda here, message: message.replace(parts=[TextPart(message.text + letter)]))

    watched = await watch(agent_with(add("b"), add("c"), answers=["a"]))
    assert watched.result.output == "abc"
    assert len(watched.of(events.AttemptDiscarded)) == 1


async def test_an_answer_that_is_returned_as_it_was_is_not_replaced():
    watched = await watch(agent_with(hook("after_model_call", lambda here, message: message.replace()), answers=["a"]))
    assert watched.of(events.AttemptDiscarded) == []


async def test_an_answer_of_a_hook_s_own_has_the_usage_of_the_one_that_it_replaces():
    answer = AssistantMessage("long", usage=Usage(input_tokens=7, output_tokens=3), model="m")
    watched = await watch(agent_with(hook("after_model_call", AssistantMessage("short")), answers=[answer]))
    assert watched.result.usage == Usage(input_tokens=7, output_tokens=3)
    assert watched.result.message.usage == Usage(input_tokens=7, output_tokens=3)
    assert watched.result.message.model == "m"


async def test_an_answer_from_another_run_does_not_end_this_one_as_that():
    old = AssistantMessage("old", generate_reason="interrupted", id="old-id")
    watched = await watch(agent_with(hook("after_model_call", old), answers=["x"]))
    assert watched.result.generate_reason == "completed"
    assert watched.result.output == "old"


async def test_a_hook_may_put_calls_into_an_answer_or_take_them_out():
    tools = Tools()
    added = await watch(
        agent_with(hook("after_model_call", AssistantMessage([call("n", text="of the hook")])), answers=["x", "y"], tools=tools)
    )
    assert tools.ran == ["of the hook"]
    assert added.result.output == "y"
    removed = await watch(
        agent_with(hook("after_model_call", lambda here, message: message.replace(parts=[TextPart("no tools")])), tools=tools)
    )
    assert removed.result.output == "no tools"
    assert tools.ran == ["of the hook"]


async def test_a_retry_voids_the_answer_and_asks_again_with_the_same_request_and_what_it_used_counts():
    answers = [AssistantMessage("bad", usage=Usage(output_tokens=4)), AssistantMessage("good", usage=Usage(output_tokens=3))]
    agent = agent_with(hook("after_model_call", Retry("too short")), answers=answers)
    watched = await watch(agent)
    assert watched.result.output == "good"
    assert watched.result.usage.output_tokens == 7
    assert agent.model.requests[0].messages == agent.model.requests[1].messages
    (void,) = watched.of(events.AttemptDiscarded)
    assert (void.reason, void.attempt) == ("too short", 1)
    assert watched.types == ["RunStarted", "RoundStarted", "AttemptDiscarded", "RoundEnded", "RunEnded"]


async def test_a_retry_and_then_another_answer_number_the_attempts():
    agent = agent_with(hook("after_model_call", Retry(), AssistantMessage("mine")), answers=["a", "b"])
    watched = await watch(agent)
    assert [event.attempt for event in watched.of(events.AttemptDiscarded)] == [1, 2]
    assert len({event.message_id for event in watched.of(events.AttemptDiscarded)} | {watched.result.message.id}) == 3


async def test_retries_without_end_fail_the_run():
    agent = agent_with(hook("after_model_call", always=Retry("worse")), answers=["x"] * 100)
    watched = await watch(agent)
    assert isinstance(watched.error, StateError)
    assert "another answer 21 times in one run; the last reason: worse" in str(watched.error)
    assert len(agent.model.requests) == MAX_RETRIES + 1


async def test_retries_without_end_fail_a_forced_answer_as_well():
    agent = agent_with(hook("after_model_call", None, always=Retry()), answers=[asking(), *["x"] * 100], max_rounds=1)
    assert isinstance((await watch(agent)).error, StateError)


async def test_a_retried_call_to_tools_runs_no_tool_of_the_void_answer():
    tools = Tools()
    agent = agent_with(
        hook("after_model_call", Retry()), answers=[asking(call("a", text="void")), asking(call("b", text="kept")), "done"], tools=tools
    )
    watched = await watch(agent)
    assert tools.ran == ["kept"]
    assert watched.result.output == "done"


@pytest.mark.parametrize("name", ["before_model_call", "after_model_call", "after_run"])
@pytest.mark.parametrize("error", [ConnectionLostError("its own"), ToolError("its own"), ArgumentsError("its own")], ids=type)
async def test_a_hook_that_raises_at_a_forced_answer_is_no_failed_answer_that_is_put_up_with(name, error):
    answers = [asking(), "forced"]
    watched = await watch(agent_with(hook(name, *([None] if name != "after_run" else []), error), answers=answers, max_rounds=1))
    assert watched.error is error


async def test_a_forced_answer_that_the_model_fails_still_ends_the_run_in_order_with_hooks_at_every_point():
    hooks = [hook(name) for name in HOOK_NAMES]
    watched = await watch(agent_with(*hooks, answers=[asking(), ConnectionLostError("gone")], max_rounds=1))
    assert watched.error is None
    assert watched.result.generate_reason == "max_rounds"


# ---------------------------------------------------------------------------------------------- before a tool call


async def test_arguments_that_a_hook_changes_are_those_that_run_and_the_model_is_told():
    tools, second = Tools(), Said()
    watched = await watch(agent_with(hook("before_tool_call", {"text": "safe"}), hook("before_tool_call", said=second), tools=tools))
    assert tools.ran == ["safe"]
    assert second.calls[0][1].parsed == {"text": "safe"}
    assert watched.results[0].text == 'The arguments were changed to {"text":"safe"}.\nsent safe'
    assert watched.result.messages[1].tool_calls[0].parsed == {"text": "hello"}, "the call itself stays as it came"


async def test_arguments_that_are_returned_as_they_were_are_not_changed():
    for same in (lambda here, call: call.parsed, lambda here, call: dict(call.parsed), lambda here, call: {**call.parsed}):
        watched = await watch(agent_with(hook("before_tool_call", same)))
        assert watched.results[0].text == "sent hello"
        assert "changed_arguments" not in watched.results[0].metadata


async def test_true_in_place_of_one_is_a_change():
    @tool
    async def count(n: int | bool) -> str:
        return repr(n)

    asked = AssistantMessage([ToolCallPart(id="a", name="count", arguments={"n": 1})])
    watched = await watch(Agent(ScriptedModel(asked, "done"), tools=[count], hooks=hook("before_tool_call", {"n": True})))
    assert watched.results[0].text.endswith("True")


async def test_changed_arguments_that_do_not_fit_the_tool_are_an_error_that_the_model_sees():
    tools = Tools()
    watched = await watch(agent_with(hook("before_tool_call", {"text": [1]}), tools=tools))
    assert watched.results[0].state == "error"
    assert tools.ran == []


async def test_changed_arguments_that_are_no_json_are_an_error_of_the_hook():
    watched = await watch(agent_with(hook("before_tool_call", {"text": object()})))
    assert isinstance(watched.error, UsageError)


async def test_a_result_that_a_hook_gives_stands_for_the_call():
    tools, after = Tools(), Said()
    watched = await watch(
        agent_with(hook("before_tool_call", lambda here, call: result_for(call)), hook("after_tool_call", said=after), tools=tools)
    )
    assert [result.text for result in watched.results] == ["mine"]
    assert tools.ran == []
    assert len(after) == 0
    assert watched.of(events.ToolStarted) == []


@pytest.mark.parametrize("name", ["before_tool_call", "after_tool_call"])
async def test_a_result_of_another_call_is_refused_since_it_would_break_the_history(name):
    watched = await watch(agent_with(hook(name, result_for(call("other")))))
    assert isinstance(watched.error, UsageError)
    assert "call_id 'other' for the call 'a'" in str(watched.error)


async def test_a_veto_denies_the_call_with_its_reason():
    tools = Tools()
    watched = await watch(agent_with(hook("before_tool_call", Veto("not on Sundays")), tools=tools))
    assert [(result.state, result.text) for result in watched.results] == [("denied", "Not allowed: not on Sundays")]
    assert tools.ran == []
    assert watched.result.output == "done"


async def test_each_call_of_a_round_is_asked_about_by_itself():
    tools = Tools()

    def judge(here, call):
        return {"a": Veto(), "b": None, "c": result_for(call), "d": {"text": "D"}}[call.id]

    watched = await watch(
        agent_with(hook("before_tool_call", always=judge), answers=[asking(*(call(i) for i in "abcd")), "done"], tools=tools)
    )
    assert [result.state for result in watched.results] == ["denied", "success", "success", "success"]
    assert sorted(tools.ran) == ["D", "hello"]


async def test_a_stop_at_one_call_of_a_round_runs_none_of_them():
    tools = Tools()
    watched = await watch(agent_with(hook("before_tool_call", None, Stop("no more")), answers=[asking(call("a"), call("b"))], tools=tools))
    assert [result.state for result in watched.results] == ["not_run", "not_run"]
    assert tools.ran == []


async def test_hooks_are_not_asked_about_calls_that_cannot_run():
    said = Said()
    bad = ToolCallPart(id="b", name="send", arguments='{"text": ')
    watched = await watch(agent_with(hook("before_tool_call", said=said), answers=[asking(call("a", "unknown"), bad, call("c")), "done"]))
    assert [asked.id for _, asked in said.calls] == ["c"]
    assert [result.state for result in watched.results] == ["error", "error", "success"]


async def test_ask_pauses_the_run_and_an_approval_lets_the_call_run():
    tools = Tools()
    agent = agent_with(hook("before_tool_call", always=Ask("is that wise?")), tools=tools)
    first = await watch(agent)
    assert first.result.generate_reason == "awaiting_approval"
    (pending,) = first.result.pending
    assert (pending.kind, pending.reason) == ("approval", "is that wise?")
    second = await watch_resumed(agent, first, [Approve(pending.call_key, digest=pending.digest)])
    assert second.result.output == "done"
    assert tools.ran == ["hello"]


async def test_ask_and_a_denial_give_the_model_the_reason():
    agent = agent_with(hook("before_tool_call", always=Ask()))
    first = await watch(agent)
    second = await watch_resumed(agent, first, [Deny(first.result.pending[0].call_key, "no")])
    assert second.results[0].state == "denied"


async def test_a_person_is_asked_about_the_arguments_that_would_run_whatever_the_order_of_the_hooks():
    for hooks in ([{"text": "safe"}, Ask("?")], [Ask("?"), {"text": "safe"}], [Ask("?", {"text": "safe"}), None]):
        tools = Tools()
        agent = agent_with(*(hook("before_tool_call", always=word) for word in hooks), tools=tools)
        first = await watch(agent)
        (pending,) = first.result.pending
        assert pending.call.parsed == {"text": "safe"}
        assert pending.reason == "?"
        await watch_resumed(agent, first, [Approve(pending.call_key, digest=pending.digest)])
        assert tools.ran == ["safe"], hooks


async def test_a_veto_behind_a_question_vetoes_and_nobody_is_asked():
    watched = await watch(agent_with(hook("before_tool_call", Ask()), hook("before_tool_call", Veto("never"))))
    assert watched.results[0].text == "Not allowed: never"


async def test_what_a_person_puts_in_wins_over_what_a_hook_puts_in():
    tools = Tools()
    agent = agent_with(hook("before_tool_call", always=Ask("?", {"text": "of the hook"})), tools=tools)
    first = await watch(agent)
    await watch_resumed(agent, first, [Approve(first.result.pending[0].call_key, {"text": "of the person"})])
    assert tools.ran == ["of the person"]


async def test_a_question_about_one_call_of_a_round_lets_the_others_run_and_they_are_not_asked_about_again():
    tools, said = Tools(), Said()
    ask_a = hook("before_tool_call", always=lambda here, call: Ask() if call.id == "a" else None, said=said)
    agent = agent_with(ask_a, answers=[asking(call("a", text="A"), call("b", text="B")), "done"], tools=tools)
    first = await watch(agent)
    assert tools.ran == ["B"]
    second = await watch_resumed(agent, first, [Approve(first.result.pending[0].call_key)])
    assert tools.ran == ["B", "A"]
    assert [asked.id for _, asked in said.calls] == ["a", "b", "a"]
    assert second.result.output == "done"


async def test_a_stop_when_a_run_is_resumed_closes_what_waits():
    tools = Tools()
    agent = agent_with(hook("before_tool_call", Ask(), Stop("late")), tools=tools)
    first = await watch(agent)
    second = await watch_resumed(agent, first, [Approve(first.result.pending[0].call_key)])
    assert second.result.generate_reason == "stopped"
    assert [result.state for result in second.results] == ["not_run"]
    assert tools.ran == []


async def test_a_hook_that_raises_when_a_run_is_resumed_fails_it_and_frees_the_session():
    error = RuntimeError("later")
    agent = agent_with(hook("before_tool_call", Ask(), error))
    first = await watch(agent)
    second = await watch_resumed(agent, first, [Approve(first.result.pending[0].call_key)])
    assert second.error is error
    assert [result.state for result in second.results] == ["interrupted"]


async def test_before_run_is_not_asked_again_when_a_run_is_resumed_and_after_run_sees_the_end():
    before, after = Said(), Said()
    agent = agent_with(hook("before_run", said=before), hook("after_run", said=after), hook("before_tool_call", always=Ask()))
    first = await watch(agent)
    assert (len(before), len(after)) == (1, 0)
    await watch_resumed(agent, first, [Approve(first.result.pending[0].call_key)])
    assert (len(before), len(after)) == (1, 1)


# ---------------------------------------------------------------------------------------------- after a tool call


async def test_a_result_that_a_hook_replaces_is_the_one_that_is_kept_and_seen():
    second = Said()
    replacing = hook("after_tool_call", lambda here, call, result: msgspec.structs.replace(result, parts=(TextPart("[cut]"),)))
    watched = await watch(agent_with(replacing, hook("after_tool_call", said=second)))
    assert [result.text for result in watched.results] == ["[cut]"]
    assert second.calls[0][2].text == "[cut]"
    assert watched.of(events.ToolEnded)[0].result.text == "[cut]"


async def test_an_idempotent_call_runs_again_if_a_hook_wants_it():
    tools = Tools()
    watched = await watch(agent_with(hook("after_tool_call", Retry(), Retry()), answers=[asking(call(name="look")), "done"], tools=tools))
    assert len(tools.ran) == 3
    assert watched.results[0].text == "hello 3"
    assert "not_retried" not in watched.results[0].metadata


async def test_running_again_is_bounded():
    tools = Tools()
    watched = await watch(agent_with(hook("after_tool_call", always=Retry()), answers=[asking(call(name="look")), "done"], tools=tools))
    assert len(tools.ran) == MAX_TOOL_RETRIES + 1
    assert watched.results[0].metadata["not_retried"] == "it has run 6 times"


async def test_a_call_that_is_not_idempotent_never_runs_again_and_the_result_says_so():
    tools = Tools()
    watched = await watch(agent_with(hook("after_tool_call", always=Retry()), tools=tools))
    assert tools.ran == ["hello"]
    assert watched.results[0].metadata["not_retried"] == "send is not idempotent"


async def test_what_other_hooks_made_of_a_result_holds_also_when_a_retry_is_in_vain():
    def redact(here, call, result):
        return msgspec.structs.replace(result, parts=(TextPart("[redacted]"),))

    for order in (["redact", "retry"], ["retry", "redact"]):
        for name in ("send", "look"):
            hooks = [hook("after_tool_call", always=redact if what == "redact" else Retry()) for what in order]
            watched = await watch(agent_with(*hooks, answers=[asking(call(name=name)), "done"]))
            assert watched.results[0].text == "[redacted]", (order, name)


async def test_a_hook_that_raises_after_one_of_parallel_calls_cancels_the_others():
    begun, cancelled = asyncio.Event(), []

    @tool
    async def hang() -> str:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.append(True)

    @tool
    async def quick() -> str:
        await begun.wait()
        return "quick"

    error = RuntimeError("after quick")
    model = ScriptedModel(
        AssistantMessage([ToolCallPart(id="a", name="hang", arguments="{}"), ToolCallPart(id="b", name="quick", arguments="{}")])
    )
    watched = await watch(Agent(model, tools=[hang, quick], hooks=hook("after_tool_call", error)))
    assert watched.error is error
    assert cancelled == [True]
    assert [result.state for result in watched.results] == ["interrupted", "interrupted"]


async def test_after_round_sees_the_answer_with_the_results_in_the_history():
    said = Said()
    await watch(agent_with(hook("after_round", said=said)))
    assert [(message.generate_reason, here.messages[-1].role) for here, message in said.calls] == [
        ("tool_calls", "tool"),
        ("completed", "assistant"),
    ]


async def test_hooks_hold_for_calls_that_start_early():
    """With hooks before calls none starts early; with hooks after them their results pass those as any other."""
    tools, said = Tools(), Said()
    answers = [Scripted(asking(call(name="look")), slice_chars=2), "done"]
    agent = agent_with(hook("after_tool_call", said=said), answers=answers, tools=tools, early_start=True)
    await watch(agent)
    assert len(said) == 1


async def test_a_sub_agent_has_its_own_hooks_and_its_failure_is_a_result_for_the_outer_model():
    inner = Agent(ScriptedModel("x"), hooks=hook("before_round", RuntimeError("inner hook")))
    outer = Agent(
        ScriptedModel(AssistantMessage([ToolCallPart(id="a", name="ask", arguments={"task": "t"})]), "sorry"),
        tools=[inner.as_tool("ask", "Ask somebody.")],
    )
    watched = await watch(outer)
    assert watched.error is None
    assert watched.results[0].state == "error"
    assert "inner hook" in watched.results[0].text


@pytest.mark.parametrize("name", HOOK_NAMES)
async def test_a_hook_that_waits_for_something_that_is_cancelled_fails_the_run_and_cancels_nobody(name):
    async def wait(here, *arguments):
        gone = asyncio.create_task(asyncio.Event().wait())
        gone.cancel()
        await gone

    class Unlucky(Hooks):
        pass

    setattr(Unlucky, name, lambda self, here, *arguments: wait(here, *arguments))
    watched = await watch(agent_with(Unlucky()))
    assert str(watched.error) == f"Unlucky.{name} waited for something that was cancelled"


@pytest.mark.parametrize("is_taken_away", [True, False])
async def test_a_tool_that_a_hook_takes_away_does_not_start_early_either(is_taken_away):
    tools = Tools()
    first = messages_bytes.body(messages_bytes.call(0, "look", '{"text": "x"}'), messages_bytes.text(1, "so"), word="tool_use")
    model = ScriptedModel(first, messages_bytes.body(messages_bytes.text(0, "done")), protocol="anthropic-messages")

    def without_look(here, asked):
        return msgspec.structs.replace(asked, tools=tuple(spec for spec in asked.tools if spec.name != "look"))

    hooks = [hook("before_model_call", without_look)] if is_taken_away else []
    watched = await watch(Agent(model, tools=tools.all, hooks=hooks, early_start=True))
    assert tools.ran == ([] if is_taken_away else ["x"])
    assert [result.state for result in watched.results] == ["error" if is_taken_away else "success"]


async def test_what_a_hook_wanted_to_say_to_a_run_that_is_interrupted_is_not_handed_to_the_user():
    runs = []

    class More(Hooks):
        async def after_run(self, here, message):
            runs[0].interrupt()
            return GoOn("more")

    async with agent_with(More(), answers=["x"]).stream("go") as run:
        runs.append(run)
        result = await run.finish()
    assert result.undelivered == ()
    assert result.generate_reason == "completed", "its answer had been given"
    assert [message.text for message in result.messages] == ["go", "x"]


@pytest.mark.parametrize("word", [Stop("enough"), RuntimeError("no"), "interrupt"], ids=str)
async def test_what_ends_a_run_before_an_answer_is_asked_for_again_does_not_count_the_void_one_twice(word):
    runs, made = [], []
    answers = [AssistantMessage("bad", usage=Usage(input_tokens=100, output_tokens=0)), "good"]

    def speak(here, asked):
        if not asked.is_forced:
            return None
        if word == "interrupt":
            runs[0].interrupt()
            return None
        if isinstance(word, Exception):
            raise word
        return word

    hooks = (hook("after_model_call", Retry()), hook("before_model_call", always=speak))
    agent = agent_with(*hooks, answers=answers, limits={"tokens": 100})
    async with agent.stream("go", on_event=made.append) as run:
        runs.append(run)
        if isinstance(word, Exception):
            with pytest.raises(RuntimeError, match="no"):
                await run.finish()
        else:
            await run.finish()
    assert run.result.usage.input_tokens == 100
    assert run.result.messages[0].text == "go"
    assert len(run.result.messages) == 1
    assert made[-1].usage.input_tokens == 100
    assert [event.message for event in made if isinstance(event, events.RoundEnded)] == [None]


@pytest.mark.parametrize("is_void", [False, True])
async def test_a_hook_that_raises_after_a_call_that_started_early_fails_the_run_whatever_becomes_of_the_answer(is_void):
    ran, error = asyncio.Event(), RuntimeError("early")

    @tool(idempotent=True)
    async def look() -> str:
        ran.set()
        return "x"

    first = [messages_bytes.start(), messages_bytes.call(0, "look", "{}"), ran, messages_bytes.text(1, "so")]
    last = messages_bytes.body(messages_bytes.text(0, "done"))
    model = ScriptedModel(
        [*first, messages_bytes.ended("tool_use") + messages_bytes.STOP], last, protocol="anthropic-messages", slice_chars=1
    )
    hooks = [hook("after_tool_call", error), *([hook("after_model_call", Retry())] if is_void else [])]
    watched = await watch(Agent(model, tools=[look], hooks=hooks, early_start=True))
    assert watched.error is error
