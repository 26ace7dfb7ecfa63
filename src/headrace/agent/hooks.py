"""Hooks: code of the user's own before and after a run, a round, a model call and a tool call.

The rule of this file: a hook says what it wants by what it returns, and None changes nothing. Hooks run one after the other in the order in
which they were given, each on what the one before it left; the first that stops, retries or vetoes has the word. A hook that raises ends
the run with that error: nothing is passed over in silence.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias, cast

import msgspec

from headrace.errors import UsageError
from headrace.messages.message import AssistantMessage, Message
from headrace.messages.parts import ToolCallPart, ToolResultPart
from headrace.messages.request import OutputFormat, Settings, ToolChoice, ToolSpec
from headrace.messages.usage import Usage


class Stop(msgspec.Struct, frozen=True):
    """End the run now, as `stopped`; open calls get results that say so.

    Attributes:
        reason: why, for the results of open calls.
    """

    reason: str = ""


class Retry(msgspec.Struct, frozen=True):
    """Do it again: the model call (what was shown of the answer is void), or the tool call.

    Attributes:
        reason: why, for readers.
    """

    reason: str = ""


class Veto(msgspec.Struct, frozen=True):
    """Do not run the call; the model gets a `denied` result with the reason."""

    reason: str = ""


class Ask(msgspec.Struct, frozen=True):
    """Ask a person first, as if the tool said `needs_approval`.

    Attributes:
        reason: why, for the person.
        arguments: what to ask about, and to run it with, in place of the call's own arguments.
    """

    reason: str = ""
    arguments: Mapping[str, Any] | None = None


class GoOn(msgspec.Struct, frozen=True):
    """Do not end the run yet: tell the model this and call it again."""

    text: str


class Here(msgspec.Struct, frozen=True, kw_only=True):
    """Where a hook is called.

    Attributes:
        run_id: the run.
        round: the round that began last, from 1; so what comes before the first round sees 0.
        messages: what the run has added so far.
        usage: what it has used so far, sub-agents included.
        deps: what the caller gave the run.
    """

    run_id: str
    round: int
    messages: tuple[Message, ...]
    usage: Usage
    deps: Any


class ModelCall(msgspec.Struct, frozen=True, kw_only=True):
    """What is about to be asked of the model; `msgspec.structs.replace` makes a changed copy.

    Attributes:
        messages: all that is sent, the instructions first.
        tools: what is offered.
        tool_choice: whether the model may, must or must not call.
        settings: how to generate.
        output: the form that the answer must have, or None.
        is_forced: whether a limit is reached, so that this answer is the last one.
    """

    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...]
    tool_choice: ToolChoice
    settings: Settings
    output: OutputFormat | None = None
    is_forced: bool = False


class Hooks:
    """Override what you need; what is not overridden costs nothing.

    One object may serve many runs at the same time; what belongs to one run is in `here`. A hook that waits holds up its run, and is
    cancelled with it. Names that begin with `before_` and `after_` are kept for hooks, so that a slip of the pen is no silent pass.

    class Polite(Hooks):
        async def before_tool_call(self, here, call):
            return Veto("not on Sundays") if call.name == "send" else None

    agent = Agent(model, tools=[send], hooks=[Polite()])
    """

    async def before_run(self, here: Here, input: tuple[Message, ...]) -> Sequence[Message] | Stop | None:  # noqa: A002 - the word of the contract
        """See the run's input; may return another one. Not called when a run is resumed."""

    async def after_run(self, here: Here, message: AssistantMessage) -> GoOn | None:
        """See the final answer before it is kept; may have the model go on, which counts as a round of `max_rounds`.

        Also called for an answer that a limit forced or a filter cut, which stands whatever is returned. Not called for a run that is
        stopped, interrupted, denied, or fails.
        """

    async def before_round(self, here: Here) -> Stop | None:
        """A round is about to begin."""

    async def after_round(self, here: Here, message: AssistantMessage) -> Stop | None:
        """The answer of a round and the results of its calls, if it has any, are in the history."""

    async def before_model_call(self, here: Here, call: ModelCall) -> ModelCall | AssistantMessage | Stop | None:
        """See what is asked; may change it. What is changed here is sent, and kept nowhere.

        May answer in the model's place, which is then not asked: the answer is kept and seen as any other, and has used nothing.

        A tool that is taken away here is not offered for this call: if the model calls it nevertheless, it does not run.
        """

    async def after_model_call(self, here: Here, message: AssistantMessage) -> AssistantMessage | Retry | Stop | None:
        """See the answer before it is kept; may replace it: what readers saw is void then, and they see the new one.

        A message of the hook's own has the usage of the one that it replaces, unless it says another.
        """

    async def before_tool_call(self, here: Here, call: ToolCallPart) -> Mapping[str, Any] | ToolResultPart | Veto | Ask | Stop | None:
        """See a call before it runs: may change its arguments, give its result, veto it, or have a person asked.

        Asked again when a run is resumed and the call has not run. Not asked about calls that cannot run: unknown tools, arguments that
        did not arrive whole, calls beyond a limit.
        """

    async def after_tool_call(self, here: Here, call: ToolCallPart, result: ToolResultPart) -> ToolResultPart | Retry | None:
        """See a result before it is kept; may replace it, or have an idempotent tool's call run again.

        Where a call must not run again, or has run often enough, a `Retry` changes nothing, and the result's metadata says so
        (`not_retried`). Calls that are refused without being run do not come here.
        """


HOOK_NAMES: Final = tuple(name for name in vars(Hooks) if name.startswith(("before_", "after_")))
Called: TypeAlias = tuple[Hooks, ...]


class HookTable(msgspec.Struct, frozen=True, kw_only=True):
    """For each point the hooks that say something there."""

    before_run: Called = ()
    after_run: Called = ()
    before_round: Called = ()
    after_round: Called = ()
    before_model_call: Called = ()
    after_model_call: Called = ()
    before_tool_call: Called = ()
    after_tool_call: Called = ()

    @classmethod
    def of(cls, hooks: object) -> HookTable:
        """Sort hooks by the points at which they say something.

        Raises:
            UsageError: something is no `Hooks`, or has a hook of an unknown name.
        """
        given = cast("Iterable[object]", hooks) if isinstance(hooks, Iterable) else (hooks,)
        listed: list[Hooks] = []
        for n, hook in enumerate(given):
            if not isinstance(hook, Hooks):
                what = hook.__name__ if isinstance(hook, type) else type(hook).__name__
                raise UsageError(f"hooks[{n}] is {what}; give objects of subclasses of Hooks", argument=f"hooks[{n}]")
            for name in dir(type(hook)):
                if name.startswith(("before_", "after_")) and name not in HOOK_NAMES:
                    known = ", ".join(HOOK_NAMES)
                    raise UsageError(f"{type(hook).__name__}.{name} is no hook; the hooks are: {known}", argument=f"hooks[{n}]")
            listed.append(hook)
        return cls(**{name: tuple(hook for hook in listed if getattr(type(hook), name) is not getattr(Hooks, name)) for name in HOOK_NAMES})


NO_HOOKS: Final = HookTable()


def wrong_return(hook: Hooks, name: str, value: object, wanted: str) -> UsageError:
    """Return the error for what a hook returned although nothing there understands it."""
    return UsageError(f"{type(hook).__name__}.{name} returned a {type(value).__name__}; it may return {wanted}", argument=name)
