"""A request as handlers see it: where it leads, whose it is, its query and its body, read and checked.

The rule of this file: what does not fit is a `FaultError` that names the place; nothing is guessed and nothing is made up.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Final, TypeVar
from urllib.parse import parse_qs, unquote

import msgspec

from headrace.messages.checked import located
from headrace.server.app.faults import FaultError
from headrace.server.app.keys import ANYBODY, Key
from headrace.server.asgi import Receive, Scope, Send, headers_of, read_body

T = TypeVar("T")
MAX_ID: Final = 256
_MAX_FIELDS: Final = 64
_LARGEST: Final = 2**62


class Ask:
    """A request.

    Attributes:
        id: its name in the log and to the client.
        method, path: as it came; the path without percent signs.
        headers: their names in small letters.
        params: what the path names.
        key: whose it is.
        body: what it brought, once it was read.
        scope, receive, send: of ASGI.
    """

    def __init__(self, request_id: str, scope: Scope, receive: Receive, send: Send) -> None:
        """Read the head."""
        self.id = request_id
        self.method = str(scope["method"])
        self.path = str(scope["path"])
        self.headers = headers_of(scope)
        self.params: Mapping[str, str] = {}
        self.key: Key = ANYBODY
        self.body = b""
        self.scope, self.receive, self.send = scope, receive, send
        self._query: dict[str, list[str]] | None = None

    @property
    def user(self) -> str:
        """Whose runs and sessions it may see."""
        return self.key.name

    # ------------------------------------------------------------------------------------------ the query

    @property
    def query(self) -> Mapping[str, Sequence[str]]:
        """The query.

        Raises:
            FaultError: it cannot be read.
        """
        if self._query is None:
            try:
                text = bytes(self.scope.get("query_string", b"")).decode("ascii")
                self._query = parse_qs(text, keep_blank_values=True, errors="strict", max_num_fields=_MAX_FIELDS)
            except ValueError as error:
                raise FaultError("usage", "the query cannot be read", argument="query") from error
        return self._query

    def text(self, name: str, *, max_length: int = MAX_ID) -> str | None:
        """Return a text of the query, or None.

        Raises:
            FaultError: it is empty, too long, or holds what no id may hold.
        """
        given = self.query.get(name)
        return None if given is None else checked_id(given[0], name, max_length=max_length)

    def number(self, name: str, default: int, *, least: int = 0, most: int = _LARGEST) -> int:
        """Return a whole number of the query.

        Raises:
            FaultError: it is none, or out of bounds.
        """
        given = self.query.get(name)
        return default if given is None else whole_number(given[0], name, least=least, most=most)

    def flag(self, name: str, *, default: bool = False) -> bool:
        """Return true or false of the query.

        Raises:
            FaultError: it is neither.
        """
        given = self.query.get(name)
        if given is None:
            return default
        if given[0] not in ("true", "false"):
            raise FaultError("usage", f"{name} is neither true nor false", argument=name)
        return given[0] == "true"

    def words(self, name: str, allowed: Sequence[str]) -> tuple[str, ...]:
        """Return the words of the query that are among those allowed; several are given one by one, or with commas.

        Raises:
            FaultError: one is not.
        """
        words = tuple(word for given in self.query.get(name, ()) for word in given.split(","))
        for word in words:
            if word not in allowed:
                raise FaultError("usage", f"{name} is none of {', '.join(allowed)}", argument=name)
        return words

    # ------------------------------------------------------------------------------------------ the body

    async def read(self, *, max_bytes: int, arrival_s: float, is_json: bool) -> None:
        """Read the body.

        Raises:
            FaultError: it took too long, or is no JSON by its own word.
            BodyTooLargeError: it is too large.
            ClientLeftError: the client left before it was whole.
        """
        try:
            async with asyncio.timeout(arrival_s):
                self.body = await read_body(self.headers, self.receive, max_bytes)
        except TimeoutError as error:
            raise FaultError(
                "timeout", f"the body did not come whole within {arrival_s:g} s", headers=(("connection", "close"),)
            ) from error
        if is_json and self.body and not is_json_type(self.headers.get("content-type", "")):
            raise FaultError("media_type", "a body here is JSON: content-type: application/json")

    def json(self, kind: type[T]) -> T:
        """Return the body as a value of this type.

        Raises:
            FaultError: it is no JSON.
            UsageError: it does not fit; the error names the place.
        """
        try:
            return msgspec.json.decode(self.body, type=kind)
        except msgspec.ValidationError as error:
            raise located(error, "body") from error
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise FaultError("usage", "the body is not JSON that can be read", argument="body") from error


def is_json_type(content_type: str) -> bool:
    """Return whether a content type is JSON in UTF-8."""
    kind, *parameters = (piece.strip().lower() for piece in content_type.split(";"))
    return kind == "application/json" and all(
        not one.startswith("charset=") or one.removeprefix("charset=").strip('"') in ("utf-8", "utf8") for one in parameters
    )


def checked_id(text: str, name: str, *, max_length: int = MAX_ID) -> str:
    """Return an id.

    Raises:
        FaultError: it is empty, too long, `.` or `..`, or holds characters that are not printed.
    """
    is_clean = 0 < len(text) <= max_length and text not in (".", "..")
    if not is_clean or any(ord(one) < 32 or 127 <= ord(one) < 160 or 0xD800 <= ord(one) < 0xE000 for one in text):
        raise FaultError("usage", f"{name} is no id: 1 to {max_length} printable characters", argument=name)
    return text


def whole_number(text: str, name: str, *, least: int = 0, most: int = _LARGEST) -> int:
    """Return a whole number, written in digits.

    Raises:
        FaultError: it is none, or out of bounds.
    """
    if not (text.isascii() and text.isdecimal() and len(text) < 20 and least <= int(text) <= most):
        raise FaultError("usage", f"{name} is no whole number from {least} to {most}", argument=name)
    return int(text)


def segments_of(scope: Scope) -> list[str]:
    """Return the pieces of the path between slashes, each without percent signs, so that an id may hold a slash."""
    root = str(scope.get("root_path", ""))
    raw = scope.get("raw_path")
    path = bytes(raw).decode("latin-1") if raw is not None else str(scope["path"])
    path = path.partition("?")[0]
    if root and path.startswith(root):
        path = path[len(root) :]
    pieces = path.removeprefix("/").split("/")
    return [unquote(piece, errors="replace") for piece in pieces] if raw is not None else pieces
