"""Messages as JSON: one, many, and stored documents that say which version wrote them.

The rule of this file: what decodes encodes to equal JSON, our own output byte for byte; decoding makes up nothing (an id
or a time that is missing stays None); what it cannot read it refuses with the path. Unknown fields are ignored, unknown
types of parts are kept and written back unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, cast

import msgspec

from headrace._json import EMPTY, JSON, MAX_DEPTH, dumps, freeze
from headrace.errors import SchemaVersionError, UsageError
from headrace.messages.json_form import ENVELOPE_DEPTH, many_to_json, parse, to_json
from headrace.messages.message import READER, Message

SCHEMA_VERSION: Final = 1
"""The version of stored documents that is written. It grows when an old reader would misread a new document."""


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """A stored conversation.

    Attributes:
        schema_version: the version that it was written in, before it was brought up to date.
        messages: the messages, oldest first.
        metadata: JSON of the caller's own.
    """

    schema_version: int
    messages: tuple[Message, ...]
    metadata: dict[str, Any] = EMPTY


def encode_message(message: Message) -> bytes:
    """Return a message as compact JSON.

    Raises:
        UsageError: it is no message.
    """
    return to_json(_message(message, "message"))


def decode_message(data: bytes | str | Mapping[str, JSON]) -> Message:
    """Read a message of any role, from JSON text or its dictionary.

    Raises:
        UsageError: it is no message; the error names the path, such as `message.parts[0].text`.
    """
    return READER.one_from(data) if isinstance(data, Mapping) else READER.read(data)


def encode_messages(messages: Iterable[Message]) -> bytes:
    """Return messages as a JSON list."""
    return many_to_json([_message(message, f"messages[{n}]") for n, message in enumerate(messages)])


def decode_messages(data: bytes | str | Sequence[Mapping[str, JSON]]) -> tuple[Message, ...]:
    """Read a list of messages, from JSON text or a list of dictionaries.

    Raises:
        UsageError: one of them is no message; the error names the path, such as `messages[3].parts[0].text`.
    """
    return READER.many_from(data) if isinstance(data, (list, tuple)) else READER.read_many(data)


def encode_document(messages: Iterable[Message], *, metadata: Mapping[str, JSON] | None = None) -> bytes:
    """Return a conversation as a document of the current version.

    Raises:
        UsageError: one of them is no message, or the metadata is no JSON.
    """
    about = _metadata({} if metadata is None else metadata)
    head = b'{"schema_version":%d,"messages":%b' % (SCHEMA_VERSION, encode_messages(messages))
    return head + (b',"metadata":' + dumps(about) if about else b"") + b"}"


def decode_document(data: bytes | str | Mapping[str, JSON] | Sequence[Mapping[str, JSON]]) -> Document:
    """Read a document of this version or of an earlier one, brought up to date.

    Raises:
        SchemaVersionError: a newer version wrote it, or no version of ours did.
        UsageError: it is not what its version promises; the error names the path, such as `document.messages[3].role`.
    """
    is_parsed = isinstance(data, (Mapping, list, tuple))
    form: JSON = freeze(data, "document", max_depth=MAX_DEPTH + ENVELOPE_DEPTH) if is_parsed else parse(data, "document")
    version = _version_of(form)
    for step in range(version, SCHEMA_VERSION):
        form = MIGRATIONS[step](form)
    fields = cast("dict[str, Any]", form)
    messages = READER.many_from(fields.get("messages"), "document.messages")
    return Document(schema_version=version, messages=messages, metadata=_metadata(fields.get("metadata", {}), "document.metadata"))


def _version_of(form: JSON) -> int:
    if isinstance(form, list):
        return 0
    version = cast("dict[str, Any]", form).get("schema_version") if isinstance(form, dict) else None
    if type(version) is not int:
        raise UsageError("document.schema_version is missing or no whole number", argument="document.schema_version")
    if version > SCHEMA_VERSION:
        raise SchemaVersionError(
            f"the document was written in schema version {version}; this headrace reads versions 0 to {SCHEMA_VERSION}: a newer one is needed"
        )
    if version < 1:  # version 0 is known by its form, a list
        raise SchemaVersionError(
            f"the document says schema version {version}; this headrace writes {SCHEMA_VERSION}, and none ever wrote that"
        )
    return version


def _from_0(form: JSON) -> JSON:
    """Version 0 was a bare list of messages."""
    return {"schema_version": 1, "messages": form}


MIGRATIONS: Final[dict[int, Callable[[JSON], JSON]]] = {0: _from_0}
"""From each earlier version, the step to the next one."""


def _message(value: object, path: str) -> Message:
    if not isinstance(value, Message):
        raise UsageError(f"{path} is a {type(value).__name__}, not a message", argument=path)
    return value


def _metadata(value: object, path: str = "metadata") -> dict[str, Any]:
    frozen = freeze(value, path)
    if not isinstance(frozen, dict):
        raise UsageError(f"{path} is a {type(value).__name__}, not an object", argument=path)
    return cast("dict[str, Any]", frozen)
