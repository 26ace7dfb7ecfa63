"""The cards of a report: the parts of the message, and the warnings. Pure.

The rule of this file: what a part was merged from stays visible in it, each fragment a link to the event that brought it; a warning shows the bytes
that caused it and leads to their row.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from headrace.inspect.markup import Markup, element, join
from headrace.inspect.values import Cause, Inspection, PartView, Row
from headrace.inspect.wording import counted, name_of, place_of, seconds

_COLOURS: Final = 6
_NAMES: Final = {"tool_call": "tool call", "provider_tool": "tool of the provider", "provider_item": "item of the provider"}
_CALLS: Final = ("tool_call", "provider_tool")


def _row_link(rows: dict[int, Row], row: int | None) -> Markup:
    """A link to a row, or its name alone where the table does not have it."""
    found = rows.get(row) if row is not None else None
    if found is None:
        return join("" if row is None else f"row {row:,}")
    return element("a", name_of(found), href=f"#r{found.row}")


def _rows_of(inspection: Inspection) -> dict[int, Row]:
    return {row.row: row for row in inspection.rows}


def message_cards(inspection: Inspection, *, prefix: str = "p") -> Markup:
    """Return the message of every choice; `prefix` begins the ids of its cards, of which a page holds each once."""
    rows = _rows_of(inspection)
    choices = len(inspection.result.choices) > 1
    cards: list[Markup] = []
    shown: int | None = None
    for part in inspection.parts:
        if choices and part.choice != shown:
            cards.append(element("p", element("strong", f"choice {part.choice}")))
        shown = part.choice
        cards.append(_card(part, inspection, rows, prefix))
    return join(*cards) if cards else element("p", "The message has no parts.", class_="soft")


def _card(part: PartView, inspection: Inspection, rows: dict[int, Row], prefix: str) -> Markup:
    call = part.call
    name = _NAMES.get(part.kind, part.kind)
    pills = [element("span", "runnable" if call.is_runnable else "not runnable", class_=f"pill {_mood(part)}")] if call is not None else []
    head = element("div", element("h3", f"{name} {part.title}".rstrip()), *pills, class_="card-head")
    lines: list[Markup] = []
    if call is not None:
        made_up = " (made up here: the wire gave none)" if call.is_id_made_up else ""
        lines.append(element("p", "id ", element("code", call.id or "none"), made_up, class_="soft"))
        if call.why_not is not None:
            lines.append(element("p", f"It must not run: {call.why_not}."))
    lines += [element("p", note, class_="soft") for note in part.notes]
    merged: list[str | Markup] = [counted(part.fragments_count, "fragment")]
    if part.first_row is not None:
        merged += [", from " if part.first_row != part.last_row else ", in ", _row_link(rows, part.first_row)]
    if part.last_row is not None and part.first_row != part.last_row:
        merged += [" to ", _row_link(rows, part.last_row)]
    warnings = [join(" ", element("a", inspection.warnings[n].code, href=f"#w{n}")) for n in part.warnings]
    if call is not None and call.read_as is not None:
        merged = ["read as ", element("code", call.read_as), " · ", *merged]
    foot = element("p", *merged, *([" · warnings:", *warnings] if warnings else []), class_="soft")
    return element(
        "article",
        head,
        *lines,
        _body(part, rows),
        foot,
        class_=f"card {part.kind if part.kind.isidentifier() else 'other'}",
        id=_id(part.ref, prefix),
        tabindex=-1,
    )


def part_link(ref: str) -> Markup:
    """Return a link to a part's card."""
    return element("a", f"part {ref}", href=f"#{_id(ref)}")


def _id(ref: str, prefix: str = "p") -> str:
    return f"{prefix}{ref.replace('.', '-')}"


def _mood(part: PartView) -> str:
    return "good" if part.call is not None and part.call.is_runnable else "error"


def _body(part: PartView, rows: dict[int, Row]) -> Markup:
    if part.kind in _CALLS and part.fragments:
        body = join(*_links(part, rows))
        left = part.fragments_cut
        cut = f" … {counted(left, 'more fragment')}" if left else ""
        return element("pre", body, cut, class_="fragments")
    if not part.text:
        return Markup("")
    cut = f" … {counted(part.text_cut, 'more character')}" if part.text_cut else ""
    is_call = part.kind in _CALLS
    return element("pre" if is_call else "div", join(*_spans(part)), cut, class_=None if is_call else "body")


def _links(part: PartView, rows: dict[int, Row]) -> Iterator[Markup]:
    """Each fragment of a call as a link, in the colour of its turn; one that adds no arguments shows what it was."""
    colour = 0
    for fragment in part.fragments:
        row = rows.get(fragment.row)
        if not fragment.text:
            continue
        look = f"f{colour % _COLOURS}"
        colour += 1
        if row is None:
            yield element("span", fragment.text, class_=look)
            continue
        when = f", {seconds(row.at_ms)}" if row.at_ms is not None else ""
        yield element("a", fragment.text, class_=look, href=f"#r{row.row}", title=f"{name_of(row)}{when}")
    if not colour:
        yield element("span", part.text or "(no arguments)")


def _spans(part: PartView) -> Iterator[Markup]:
    """The text in the two colours of its fragments in turn, as far as they make the text."""
    at = 0
    for n, fragment in enumerate(part.fragments):
        if not fragment.text or not part.text.startswith(fragment.text, at):
            break
        yield element("span", fragment.text, class_="f0" if n % 2 else None, data_row=fragment.row)
        at += len(fragment.text)
    yield join(part.text[at:])


def warning_cards(inspection: Inspection) -> Markup:
    """Return a card for every warning."""
    rows = _rows_of(inspection)
    return join(*(_cause(n, cause, rows) for n, cause in enumerate(inspection.warnings)))


def _cause(n: int, cause: Cause, rows: dict[int, Row]) -> Markup:
    others = [row for row in cause.rows if row != cause.row]
    where: list[str | Markup] = [_row_link(rows, cause.row), ", " if cause.row is not None else "", place_of(cause)]
    if cause.part is not None:
        where += [" · ", part_link(cause.part)]
    if others:
        where += [" · also "]
        for row in others[:12]:
            where += [_row_link(rows, row), " "]
    cut = f"\n… {cause.bytes.cut_bytes:,} more bytes" if cause.bytes.cut_bytes else ""
    return element(
        "article",
        element("h3", cause.code),
        *([element("p", cause.detail)] if cause.detail else []),
        element("p", *where, class_="soft"),
        element("pre", cause.bytes.text + cut),
        class_="card cause",
        id=f"w{n}",
        tabindex=-1,
    )
