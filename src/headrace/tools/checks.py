"""What people and outside programs give for a call, checked without running it.

The rule of this file: the giver is the caller, so what does not fit is a `UsageError` that says where; nothing is converted or changed.
"""

from __future__ import annotations

import collections.abc
from collections.abc import Mapping
from typing import Any, Final, get_origin

from headrace._json import JSON, dumps
from headrace.errors import ArgumentsError, UsageError
from headrace.tools.context import Context
from headrace.tools.output import json_from
from headrace.tools.schema import mistakes_text
from headrace.tools.signature import return_annotation_of
from headrace.tools.tool import Tool

_NOTHING: Final = (None, type(None), Any)
_PIECEWISE: Final = tuple(
    getattr(collections.abc, name) for name in ("Iterator", "Generator", "AsyncIterator", "AsyncIterable", "AsyncGenerator")
)


def check_arguments(tool: Tool[..., Any], arguments: Mapping[str, JSON]) -> None:
    """Check edited arguments as the tool would when it runs.

    Raises:
        UsageError: they do not fit; the error lists what is wrong and where.
    """
    try:
        tool.keywords(arguments, Context(deps=None))
    except ArgumentsError as error:
        raise UsageError(f"{tool.name}: {error}", argument="arguments") from error
    except UsageError:
        raise
    except Exception as error:  # a validator is a stranger's code
        raise UsageError(f"{tool.name}: the arguments do not fit: {type(error).__name__}: {error}", argument="arguments") from error


def check_answer(tool: Tool[..., Any], value: JSON) -> JSON:
    """Check the answer to a call that was run elsewhere against what the tool's function says that it returns.

    A tool without a function, a function that does not say what it returns (or says None or Any, or gives its output in pieces), and
    types that pydantic does not know take any JSON.

    Returns:
        The value as it is, frozen.

    Raises:
        UsageError: the value is no JSON or does not fit (the error lists where), or the annotation cannot be read.
    """
    given = json_from(value)
    annotation = None if tool.function is None else return_annotation_of(tool.function, tool.name)
    if annotation in _NOTHING or annotation in _PIECEWISE or get_origin(annotation) in _PIECEWISE:
        return given
    # pydantic costs half of the import budget, so it loads when it is really needed.
    from pydantic import PydanticUserError, TypeAdapter, ValidationError  # noqa: PLC0415

    try:
        adapter: TypeAdapter[Any] = TypeAdapter(annotation)
    except (PydanticUserError, TypeError, NameError):
        return given
    heading = f"The answer does not fit what {tool.name} returns:"
    try:
        adapter.validate_json(dumps(given))
    except ValidationError as error:
        raise UsageError(mistakes_text(error, heading, root="answer"), argument="answer") from error
    except Exception as error:  # a validator is a stranger's code
        raise UsageError(f"{heading} {type(error).__name__}: {error}", argument="answer") from error
    return given
