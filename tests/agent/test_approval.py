"""Approval, from outside: what a person is asked about a call, what they may say, and what comes of it."""

from __future__ import annotations

import json

import msgspec
import pytest

from headrace.agent.agent import Agent
from headrace.agent.approval import Answer, Approve, Deny, Pending, digest_of
from headrace.agent.claims import MemoryClaims
from headrace.agent.hooks import Hooks
from headrace.agent.permission.judging import Permissions
from headrace.agent.permission.rules import Rule
from headrace.errors import StateError, UsageError
from headrace.messages.parts import TextPart
from headrace.tools.options import Check
from headrace.tools.tool import tool
from pausing import Watched, call, calls, watched_agent


class Ran:
    """Tools that note what they did."""

    def __init__(self):
        self.done = []

    def act(self, **options):
        @tool(name="act", **options)
        def act(what: str = "", command: str = "", sure: bool = True) -> str:
            """Do something."""
            self.done.append(what or command)
            return f"did {what or command}"

        return act


# ---------------------------------------------------------------------------------------------- yes and no


async def test_a_run_waits_for_a_person_and_goes_on_with_a_yes():
    ran = Ran()
    agent = watched_agent(calls("I would.", call(what="x")), "Done.", tools=[ran.act(needs_approval=True)])
    watched = await Watched.start(agent)
    assert watched.result.generate_reason == watched.result.message.generate_reason == "awaiting_approval"
    assert watched.result.is_waiting
    assert watched.result.output is None or watched.result.output == "I would."
    (pending,) = watched.result.pending
    assert (pending.kind, pending.call.name, pending.call.parsed, pending.path) == ("approval", "act", {"what": "x"}, ())
    assert pending.call_key.startswith(watched.result.messages[-1].id)
    assert pending.reason == "act needs approval"
    assert ran.done == []
    await watched.resume(pending.approve())
    assert ran.done == ["x"]
    assert watched.result.message.text == "Done."
    assert watched.result.generate_reason == "completed"
    assert watched.result.pending == ()
    assert watched.kinds.count("run_ended") == 2
    assert watched.kinds.index("approval_given") < watched.kinds.index("tool_started") < watched.kinds.index("tool_ended")


async def test_a_denied_call_gets_a_result_that_says_why():
    ran = Ran()
    agent = watched_agent(calls(call(what="x")), "Well.", tools=[ran.act(needs_approval=True)])
    watched = await Watched.start(agent)
    await watched.resume(watched.pending["a"].deny("not on a Friday"))
    assert ran.done == []
    (result,) = watched.result.messages[2].results
    assert result.state == "denied"
    assert result.parts == (TextPart("A person denied this call. Reason: not on a Friday"),)
    assert watched.result.message.text == "Well."
    assert "tool_started" not in watched.kinds


async def test_with_stop_on_denial_a_round_that_was_denied_whole_ends_the_run():
    ran = Ran()
    agent = watched_agent(calls(call("a"), call("b")), tools=[ran.act(needs_approval=True)], stop_on_denial=True)
    watched = await Watched.start(agent)
    await watched.resume(*(pending.deny() for pending in watched.result.pending))
    assert watched.result.generate_reason == watched.result.message.generate_reason == "all_denied"
    assert len(agent.model.requests) == 1


async def test_with_stop_on_denial_a_round_of_which_something_ran_goes_on():
    ran = Ran()
    agent = watched_agent(calls(call("a"), call("b", what="b")), "ok", tools=[ran.act(needs_approval=True)], stop_on_denial=True)
    watched = await Watched.start(agent)
    await watched.resume(watched.pending["a"].deny(), watched.pending["b"].approve())
    assert watched.result.generate_reason == "completed"
    assert ran.done == ["b"]


async def test_what_a_rule_denies_ends_no_run_since_no_person_said_so():
    ran = Ran()
    agent = watched_agent(calls(call()), "ok", tools=[ran.act()], permissions=Permissions().with_rules("deny act"), stop_on_denial=True)
    watched = await Watched.start(agent)
    assert watched.result.generate_reason == "completed"
    assert "denied by rule" in watched.results()["a"]


async def test_the_other_calls_of_the_round_run_while_one_waits():
    ran = Ran()
    free = tool(lambda: ran.done.append("free"), name="free")
    agent = watched_agent(calls(call("a", what="x"), call("b", "free")), "ok", tools=[ran.act(needs_approval=True), free])
    watched = await Watched.start(agent)
    assert ran.done == ["free"]
    await watched.resume(watched.pending["a"].approve())
    assert ran.done == ["free", "x"]


async def test_the_other_calls_of_the_round_wait_too_if_the_agent_says_so():
    ran = Ran()
    free = tool(lambda: ran.done.append("free"), name="free")
    agent = watched_agent(
        calls(call("a", what="x"), call("b", "free"), call("c", what="y")),
        "ok",
        tools=[ran.act(needs_approval=True), free],
        run_while_pending=False,
    )
    watched = await Watched.start(agent)
    assert ran.done == []
    assert set(watched.pending) == {"a", "c"}
    await watched.resume(watched.pending["c"].approve())
    assert ran.done == []
    assert set(watched.pending) == {"a"}
    await watched.resume(watched.pending["a"].deny())
    assert sorted(ran.done) == ["free", "y"]
    assert watched.results()["c"] == "did y"


async def test_two_calls_of_one_wire_id_are_two_questions():
    ran = Ran()
    agent = watched_agent(calls(call("a", what="x"), call("a", what="y")), "ok", tools=[ran.act(needs_approval=True)])
    watched = await Watched.start(agent)
    first, second = watched.result.pending
    assert first.call_key != second.call_key
    assert first.digest != second.digest
    await watched.resume(second.approve())
    assert ran.done == ["y"]
    await watched.resume(first.deny())
    assert [result.state for result in watched.result.messages[2].results] == ["denied", "success"]


# ---------------------------------------------------------------------------------------------- edited arguments


async def test_edited_arguments_are_what_runs_and_the_model_is_told():
    ran = Ran()
    agent = watched_agent(calls(call(what="x")), "ok", tools=[ran.act(needs_approval=True)])
    watched = await Watched.start(agent)
    await watched.resume(watched.pending["a"].approve({"what": "y", "sure": False}))
    assert ran.done == ["y"]
    assert watched.results()["a"] == 'The arguments were changed to {"what":"y","sure":false}.\ndid y'
    (kept,) = watched.result.messages[1].tool_calls
    assert kept.parsed == {"what": "x"}
    assert watched.result.messages[2].results[0].metadata["changed_arguments"] == {"what": "y", "sure": False}


async def test_edited_arguments_that_do_not_fit_are_refused_before_anything_happens():
    ran = Ran()
    agent = watched_agent(calls(call("a", what="x"), call("b")), "ok", tools=[ran.act(needs_approval=True)])
    watched = await Watched.start(agent)
    state = watched.state
    with pytest.raises(UsageError, match=r"(?s)answers\[1\]: act: .*- sure: ") as caught:
        await agent.resume(state, [watched.pending["b"].approve(), watched.pending["a"].approve({"sure": ["no"]})])
    assert caught.value.argument == "answers[1]"
    assert ran.done == []
    await watched.resume(watched.pending["a"].approve(), watched.pending["b"].deny())
    assert ran.done == ["x"]


async def test_deny_rules_and_checks_speak_about_edited_arguments_too():
    ran = Ran()

    def check(arguments):
        return Check("deny", "never z") if arguments.get("what") == "z" else None

    agent = watched_agent(
        calls(call("a", what="x"), call("b", what="x"), call("c", what="x")),
        "ok",
        tools=[ran.act(needs_approval=True, check=check)],
        permissions=Permissions().with_rules("deny act(what=rm *)"),
    )
    watched = await Watched.start(agent)
    pending = watched.pending
    await watched.resume(
        pending["a"].approve({"what": "rm -rf"}), pending["b"].approve({"what": "z"}), pending["c"].approve({"what": "ok"})
    )
    assert ran.done == ["ok"]
    assert "denied by rule" in watched.results()["a"]
    assert "never z" in watched.results()["b"]


async def test_nested_edited_arguments_reach_the_tool_as_plain_lists_and_dictionaries():
    seen = []

    @tool(needs_approval=True)
    def plan(steps: list[str], options: dict[str, list[int]]) -> str:
        """Plan."""
        seen.append((type(steps), type(options), type(options["n"])))
        steps.append("more")
        options["m"] = []
        return "ok"

    agent = watched_agent(calls(call("a", "plan", steps=[], options={"n": []})), "ok", tools=[plan])
    watched = await Watched.start(agent)
    await watched.resume(watched.pending["a"].approve({"steps": ["s"], "options": {"n": [1]}}))
    assert seen == [(list, dict, list)]
    assert 'changed to {"steps":["s"],"options":{"n":[1]}}' in watched.results()["a"]


async def test_what_was_edited_cannot_be_changed_afterwards():
    arguments = {"what": ["x"]}
    approve = Approve("k", arguments)
    arguments["what"].append("y")
    assert approve.arguments == {"what": ["x"]}
    with pytest.raises(TypeError):
        approve.arguments["what"] = 1


# ---------------------------------------------------------------------------------------------- always


async def test_always_lets_the_other_calls_and_later_rounds_pass_and_the_result_carries_it():
    ran = Ran()
    agent = watched_agent(
        calls(call("a", command="ls x"), call("b", command="ls y"), call("c", command="rm y")),
        calls(call("d", command="ls z")),
        calls(call("e", command="cp z")),
        tools=[ran.act(needs_approval=True)],
    )
    watched = await Watched.start(agent)
    pending = watched.pending
    rule = next(rule for rule in pending["a"].suggestions if rule.pattern == "command=ls *")
    await watched.resume(pending["a"].approve(rules=(rule,)))
    assert sorted(ran.done) == ["ls x", "ls y"]
    assert set(watched.pending) == {"c"}
    assert watched.result.permissions.rules == (rule,)
    await watched.resume(watched.pending["c"].deny())
    assert ran.done[2:] == ["ls z"]
    assert set(watched.pending) == {"e"}
    assert watched.result.permissions.rules == (rule,)
    other = watched_agent(calls(call(command="ls q")), "ok", tools=[ran.act(needs_approval=True)], permissions=watched.result.permissions)
    assert (await Watched.start(other)).result.generate_reason == "completed"
    assert agent.permissions.rules == ()


async def test_never_is_a_rule_too():
    ran = Ran()
    agent = watched_agent(calls(call("a", what="rm x"), call("b", what="rm y")), "ok", tools=[ran.act(needs_approval=True)])
    watched = await Watched.start(agent)
    await watched.resume(watched.pending["a"].deny("never", rules=(Rule.parse("deny act(what=rm *)"),)))
    assert watched.result.generate_reason == "completed"
    assert "never" in watched.results()["a"]
    assert "denied by rule" in watched.results()["b"]


async def test_a_check_is_asked_about_in_spite_of_always():
    ran = Ran()
    agent = watched_agent(calls(call("a", what="x"), call("b", what="y")), "ok", tools=[ran.act(check=lambda _: Check("ask", "look"))])
    watched = await Watched.start(agent)
    assert watched.pending["a"].suggestions == ()
    await watched.resume(watched.pending["a"].approve(rules=(Rule.parse("allow act"),)))
    assert set(watched.pending) == {"b"}


def test_rules_are_given_as_rules_or_as_their_text():
    assert Approve("k", rules=("allow act(what=x)",)).rules == (Rule("allow", "act", "what=x"),)
    assert Deny("k", rules=["deny act"]).rules == (Rule("deny", "act"),)
    with pytest.raises(UsageError, match=r"rules is Rule\(.*; give a tuple of rules"):
        Approve("k", rules=Rule("allow", "act"))
    with pytest.raises(UsageError, match="rules is 'allow act'; give a tuple of rules"):
        Approve("k", rules="allow act")
    with pytest.raises(UsageError, match=r"rules\[0\] is 3"):
        Approve("k", rules=(3,))


# ---------------------------------------------------------------------------------------------- modes of one run


@pytest.mark.parametrize(
    ("mode", "reason"),
    [
        ("default", "awaiting_approval"),
        ("bypass", "completed"),
        ("dont_ask", "completed"),
        ("explore", "completed"),
        ("accept_edits", "awaiting_approval"),
    ],
)
async def test_a_run_has_a_mode_of_its_own_and_keeps_it_over_pauses(mode, reason):
    ran = Ran()
    agent = watched_agent(calls(call(what="x")), "ok", tools=[ran.act(needs_approval=True)])
    watched = await Watched.start(agent, permissions=mode)
    assert watched.result.generate_reason == reason
    assert watched.result.permissions.mode == mode
    assert ran.done == (["x"] if mode == "bypass" else [])
    if watched.result.is_waiting:
        await watched.resume(watched.pending["a"].approve())
        assert watched.result.permissions.mode == mode


# ---------------------------------------------------------------------------------------------- values


@pytest.mark.parametrize(
    "reply",
    [Approve("m/0", {"a": [1, {"b": None}]}, "d", (Rule("allow", "t"),)), Deny("m/0", "no"), Answer("m/0", {"x": [1]}, is_error=True)],
)
def test_answers_are_json_and_are_read_again_by_their_kind(reply):
    assert msgspec.json.decode(msgspec.json.encode(reply), type=Approve | Deny | Answer) == reply


def test_a_value_that_is_no_json_is_refused_where_it_stands():
    with pytest.raises(UsageError, match=r"Answer\.value\.at"):
        Answer("k", {"at": object()})
    with pytest.raises(UsageError, match=r"Approve\.arguments\.at"):
        Approve("k", {"at": object()})
    with pytest.raises(UsageError, match=r"Approve\.arguments is a list"):
        Approve("k", ["x"])


def test_the_digest_tells_calls_questions_and_runs_apart():
    one = call("a", what="x")
    digests = [
        digest_of("m/0", one),
        digest_of("m/1", one),
        digest_of("m/0", call("a", what="y")),
        digest_of("m/0", call("a", "other", what="x")),
        digest_of("m/0", one, kind="external"),
        digest_of("m/0", one, run_id="r"),
        digest_of("m/0", one, turn=1),
    ]
    assert len(set(digests)) == len(digests)
    assert digest_of("m/0", call("b", what="x")) == digests[0]  # the wire's id says nothing
    assert all(len(digest) == 32 for digest in digests)


async def test_a_pending_question_is_json():
    watched = await Watched.start(watched_agent(calls(call(what="x")), tools=[Ran().act(needs_approval=True)]))
    (pending,) = watched.result.pending
    form = json.loads(msgspec.json.encode(pending))
    assert form["call"]["name"] == "act"
    assert form["suggestions"][0]["behavior"] == "allow"
    assert msgspec.convert(form, type=Pending) == pending


async def test_a_run_that_waits_takes_no_words_and_no_second_end():
    agent = Agent(watched_agent(calls(call())).model, tools=[Ran().act(needs_approval=True)], claims=MemoryClaims())
    async with agent.stream("go") as run:
        await run.finish()
        run.interrupt()
        with pytest.raises(StateError, match="waits for answers"):
            run.steer("more")
    assert run.result.generate_reason == "awaiting_approval"


class Counting(Hooks):
    """Makes another call of it each time that it is asked."""

    def __init__(self, *, steps=1):
        self.n, self.steps = 0, steps

    async def before_tool_call(self, here, call):
        self.n += self.steps
        return {"what": f"n{self.n}"}


async def test_a_person_says_yes_to_what_a_hook_makes_of_a_call_as_it_was_shown():
    ran = Ran()
    agent = watched_agent(calls(call("a", what="x")), "ok", tools=[ran.act(needs_approval=True)], hooks=[Counting(steps=0)])
    watched = await Watched.start(agent)
    assert watched.pending["a"].call.parsed == {"what": "n0"}
    await watched.resume(watched.pending["a"].approve())
    assert ran.done == ["n0"]
    ran.done.clear()
    agent = watched_agent(calls(call("a", what="x")), "ok", tools=[ran.act(needs_approval=True)], hooks=[Counting()])
    watched = await Watched.start(agent)
    assert watched.pending["a"].call.parsed == {"what": "n1"}
    await watched.resume(Approve(watched.pending["a"].call_key))
    assert watched.pending["a"].call.parsed == {"what": "n2"}  # another call than the one that was shown
    assert ran.done == []
