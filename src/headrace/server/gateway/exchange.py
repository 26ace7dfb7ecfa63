"""What is known of one request and its answer, for the log and the counts.

The rule of this file: names, numbers and codes; no word of what was asked or answered, and no key.
"""

from __future__ import annotations

import logging
from typing import Final

import msgspec

from headrace.errors import APIError, HeadraceError, ProtocolError, TransportError
from headrace.server.gateway.metrics import Metrics
from headrace.server.gateway.repairs import NOTES, words_of

LOG: Final = logging.getLogger("headrace.gateway")
_MAX_NAME: Final = 128


class Exchange(msgspec.Struct, kw_only=True):
    """One request and what became of it; it grows while the answer does.

    Attributes:
        id: names it in the log and to the client (`x-request-id`).
        protocol: what the client speaks.
        began_s: when it came, on the clock of its gateway.
        client: whose key it brought; "" where no keys are asked for.
        model: the client's name of the model.
        upstream: who was asked last.
        status: the HTTP status; 0: nobody was answered.
        chunks: how many chunks the upstream gave.
        first_chunk_s: when the first one said something, from `began_s`; None: none did.
        counts: how often each code was said.
        refused: the repair for which a strict gateway ended the answer.
        failure: the class of the error that ended it; "" if none did.
        detail: more of the error, for the log alone.
        has_begun: whether the client was sent a part of the answer.
        has_left: whether the client left before the end.
    """

    id: str
    protocol: str
    began_s: float
    client: str = ""
    model: str = ""
    upstream: str = ""
    status: int = 0
    chunks: int = 0
    first_chunk_s: float | None = None
    counts: dict[str, int] = {}
    refused: str = ""
    failure: str = ""
    detail: str = ""
    has_begun: bool = False
    has_left: bool = False

    def fail(self, error: HeadraceError) -> None:
        """Take down the error that ended it."""
        self.failure, self.detail = type(error).__name__, detail_of(error)

    def log_line(self, total_s: float) -> str:
        """Return the exchange as one line."""
        facts = [f"id={self.id}", f"protocol={self.protocol}", f"model={_plain(self.model)}", f"status={self.status}"]
        facts += [f"{name}={value}" for name, value in (("client", self.client), ("upstream", self.upstream)) if value]
        if self.first_chunk_s is not None:
            facts.append(f"first_chunk_ms={self.first_chunk_s * 1000:.0f}")
        facts += [f"total_ms={total_s * 1000:.0f}", f"chunks={self.chunks}"]
        if said := words_of(self.counts):
            facts.append(f"repairs={said!r}")
        facts += [f"{name}={value}" for name, value in (("refused", self.refused), ("failure", self.failure)) if value]
        if self.detail:
            facts.append(f"detail={_plain(self.detail, 400)}")
        return " ".join([*facts, *(["client_left"] if self.has_left else [])])

    def report(self, metrics: Metrics, total_s: float) -> None:
        """Count it and log it: a warning where something was mended or failed."""
        metrics.requests.add(self.protocol, self.client, str(self.status))
        metrics.chunks.add(self.upstream, by=self.chunks) if self.chunks else None
        metrics.left.add(self.protocol) if self.has_left else None
        metrics.strict.add(self.upstream, self.refused) if self.refused else None
        if self.first_chunk_s is not None:
            metrics.first_chunk.measure(self.upstream, self.first_chunk_s)
        for code, count in self.counts.items():
            (metrics.notes if code in NOTES else metrics.repairs).add(self.upstream, code, by=count)
        is_odd = bool(self.failure or self.refused or self.counts.keys() - NOTES)
        LOG.log(logging.WARNING if is_odd else logging.INFO, "%s", self.log_line(total_s))


def detail_of(error: Exception) -> str:
    """Return what a log may say of an error beside its class: facts, and words of ours. A provider's words may repeat what was asked."""
    match error:
        case APIError():
            return f"{error.status or 'inside the answer'} {error.code or ''}".strip()
        case ProtocolError():
            return error.kind
        case TransportError():
            return str(error)
        case _:
            return ""


def _plain(text: str, limit: int = _MAX_NAME) -> str:
    """Return a stranger's text as one word of a line: bounded, and with nothing that could end the line or begin another."""
    return ascii(text[:limit])
