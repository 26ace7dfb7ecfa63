"""Runs hooks, one after the other, and says what came of it.

The rule of this file: what a hook returns and nothing there understands is an error of the hook, and so of the run. Without hooks at a
point nothing happens there.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any, cast

import msgspec

from headrace._json import dumps, thaw
from headrace.agent.gate import HookSaid
from headrace.agent.hooks import Ask, GoOn, Here, Hooks, HookTable, ModelCall, Retry, Stop, Veto, wrong_return
from headrace.agent.steps import PlannedCall
from headrace.errors import StateError, UsageError
from headrace.messages.message import AssistantMessage, Message
from headrace.messages.parts import ToolCallPart, ToolResultPart


def _over() -> Here:
    raise StateError("the run is over")


class Hooked:
    """The hooks of one run.

    Attributes:
        table: which hooks say something where.
        raised: what a hook raised last, or None.
    """

    def __init__(self, table: HookTable, here: Callable[[], Here]) -> None:
        """Call these hooks; `here` says where the run stands."""
        self.table = table
        self.raised: Exception | None = None
        self._here = here

    def let_go(self) -> None:
        """Nothing is asked any more: forget where the run stood, which knows these hooks. Else both wait for a look at circles."""
        self._here = _over

    async def _ask(self, hook: Hooks, name: str, *arguments: Any) -> object:
        try:
            said = getattr(hook, name)(self._here(), *arguments)
            if inspect.isawaitable(said):
                return await said
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise  # the run is cancelled, and the hook with it
            self.raised = StateError(f"{type(hook).__name__}.{name} waited for something that was cancelled")
            raise self.raised from error
        except Exception as error:
            self.raised = error
            raise
        raise UsageError(f"{type(hook).__name__}.{name} is not async; write async def {name}", argument=name)

    async def input(self, given: tuple[Message, ...]) -> tuple[Message, ...] | Stop:
        """Return the input of the run as the hooks leave it."""
        for hook in self.table.before_run:
            said = await self._ask(hook, "before_run", given)
            match said:
                case None:
                    pass
                case Stop():
                    return said
                case list() | tuple() if all(isinstance(one, Message) for one in cast("Iterable[object]", said)):
                    given = tuple(cast("Iterable[Message]", said))
                case _:
                    raise wrong_return(hook, "before_run", said, "a list of messages, a Stop or None")
        return given

    async def stops(self, name: str, *arguments: Any) -> Stop | None:
        """Ask whether to go on at a point where hooks may only stop."""
        for hook in getattr(self.table, name):
            said = await self._ask(hook, name, *arguments)
            if isinstance(said, Stop):
                return said
            if said is not None:
                raise wrong_return(hook, name, said, "a Stop or None")
        return None

    async def answered(self, message: AssistantMessage) -> GoOn | None:
        """Ask whether the run is over with this answer."""
        for hook in self.table.after_run:
            said = await self._ask(hook, "after_run", message)
            if isinstance(said, GoOn):
                return said
            if said is not None:
                raise wrong_return(hook, "after_run", said, "a GoOn or None")
        return None

    async def asked(self, call: ModelCall) -> ModelCall | AssistantMessage | Stop:
        """Return the model call as the hooks leave it, or what one of them answers in the model's place: that used nothing."""
        for hook in self.table.before_model_call:
            said = await self._ask(hook, "before_model_call", call)
            match said:
                case None:
                    pass
                case ModelCall():
                    call = said
                case AssistantMessage():
                    return msgspec.structs.replace(said, generate_reason=None, usage=None)
                case Stop():
                    return said
                case _:
                    raise wrong_return(hook, "before_model_call", said, "a ModelCall, an AssistantMessage, a Stop or None")
        return call

    async def answer(self, message: AssistantMessage) -> AssistantMessage | Retry | Stop:
        """Return the answer as the hooks leave it; what the model used and was called stays, unless a hook says otherwise."""
        came = message
        for hook in self.table.after_model_call:
            said = await self._ask(hook, "after_model_call", message)
            match said:
                case None:
                    pass
                case AssistantMessage():
                    message = said
                case Retry() | Stop():
                    return said
                case _:
                    raise wrong_return(hook, "after_model_call", said, "an AssistantMessage, a Retry, a Stop or None")
        if message == came:
            return came
        facts = {name: getattr(came, name) for name in ("usage", "model", "provider", "timing") if getattr(message, name) is None}
        return msgspec.structs.replace(message, generate_reason=None, **facts)

    async def calls(self, planned: Iterable[PlannedCall]) -> dict[int, HookSaid] | Stop:
        """Return what hooks say of calls, by their places."""
        said: dict[int, HookSaid] = {}
        for one in planned:
            word = await self.call(one.call)
            if isinstance(word, Stop):
                return word
            if word is not None:
                said[one.place] = word
        return said

    async def call(self, call: ToolCallPart) -> HookSaid | Stop | None:
        """Return what is done with a call: other arguments for it, its result, a veto, a question, an end, or nothing."""
        arguments: Mapping[str, Any] | None = None
        ask: Ask | None = None
        for hook in self.table.before_tool_call:
            said = await self._ask(hook, "before_tool_call", call)
            changed: Mapping[str, Any] | None = None
            match said:
                case None:
                    pass
                case ToolResultPart():
                    return _of_its_call(hook, "before_tool_call", call, said)
                case Veto() | Stop():
                    return said
                case Ask():
                    ask, changed = ask or said, said.arguments
                case Mapping():
                    changed = cast("Mapping[str, Any]", said)
                case _:
                    raise wrong_return(hook, "before_tool_call", said, "arguments, a ToolResultPart, a Veto, an Ask, a Stop or None")
            if changed is not None:
                made = ToolCallPart(id=call.id, name=call.name, kind=call.kind, arguments=dict(changed), runnable=True)
                if dumps(thaw(made.parsed)) != dumps(thaw(call.parsed)):  # not `==`: that takes true for 1
                    arguments, call = changed, made
        # Whoever wanted a person asked, what the hooks after it made of the call is what the person sees.
        return arguments if ask is None else Ask(ask.reason, arguments)

    async def result(self, call: ToolCallPart, result: ToolResultPart, *, not_again: str = "") -> ToolResultPart | Retry:
        """Return a result as the hooks leave it.

        Args:
            call: the call.
            result: what came of it.
            not_again: why it must not run again; a hook that wants that changes nothing, and the result says so.
        """
        for hook in self.table.after_tool_call:
            said = await self._ask(hook, "after_tool_call", call, result)
            match said:
                case None:
                    pass
                case ToolResultPart():
                    result = _of_its_call(hook, "after_tool_call", call, said)
                case Retry() if not_again:
                    result = msgspec.structs.replace(result, metadata={**result.metadata, "not_retried": not_again})
                case Retry():
                    return said
                case _:
                    raise wrong_return(hook, "after_tool_call", said, "a ToolResultPart, a Retry or None")
        return result


def _of_its_call(hook: Hooks, name: str, call: ToolCallPart, result: ToolResultPart) -> ToolResultPart:
    """Return a result that a hook made, if it is one of this call: another would leave the call without any."""
    if result.call_id != call.id:
        what = f"{type(hook).__name__}.{name} returned a result with call_id {result.call_id!r}"
        raise UsageError(f"{what} for the call {call.id!r}; make it with call_id=call.id", argument=name)
    return result
