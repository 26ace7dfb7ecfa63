"""What the gateway counts.

The rule of this file: labels are names that the configuration or the code has (protocols, upstreams, clients, codes).
"""

from __future__ import annotations

from headrace.server.prometheus import Counter, Gauge, Histogram, text_of


class Metrics:
    """Everything that is counted."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self.requests = Counter("headrace_gateway_requests_total", "Answers to clients, by HTTP status.", "protocol", "client", "status")
        self.upstream_errors = Counter(
            "headrace_gateway_upstream_errors_total", "Attempts at an upstream that failed, by what failed.", "upstream", "error"
        )
        self.repairs = Counter("headrace_gateway_repairs_total", "What was mended in upstreams' streams, by code.", "upstream", "code")
        self.notes = Counter(
            "headrace_gateway_notes_total", "What could not be passed on, and other oddities, by code.", "upstream", "code"
        )
        self.strict = Counter(
            "headrace_gateway_strict_refusals_total", "Streams that were refused because they needed a repair.", "upstream", "code"
        )
        self.chunks = Counter("headrace_gateway_chunks_total", "Chunks that upstreams sent.", "upstream")
        self.bytes = Counter("headrace_gateway_sent_bytes_total", "Bytes of answers that clients were sent.", "protocol")
        self.left = Counter(
            "headrace_gateway_clients_left_total",
            "Clients that left, or took nothing for too long, before their answer was whole.",
            "protocol",
        )
        self.open = Gauge("headrace_gateway_open_requests", "Requests on their way.", "protocol")
        self.first_chunk = Histogram("headrace_gateway_first_chunk_seconds", "From a request to the first bytes of its answer.", "upstream")

    def text(self) -> bytes:
        """Return everything as Prometheus reads it."""
        return text_of(vars(self).values())
