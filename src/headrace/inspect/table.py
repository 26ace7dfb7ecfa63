"""The table of a report: a row for each event, which opens to its bytes and to what became of them. Pure."""

from __future__ import annotations

from typing import Final

from headrace.inspect.cards import part_link
from headrace.inspect.markup import Markup, element, join
from headrace.inspect.values import Inspection, Row, Said
from headrace.inspect.wording import counted, seconds

_CONTENT: Final = frozenset("text reasoning refusal tool_call tool_call_settled media part provider_tool".split())
_BAD: Final = ("error", "broken", "unfinished")
_SHOWN: Final = 70
_FILTERS: Final = (("", "All"), ("content", "Content"), ("odd", "Warnings and errors"), ("event", "Without comments"))


def table_of(inspection: Inspection) -> Markup:
    """Return the table with its filters, which appear where scripts run."""
    is_timed = inspection.is_timed
    buttons = [
        element("button", words, type="button", data_show=show, aria_pressed="false" if show else "true") for show, words in _FILTERS
    ]
    buttons += [element("button", words, type="button", data_open=to) for to, words in (("yes", "Open all"), ("no", "Close all"))]
    head = [element("th", "#", scope="col", class_="n")]
    if is_timed:
        head += [element("th", "time", scope="col", class_="n"), element("th", "gap", scope="col", class_="n wide")]
    head += [element("th", "bytes", scope="col", class_="n wide"), element("th", "what it was", scope="col")]
    stalled = {stall.row for stall in inspection.facts.stalls}
    body: list[Markup] = []
    before = -1
    for row in inspection.rows:
        if row.row != before + 1:
            missing = counted(row.row - before - 1, "row")
            body.append(element("tr", element("td", f"… {missing} not shown …", colspan=len(head)), data_is=""))
        body.append(_row(row, inspection, is_timed=is_timed, is_stalled=row.row in stalled))
        before = row.row
    return join(
        element("div", *buttons, class_="filters", role="group", aria_label="Which rows to show", hidden=True),
        element("p", "", id="shown", class_="soft", role="status"),
        element(
            "table",
            element("caption", "Each row opens to its bytes, its deltas, and the parts that they went to."),
            element("thead", element("tr", *head)),
            element("tbody", *body),
        ),
    )


def _row(row: Row, inspection: Inspection, *, is_timed: bool, is_stalled: bool) -> Markup:
    is_bad = row.kind in _BAD
    traits = [
        name
        for name, holds in (("content", any(one.type in _CONTENT for one in row.deltas)), ("odd", is_bad or bool(row.warnings)))
        if holds
    ]
    traits += ["event"] if row.kind != "comment" else []
    looks = [name for name, holds in (("error", is_bad), ("warning", not is_bad and bool(row.warnings)), ("stalled", is_stalled)) if holds]
    cells = [element("th", f"{row.event:,}" if row.event is not None else "·", scope="row", class_="n")]
    if is_timed:
        cells += [element("td", seconds(row.at_ms), class_="n"), element("td", _gap(row), class_="n wide")]
    cells += [element("td", f"{row.bytes.length:,}", class_="n wide")]
    cells.append(element("td", element("details", element("summary", _what(row)), _inside(row, inspection))))
    return element("tr", *cells, id=f"r{row.row}", class_=" ".join(looks) or None, data_is=" ".join(traits))


def _gap(row: Row) -> str:
    return "" if not row.after_ms else f"+{seconds(row.after_ms)}"


def _what(row: Row) -> Markup:
    words: list[str | Markup] = []
    if row.kind not in ("event", "end"):
        words += [element("span", row.kind, class_=f"kind {row.kind}"), " "]
    if row.name and not row.deltas:
        words += [element("span", row.name, class_="kind"), " "]
    for said in row.deltas[:3]:
        words += [element("span", said.type, class_=f"kind {said.type}"), " ", _short(said.text), "  "]
    more = len(row.deltas) + row.deltas_cut - 3
    if more > 0:
        words.append(element("span", f"+{more:,} more", class_="soft"))
    if not row.deltas:
        words.append(element("code", _short(row.bytes.text) or "nothing"))
    return element("span", *words, class_="what")


def _short(text: str) -> str:
    text = text.replace("\n", " ↵ ")
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def _inside(row: Row, inspection: Inspection) -> Markup:
    content: list[Markup] = []
    if row.bytes.length:
        last = row.bytes.offset + row.bytes.length - 1
        name = f" · named {row.name}" if row.name else ""
        content.append(element("p", f"bytes {row.bytes.offset:,} to {last:,}{name}", class_="soft"))
        cut = f"\n… {row.bytes.cut_bytes:,} more bytes" if row.bytes.cut_bytes else ""
        content.append(element("pre", row.bytes.text + cut))
    items = [_said(said) for said in row.deltas]
    if row.deltas_cut:
        items.append(element("li", counted(row.deltas_cut, "more delta")))
    content.append(element("ul", *items, class_="deltas") if items else element("p", "It added nothing to the message.", class_="soft"))
    if row.warnings:
        links = [join(" ", element("a", inspection.warnings[n].code, href=f"#w{n}")) for n in row.warnings]
        content.append(element("p", "warnings:", *links))
    return element("div", *content)


def _said(said: Said) -> Markup:
    where: list[str | Markup] = [" → ", part_link(said.part)] if said.part is not None else [" → void"] if said.is_void else []
    return element("li", element("span", said.type, class_=f"kind {said.type}"), " ", element("code", said.text), *where)
