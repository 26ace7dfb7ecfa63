"""Runs hooks, one after the other, and says what came of it.

The rule of this file: what a hook returns and nothing there understands is an error of the hook, and so of the run. Without hooks at a
point nothing happens there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

from headrace.agent.hooks import Ask, GoOn, Here, HookTable, ModelCall, Retry, Stop, Veto, wrong_return
from headrace.errors import UsageError
from headrace.messages.message import AssistantMessage, Message
from headrace.messages.parts import ToolCallPart, ToolResultPart


class Hooked:
    """The hooks of one run."""

    def __init__(self, table: HookTable, here: Callable[[], Here]) -> None:
        """Call these hooks; `here` says where the run stands."""
        self.table = table
        self._here = here

    async def input(self, given: tuple[Message, ...]) -> tuple[Message, ...] | Stop:
        """Return the input of the run as the hooks leave it."""
        for hook in self.table.before_run:
            said = await hook.before_run(self._here(), given)
            match said:
                case None:
                    pass
                case Stop():
                    return said
                case _ if not isinstance(said, (str, Mapping)) and all(isinstance(one, Message) for one in said):
                    given = tuple(said)
                case _:
                    raise wrong_return(hook, "before_run", said, "messages, a Stop or None")
        return given

    async def stops(self, name: str, *arguments: Any) -> Stop | None:
        """Ask whether to go on at a point where hooks may only stop."""
        for hook in getattr(self.table, name):
            said: object = await getattr(hook, name)(self._here(), *arguments)
            if isinstance(said, Stop):
                return said
            if said is not None:
                raise wrong_return(hook, name, said, "a Stop or None")
        return None

    async def answered(self, message: AssistantMessage) -> GoOn | None:
        """Ask whether the run is over with this answer."""
        for hook in self.table.after_run:
            said: object = await hook.after_run(self._here(), message)
            if isinstance(said, GoOn):
                return said
            if said is not None:
                raise wrong_return(hook, "after_run", said, "a GoOn or None")
        return None

    async def asked(self, call: ModelCall) -> ModelCall | Stop:
        """Return the model call as the hooks leave it."""
        for hook in self.table.before_model_call:
            said: object = await hook.before_model_call(self._here(), call)
            match said:
                case None:
                    pass
                case ModelCall():
                    call = said
                case Stop():
                    return said
                case _:
                    raise wrong_return(hook, "before_model_call", said, "a ModelCall, a Stop or None")
        return call

    async def answer(self, message: AssistantMessage) -> AssistantMessage | Retry | Stop:
        """Return the answer as the hooks leave it."""
        for hook in self.table.after_model_call:
            said: object = await hook.after_model_call(self._here(), message)
            match said:
                case None:
                    pass
                case AssistantMessage():
                    message = said
                case Retry() | Stop():
                    return said
                case _:
                    raise wrong_return(hook, "after_model_call", said, "an AssistantMessage, a Retry, a Stop or None")
        return message

    async def call(self, call: ToolCallPart) -> Mapping[str, Any] | ToolResultPart | Veto | Ask | Stop | None:
        """Return what is done with a call: other arguments for it, its result, a veto, a question, an end, or nothing."""
        arguments: Mapping[str, Any] | None = None
        for hook in self.table.before_tool_call:
            said: object = await hook.before_tool_call(self._here(), call)
            match said:
                case None:
                    pass
                case ToolResultPart() | Veto() | Ask() | Stop():
                    return said
                case Mapping():
                    arguments = cast("Mapping[str, Any]", said)
                    call = ToolCallPart(id=call.id, name=call.name, kind=call.kind, arguments=dict(arguments), runnable=True)
                case _:
                    raise wrong_return(hook, "before_tool_call", said, "arguments, a ToolResultPart, a Veto, an Ask, a Stop or None")
        return arguments

    async def result(self, call: ToolCallPart, result: ToolResultPart) -> ToolResultPart | Retry:
        """Return a result as the hooks leave it."""
        for hook in self.table.after_tool_call:
            said: object = await hook.after_tool_call(self._here(), call, result)
            match said:
                case None:
                    pass
                case ToolResultPart():
                    result = said
                case Retry():
                    return said
                case _:
                    raise wrong_return(hook, "after_tool_call", said, "a ToolResultPart, a Retry or None")
        if result.call_id != call.id:
            raise UsageError(f"a hook gave call {call.id!r} the result of {result.call_id!r}", argument="after_tool_call")
        return result
