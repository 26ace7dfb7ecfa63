"""Decoding of streams that the caller has: bytes in, chunks and a message out (DESIGN 7).

The rule of this file: it never raises for what a peer sent; what went wrong is in `StreamResult.error`. Only wrong use raises, and an
exception from the caller's own iterable passes through.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Mapping
from typing import Any, Final, TypeAlias

import msgspec

from headrace._json import JSON, JSONError, loads
from headrace.errors import StateError, UnsupportedError, UsageError
from headrace.messages.chunk import AssistantMessageChunk
from headrace.messages.deltas import StreamError
from headrace.messages.message import AssistantMessage
from headrace.messages.warning import Warning  # noqa: A004 - the field's word
from headrace.messages.summary import summary_of
from headrace.wire.decoder import DecodeOptions, WireDecoder
from headrace.wire.error_in import stream_error
from headrace.wire.body import Body
from headrace.wire.limits import Limits
from headrace.wire.openai_chat.stream_in import ChatDecoder

NewId: TypeAlias = Callable[[], str]
_DECODERS: Final[dict[str, Callable[..., WireDecoder]]] = {"openai-chat": ChatDecoder}
PROTOCOLS: Final = (
    *("openai-chat", "openai-responses", "anthropic-messages", "gemini", "gemini-interactions"),
    *("bedrock-converse", "bedrock-invoke", "cohere-v2", "dashscope", "ollama"),
)
"""Every protocol's name; the decoders that exist today are `SUPPORTED`."""
SUPPORTED: Final = tuple(_DECODERS)
_FIRST_ERROR: Final = 400
_MAX_ERROR_BODY: Final = 1024 * 1024


class StreamResult(msgspec.Struct, frozen=True, kw_only=True):
    """What a stream came to.

    Attributes:
        message: choice 0; what had arrived, where the stream failed.
        choices: the messages of all choices, by index; choice 0 included.
        indexes: the wire's index of each choice.
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
    """A machine from bytes to chunks.

    Example:
        >>> decoder = StreamDecoder(protocol="openai-chat")
        >>> for chunk in decoder.feed(b'data: {"choices":[{"delta":{"content":"Hello"},"finish_reason":"stop"}]}\\n\\n'):
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
            content_type: the header, if known; the body itself decides, so it is used in words only.
            status: the HTTP status; from 400 on the body is an error.
            limits: bounds; see `Limits`.
            new_id: makes the call ids that the wire lacks; default `call_1`, `call_2`, … unique in the message.

        Raises:
            UsageError: an argument is unknown or does not fit.
        """
        make = _decoder(protocol)
        self._limits = Limits.of(limits)
        self._decoder = make(limits=self._limits, options=_options(options), provider=_name("provider", provider))
        self._body = Body(max_event_bytes=self._limits.max_event_bytes)
        self._content_type = _name("content_type", content_type) or ""
        if type(status) is not int:
            raise UsageError(f"status is {status!r}, no whole number", argument="status")
        self._status = status
        self._new_id = new_id
        self._total = 0
        self._error_body: list[bytes] = []
        self._is_closed = False
        self._result: StreamResult | None = None

    def feed(self, data: bytes) -> list[AssistantMessageChunk]:
        """Return the chunks that these bytes complete, one for each event that added something.

        Raises:
            StateError: the decoder is closed.
            UsageError: the data are not bytes.
        """
        if self._is_closed:
            raise StateError("feed() came after close()")
        if type(data) is not bytes:
            if not isinstance(data, (bytes, bytearray, memoryview)):
                raise UsageError(f"feed() takes bytes, not {type(data).__name__}", argument="data")
            data = bytes(data)
        self._total += len(data)
        if self._status >= _FIRST_ERROR:
            if self._total <= _MAX_ERROR_BODY:
                self._error_body.append(data)
            return []
        if self._total > self._limits.max_total_bytes:
            data = data[: max(0, len(data) - (self._total - self._limits.max_total_bytes))]
        chunks = self._decoder.feed(self._body.feed(data))
        if self._body.exceeded:
            self._exceed("event_bytes", self._limits.max_event_bytes)
        elif self._total > self._limits.max_total_bytes:
            self._exceed("total_bytes", self._limits.max_total_bytes)
        return chunks

    def _exceed(self, which: str, limit: int) -> None:
        self._decoder.output.kill(StreamError("limit_exceeded", f"more than {limit} {which}", which=which))

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
            self._decoder.output.fail(self._http_error())
            return self._decoder.close("events", complete=complete)
        chunks = self._decoder.feed(self._body.close())
        return chunks + self._decoder.close(self._body.kind, complete=complete)

    def _http_error(self) -> StreamError:
        body = b"".join(self._error_body)
        try:
            value: JSON = loads(body)
        except JSONError:
            value = body.decode("utf-8", "replace").strip()
        return stream_error(value or f"HTTP status {self._status}", status=self._status)

    @property
    def result(self) -> StreamResult:
        """What has come so far; before `close()` it is a snapshot, in which nothing is runnable."""
        if self._result is not None:
            return self._result
        fold = self._decoder.output.fold
        messages = fold.messages(new_id=self._new_id)
        indexes = tuple(sorted(fold.choices)) or (0,)
        first = messages[indexes.index(0)] if 0 in indexes else fold.message(new_id=self._new_id)
        result = StreamResult(message=first, choices=messages, indexes=indexes, error=self._decoder.output.error)
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
    """Decode a whole body; the arguments are those of `StreamDecoder`.

    Args:
        body: the bytes, or an iterable of pieces of them, cut anywhere.

    Raises:
        UsageError: an argument is unknown or does not fit. What a peer sent never raises: see `StreamResult.error`.
    """
    decoder = StreamDecoder(
        protocol=protocol, provider=provider, options=options, content_type=content_type, status=status, limits=limits, new_id=new_id
    )
    if isinstance(body, str):
        raise UsageError("body is text; decode_stream takes bytes", argument="body")
    for piece in [body] if isinstance(body, (bytes, bytearray, memoryview)) else body:
        decoder.feed(piece)
    decoder.close()
    return decoder.result


async def decode_async(
    body: AsyncIterable[bytes] | Iterable[bytes],
    *,
    protocol: str,
    provider: str | None = None,
    options: DecodeOptions | Mapping[str, Any] | None = None,
    content_type: str | None = None,
    status: int = 200,
    limits: Limits | Mapping[str, Any] | None = None,
    new_id: NewId | None = None,
) -> AsyncIterator[AssistantMessageChunk]:
    """Give the chunks of a body that arrives asynchronously, for people who bring their own HTTP client.

    The sum of the chunks is the message; the last chunk says how the stream ended.
    """
    decoder = StreamDecoder(
        protocol=protocol, provider=provider, options=options, content_type=content_type, status=status, limits=limits, new_id=new_id
    )
    if isinstance(body, AsyncIterable):
        async for piece in body:
            for chunk in decoder.feed(piece):
                yield chunk
    else:
        for piece in body:
            for chunk in decoder.feed(piece):
                yield chunk
    for chunk in decoder.close():
        yield chunk


def _decoder(protocol: str) -> Callable[..., WireDecoder]:
    make = _DECODERS.get(protocol)
    if make is not None:
        return make
    if protocol in PROTOCOLS:
        raise UnsupportedError(f"protocol {protocol!r} has no decoder yet; there is one for {', '.join(SUPPORTED)}", argument="protocol")
    raise UsageError(f"there is no protocol {protocol!r}; the protocols are {', '.join(PROTOCOLS)}", argument="protocol")


def _options(value: DecodeOptions | Mapping[str, Any] | None) -> DecodeOptions:
    if value is None:
        return DecodeOptions()
    if isinstance(value, DecodeOptions):
        return value
    for name, setting in value.items():
        if name not in DecodeOptions.__struct_fields__:
            known = ", ".join(DecodeOptions.__struct_fields__)
            raise UsageError(f"there is no option {name!r}; the options are {known}", argument=f"options.{name}")
        if type(setting) is not bool:
            raise UsageError(f"option {name} is {setting!r}; it is True or False", argument=f"options.{name}")
    return DecodeOptions(**value)


def _name(argument: str, value: object) -> str | None:
    if value is None or isinstance(value, str):
        return value
    raise UsageError(f"{argument} is a {type(value).__name__}, not text", argument=argument)
