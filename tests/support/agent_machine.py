"""An agent at the mercy of everybody: readers that stall, leave, interrupt and cancel, people who answer in part or wrongly, processes that die.

The rule of this file: nothing sleeps. Time passes when a rule lets it; tools wait at their gates until a rule opens them.
"""

from __future__ import annotations

import asyncio
import json
import math
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from agent_ground import NAMES, Ground
from agent_laws import check_end, check_runs
from agent_plays import reply_to
from agent_world_strategies import ASKED_AGAIN, TEXTS, worlds
from headrace.agent.approval import Approve, Deny
from headrace.agent.run_result import RunResult
from headrace.agent.session import MemorySessions, Session
from headrace.errors import ConflictError, HeadraceError, StateError
from headrace.messages.message import AssistantMessage, Message
from headrace.wire.openai_chat.request_out import encode_request
from headrace.wire.profile import DEFAULT
from legal_history import chat_problems, problems

TICKS = 60
"""So many turns of the event loop are enough for whatever can go on by itself for a while."""
NO_THREADS = tuple(name for name in NAMES if name != "add")
"""When a thread ends is nobody's to say."""


class AgentMachine(RuleBasedStateMachine):
    """One conversation with one agent, over several runs and processes."""

    @initialize(world=worlds(is_gated=True, names=NO_THREADS, texts=(*TEXTS, ASKED_AGAIN)))
    def begin(self, world):
        self.runner = asyncio.Runner()
        self.loop = self.runner.get_loop()
        self.world = world
        self.process = 0
        self.skip = 0
        self.sessions = MemorySessions()
        self.ground = Ground(is_gated=True)
        self.agent = self.new_agent()
        self.is_over = True
        self.result: Any = None
        self.new_question()

    def new_agent(self):
        return self.world.agent(mark=f"p{self.process}-", skip=self.skip, sessions=self.sessions)

    # ------------------------------------------------------------------------------------------ time

    def start(self, run):
        """Let a reader read; it stalls after each event until it may go on."""
        self.run, self.result, self.is_cancelled = run, None, False
        self.permits, self.is_leaving = 3.0, False
        self.may_read = asyncio.Event()
        self.task = self.loop.create_task(self.read_all(run))
        self.pass_time()

    async def read_all(self, run):
        async with run:
            async for _ in run:
                self.permits -= 1
                while self.permits <= 0:
                    self.may_read.clear()
                    await self.may_read.wait()
                if self.is_leaving:
                    break

    def allow(self, permits):
        self.permits = max(self.permits, 0) + permits
        self.may_read.set()
        self.pass_time()

    def pass_time(self):
        async def turns():
            for _ in range(TICKS):
                await asyncio.sleep(0)

        self.runner.run(turns())
        if self.task.done() and self.result is None and not self.is_over:
            self.settle()

    def settle(self):
        """The reader is gone: the run waits, or is over."""
        if self.task.cancelled():
            assert self.is_cancelled
        else:
            error = self.task.exception()
            if error is not None and not isinstance(error, HeadraceError):
                raise error
        self.result = self.run.result
        if not self.result.is_waiting:
            self.end()

    def end(self):
        """The run is over: everything must hold."""
        self.is_over = True
        made, result = self.made, self.result
        check_end(made, result, is_broken=self.is_broken, before=self.before)
        check_runs(self.ground, made, self.world)
        session = self.sessions.get("s")
        assert session.messages == (*self.before, *result.messages)
        assert session.holder is None
        said = [message.text for message in (*result.messages, *result.undelivered)]
        assert [word for word in self.steered if word not in said] == []
        for request in self.agent.model.requests[-2:]:
            assert chat_problems(json.loads(encode_request(request, DEFAULT).body)) == []
        usage = sum(message.usage.input_tokens for message in result.messages if isinstance(message, AssistantMessage) and message.usage)
        assert (result.usage.input_tokens or 0) >= usage
        with pytest.raises(StateError):
            self.agent.resume_stream(result.state)

    # ------------------------------------------------------------------------------------------ rules

    @property
    def is_running(self):
        return not self.is_over and self.result is None

    @property
    def is_waiting(self):
        return not self.is_over and self.result is not None

    @precondition(lambda self: self.is_over)
    @rule()
    def new_question(self):
        self.is_over = self.is_broken = False
        self.ground.ran.clear()
        self.made: list[Any] = []
        self.steered: list[str] = []
        self.before: tuple[Message, ...] = self.sessions.get("s").messages
        self.start(self.agent.stream("go", session="s", deps=self.ground, on_event=self.made.append))

    @precondition(lambda self: self.is_running)
    @rule(permits=st.sampled_from([60, 20, 5, 2, 1]))
    def read(self, permits):
        self.allow(permits)

    @precondition(lambda self: self.is_running and self.ground.gates)
    @rule(n=st.integers(0, 5), fate=st.sampled_from(["pass", "pass", "fail"]))
    def open_gate(self, n, fate):
        waiting = sorted(self.ground.gates)
        self.ground.open(waiting[n % len(waiting)], fate)
        self.pass_time()

    @precondition(lambda self: self.is_running and self.made)
    @rule()
    def steer(self):
        word = f"do it otherwise {len(self.steered)}"
        try:
            self.run.steer(word)
        except StateError:
            assert any(event.type == "round_ended" and event.is_final for event in self.made) or self.made[-1].type == "run_ended"
        else:
            self.steered.append(word)

    @precondition(lambda self: self.is_running)
    @rule(way=st.sampled_from(["read on", "read on", "read on", "read on", "interrupt", "leave", "cancel"]))
    def end_it(self, way):
        match way:
            case "interrupt":
                self.loop.call_soon(self.run.interrupt)
                self.pass_time()
                self.allow(math.inf)
                assert not self.is_running
            case "leave":
                self.is_leaving = True
                self.allow(1)
            case "cancel":
                self.is_cancelled = True
                self.task.cancel()
                self.pass_time()
                assert not self.is_running
            case _:
                self.allow(60)

    @precondition(lambda self: not self.is_over and self.sessions.get("s").holder is not None)
    @rule()
    def ask_beside(self):
        """Another run on the same conversation is refused, also while this one waits."""
        with pytest.raises(ConflictError):
            self.runner.run(self.agent.run("beside", session="s", deps=self.ground))

    @precondition(lambda self: self.is_waiting)
    @rule(which=st.integers(1, 7), ways=st.lists(st.sampled_from(["as always", "deny", "approve"]), min_size=3, max_size=3))
    def answer(self, which, ways):
        pending = self.result.pending
        replies = [self.reply(one, ways[n % 3]) for n, one in enumerate(pending) if which >> (n % 3) & 1]
        state = json.loads(json.dumps(self.result.state))
        self.go_on(state, replies)
        with pytest.raises(StateError):  # the same state a second time
            self.runner.run(self.agent.resume(state, replies, deps=Ground()))

    @staticmethod
    def reply(pending, way):
        if way == "deny":
            return pending.deny("no")
        return pending.approve() if way == "approve" and pending.kind != "external" else reply_to(pending)

    def go_on(self, state, replies=()):
        self.start(self.agent.resume_stream(state, replies, deps=self.ground, on_event=self.made.append))

    @precondition(lambda self: self.is_waiting)
    @rule()
    def answer_wrongly(self):
        state, pending = self.result.state, self.result.pending[0]
        for wrong in ([Approve("nobody")], [Deny(pending.call_key, digest="0")], [pending.deny(), pending.deny()]):
            with pytest.raises(StateError):
                self.agent.resume_stream(state, wrong)

    @precondition(lambda self: self.is_waiting)
    @rule(is_sure=st.sampled_from([False, False, True]))
    def give_up(self, is_sure):
        if not is_sure:
            return
        run_id = self.result.run_id
        self.result = self.runner.run(self.agent.give_up(self.result.state))
        assert self.result.run_id == run_id
        assert self.result.pending == ()
        assert problems(self.result.messages) == []
        assert self.sessions.get("s").messages == (*self.before, *self.result.messages)
        self.is_over = True

    @precondition(lambda self: not self.is_over and self.made)
    @rule(is_sure=st.sampled_from([False, True]))
    def die(self, is_sure):
        """The process dies, and another one goes on with the state that it left."""
        if not is_sure:
            return
        text = json.dumps(self.run.state)
        state = json.loads(text)
        assert json.loads(json.dumps(RunResult.from_state(text).state)) == state
        if state["open"] is None:
            return
        self.skip += len(self.agent.model.requests)
        self.process += 1
        self.made = self.made[: state["open"]["seq"]]
        assert len(self.made) == state["open"]["seq"]
        self.is_broken = True
        ground, self.ground = self.ground, Ground(is_gated=True)
        self.ground.ran, self.ground.names, self.ground.tries = ground.ran.copy(), dict(ground.names), ground.tries.copy()
        assert ground.faults == []
        session = Session("s", messages=self.before)
        session._holder = state["run_id"]
        self.sessions = MemorySessions()
        self.sessions._sessions["s"] = session
        self.task.cancel()
        self.result = "dead"
        self.pass_time()
        self.agent = self.new_agent()
        self.go_on(state)

    @invariant()
    def never_too_many_tools_at_once(self):
        assert self.ground.faults == []
        assert not self.made or self.ground.most[self.made[0].run_id] <= self.world.max_parallel_tools

    def teardown(self):
        if not hasattr(self, "runner"):
            return
        try:
            for _ in range(400):
                if self.is_over:
                    break
                if self.is_waiting:
                    self.go_on(self.result.state, [reply_to(one) for one in self.result.pending])
                    continue
                for key in list(self.ground.gates):
                    self.ground.open(key)
                self.allow(math.inf)
            assert self.is_over
        finally:
            self.runner.close()
