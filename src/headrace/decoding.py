"""Decoding of streams that the caller has: bytes in, chunks and a message out (DESIGN 7).

The rule of this file: it never raises for what a peer sent; what went wrong is in `StreamResult.error`. Only wrong use raises, and an
exception from the caller's own iterable passes through.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterable, Callable, Iterable, Mapping
from typing import Any, Final, TypeAlias

import msgspec

from headrace.errors import StateError, UnsupportedError, UsageError, UsageTypeError
from headrace.messages.chunk import AssistantMessageChunk
from headrace.messages.deltas import StreamError
from headrace.messages.message import AssistantMessage
from headrace.messages.summary import summary_of
from headrace.messages.warning import Warning  # noqa: A004 - the field's word
from headrace.wire.error_in import MAX_ERROR_BODY, http_error
from headrace.wire.frames import Batch, Frame
from headrace.wire.limits import Limits
from headrace.wire.options import DecodeOptions
from headrace.wire.protocols import WIRES, Wire

NewId: TypeAlias = Callable[[], str]
PROTOCOLS: Final = tuple(WIRES)
"""Every protocol's name; those that can be decoded today are `SUPPORTED`."""
SUPPORTED: Final = tuple(wire.name for wire in WIRES.values() if wire.decoder)
_FIRST_ERROR: Final = 400
_BYTES: Final = (bytes, bytearray, memoryview)


class StreamResult(msgspec.Struct, frozen=True, kw_only=True):
    """What a stream came to.

    Attributes:
        message: choice 0; what had arrived, where the stream failed.
        choices: the messages of all choices, by index; choice 0 is always there.
        indexes: the wire's index of each choice; 0 comes first.
        error: why the stream failed, or None.
    """

    message: AssistantMessage
    choices: tuple[AssistantMessage, ...]
    indexes: tuple[int, ...]
    error: StreamError | None

    @property
    def warnings(self) -> tuple[Warning, ...]:
        """What was repaired or odd, over all choices."""
        return tuple(warning for message in self.choices for warning in message.warnings)

    def summary(self) -> dict[str, Any]:
        """Return the result as a JSON-ready dictionary; its keys are DESIGN 7's."""
        return summary_of(self.message, self.choices, self.indexes, self.error)


class StreamDecoder:
    r"""A machine from bytes to chunks.

    Example:
        >>> decoder = StreamDecoder(protocol="openai-chat")
        >>> for chunk in decoder.feed(b'data: {"choices":[{"delta":{"content":"Hello"},"finish_reason":"stop"}]}\n\n'):
        ...     print(chunk.text)
        Hello
        >>> _ = decoder.close()
        >>> decoder.result.message.text
        'Hello'
    """

    def __init__(
        self,
        *,
        protocol: str,
        provider: str | None = None,
        options: DecodeOptions | Mapping[str, Any] | None = None,
        content_type: str | None = None,
        status: int = 200,
        limits: Limits | Mapping[str, Any] | None = None,
        new_id: NewId | None = None,
    ) -> None:
        """Start before the first byte.

        Args:
            protocol: which wire; one of `PROTOCOLS`.
            provider: whose stream it is, if known; it becomes the message's `provider`.
            options: what to switch on; see `DecodeOptions`.
            content_type: the header, if known; the body itself decides what it is, so the header is only quoted in errors.
            status: the HTTP status; from 400 on the body is an error.
            limits: bounds; see `Limits`.
            new_id: makes the call ids that the wire lacks; default `call_1`, `call_2`, … unique in the message.

        Raises:
            UsageError: an argument is unknown or does not fit.
        """
        wire = _wire(protocol)
        self._limits = Limits.of(limits)
        self._decoder = wire.make_decoder()(limits=self._limits, options=DecodeOptions.of(options), provider=_name("provider", provider))
        self._body = wire.make_framer(self._limits.max_event_bytes)
        self._content_type = _name("content_type", content_type) or ""
        if type(status) is not int:
            raise UsageError(f"status is {status!r}, no whole number", argument="status")
        if new_id is not None and not callable(new_id):
            raise UsageError(f"new_id is a {type(new_id).__name__}, which cannot be called", argument="new_id")
        self._status = status
        self._new_id = new_id
        self._total = 0
        self._error_body = bytearray()
        self._is_closed = False
        self._is_over = False
        self._result: StreamResult | None = None

    def feed(self, data: bytes | bytearray | memoryview) -> list[AssistantMessageChunk]:
        """Return the chunks that these bytes complete, one for each event that added something.

        Raises:
            StateError: the decoder is closed.
            UsageError: the data are not bytes.
        """
        if self._is_closed:
            raise StateError("feed() came after close()")
        if type(data) is not bytes:
            if not isinstance(data, _BYTES):
                raise UsageTypeError(f"feed() takes bytes, not {type(data).__name__}", argument="data")
            data = bytes(data)
        if self._is_over:
            return []
        if self._status >= _FIRST_ERROR:
            self._error_body += data[: MAX_ERROR_BODY - len(self._error_body)]
            return []
        self._total += len(data)
        too_many = self._total - self._limits.max_total_bytes
        frames = self._body.feed(data if too_many <= 0 else data[:-too_many])
        chunks = self._feed_frames(frames) if frames else []
        if (self._body.exceeded or too_many > 0) and not self._is_over:
            which = "event_bytes" if self._body.exceeded else "total_bytes"
            self._decoder.output.exceed(which, getattr(self._limits, f"max_{which}"))
            self._is_over = True
        return chunks

    def _feed_frames(self, frames: list[Frame | Batch]) -> list[AssistantMessageChunk]:
        decoder = self._decoder
        chunks = decoder.feed(frames)
        self._is_over = decoder.is_done or decoder.output.is_dead
        return chunks

    @property
    def is_over(self) -> bool:
        """Whether nothing that still comes can change the message: the wire's terminator came, or the stream is broken beyond repair."""
        return self._is_over

    @property
    def error(self) -> StreamError | None:
        """Why the stream failed, as far as it is known by now, or None."""
        return self._decoder.output.error

    @property
    def is_broken(self) -> bool:
        """Whether the stream is broken beyond repair: an event that is none, a limit that was passed."""
        return self._decoder.output.is_dead

    def close(self, complete: bool = True) -> list[AssistantMessageChunk]:  # noqa: FBT001, FBT002 - the contract's signature
        """End the stream; returns the last chunks, of which the very last says how it ended.

        Args:
            complete: False if the transport broke off; then only a terminator makes the message whole.

        Raises:
            StateError: it is closed already.
        """
        if self._is_closed:
            raise StateError("close() came twice")
        self._is_closed = True
        if self._status >= _FIRST_ERROR:
            self._decoder.output.fail(http_error(self._status, bytes(self._error_body)))
            return self._decoder.close("events", complete=complete)
        chunks = [] if self._is_over else self._feed_frames(self._body.close())
        if self._body.kind == "other":
            self._decoder.output.fail(StreamError("not_event_stream", self._what_it_is()))
        return chunks + self._decoder.close(self._body.kind, complete=complete)

    def _what_it_is(self) -> str:
        quoted = f" (Content-Type {self._content_type!r})" if self._content_type else ""
        return f"the body is neither an event stream nor JSON{quoted}; it begins with {self._body.beginning!r}"

    @property
    def result(self) -> StreamResult:
        """What has come so far; before `close()` it is a snapshot, in which nothing is runnable."""
        if self._result is not None:
            return self._result
        fold = self._decoder.output.fold
        indexes = tuple(sorted({0, *fold.choices}))
        messages = tuple(fold.message(choice=index, new_id=self._new_id) for index in indexes)
        result = StreamResult(message=messages[0], choices=messages, indexes=indexes, error=self._decoder.output.error)
        if self._is_closed:
            self._result = result
        return result


def decode_stream(
    body: bytes | Iterable[bytes],
    *,
    protocol: str,
    provider: str | None = None,
    options: DecodeOptions | Mapping[str, Any] | None = None,
    content_type: str | None = None,
    status: int = 200,
    limits: Limits | Mapping[str, Any] | None = None,
    new_id: NewId | None = None,
) -> StreamResult:
    """Decode a whole body.

    Args:
        body: the bytes, or an iterable of pieces of them, cut anywhere.
        protocol: as for `StreamDecoder`.
        provider: as for `StreamDecoder`.
        options: as for `StreamDecoder`.
        content_type: as for `StreamDecoder`.
        status: as for `StreamDecoder`.
        limits: as for `StreamDecoder`.
        new_id: as for `StreamDecoder`.

    Raises:
        UsageError: an argument is unknown or does not fit. What a peer sent never raises: see `StreamResult.error`.
    """
    decoder = StreamDecoder(
        protocol=protocol, provider=provider, options=options, content_type=content_type, status=status, limits=limits, new_id=new_id
    )
    for piece in _pieces(body):
        decoder.feed(piece)
    decoder.close()
    return decoder.result


def decode_async(
    body: AsyncIterable[bytes] | Iterable[bytes],
    *,
    protocol: str,
    provider: str | None = None,
    options: DecodeOptions | Mapping[str, Any] | None = None,
    content_type: str | None = None,
    status: int = 200,
    limits: Limits | Mapping[str, Any] | None = None,
    new_id: NewId | None = None,
) -> AsyncGenerator[AssistantMessageChunk, None]:
    """Give the chunks of a body that arrives asynchronously, for people who bring their own HTTP client.

    The sum of the chunks is the message; the last chunk says how the stream ended.

    Args:
        body: an asynchronous iterable of pieces, cut anywhere; what `decode_stream` takes is taken too.
        protocol: as for `StreamDecoder`.
        provider: as for `StreamDecoder`.
        options: as for `StreamDecoder`.
        content_type: as for `StreamDecoder`.
        status: as for `StreamDecoder`.
        limits: as for `StreamDecoder`.
        new_id: as for `StreamDecoder`.

    Raises:
        UsageError: an argument is unknown or does not fit; at once, not at the first chunk.
    """
    decoder = StreamDecoder(
        protocol=protocol, provider=provider, options=options, content_type=content_type, status=status, limits=limits, new_id=new_id
    )
    return _chunks(decoder, body if isinstance(body, AsyncIterable) else _each(_pieces(body)))


async def _chunks(decoder: StreamDecoder, pieces: AsyncIterable[bytes]) -> AsyncGenerator[AssistantMessageChunk, None]:
    async for piece in pieces:
        for chunk in decoder.feed(piece):
            yield chunk
    for chunk in decoder.close():
        yield chunk


async def _each(pieces: Iterable[bytes]) -> AsyncGenerator[bytes, None]:
    for piece in pieces:
        yield piece


def _pieces(body: bytes | Iterable[bytes]) -> Iterable[bytes]:
    """Return the body as pieces of bytes; an exception of the caller's own iterable passes through."""
    if isinstance(body, _BYTES):
        return [bytes(body)]
    if isinstance(body, str) or not isinstance(body, Iterable):
        hint = "; decode_async takes asynchronous ones" if isinstance(body, AsyncIterable) else ""
        raise UsageTypeError(f"body is a {type(body).__name__}, not bytes or an iterable of bytes{hint}", argument="body")
    return body


def _wire(protocol: str) -> Wire:
    wire = WIRES.get(protocol) if isinstance(protocol, str) else None
    if wire is None:
        raise UsageError(f"there is no protocol {protocol!r}; the protocols are {', '.join(PROTOCOLS)}", argument="protocol")
    if not wire.decoder:
        raise UnsupportedError(f"protocol {protocol!r} has no decoder yet; there is one for {', '.join(SUPPORTED)}", argument="protocol")
    return wire


def _name(argument: str, value: object) -> str | None:
    if value is None or isinstance(value, str):
        return value
    raise UsageTypeError(f"{argument} is a {type(value).__name__}, not text", argument=argument)
