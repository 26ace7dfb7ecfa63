"""A docstring, read: what the tool does, and what each parameter is.

Google, numpy and Sphinx styles, recognised by themselves. What says how to call the function from Python (returns,
raises, examples) is left out: the model reads only what helps it to choose the tool and to fill in its arguments.
"""

from __future__ import annotations

from typing import Any

import msgspec


class Docstring(msgspec.Struct, frozen=True):
    """What a docstring says to a model.

    Attributes:
        description: the text outside sections, notes and warnings included.
        parameters: from a parameter's name to its description.
    """

    description: str = ""
    parameters: dict[str, str] = {}


def read(text: str) -> Docstring:
    """Read a docstring whose indentation is removed already; a text in no known style is all description."""
    if "\n" not in text.strip():
        return Docstring(text.strip())
    # griffe costs 80 ms to import and is needed only here, once a tool with a long docstring is really used.
    import griffe  # noqa: PLC0415

    quiet: Any = {"warnings": False}
    options: Any = dict.fromkeys(("google", "numpy", "sphinx"), quiet)
    sections = griffe.parse_auto(griffe.Docstring(text, lineno=1), per_style_options=options)
    description: list[str] = []
    parameters: dict[str, str] = {}
    for section in sections:
        if section.kind is griffe.DocstringSectionKind.text:
            description.append(section.value)
        elif section.kind is griffe.DocstringSectionKind.admonition:
            description.append(f"{section.title or section.value.kind.title()}: {section.value.contents}")
        elif section.kind in (griffe.DocstringSectionKind.parameters, griffe.DocstringSectionKind.other_parameters):
            parameters |= {item.name.lstrip("*"): item.description.strip() for item in section.value}
    return Docstring("\n\n".join(part.strip() for part in description if part.strip()), parameters)
