"""The plot of a report: how bytes and content grew, what came when, and where it was silent. Pure.

The rule of this file: one drawing in plain SVG, without styles of its own; it says in words what it shows.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from headrace.inspect.markup import Markup, element, join, void
from headrace.inspect.plot import KINDS
from headrace.inspect.values import Inspection, Point
from headrace.inspect.wording import counted, seconds, size

_WIDTH: Final = 960
_HEIGHT: Final = 260
_LEFT: Final = 70
_RIGHT: Final = 890
_TOP: Final = 26
_BOTTOM: Final = 176
_STRIP: Final = (190, 214)
_LABELS: Final = 5
_NAMES: Final = {
    "text": "text",
    "reasoning": "reasoning",
    "call": "tool call",
    "warning": "with a warning",
    "error": "error",
    "comment": "comment",
    "other": "other",
}


class _Scale:
    """From values to places."""

    def __init__(self, points: tuple[Point, ...], *, is_timed: bool) -> None:
        first = 0.0 if is_timed else points[0].x
        self.first, self.last = first, max(points[-1].x, first + 1)
        self.bytes = max(1, points[-1].bytes)
        self.characters = max(1, points[-1].characters)

    def x(self, value: float) -> float:
        return round(_LEFT + (value - self.first) / (self.last - self.first) * (_RIGHT - _LEFT), 1)

    @staticmethod
    def y(part: float) -> float:
        return round(_BOTTOM - part * (_BOTTOM - _TOP), 1)


def plot_of(inspection: Inspection) -> Markup:
    """Return the plot with its legend; nothing for a stream without rows."""
    points = inspection.plot
    if not points:
        return Markup("")
    scale = _Scale(points, is_timed=inspection.is_timed)
    drawing = element(
        "svg",
        element("title", "When the stream's bytes and its content came", id="plot-title"),
        element("desc", _in_words(inspection), id="plot-desc"),
        *_stalls(inspection, scale),
        *_axes(inspection, scale),
        void("polyline", class_="bytes-line", points=_line(points, scale, "bytes")),
        void("polyline", class_="content-line", points=_line(points, scale, "characters")),
        *_ticks(inspection, scale),
        role="img",
        aria_labelledby="plot-title plot-desc",
        viewBox=f"0 0 {_WIDTH} {_HEIGHT}",
    )
    frame = element(
        "div", drawing, class_="plot", tabindex=0, role="group", aria_label="Plot of arrival; scrolls sideways on narrow screens"
    )
    return join(frame, _legend(points))


def _in_words(inspection: Inspection) -> str:
    facts = inspection.facts
    words = f"{counted(facts.events, 'event')}, {size(facts.bytes)}, {counted(facts.characters, 'character')} of content"
    if not inspection.is_timed:
        return f"{words}; times are not known, so rows stand in their order."
    words += f" in {seconds(facts.duration_ms)}; the first content after {seconds(facts.first_content_ms)}"
    return f"{words}; {counted(facts.stalls_count, 'stall')}." if facts.stalls_count else f"{words}."


def _line(points: tuple[Point, ...], scale: _Scale, what: str) -> str:
    """A line of steps: what had come holds until more comes."""
    most = scale.bytes if what == "bytes" else scale.characters
    places = [f"{scale.x(scale.first)},{scale.y(0)}"]
    height = scale.y(0)
    for point in points:
        x = scale.x(point.x)
        places.append(f"{x},{height}")
        height = scale.y((point.bytes if what == "bytes" else point.characters) / most)
        places.append(f"{x},{height}")
    return " ".join(places)


def _axes(inspection: Inspection, scale: _Scale) -> Iterator[Markup]:
    yield void("line", class_="axis", x1=_LEFT, x2=_RIGHT, y1=_BOTTOM, y2=_BOTTOM)
    yield void("line", class_="axis", x1=_LEFT, x2=_LEFT, y1=_TOP, y2=_BOTTOM)
    yield void("line", class_="axis", x1=_RIGHT, x2=_RIGHT, y1=_TOP, y2=_BOTTOM)
    yield element("text", f"{scale.bytes:,}", class_="end", x=_LEFT - 6, y=_TOP + 10)
    yield element("text", "bytes", class_="end", x=_LEFT - 6, y=_TOP + 26)
    yield element("text", f"{scale.characters:,}", x=_RIGHT + 6, y=_TOP + 10)
    yield element("text", "chars", x=_RIGHT + 6, y=_TOP + 26)
    yield element("text", "rows", class_="end", x=_LEFT - 6, y=_STRIP[1] - 6)
    for n in range(_LABELS + 1):
        value = scale.first + (scale.last - scale.first) * n / _LABELS
        x = scale.x(value)
        label = seconds(value) if inspection.is_timed else f"row {value:,.0f}"
        yield void("line", class_="axis", x1=str(x), x2=str(x), y1=_BOTTOM, y2=_BOTTOM + 5)
        yield element("text", "0 s" if inspection.is_timed and n == 0 else label, class_="middle", x=str(x), y=_STRIP[1] + 26)
    first = inspection.facts.first_content_ms
    if inspection.is_timed and first is not None:
        x = scale.x(first)
        yield void("line", class_="first-line", x1=str(x), x2=str(x), y1=_TOP, y2=_BOTTOM)
        yield element("text", f"first content {seconds(first)}", x=str(min(x, _RIGHT - 150)), y=_TOP - 10)


def _stalls(inspection: Inspection, scale: _Scale) -> Iterator[Markup]:
    for stall in inspection.facts.stalls:
        x, end = scale.x(stall.began_ms), scale.x(stall.began_ms + stall.took_ms)
        yield void("rect", class_="stall", x=str(x), y=_TOP, width=str(round(end - x, 1)), height=_STRIP[1] - _TOP)
        if end - x > 44:
            yield element("text", seconds(stall.took_ms), class_="stall-label middle", x=str(round((x + end) / 2, 1)), y=_BOTTOM - 8)


def _ticks(inspection: Inspection, scale: _Scale) -> Iterator[Markup]:
    rows = {row.row for row in inspection.rows}
    for point in inspection.plot:
        top = _STRIP[0] + (0 if point.kind in ("warning", "error") else 6)
        note = counted(point.count, "row") + f", {_NAMES[point.kind]}" + (f", {seconds(point.x)}" if inspection.is_timed else "")
        yield element(
            "rect",
            element("title", note),
            class_=f"tick t-{point.kind}",
            x=str(round(scale.x(point.x) - 1, 1)),
            y=top,
            width=2 if point.kind not in ("warning", "error") else 3,
            height=_STRIP[1] - top,
            data_row=point.row if point.row in rows else None,
        )


def _legend(points: tuple[Point, ...]) -> Markup:
    lines = [("bytes-line", "bytes so far"), ("content-line", "characters of content so far")]
    items = [_item(void("line", class_=kind, x1=0, x2=20, y1=6, y2=6), words) for kind, words in lines]
    there = {point.kind for point in points}
    items += [_item(void("rect", class_=f"t-{kind}", width=12, height=12, x=4), _NAMES[kind]) for kind in reversed(KINDS) if kind in there]
    return element("ul", *items, class_="legend")


def _item(mark: Markup, words: str) -> Markup:
    return element("li", element("svg", mark, viewBox="0 0 20 12", aria_hidden="true"), " ", words)
