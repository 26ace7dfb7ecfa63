"""The shell that asks: runs probes against an endpoint, and keeps every answer's bytes as a recording.

The rule of this file: it asks no more than it said it would, and nothing twice, but where a connection broke before any answer or the server asked
to wait; whatever ends it, what was found by then is there. What is asked next and what it shows is the probes' matter.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from headrace.errors import ConfigError, HeadraceError
from headrace.inspect.doctor.endpoint import Bounds, Endpoint
from headrace.inspect.doctor.evidence import Evidence
from headrace.inspect.doctor.faults import faults_in
from headrace.inspect.doctor.probe import Ask, Finding, Probe
from headrace.inspect.doctor.recorded import with_recording
from headrace.inspect.doctor.switches import joined
from headrace.inspect.doctor.trouble import failed_of
from headrace.io.httpx_transport import HttpTransport
from headrace.io.record import RecordTransport
from headrace.io.redact import redact
from headrace.io.retry import RetryPolicy
from headrace.io.transport import Timeouts, Transport
from headrace.messages.chunk import AssistantMessageChunk
from headrace.messages.message import AssistantMessage
from headrace.models.model import Model
from headrace.models.stream import SILENT
from headrace.providers.catalogue import PROTOCOLS
from headrace.providers.resolve import resolve
from headrace.wire.profile import Profile

_NO_RETRY: Final = RetryPolicy(max_retries=-1)
_NAME: Final = re.compile(r"[^A-Za-z0-9._-]+")
# A token is seldom longer; a server that takes no notice of the bound is not listened to for ever.
_MAX_CHARACTERS_A_TOKEN: Final = 40
_SPARE_CHARACTERS: Final = 4_000
_MAX_TEXTS: Final = 64
_MAX_WAIT_S: Final = 60.0
DEFAULT_TIMEOUTS: Final = Timeouts(connect_s=10.0, first_chunk_s=60.0, idle_s=30.0, total_s=180.0)
"""How long the doctor waits; shorter than an agent would, since its questions are small."""


class Progress(msgspec.Struct, frozen=True):
    """A probe is done: which, what it found, and how many of how many are done."""

    probe: str
    findings: tuple[Finding, ...]
    done: int
    total: int


class Examination:
    """One examination of an endpoint; `run` it once, and read `findings` at any time.

    Args:
        endpoint: what is examined.
        probes: what to find out, in order. The first one goes ahead alone: where nobody answers it, nothing else is asked, and the
            switches that it finds hold for the others.
        folder: where recordings go.
        bounds: what it may cost.
        timeouts: for each question.
        transport: carries the requests, instead of a pool of its own; it stays the caller's to close.
        on_progress: told of each probe that is done.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        probes: Sequence[Probe],
        *,
        folder: str | Path,
        bounds: Bounds = Bounds(),  # noqa: B008 - frozen
        timeouts: Timeouts = DEFAULT_TIMEOUTS,
        transport: Transport | None = None,
        on_progress: Callable[[Progress], None] | None = None,
    ) -> None:
        """Check everything; ask nothing.

        Raises:
            ConfigError: the address, the model or the protocol does not do.
        """
        self.endpoint = endpoint
        self.probes = tuple(probe for probe in probes if not probe.protocols or endpoint.protocol in probe.protocols)
        self._folder = Path(folder)
        self._bounds = bounds
        self._timeouts = timeouts
        self._transport = transport
        self._on_progress = on_progress
        self._slots = asyncio.Semaphore(bounds.side_by_side)
        self._switches: Mapping[str, Any] = {}
        self._seen: dict[str, list[Evidence]] = {}
        self._found: dict[str, tuple[Finding, ...]] = {}
        self.requests = 0
        self.tokens_allowed = 0
        self.input_tokens = 0
        self.output_tokens = 0
        self.seconds = 0.0
        self.is_nobody_there = False
        if endpoint.protocol not in PROTOCOLS:
            known = ", ".join(PROTOCOLS)
            raise ConfigError(f"there is no protocol {endpoint.protocol!r}; there are {known}", argument="protocol")
        name = endpoint.id_of(endpoint.model)
        found = resolve(name, base_url=endpoint.base_url, api_key=endpoint.api_key, environ={}, protocol=endpoint.protocol)
        self.base_profile: Profile = found.profile

    @property
    def planned_requests(self) -> int:
        """The most requests that will be sent."""
        return min(sum(len(probe.possible) for probe in self.probes), self._bounds.max_requests)

    @property
    def planned_tokens(self) -> int:
        """The most tokens that the answers may have."""
        return min(sum(probe.max_tokens for probe in self.probes), self._bounds.max_tokens)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What was found so far, in the order of the probes; then what is odd about the streams themselves."""
        found = [finding for probe in self.probes for finding in self._found.get(probe.name, ())]
        seen = [(probe.name, evidence) for probe in self.probes for evidence in self._seen.get(probe.name, ())]
        key = self.endpoint.api_key
        secrets = () if key is None else (key.reveal(),)
        # A finding may quote what the server said, and some repeat the key.
        return tuple(
            msgspec.structs.replace(one, what=redact(one.what, secrets), detail=redact(one.detail, secrets))
            for one in (*found, *faults_in(seen, self.endpoint.protocol))
        )

    @property
    def switches(self) -> dict[str, Any]:
        """The `Profile` switches with which Headrace copes, as they differ from those that it would use by itself."""
        return joined(self.findings, self.base_profile)

    @property
    def not_asked(self) -> tuple[str, ...]:
        """The probes that were not finished."""
        return tuple(probe.name for probe in self.probes if probe.name not in self._found)

    async def run(self) -> None:
        """Ask everything. Cancelled, it stops at once; what was found is kept."""
        began = time.monotonic()
        transport = HttpTransport() if self._transport is None else self._transport
        try:
            first, *rest = self.probes
            await self._examine(first, transport)
            if any(evidence.says_that_nobody_is_there for evidence in self._seen[first.name][-1:]):
                self.is_nobody_there = True
                return
            self._switches = joined(self._found[first.name], self.base_profile)
            async with asyncio.TaskGroup() as group:
                for probe in rest:
                    if not probe.is_alone:
                        group.create_task(self._examine(probe, transport))
            for probe in rest:
                if probe.is_alone:
                    await self._examine(probe, transport)
        finally:
            self.seconds = time.monotonic() - began
            if self._transport is None:
                await transport.aclose()

    async def _examine(self, probe: Probe, transport: Transport) -> None:
        seen = self._seen[probe.name] = []
        while asks := probe.then(seen):
            answers = await asyncio.gather(*(self._ask(probe, ask, transport) for ask in asks))
            seen += [answer for answer in answers if answer is not None]
            if None in answers:
                self._done(
                    probe, (Finding(level="unclear", what="Not asked: the bound on requests or tokens was reached", probe=probe.name),)
                )
                return
        self._done(probe, probe.findings(seen))

    def _done(self, probe: Probe, findings: tuple[Finding, ...]) -> None:
        self._found[probe.name] = findings
        if self._on_progress is not None:
            self._on_progress(Progress(probe.name, findings, len(self._found), len(self.probes)))

    async def _ask(self, probe: Probe, ask: Ask, transport: Transport) -> Evidence | None:
        """Ask a question; None if it would be beyond the bounds."""
        async with self._slots:
            tokens = (ask.settings.max_tokens or 0) * (ask.settings.n or 1)
            if self.requests >= self._bounds.max_requests or self.tokens_allowed + tokens > self._bounds.max_tokens:
                return None
            self.requests += 1
            self.tokens_allowed += tokens
            folder = self._folder / probe.name / _NAME.sub("-", ask.name)
            evidence = await self._read(ask, RecordTransport(transport, folder))
            wait_s = _once_more_after_s(evidence)
            if wait_s is not None and self.requests < self._bounds.max_requests:
                await asyncio.sleep(wait_s)
                self.requests += 1
                evidence = await self._read(ask, RecordTransport(transport, folder))
            self._count(evidence)
            return with_recording(evidence, folder, self.endpoint.protocol) if _was_sent(evidence) else evidence

    def _count(self, evidence: Evidence) -> None:
        usage = evidence.message.usage
        if usage is not None:
            self.input_tokens += usage.input_tokens or 0
            self.output_tokens += usage.output_tokens or 0
        if not _was_sent(evidence):
            self.requests -= 1

    async def _read(self, ask: Ask, transport: Transport) -> Evidence:
        endpoint = self.endpoint
        failed, is_left, is_runaway, pieces = None, False, False, 0
        texts: list[str] = []
        message, facts = AssistantMessage.assemble(), None
        choices: tuple[AssistantMessage, ...] = ()
        bound = (ask.settings.max_tokens or 1_000) * (ask.settings.n or 1) * _MAX_CHARACTERS_A_TOKEN + _SPARE_CHARACTERS
        try:
            model = Model(
                endpoint.id_of(ask.model or endpoint.model),
                base_url=endpoint.base_url,
                api_key=endpoint.api_key,
                profile=_profile({**self._switches, **ask.profile}),
                config={},
                environ={},
                protocol=endpoint.protocol,
                transport=transport,
                timeouts=self._timeouts,
                retry=_NO_RETRY,
            )
            stream = model.stream(
                ask.messages, tools=ask.tools, tool_choice=ask.tool_choice, output=ask.output, settings=ask.settings,
                is_streamed=ask.is_streamed,
            )  # fmt: skip
            try:
                async with stream:
                    async for item in stream:
                        size, text, said = _size(item)
                        pieces += size > 0
                        if text and len(texts) < _MAX_TEXTS:
                            texts.append(text)
                        bound -= size
                        is_runaway = bound < 0
                        is_left = is_runaway or (ask.leaves_early and said)
                        if is_left:
                            break
            finally:
                message, choices, facts = stream.message, stream.choices, stream.response
        except HeadraceError as error:
            failed = failed_of(error)
        return Evidence(
            ask=ask.name,
            message=message,
            choices=choices,
            indexes_seen=len(choices),
            failed=failed,
            status=None if facts is None else facts.status,
            text_chunks=pieces,
            text_pieces=tuple(texts),
            is_left=is_left and not is_runaway,
            is_runaway=is_runaway,
        )


def _was_sent(evidence: Evidence) -> bool:
    return evidence.failed is None or evidence.failed.kind != "unsendable"


def _once_more_after_s(evidence: Evidence) -> float | None:
    """How long to wait before a question is asked once more; None if its answer stands.

    A server may close an idle connection just when it is used again, and one that asks to wait a little is not judged for it.
    """
    failed = evidence.failed
    if failed is None:
        return None
    if failed.kind == "broken_off" and evidence.status is None:
        return 0.0
    wait_s = failed.retry_after_s if failed.kind == "busy" else None
    return wait_s if wait_s is not None and wait_s <= _MAX_WAIT_S else None


def _profile(switches: Mapping[str, Any]) -> Mapping[str, Any] | None:
    return switches or None


def _size(item: object) -> tuple[int, str, bool]:
    """How many characters a chunk adds, which text, and whether it says anything."""
    if not isinstance(item, AssistantMessageChunk):
        return 0, "", False
    text = item.text or ""
    arguments = sum(len(call.arguments) for call in item.tool_calls if isinstance(call.arguments, str))
    size = len(text) + len(item.reasoning or "") + arguments
    return size, text, any(type(delta) not in SILENT for delta in item.deltas)
