"""What a command is told by `module:name`: the user's own agent, from a module or a file.

The rule of this file: what cannot be loaded is wrong use, said with what was given, whether it is the name that is wrong or the module that
fails. The current folder is looked into first, as `python -m` does.
"""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

from headrace.agent.agent import Agent
from headrace.errors import UsageError


def load_agent(target: str) -> Agent:
    """Return the agent that a target names.

    Args:
        target: `module:name`, `package.module:name.inner` or `folder/file.py:name`. The name is an `Agent`, or a function without
            arguments that returns one.

    Raises:
        UsageError: there is no such module or name, the module fails, or what is found is no agent.
    """
    found = load(target)
    if isinstance(found, Agent):
        return found
    if callable(found) and not inspect.isclass(found):
        made = _called(cast("Callable[[], Any]", found), target)
        if isinstance(made, Agent):
            return made
        raise UsageError(f"{target}() gave a {type(made).__name__}, not an Agent", argument="target")
    what = f"the class {found.__name__}" if inspect.isclass(found) else f"a {type(found).__name__}"
    raise UsageError(f"{target} is {what}, not an Agent, nor a function that returns one", argument="target")


def load(target: str) -> Any:
    """Return what a target names, whatever it is.

    Raises:
        UsageError: there is no such module or name, or the module fails.
    """
    module_name, colon, attribute = target.rpartition(":")
    if not colon or not module_name or not attribute:
        raise UsageError(f"{target!r} names nothing: write module:name, such as main:agent", argument="target")
    found: Any = _module(module_name, target)
    for n, step in enumerate(attribute.split(".")):
        if not hasattr(found, step):
            where = ".".join([module_name, *attribute.split(".")[:n]])
            raise UsageError(f"{target}: {where} has no {step!r}{_hint(found)}", argument="target")
        found = getattr(found, step)
    return found


def _module(name: str, target: str) -> Any:
    folder = Path.cwd()
    if name.endswith(".py"):
        path = Path(name).resolve()
        if not path.is_file():
            raise UsageError(f"{target}: there is no file {path}", argument="target")
        folder, name = path.parent, path.stem
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(f"{error.name}.")):
            raise UsageError(f"{target}: there is no module {error.name!r} in {folder}, nor installed", argument="target") from error
        raise _failed(target, error) from error
    except Exception as error:  # a stranger's module may raise anything
        raise _failed(target, error) from error


def _called(function: Callable[[], Any], target: str) -> Any:
    try:
        inspect.signature(function).bind()
    except TypeError as error:
        raise UsageError(f"{target} cannot be called without arguments: {error}", argument="target") from error
    except ValueError:
        pass  # a function that does not tell its arguments
    try:
        return function()
    except Exception as error:  # a stranger's function may raise anything
        raise _failed(target, error) from error


def _failed(target: str, error: Exception) -> UsageError:
    return UsageError(f"{target} fails: {type(error).__name__}: {error}", argument="target")


def _hint(module: Any) -> str:
    """Return a word about the agents that are there."""
    held: dict[str, object] = getattr(module, "__dict__", {})
    names = [name for name, value in held.items() if isinstance(value, Agent)]
    return f"; it has the agent {', '.join(names)}" if names else ""
