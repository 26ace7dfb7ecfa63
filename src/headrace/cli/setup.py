"""From the options of a command to a model and an agent.

The rule of this file: a key is never an argument of a command, where other users of the machine could read it; it is named by its
variable.
"""

from __future__ import annotations

import os
from typing import Any, Final

import msgspec

from headrace.agent.agent import DEFAULT_MAX_ROUNDS, Agent
from headrace.cli.tools import load_tools
from headrace.errors import ConfigError, UsageError
from headrace.models.model import Model

DEFAULT_MODEL: Final = "local:smollm2"
MODEL_VARIABLE: Final = "HEADRACE_MODEL"


class Choices(msgspec.Struct, frozen=True, kw_only=True):
    """What the options said.

    Attributes:
        model: the model's id; None: that of `HEADRACE_MODEL`, else the local model.
        system: the instructions.
        tools: names of tools, as `-T` takes them.
        max_rounds: how many tool rounds may run; 0: no limit.
        base_url: where the API begins.
        api_key_env: the variable that holds the key.
        options: of the decoder.
        settings: of the model.
    """

    model: str | None = None
    system: str | None = None
    tools: tuple[str, ...] = ()
    max_rounds: int = DEFAULT_MAX_ROUNDS
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


def make_agent(choices: Choices, model: Model) -> Agent:
    """Return the agent; the model stays the caller's to close.

    Raises:
        UsageError: a tool cannot be loaded, or something else does not do.
    """
    if choices.max_rounds < 0:
        raise UsageError(f"--max-rounds {choices.max_rounds}: it counts from 0, and 0 is no limit", argument="max_rounds")
    return Agent(model, tools=load_tools(choices.tools), instructions=choices.system, max_rounds=choices.max_rounds)
