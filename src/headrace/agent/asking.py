"""What is asked of the model, each time: the messages, the tools, the form of the answer, and what hooks make of them.

The rule of this file: what is sent is made here and nowhere else. What a hook changes, and what the model is reminded of, is sent and kept
nowhere, unless it is asked for.
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from headrace.agent.context.compaction import Summary, read_summary
from headrace.agent.context.plan import Compaction
from headrace.agent.hooks import ModelCall, Stop
from headrace.agent.reading import Reading
from headrace.agent.results import describe
from headrace.agent.setup import Setup
from headrace.agent.standing import Standing
from headrace.errors import UsageError
from headrace.messages.message import AssistantMessage, Message
from headrace.messages.request import NamedTool, Settings, ToolChoice
from headrace.models.scripted import ScriptedModel

Asked: TypeAlias = ModelCall | AssistantMessage
"""What is asked of the model, or what a hook answers in its place."""


class Asking:
    """Asks the model in one run."""

    def __init__(self, setup: Setup, run: Standing) -> None:
        """Ask nothing yet."""
        self._setup = setup
        self._run = run
        self._hooked = run.hooked
        self._reminders: tuple[Message, ...] = ()

    async def call(self, *, is_forced: bool) -> Asked | Stop:
        """Return what is to be asked, or that a hook ends the run."""
        run = self._run
        run.refresh_offer()
        run.sending.catch_up(run.ledger.messages)
        if run.sending.needs_compaction:
            await self.compact()
        self._reminders = self._due()
        # The summary may have used up what was left of a limit.
        return await self.call_again(is_forced=is_forced or run.ledger.loop.spent is not None)

    async def call_again(self, *, is_forced: bool) -> Asked | Stop:
        """Return the call of this round once more, as hooks leave it.

        What the model is reminded of is said once an occasion, so a call that is made again says it again. A tool that a hook took
        away is not offered, so it does not run if the model calls it nevertheless.
        """
        run = self._run
        call = self._plain((*run.sending.messages, *self._reminders), is_forced=is_forced)
        if not self._hooked.table.before_model_call:
            return call
        said = await self._hooked.asked(call)
        if isinstance(said, ModelCall):
            sent = {spec.name for spec in said.tools}
            run.ledger.loop.offered = tuple(name for name in run.offering.offer.tools.names if name in sent)
        return said

    def _plain(self, messages: tuple[Message, ...], *, is_forced: bool) -> ModelCall:
        setup, offer, wanted = self._setup, self._run.offering.offer, self._setup.output
        specs = offer.specs
        choice: ToolChoice = "none" if is_forced and specs else "auto"
        if is_forced and wanted is not None and wanted.tools:
            # The answer comes as a call: where the model cannot be held to that one, it is offered no other.
            specs = specs if isinstance(wanted.forced_choice, NamedTool) else wanted.tools
            return ModelCall(
                messages=messages, tools=specs, tool_choice=wanted.forced_choice, output=None, settings=setup.settings, is_forced=True
            )
        return ModelCall(
            messages=messages,
            tools=specs,
            tool_choice=choice,
            output=None if wanted is None else wanted.output,
            settings=setup.settings,
            is_forced=is_forced,
        )

    def _due(self) -> tuple[Message, ...]:
        """Return the reminders that are sent and not kept; those that are to be kept are in the history by then."""
        setup, run = self._setup, self._run
        ledger, rules = run.ledger, setup.reminders
        used = ledger.loop.used
        spent = {
            "rounds": (used.rounds, setup.rules.max_rounds or None),
            "tool_calls": (used.tool_calls, used.limit_of("tool_calls")),
            "tokens": (used.tokens, used.limit_of("tokens")),
            "cost_usd": (used.cost_usd, used.limit_of("cost")),
            "time_s": (used.elapsed_s, used.limit_of("time")),
        }
        due = run.sending.due(ledger.at, spent)
        messages = tuple(reminder.message(new_id=setup.new_id(), now=ledger.at) for reminder in due)
        if not messages or rules is None or not rules.keep_reminders:
            return messages
        for message in messages:
            ledger.put_in(message)
        run.sending.catch_up(ledger.messages)
        return ()

    def reading(self) -> Reading:
        """Return what an answer is read with; nothing is open yet."""
        return Reading(self._run.ledger, new_id=self._setup.new_id, now=self._setup.now)

    async def open(self, call: Asked, reading: Reading) -> None:
        """Ask; nothing is sent before the first chunk is read."""
        model = self._setup.model
        if isinstance(call, AssistantMessage):  # nobody is asked; for readers it comes as any other
            await reading.open(ScriptedModel(call, id=model.id, new_id=self._setup.new_id).stream(()))
            return
        await reading.open(
            model.stream(call.messages, tools=call.tools, tool_choice=call.tool_choice, output=call.output, settings=call.settings)
        )

    # ------------------------------------------------------------------------------------------ getting shorter

    async def compact(self, *, is_recovery: bool = False) -> bool:
        """Make what is sent shorter; returns whether it could be."""
        sending = self._run.sending
        plan = sending.plan(is_recovery=is_recovery)
        if plan is None:
            return False
        summary, why = await self._summary(plan) if plan.request else (None, "")
        done = sending.compact(plan, summary)
        self._run.ledger.at = self._setup.now()
        self._run.ledger.compacted(done.messages_before, done.messages_after, f"{done.detail}{why}")
        return True

    async def _summary(self, plan: Compaction) -> tuple[Summary | None, str]:
        """Have a model sum up what is left out; None if it fails, and then it is left out without; and why it failed."""
        other, setup = self._setup.context.summary_model, self._setup
        try:
            if other is not None:
                answer = await other.request(plan.request)
            else:
                answer = await setup.model.request(plan.request, settings=_for_a_summary(setup.settings))
        except UsageError:
            raise
        except Exception as error:  # noqa: BLE001 - a model may be a stranger's code; without a summary the run goes on as well
            said = getattr(error, "partial", None)
            if isinstance(said, AssistantMessage):  # what it said in vain was paid for
                self._run.ledger.spending.add_beside(said)
            return None, f": {describe(error)}"
        self._run.ledger.spending.add_beside(answer)
        return read_summary(answer), ""


def _for_a_summary(settings: Settings) -> Settings:
    """Return the settings of a run without those that are about its answers and its tools."""
    return msgspec.structs.replace(
        settings, max_tokens=None, stop=None, n=None, parallel_tool_calls=None, logprobs=None, top_logprobs=None, modalities=None
    )
