"""What the server counts, as Prometheus reads it.

The rule of this file: labels are names of routes, keys, statuses and kinds, never a word of a request, so their number is bounded.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeVar

from headrace.server.gateway.metrics import MEDIA_TYPE, Counter, Gauge, Histogram

__all__ = ["MEDIA_TYPE", "Metrics"]
_PREFIX: Final = "headrace_server_"
_Family = TypeVar("_Family", Counter, Gauge, Histogram)


def _named(name: str, family: _Family) -> _Family:
    family.name = _PREFIX + name
    return family


class Metrics:
    """Everything that is counted."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self.requests = _named("requests_total", Counter("", "Answers, by route, key and HTTP status.", "route", "key", "status"))
        self.refusals = _named("refusals_total", Counter("", "Requests that were refused, by what was wrong.", "kind"))
        self.faults = _named("faults_total", Counter("", "Faults of the server's own."))
        self.begun = _named("runs_begun_total", Counter("", "Runs that were begun here, by key.", "key"))
        self.resumed = _named("runs_resumed_total", Counter("", "Answers to runs that waited, by key.", "key"))
        self.events = _named("events_sent_total", Counter("", "Events that readers were sent."))
        self.bytes = _named("stream_bytes_total", Counter("", "Bytes of streams that readers were sent."))
        self.cut_off = _named("readers_cut_off_total", Counter("", "Readers that took nothing for too long."))
        self.open = _named("open_requests", Gauge("", "Requests on their way, streams included."))
        self.streams = _named("open_streams", Gauge("", "Streams that are open, by route.", "route"))
        self.latency = _named("answer_seconds", Histogram("", "From a request to the head of its answer.", "route"))
        self._families = dict(vars(self))

    def text(self, runs: Mapping[str, int] | None = None) -> bytes:
        """Return everything as Prometheus reads it.

        Args:
            runs: how many runs stand how, as the store has it now.
        """
        families = list(self._families.values())
        if runs is not None:
            gauge = _named("runs", Gauge("", "Runs that are not over, by status, as the store has them.", "status"))
            for status, count in runs.items():
                gauge.add(status, by=count)
            families.append(gauge)
        lines: list[str] = []
        for family in families:
            lines += [f"# HELP {family.name} {family.help}", f"# TYPE {family.name} {family.kind}", *family.lines()]
        return ("\n".join(lines) + "\n").encode()
