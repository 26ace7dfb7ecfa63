"""The options by which `run` and `chat` choose: model, tools, permissions, limits.

The rule of this file: names, helps and defaults of options, each once; what a text means is read in `setup.py`.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Annotated, Any

import typer

from headrace.agent.agent import DEFAULT_MAX_ROUNDS
from headrace.agent.permission.judging import MODES
from headrace.agent.permission.rules import Behavior
from headrace.cli.setup import DEFAULT_MODEL, MODEL_VARIABLE, Choices

_MODEL_HELP = f"provider:model; default: {MODEL_VARIABLE}, else {DEFAULT_MODEL}."
_RULE_HELP = "TOOL, or TOOL(argument=pattern); may be repeated."


def choices_of(
    *,
    model: Annotated[str | None, typer.Option("-m", "--model", help=_MODEL_HELP)] = None,
    system: Annotated[str | None, typer.Option("-s", "--system", help="The instructions.")] = None,
    tools: Annotated[
        list[str] | None, typer.Option("-T", "--tool", help="module:function, or one of time, calculate; may be repeated.", metavar="TOOL")
    ] = None,
    mcp: Annotated[
        list[str] | None,
        typer.Option("--mcp", help="An MCP server whose tools are offered as well; may be repeated.", metavar="COMMAND|URL"),
    ] = None,
    mode: Annotated[str, typer.Option(help=f"What runs without asking: {', '.join(MODES)}.", metavar="MODE")] = "default",
    allow: Annotated[list[str] | None, typer.Option(help=f"Run such calls without asking: {_RULE_HELP}", metavar="RULE")] = None,
    ask: Annotated[list[str] | None, typer.Option(help=f"Ask before such calls: {_RULE_HELP}", metavar="RULE")] = None,
    deny: Annotated[list[str] | None, typer.Option(help=f"Never run such calls: {_RULE_HELP}", metavar="RULE")] = None,
    max_rounds: Annotated[
        int, typer.Option(help="How many tool rounds may run before the model must answer; 0: no limit.")
    ] = DEFAULT_MAX_ROUNDS,
    limit: Annotated[
        list[str] | None,
        typer.Option(help="A further limit of a run: tool_calls, tokens, cost_usd or time_s; may be repeated.", metavar="WHAT=NUMBER"),
    ] = None,
    base_url: Annotated[str | None, typer.Option(help="Where the API begins, version included, such as http://localhost:8000/v1.")] = None,
    api_key_env: Annotated[
        str | None, typer.Option("--api-key-env", help="The environment variable that holds the key.", metavar="VAR")
    ] = None,
    think_tags: Annotated[bool, typer.Option("--think-tags", help="Take <think>…</think> in the text as reasoning.")] = False,
    think_starts_open: Annotated[
        bool, typer.Option("--think-starts-open", help="The same, where the template has opened the tag already.")
    ] = False,
    inline_tool_calls: Annotated[
        bool, typer.Option("--inline-tool-calls", help="Take calls of the tools that stand in the text as calls.")
    ] = False,
    max_tokens: Annotated[int | None, typer.Option(help="The most tokens of an answer.")] = None,
    temperature: Annotated[float | None, typer.Option(help="How much chance there is in an answer.")] = None,
) -> Choices:
    """Return what the options say."""
    decoding = {
        "think_tags": think_tags or think_starts_open,
        "think_starts_open": think_starts_open,
        "inline_tool_calls": inline_tool_calls,
    }
    ruling: dict[Behavior, list[str] | None] = {"allow": allow, "ask": ask, "deny": deny}
    settings = {"max_tokens": max_tokens, "temperature": temperature}
    return Choices(
        model=model,
        system=system,
        tools=tuple(tools or ()),
        mcp=tuple(mcp or ()),
        mode=mode,
        rules=tuple((behavior, text) for behavior, texts in ruling.items() for text in texts or ()),
        max_rounds=max_rounds,
        limits=tuple(limit or ()),
        base_url=base_url,
        api_key_env=api_key_env,
        options={name: value for name, value in decoding.items() if value},
        settings={name: value for name, value in settings.items() if value is not None},
    )


def with_choices(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command, whose first parameter is `choices`, the options of `choices_of` in its place."""
    shared = inspect.signature(choices_of, eval_str=True)
    own = inspect.signature(command, eval_str=True)
    others = [parameter for name, parameter in own.parameters.items() if name != "choices"]

    @functools.wraps(command)
    def run(**given: Any) -> None:
        chosen = {name: given.pop(name) for name in shared.parameters}
        command(choices_of(**chosen), **given)

    both = [*shared.parameters.values(), *others]
    run.__signature__ = own.replace(parameters=both)  # type: ignore[attr-defined] # typer reads it
    return run
