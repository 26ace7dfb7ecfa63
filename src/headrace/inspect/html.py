"""The report as one HTML file that holds everything it needs. Pure.

The rule of this file: it opens without a network, reads well without scripts, and whatever the stream held is text in it.
"""

from __future__ import annotations

from headrace.inspect.cards import message_cards, warning_cards
from headrace.inspect.drawing import plot_of
from headrace.inspect.markup import Markup, asset, element, join, page
from headrace.inspect.table import table_of
from headrace.inspect.values import Inspection
from headrace.inspect.wording import counted, error_of, facts_of, finish_of, usage_of


def html_report(inspection: Inspection) -> str:
    """Return the page."""
    title = f"{inspection.source or 'a stream'} · headrace inspect"
    return page(
        title=title, body=join(_header(inspection), _main(inspection), _footer()), style=asset("report.css"), script=asset("report.js")
    )


def _header(inspection: Inspection) -> Markup:
    error = error_of(inspection)
    warnings = inspection.facts.warnings
    pills = [element("li", inspection.protocol, class_="pill")]
    if inspection.status is not None:
        pills.append(element("li", f"HTTP {inspection.status}", class_="pill"))
    pills.append(element("li", "failed" if error else "whole", class_=f"pill {'error' if error else 'good'}"))
    pills.append(element("li", counted(warnings, "warning"), class_=f"pill {'warning' if warnings else 'good'}"))
    notes = element("ul", *(element("li", note) for note in inspection.notes), class_="notes") if inspection.notes else Markup("")
    return element(
        "header",
        element("a", "Skip to the message", class_="skip", href="#message"),
        element("p", "headrace inspect", class_="soft"),
        element("h1", inspection.source or "A stream"),
        element("ul", *pills, class_="pills"),
        notes,
    )


def _main(inspection: Inspection) -> Markup:
    facts = [element("div", element("dt", name), element("dd", value)) for name, value in _facts(inspection)]
    sections = [
        _section("facts", "Facts", element("dl", *facts, class_="facts")),
        _section("arrival", "Arrival", join(plot_of(inspection), _untimed(inspection))),
        _section("message", "Message", join(_error(inspection), message_cards(inspection))),
    ]
    if inspection.warnings:
        sections.append(_section("warnings", "Warnings", warning_cards(inspection)))
    sections.append(_section("rows", "Events", table_of(inspection)))
    return element("main", *sections)


def _facts(inspection: Inspection) -> list[tuple[str, str]]:
    usage = usage_of(inspection)
    return [*facts_of(inspection), ("finish", finish_of(inspection)), *([("usage", usage)] if usage else [])]


def _untimed(inspection: Inspection) -> Markup:
    words = "When the bytes came is not known, so rows stand in their order."
    return Markup("") if inspection.is_timed else element("p", words, class_="soft")


def _error(inspection: Inspection) -> Markup:
    error = error_of(inspection)
    if not error:
        return Markup("")
    return element("article", element("h3", "The stream failed"), element("p", error), class_="card failed")


def _section(name: str, title: str, content: Markup) -> Markup:
    return element("section", element("h2", title, id=f"{name}-title"), content, id=name, aria_labelledby=f"{name}-title", tabindex=-1)


def _footer() -> Markup:
    return element("footer", element("p", "Offsets count bytes of the body from 0. Times count from the sending of the request."))
