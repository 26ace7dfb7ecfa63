"""Numbers as Prometheus reads them: families of samples, told apart by labels.

The rule of this file: numbers go up by plain additions in one event loop. Whoever counts sees to it that labels are names that the
configuration or the code has, never a word of a request, so that their number is bounded.

Source: https://prometheus.io/docs/instrumenting/exposition_formats/.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Final

MEDIA_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
_BUCKETS_S: Final = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)


class Counter:
    """A number that only grows, for each set of labels."""

    kind = "counter"

    def __init__(self, name: str, help_: str, *labels: str) -> None:
        """Name it, whole, and its labels in order."""
        self.name, self.help, self._labels = name, help_, labels
        self._values: defaultdict[tuple[str, ...], float] = defaultdict(float)

    def add(self, *labels: str, by: float = 1) -> None:
        """Add to the number of these labels."""
        self._values[labels] += by

    def value(self, *labels: str) -> float:
        """Return the number of these labels."""
        return self._values.get(labels, 0)

    def lines(self) -> list[str]:
        """Return its samples."""
        return [f"{self.name}{_labels(dict(zip(self._labels, at, strict=True)))} {_number(n)}" for at, n in sorted(self._values.items())]


class Gauge(Counter):
    """A number that goes up and down."""

    kind = "gauge"


class Histogram:
    """How many measurements were at most so large, for each value of one label."""

    kind = "histogram"

    def __init__(self, name: str, help_: str, label: str) -> None:
        """Name it, whole, and its label."""
        self.name, self.help, self._label = name, help_, label
        self._counts: dict[str, list[int]] = {}
        self._sums: defaultdict[str, float] = defaultdict(float)

    def measure(self, label: str, seconds: float) -> None:
        """Take a measurement."""
        counts = self._counts.setdefault(label, [0] * (len(_BUCKETS_S) + 1))
        counts[bisect_left(_BUCKETS_S, seconds)] += 1
        self._sums[label] += seconds

    def lines(self) -> list[str]:
        """Return its samples, the buckets cumulative."""
        lines: list[str] = []
        for label, counts in sorted(self._counts.items()):
            total = 0
            for bound, count in zip((*map(str, _BUCKETS_S), "+Inf"), counts, strict=True):
                total += count
                lines.append(f"{self.name}_bucket{_labels({self._label: label, 'le': bound})} {total}")
            own = _labels({self._label: label})
            lines += [f"{self.name}_sum{own} {self._sums[label]:.6f}", f"{self.name}_count{own} {total}"]
        return lines


Family = Counter | Histogram


def text_of(families: Iterable[Family]) -> bytes:
    """Return families as Prometheus reads them."""
    lines: list[str] = []
    for family in families:
        lines += [f"# HELP {family.name} {family.help}", f"# TYPE {family.name} {family.kind}", *family.lines()]
    return ("\n".join(lines) + "\n").encode()


def _labels(labels: Mapping[str, str]) -> str:
    inner = ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items())
    return f"{{{inner}}}" if inner else ""


def _escaped(value: str) -> str:
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(value)
