"""The protocols that headrace speaks: for each its framing, its decoder and its encoder, and what it needs to speak it as a server.

The rule of this file: a protocol is one folder and one row here. The folder's modules load when the protocol is first used, so ten protocols
cost no more to import than one.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any, Final, Literal, Protocol, TypeAlias, cast

import msgspec

from headrace.messages.request import Request
from headrace.wire.aws_frames import AwsFrames
from headrace.wire.body import Body
from headrace.wire.decoder import WireDecoder
from headrace.wire.encoding_cache import EncodingCache
from headrace.wire.frames import Batch, Frame
from headrace.wire.http import EncodedRequest
from headrace.wire.json_array import ArrayOrBody
from headrace.wire.lines import LineBody
from headrace.wire.profile import Profile
from headrace.wire.server_side import AnswerOptions, Head, ReadRequest, Refuse, StreamOut

Framing: TypeAlias = Literal["events", "array", "lines", "binary"]


class Framer(Protocol):
    """A machine from a body's bytes to frames.

    Attributes:
        kind: what the body turned out to be: `unknown`, `events`, `json` or `other`.
        exceeded: something was larger than the bound.
    """

    exceeded: bool

    @property
    def kind(self) -> str:
        """What the body turned out to be."""
        ...

    def feed(self, data: bytes) -> list[Frame | Batch]:
        """Return the frames that these bytes complete."""
        ...

    def close(self) -> list[Frame | Batch]:
        """Return what is left when the body has ended."""
        ...

    @property
    def beginning(self) -> str:
        """The first bytes of a body that is of no known kind, for an error message."""
        ...


class Encode(Protocol):
    """A request encoder."""

    def __call__(self, request: Request, profile: Profile, *, cache: EncodingCache | None = None) -> EncodedRequest:
        """Encode a request for a server of this profile."""
        ...


class MakeStreamOut(Protocol):
    """Makes the machine that writes one answer."""

    def __call__(self, head: Head, options: AnswerOptions | None = None, *, new_id: Callable[[], str] | None = None) -> StreamOut:
        """Start an answer.

        Args:
            head: what is the same in every event.
            options: what the request asked of the form (`Incoming.options`).
            new_id: makes the ids of calls that have none.
        """
        ...


class Wire(msgspec.Struct, frozen=True, kw_only=True):
    """One protocol.

    Attributes:
        name: what callers say, such as `openai-chat`.
        folder: its room in `headrace.wire`.
        decoder: the class in its `stream_in`, or "" where there is none yet.
        encodes: whether its `request_out` has `encode_request`.
        serves: whether it is spoken as a server too: `request_in` has `read_request`, `stream_out` has `StreamOut` and `refuse`.
        framing: how its bodies are cut into frames.
        has_named_events: its decoder takes runs of events with names as `NamedBatch`.
    """

    name: str
    folder: str
    decoder: str = ""
    encodes: bool = False
    serves: bool = False
    framing: Framing = "events"
    has_named_events: bool = False

    def make_decoder(self) -> Callable[..., WireDecoder]:
        """Return the class of its decoder."""
        return cast("Callable[..., WireDecoder]", getattr(self._module("stream_in"), self.decoder))

    def make_framer(self, max_event_bytes: int) -> Framer:
        """Return a fresh framer for one body."""
        if self.framing == "binary":
            return AwsFrames(max_event_bytes=max_event_bytes)
        if self.framing == "array":
            return ArrayOrBody(max_event_bytes=max_event_bytes)
        if self.framing == "lines":
            return LineBody(max_event_bytes=max_event_bytes)
        return Body(max_event_bytes=max_event_bytes, has_names=self.has_named_events)

    def encode(self) -> Encode:
        """Return its request encoder."""
        return cast("Encode", self._module("request_out").encode_request)

    def read_request(self) -> ReadRequest:
        """Return its reader of clients' requests."""
        return cast("ReadRequest", self._module("request_in").read_request)

    def new_stream_out(self) -> MakeStreamOut:
        """Return the class that writes its answers."""
        return cast("MakeStreamOut", self._module("stream_out").StreamOut)

    def refuse(self) -> Refuse:
        """Return its writer of refusals."""
        return cast("Refuse", self._module("stream_out").refuse)

    def _module(self, name: str) -> Any:
        return importlib.import_module(f"headrace.wire.{self.folder}.{name}")


WIRES: Final = {
    wire.name: wire
    for wire in (
        Wire(name="openai-chat", folder="openai_chat", decoder="ChatDecoder", encodes=True, serves=True),
        Wire(
            name="openai-responses",
            folder="openai_responses",
            decoder="ResponsesDecoder",
            encodes=True,
            serves=True,
            has_named_events=True,
        ),
        Wire(
            name="anthropic-messages",
            folder="anthropic_messages",
            decoder="MessagesDecoder",
            encodes=True,
            serves=True,
            has_named_events=True,
        ),
        Wire(name="gemini", folder="gemini", decoder="GeminiDecoder", encodes=True, serves=True, framing="array"),
        Wire(name="gemini-interactions", folder="gemini_interactions", decoder="InteractionsDecoder", encodes=True, has_named_events=True),
        Wire(name="bedrock-converse", folder="bedrock_converse", decoder="ConverseDecoder", encodes=True, framing="binary"),
        Wire(name="bedrock-invoke", folder="bedrock_invoke", decoder="InvokeDecoder", encodes=True, framing="binary"),
        Wire(name="cohere-v2", folder="cohere_v2", decoder="CohereDecoder", encodes=True, has_named_events=True),
        Wire(name="dashscope", folder="dashscope", decoder="DashScopeDecoder", encodes=True, has_named_events=True),
        Wire(name="ollama", folder="ollama", decoder="OllamaDecoder", encodes=True, framing="lines"),
    )
}
"""Every protocol by its name."""
