"""What the server counts.

The rule of this file: labels are names of routes, keys, statuses and kinds, never a word of a request, so their number is bounded.
"""

from __future__ import annotations

from collections.abc import Mapping

from headrace.server.prometheus import Counter, Family, Gauge, Histogram, text_of


class Metrics:
    """Everything that is counted."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self.requests = Counter("headrace_server_requests_total", "Answers, by route, key and HTTP status.", "route", "key", "status")
        self.refusals = Counter("headrace_server_refusals_total", "Requests that were refused, by what was wrong.", "kind")
        self.faults = Counter("headrace_server_faults_total", "Faults of the server's own.")
        self.begun = Counter("headrace_server_runs_begun_total", "Runs that were begun here, by key.", "key")
        self.resumed = Counter("headrace_server_runs_resumed_total", "Answers to runs that waited, by key.", "key")
        self.events = Counter("headrace_server_events_sent_total", "Events that readers were sent.")
        self.bytes = Counter("headrace_server_stream_bytes_total", "Bytes of streams that readers were sent.")
        self.cut_off = Counter("headrace_server_readers_cut_off_total", "Readers that took nothing for too long.")
        self.open = Gauge("headrace_server_open_requests", "Requests on their way, streams included.")
        self.streams = Gauge("headrace_server_open_streams", "Streams that are open, by route.", "route")
        self.latency = Histogram("headrace_server_answer_seconds", "From a request to the head of its answer.", "route")

    def text(self, runs: Mapping[str, int] | None = None) -> bytes:
        """Return everything as Prometheus reads it.

        Args:
            runs: how many runs stand how, as the store has it now.
        """
        families: list[Family] = list(vars(self).values())
        if runs is not None:
            gauge = Gauge("headrace_server_runs", "Runs that are not over, by status, as the store has them.", "status")
            for status, count in runs.items():
                gauge.add(status, by=count)
            families.append(gauge)
        return text_of(families)
