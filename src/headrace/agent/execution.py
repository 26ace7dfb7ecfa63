"""Runs one tool call and says how it ended.

The rule of this file: whatever the tool does, the model gets a result that it can use: what the tool raises, returns
although it is no JSON, or never returns becomes a `ToolResultPart` with a state. Only the caller's own affairs leave as
exceptions: cancellation of the caller's task, KeyboardInterrupt and SystemExit, wrong use, and a tool's `Suspend`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import msgspec

from headrace._json import JSON
from headrace.agent.attempt import Attempt, OnOutput
from headrace.agent.results import describe, error_result, not_runnable_result
from headrace.agent.threads import THREADS, DaemonThreads
from headrace.errors import ArgumentsError, UsageError
from headrace.messages.parts import ToolCallPart, ToolResultPart
from headrace.tools.context import Context
from headrace.tools.tool import Tool


async def run_tool(
    tool: Tool[..., Any],
    call: ToolCallPart,
    context: Context[Any],
    *,
    arguments: Mapping[str, JSON] | None = None,
    on_output: OnOutput | None = None,
    timeout_s: float | None = None,
    threads: DaemonThreads = THREADS,
) -> ToolResultPart:
    """Run one call of a tool.

    An async function runs in the caller's task, a synchronous one in a daemon thread. A call that is not runnable never
    runs. A tool that is idempotent and has `retries` is tried again after an exception or a timeout, unless some of its
    output has been shown already: at once, since only the tool knows what it failed at and how long that takes to mend.

    Args:
        tool: the tool that the call names.
        call: the call.
        context: what the tool may know; goes into its `Context` parameter.
        arguments: run it with these instead of the call's own: a person or a hook has edited them.
        on_output: called in the loop's thread with each part of the output as it comes, and with each note of `context.progress`
            and `context.forward`, in the tool's order; must not block.
        timeout_s: how long one try may take, in seconds, if the tool itself does not say; None is no limit.
        threads: where synchronous tools run.

    Returns:
        The result. States: `success`; `error` (the tool raised, the arguments do not fit, the output cannot be sent, the
        call is not runnable); `timed_out`; `not_run` (no thread was free in time). What a tool had given out before it
        failed comes before the error. Metadata: `error_type`, `attempts`, `kept_bytes` and `cut_bytes`, `may_still_run`,
        where they say something.

    Raises:
        Suspend: the tool raised it: the call waits and has no result yet. What it had given out is not kept.
        UsageError: the tool is external, or its annotations do not do for a tool.
        asyncio.CancelledError: the caller's task was cancelled; a synchronous tool runs on.
    """
    if tool.options.external or tool.function is None:
        raise UsageError(f"tool {tool.name} is external: its result comes from outside", argument="tool")
    if not call.runnable or call.parsed is None:
        return not_runnable_result(call)
    limit_s = timeout_s if tool.options.timeout_s is None else tool.options.timeout_s
    tries = 0
    while True:
        tries += 1
        attempt = Attempt(tool, on_output, threads)
        inner = context if on_output is None else msgspec.structs.replace(context, emit=attempt.emit)
        try:
            # Anew for each try, since a tool may change what it was given.
            keywords = tool.keywords(call.parsed if arguments is None else arguments, inner)
        except ArgumentsError as error:
            return error_result(call, str(error), error_type="ArgumentsError")
        except UsageError:
            raise
        except Exception as error:  # noqa: BLE001 - a validator is a stranger's code
            return error_result(call, describe(error), error_type=type(error).__name__)
        result, is_worth_a_retry = await attempt.run(call, keywords, None if limit_s == math.inf else limit_s, tries)
        if not is_worth_a_retry or tries > tool.options.retries:
            return result
