"""One call, run: in its context, past the hooks, its result bounded.

The rule of this file: it knows one call and what it runs in, not the round around it; so a call that starts early runs as any other.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

import msgspec

from headrace._json import dumps_text
from headrace.agent.approval import Reply
from headrace.agent.context.offload import moved_out
from headrace.agent.context.policy import ContextPolicy
from headrace.agent.execution import run_tool
from headrace.agent.hooked import Hooked
from headrace.agent.hooks import Retry
from headrace.agent.journal import Journal
from headrace.agent.ledger import Ledger
from headrace.agent.permission.judging import Permissions
from headrace.agent.setup import Offer
from headrace.agent.tool_round import OnOutput
from headrace.messages.message import Message
from headrace.messages.parts import Part, TextPart, ToolCallPart, ToolResultPart
from headrace.tools.context import Context, Keep, Switch
from headrace.tools.tool import Tool

LOG: Final = logging.getLogger("headrace.agent")
MAX_RETRIES: Final = 5
"""How often hooks may have a call of an idempotent tool run again."""


class Resumption(msgspec.Struct, frozen=True):
    """What a tool that had suspended the run gets when it goes on: what it gave then, and the answers."""

    state: Any
    replies: tuple[Reply, ...]


class Scope(msgspec.Struct, frozen=True, kw_only=True):
    """What calls run in.

    Attributes:
        ledger: where everything is written down.
        hooked: the hooks.
        offer: the tools.
        permissions: the mode and the rules.
        deps: for the tools.
        messages: the history, the message with the calls included.
        runs_others: whether calls run while others of the round wait for somebody.
        limit: how many run at once.
        timeout_s: for tools that say nothing themselves.
        context: how long a result may be, and where long ones go.
        switch: switches groups of tools.
        journal: what the run is written down in, or None.
    """

    ledger: Ledger
    hooked: Hooked
    offer: Offer
    permissions: Permissions
    deps: Any
    messages: tuple[Message, ...]
    runs_others: bool
    limit: int
    timeout_s: float | None
    context: ContextPolicy
    switch: Switch | None = None
    journal: Journal | None = None

    def tool(self, call: ToolCallPart) -> Tool[..., Any]:
        """Return the tool that a call names."""
        return self.offer.tools[call.name]


async def run_call(
    call: ToolCallPart,
    call_key: str,
    scope: Scope,
    *,
    on_output: OnOutput,
    arguments: Mapping[str, Any] | None = None,
    resumption: Resumption | None = None,
    keeper: Keep | None = None,
    safeguard: Callable[[], Awaitable[None]] | None = None,
) -> ToolResultPart:
    """Run one call and return its result.

    Args:
        call: the call.
        call_key: its key.
        scope: what it runs in.
        on_output: takes output and notes as they come.
        arguments: what a person or a hook put in place of the model's.
        resumption: what it gave when it suspended the run, and the answers.
        keeper: that of its `Context`.
        safeguard: that of its `Context`.

    Raises:
        Suspend: it cannot go on before somebody has answered.
        Exception: what a hook raised.
    """
    tool = scope.tool(call)
    context = Context(
        deps=scope.deps,
        run_id=scope.ledger.run_id,
        round=scope.ledger.round,
        call_key=call_key,
        call_id=call.id,
        tool_name=call.name,
        messages=scope.messages,
        resumption=resumption,
        switch=scope.switch,
        keeper=keeper,
        safeguard=safeguard,
    )
    retries = 0
    while True:
        result = await run_tool(tool, call, context, on_output=on_output, timeout_s=scope.timeout_s, arguments=arguments)
        if not scope.hooked.table.after_tool_call:
            break
        said = await scope.hooked.result(call, result, not_again=_not_again(tool, retries))
        if not isinstance(said, Retry):
            result = said
            break
        retries += 1
    return await _kept(call_key, scope, result, arguments)


async def settled(
    call: ToolCallPart, call_key: str, scope: Scope, result: ToolResultPart, arguments: Mapping[str, Any] | None
) -> ToolResultPart:
    """Return the result of a call that was run outside as it is kept, past the hooks."""
    if scope.hooked.table.after_tool_call:
        said = await scope.hooked.result(call, result, not_again=f"{call.name} was run outside")
        result = result if isinstance(said, Retry) else said
    return await _kept(call_key, scope, result, arguments)


async def _kept(call_key: str, scope: Scope, result: ToolResultPart, arguments: Mapping[str, Any] | None) -> ToolResultPart:
    if scope.context.max_result_tokens is not None:
        result = await _moved_out(result, call_key, scope.context.max_result_tokens, scope.context)
    return result if arguments is None else _with_note(result, arguments)


def _not_again(tool: Tool[..., Any], retries: int) -> str:
    """Return why a hook cannot have a call run again, or ""."""
    if not tool.options.idempotent:
        return f"{tool.name} is not idempotent"
    return f"it has run {retries + 1} times" if retries >= MAX_RETRIES else ""


async def _moved_out(result: ToolResultPart, call_key: str, limit_tokens: int, context: ContextPolicy) -> ToolResultPart:
    """Return a long result as it is kept; the whole goes into the store, if there is one and it takes it."""
    short, parts = moved_out(result, limit_tokens, call_key if context.offload is not None else None)
    is_out = not parts or await put_out(context, call_key, parts)
    return short if is_out else moved_out(result, limit_tokens, None)[0]


async def put_out(context: ContextPolicy, call_key: str, parts: tuple[Part, ...]) -> bool:
    """Put a result into the store; returns whether it took it: one that fails costs the rest of a result and not the run."""
    if context.offload is None:
        return False
    try:
        await context.offload.put(call_key, parts)
    except Exception:  # a store may be a stranger's code
        LOG.warning("a long result could not be moved out; what was cut of it is lost", exc_info=True)
        return False
    return True


def _with_note(result: ToolResultPart, arguments: Mapping[str, Any]) -> ToolResultPart:
    """Tell the model that its call ran with other arguments than it said; the call itself stays as it came."""
    note = TextPart(f"The arguments were changed to {dumps_text(dict(arguments))}.\n")
    metadata = {**result.metadata, "changed_arguments": arguments}
    return msgspec.structs.replace(result, parts=(note, *result.parts), metadata=metadata)
