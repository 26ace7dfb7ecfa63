"""Two captures side by side: what is the same, what differs. Pure.

The rule of this file: it compares what the two came to and how they went, and judges neither. Ids differ from call to call of a model, so they are not
compared; times and sizes are shown but are no difference.
"""

from __future__ import annotations

from itertools import zip_longest
from typing import Any, Final

import msgspec

from headrace._json import dumps_text
from headrace.inspect.cards import message_cards
from headrace.inspect.excerpts import short
from headrace.inspect.markup import Markup, asset, element, join, page
from headrace.inspect.text import Look, Word
from headrace.inspect.values import Inspection
from headrace.inspect.wording import error_of, facts_of, finish_of, usage_of, warning_counts

_SHOWN: Final = 400
_COLUMN: Final = 16


class Line(msgspec.Struct, frozen=True):
    """One thing, as it is on each side.

    Attributes:
        name: what it is.
        left, right: what it is on each side, in words.
        is_same: whether both are the same.
        is_measured: a number that differs from run to run, which is no difference.
        at: for a text: the character from which on they differ.
    """

    name: str
    left: str
    right: str
    is_same: bool
    is_measured: bool = False
    at: int | None = None


class Comparison(msgspec.Struct, frozen=True):
    """Two inspections, line by line."""

    left: Inspection
    right: Inspection
    lines: tuple[Line, ...]

    @property
    def is_same(self) -> bool:
        """Whether nothing differs but what is measured."""
        return all(line.is_same or line.is_measured for line in self.lines)


def compare(left: Inspection, right: Inspection) -> Comparison:
    """Return what is the same and what differs between two streams."""
    lines = [_line("protocol", left.protocol, right.protocol)]
    for name in ("text", "reasoning", "refusal"):
        ours, theirs = str(left.summary[name] or ""), str(right.summary[name] or "")
        if ours or theirs:
            lines.append(_text(name, ours, theirs))
    calls, others = _calls(left), _calls(right)
    lines += [_line(f"call {n}", one, two) for n, (one, two) in enumerate(zip_longest(calls, others, fillvalue=""))]
    lines.append(_line("finish", finish_of(left), finish_of(right)))
    lines.append(_line("error", error_of(left), error_of(right)))
    lines.append(_line("warnings", warning_counts(left), warning_counts(right)))
    lines.append(_line("usage", usage_of(left), usage_of(right)))
    ours_facts, theirs_facts = dict(facts_of(left)), dict(facts_of(right))
    lines += [
        _line(name, ours_facts.get(name, "unknown"), theirs_facts.get(name, "unknown"), is_measured=True)
        for name in dict.fromkeys([*ours_facts, *theirs_facts])
    ]
    return Comparison(left, right, tuple(line for line in lines if line.left or line.right))


def _calls(inspection: Inspection) -> list[str]:
    calls: list[dict[str, Any]] = [*inspection.summary["tool_calls"], *inspection.summary["provider_tool_calls"]]
    return [_call(call) for call in calls]


def _call(call: dict[str, Any]) -> str:
    body = dumps_text(call["arguments"]) if "arguments" in call else str(call.get("raw", call.get("input", "")))
    return f"{call['name'] or '(no name)'} {body}" + ("" if call["runnable"] else " (not runnable)")


def _line(name: str, left: str, right: str, *, is_measured: bool = False) -> Line:
    return Line(name, short(left, _SHOWN), short(right, _SHOWN), left == right, is_measured)


def _text(name: str, left: str, right: str) -> Line:
    """Compare texts; where they differ, both are shown from a little before that place."""
    if left == right:
        return _line(name, left, right)
    at = next((n for n, (one, two) in enumerate(zip(left, right, strict=False)) if one != two), min(len(left), len(right)))
    begin = max(0, at - 40)
    mark = "…" if begin else ""
    return Line(name, mark + short(left[begin:], _SHOWN), mark + short(right[begin:], _SHOWN), is_same=False, at=at)


# ---------------------------------------------------------------------------------------------- forms


def document_of(comparison: Comparison) -> dict[str, Any]:
    """Return a comparison as a JSON-ready dictionary."""
    sides = {
        side: {"source": one.source, "protocol": one.protocol} for side, one in (("left", comparison.left), ("right", comparison.right))
    }
    return {"format_version": 1, "is_same": comparison.is_same, **sides, "lines": msgspec.to_builtins(comparison.lines)}


def text_of(comparison: Comparison) -> list[Word]:
    """Return a comparison as text: what is the same on one line, what differs on two."""
    words = [Word(f"left   {comparison.left.source}\nright  {comparison.right.source}\n\n", "title")]
    for line in comparison.lines:
        words.append(Word(line.name.ljust(_COLUMN), "label"))
        if line.is_same:
            words.append(Word(f"= {_one_line(line.left)}\n", "note"))
            continue
        look: Look = "text" if line.is_measured else "warning"
        at = f"(from character {line.at:,} on)\n{' ' * _COLUMN}" if line.at is not None else ""
        words.append(Word(f"{at}< {_one_line(line.left)}\n{' ' * _COLUMN}> {_one_line(line.right)}\n", look))
    same = comparison.is_same
    words.append(Word("\nthe same, but for what is measured\n" if same else "\nthey differ\n", "good" if same else "warning"))
    return words


def html_of(comparison: Comparison) -> str:
    """Return a comparison as one HTML page that fetches nothing."""
    left, right = comparison.left, comparison.right
    rows = [
        element(
            "tr",
            element("th", line.name, scope="row"),
            element("td", "same" if line.is_same else "measured" if line.is_measured else "differs"),
            element("td", line.left),
            element("td", line.right),
            class_=None if line.is_same or line.is_measured else "differs",
        )
        for line in comparison.lines
    ]
    head = [element("th", words, scope="col") for words in ("what", "is it the same?", f"left: {left.source}", f"right: {right.source}")]
    same = comparison.is_same
    pill = element("li", "the same, but for what is measured" if same else "they differ", class_=f"pill {'good' if same else 'warning'}")
    table = element("table", element("thead", element("tr", *head)), element("tbody", *rows))
    body = join(
        element(
            "header",
            element("p", "headrace inspect", class_="soft"),
            element("h1", "Two streams compared"),
            element("ul", pill, class_="pills"),
        ),
        element(
            "main",
            element("div", table, class_="plot", tabindex=0, role="region", aria_label="Comparison; scrolls sideways on narrow screens"),
            *(_message(side, one) for side, one in (("Left", left), ("Right", right))),
        ),
    )
    return page(title="Two streams compared · headrace inspect", body=body, style=asset("report.css"), script=asset("report.js"))


def _message(side: str, inspection: Inspection) -> Markup:
    # There is no table of rows and no list of warnings here, so nothing may link to them.
    parts = tuple(msgspec.structs.replace(part, warnings=()) for part in inspection.parts)
    bare = msgspec.structs.replace(inspection, rows=(), warnings=(), parts=parts)
    return join(element("h2", f"{side}: the message"), message_cards(bare, prefix=side.lower()))


def _one_line(text: str) -> str:
    return text.replace("\n", " ↵ ")
