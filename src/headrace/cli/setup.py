"""From the options of a command to a model and an agent.

The rule of this file: a key is never an argument of a command, where other users of the machine could read it; it is named by its
variable.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Sequence
from typing import Any, Final, get_args

import msgspec

from headrace.agent.agent import DEFAULT_MAX_ROUNDS, Agent
from headrace.agent.limits import RunLimits
from headrace.agent.mcp.server import MCPServer
from headrace.agent.permission.judging import MODES, Mode, Permissions
from headrace.agent.permission.rules import Behavior, Rule
from headrace.cli.tools import load_tools
from headrace.errors import ConfigError, UsageError
from headrace.models.model import Model
from headrace.tools.source import ToolSource
from headrace.tools.toolset import Toolset

DEFAULT_MODEL: Final = "local:smollm2"
MODEL_VARIABLE: Final = "HEADRACE_MODEL"
_WHOLE: Final = ("tool_calls", "tokens")
_LIMITS: Final = (*_WHOLE, "cost_usd", "time_s")


class Choices(msgspec.Struct, frozen=True, kw_only=True):
    """What the options said.

    Attributes:
        model: the model's id; None: that of `HEADRACE_MODEL`, else the local model.
        system: the instructions.
        tools: names of tools, as `-T` takes them.
        mcp: MCP servers whose tools are offered as well: a command, or a URL.
        max_rounds: how many tool rounds may run; 0: no limit.
        limits: further limits of a run, as `WHAT=NUMBER`.
        mode: how calls are judged that no rule speaks about.
        rules: texts of rules by what they do: `allow`, `ask` or `deny`.
        base_url: where the API begins.
        api_key_env: the variable that holds the key.
        options: of the decoder.
        settings: of the model.
    """

    model: str | None = None
    system: str | None = None
    tools: tuple[str, ...] = ()
    mcp: tuple[str, ...] = ()
    max_rounds: int = DEFAULT_MAX_ROUNDS
    limits: tuple[str, ...] = ()
    mode: str = "default"
    rules: tuple[tuple[Behavior, str], ...] = ()
    base_url: str | None = None
    api_key_env: str | None = None
    options: dict[str, Any] = {}
    settings: dict[str, Any] = {}


def model_id(choices: Choices) -> str:
    """Return the id of the model that is to be used."""
    return choices.model or os.environ.get(MODEL_VARIABLE) or DEFAULT_MODEL


def make_model(choices: Choices) -> Model:
    """Return the model.

    Raises:
        UsageError: the id, the key, the address or a setting does not do.
    """
    key = None
    if choices.api_key_env is not None:
        key = os.environ.get(choices.api_key_env, "").strip()
        if not key:
            raise ConfigError(f"--api-key-env {choices.api_key_env}: the variable is not set", argument="api_key_env")
    chosen = model_id(choices)
    try:
        return Model(chosen, base_url=choices.base_url, api_key=key, options=choices.options or None, settings=choices.settings)
    except ConfigError as error:
        if chosen == DEFAULT_MODEL and choices.model is None:
            hint = f"or choose a model with -m or {MODEL_VARIABLE} (`headrace models` lists providers)"
            raise ConfigError(f"{error}, {hint}", argument="model") from error
        raise


def make_agent(choices: Choices, model: Model, *, sources: Sequence[ToolSource] | None = None, without_groups: Iterable[str] = ()) -> Agent:
    """Return the agent; the model stays the caller's to close.

    Args:
        choices: what was chosen.
        model: the model.
        sources: where further tools come from; None: from the MCP servers that were chosen.
        without_groups: the groups of tools that are switched off.

    Raises:
        UsageError: a tool cannot be loaded, or something else does not do.
    """
    if choices.max_rounds < 0:
        raise UsageError(f"--max-rounds {choices.max_rounds}: it counts from 0, and 0 is no limit", argument="max_rounds")
    tools = load_tools(choices.tools)
    off = set(without_groups)
    return Agent(
        model,
        tools=[tools.only(group for group in tools.groups if group not in off), *(make_sources(choices) if sources is None else sources)],
        instructions=choices.system,
        max_rounds=choices.max_rounds,
        limits=make_limits(choices),
        permissions=make_permissions(choices),
    )


def tools_of(agent: Agent) -> Toolset:
    """Return all tools that an agent has now, those of open sources included."""
    return Toolset([agent.tools, *(source.toolset for source in agent.sources)])


def make_permissions(choices: Choices) -> Permissions:
    """Return the mode and the rules.

    Raises:
        UsageError: there is no such mode, or a text is no rule.
    """
    rules: list[Rule] = []
    for behavior, text in choices.rules:
        first, _, rest = text.strip().partition(" ")
        try:
            rules.append(Rule.parse(f"{behavior} {rest if first == behavior else text}", source="command line"))
        except UsageError as error:
            raise UsageError(f"--{behavior} {text!r}: {error}", argument=behavior) from error
    return Permissions(mode_of(choices.mode), tuple(rules))


def mode_of(word: str) -> Mode:
    """Return the permission mode that a word names; `-` does for `_`.

    Raises:
        UsageError: there is none.
    """
    wanted = word.strip().lower().replace("-", "_")
    for mode in MODES:
        if mode == wanted:
            return mode
    raise UsageError(f"there is no mode {word!r}; the modes are {', '.join(get_args(Mode))}", argument="mode")


def make_limits(choices: Choices) -> RunLimits:
    """Return the limits of a run, beside that on rounds.

    Raises:
        UsageError: a text names no limit, or no number above 0.
    """
    limits: dict[str, float] = {}
    for text in choices.limits:
        name, _, number = text.partition("=")
        name = name.strip().replace("-", "_")
        if name not in _LIMITS:
            raise UsageError(f"--limit {text!r}: it is WHAT=NUMBER; WHAT is one of {', '.join(_LIMITS)}", argument="limit")
        try:
            limits[name] = int(number) if name in _WHOLE else float(number)
            RunLimits.of(limits)
        except ValueError as error:
            raise UsageError(f"--limit {text!r}: {number!r} is no {'whole ' if name in _WHOLE else ''}number", argument="limit") from error
        except UsageError as error:
            raise UsageError(f"--limit {text!r}: {error}", argument="limit") from error
    return RunLimits.of(limits)


def make_sources(choices: Choices) -> tuple[ToolSource, ...]:
    """Return the MCP servers: a URL is spoken to, anything else is a command that is started, without a shell.

    Raises:
        UsageError: a text is neither.
    """
    return tuple(_server(text) for text in choices.mcp)


def _server(text: str) -> MCPServer:
    if text.startswith(("http://", "https://")):
        return MCPServer.http(text)
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise UsageError(f"--mcp {text!r}: {error}", argument="mcp") from error
    if not words:
        raise UsageError("--mcp is empty; give the command that starts a server, or its URL", argument="mcp")
    return MCPServer.stdio(words[0], words[1:])
