"""A text with the names of arguments in braces, such as `file:{path}`.

The rule of this file: names only; `{{` and `}}` stand for braces. What is wrong with a template is told when a tool is made.
"""

from __future__ import annotations

import string
from collections.abc import Callable

from headrace._json import JSON, dumps_text
from headrace.errors import UsageError


def names_in(template: str) -> tuple[str, ...]:
    """Return the names in a template, in order.

    Raises:
        UsageError: a brace stands alone, or there is more than a name in braces.
    """
    try:
        fields = [field for field in string.Formatter().parse(template) if field[1] is not None]
    except ValueError as error:
        raise UsageError(f"resource {template!r}: {error}; write {{{{ and }}}} for braces", argument="resource") from error
    for _, name, form, conversion in fields:
        if not str(name).isidentifier() or form or conversion:
            raise UsageError(f"resource {template!r}: between braces stands the name of an argument alone", argument="resource")
    return tuple(str(name) for _, name, _, _ in fields)


def filled(template: str, value_of: Callable[[str], JSON]) -> str | None:
    """Return a template with its names replaced by values: a text as it is, all else as JSON; None if one has no value."""
    pieces: list[str] = []
    for text, name, _, _ in string.Formatter().parse(template):
        pieces.append(text)
        if name is not None:
            value = value_of(name)
            if value is None:
                return None
            pieces.append(value if isinstance(value, str) else dumps_text(value))
    return "".join(pieces)
