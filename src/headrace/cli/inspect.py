"""`headrace inspect`: a report on one stream, a comparison of two, or a page that takes captures.

The rule of this file: it reads, prints and serves; what is said is decided in `headrace.inspect`.
"""

from __future__ import annotations

import asyncio
import os
import re
import sys
import time
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Final
from urllib.parse import parse_qsl, urlsplit

import msgspec

from headrace import _sync
from headrace._json import dumps
from headrace.cli.exits import DONE, FAILED
from headrace.cli.merge import option_of
from headrace.cli.record import until_interrupted
from headrace.cli.screen import screen_of
from headrace.cli.segments import Segment
from headrace.errors import UsageError
from headrace.inspect import compare as comparing
from headrace.inspect import serve as serving_page
from headrace.inspect.capture import Capture, body_of_recorded, fetch, read_path, read_stream, request_of
from headrace.inspect.document import dumps_document
from headrace.inspect.html import html_report
from headrace.inspect.inspecting import inspect_capture
from headrace.inspect.text import Word, text_report
from headrace.inspect.values import Inspection
from headrace.io.http_server import RefusedError, serving
from headrace.io.httpx_transport import HttpTransport
from headrace.io.transport import HTTPRequest, Response

PATH: Final = "/inspect"
_STDIN: Final = "-"
_URL: Final = re.compile(r"https?://", re.IGNORECASE)


class Sending(msgspec.Struct, frozen=True, kw_only=True):
    """What to send to a URL: nothing (a GET), or a body; headers; the variable that holds the key."""

    body: Path | None = None
    request: Path | None = None
    headers: tuple[str, ...] = ()
    api_key_env: str | None = None

    def __bool__(self) -> bool:
        """Return whether anything was said."""
        return self != Sending()


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """How a capture is read."""

    protocol: str | None = None
    provider: str | None = None
    options: tuple[str, ...] = ()
    sending: Sending = Sending()


class Form(msgspec.Struct, frozen=True, kw_only=True):
    """What the report is written as; text, if nothing is said."""

    is_json: bool = False
    html: Path | None = None
    is_text: bool = False


def inspect_command(source: str | None, other: str | None, reading: Reading, form: Form) -> int:
    """Inspect one capture, or compare two; returns 1 if one of them carried an error.

    Raises:
        UsageError: a source cannot be read, or options contradict each other.
    """
    if source is None:
        raise UsageError("say what to inspect: a file, a recording, a URL, or - for standard input; or --serve", argument="FILE")
    if sum((form.is_json, form.html is not None, form.is_text)) > 1:
        raise UsageError("--json, --html and --text exclude each other", argument="html")
    if source == other == _STDIN:
        raise UsageError("- (standard input) can be read once", argument="compare")
    sources = [source] if other is None else [source, other]
    if reading.sending and not any(_URL.match(one) for one in sources):
        raise UsageError("--body, --request, --header and --api-key-env are for a URL", argument="body")
    seen = [_inspect(one, reading) for one in sources]
    if len(seen) == 1:
        _write(seen[0], form)
    else:
        _write_comparison(comparing.compare(*seen), form)
    return FAILED if any(one.result.error is not None for one in seen) else DONE


def _inspect(source: str, reading: Reading) -> Inspection:
    options = dict(option_of(text) for text in reading.options)
    capture = _capture(source, reading.sending)
    return inspect_capture(capture, protocol=reading.protocol, provider=reading.provider, options=options)


def _capture(source: str, sending: Sending) -> Capture:
    if source == _STDIN:
        return read_stream(sys.stdin.buffer, source="standard input", clock=time.monotonic)
    if _URL.match(source):
        return _sync.run(_fetch(request_of(source, body=_body(sending), headers=headers_of(sending, os.environ))))
    return read_path(Path(source))


async def _fetch(request: HTTPRequest) -> Capture:
    async with HttpTransport() as transport:
        return await fetch(transport, request, clock=time.monotonic)


def _body(sending: Sending) -> bytes | None:
    if sending.body is not None and sending.request is not None:
        raise UsageError("--body and --request exclude each other", argument="body")
    file = sending.body or sending.request
    if file is None:
        return None
    try:
        data = file.read_bytes()
    except OSError as error:
        raise UsageError(f"cannot read {str(file)!r}: {error.strerror or error}", argument="body") from error
    return data if sending.body is not None else body_of_recorded(data)


def headers_of(sending: Sending, environ: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Return the headers to send.

    Raises:
        UsageError: one is not of the form NAME: VALUE, or the variable with the key is not set.
    """
    headers: list[tuple[str, str]] = []
    for text in sending.headers:
        name, colon, value = text.partition(":")
        if not colon or not name.strip():
            raise UsageError("--header is not of the form NAME: VALUE", argument="header")  # not quoted: it may hold a key
        headers.append((name.strip(), value.strip()))
    if sending.api_key_env is not None:
        key = environ.get(sending.api_key_env)
        if not key:
            raise UsageError(f"the variable {sending.api_key_env} is not set", argument="api_key_env")
        headers.append(("authorization", f"Bearer {key}"))
    return tuple(headers)


# ---------------------------------------------------------------------------------------------- writing


def _write(inspection: Inspection, form: Form) -> None:
    if form.is_json:
        _write_bytes(dumps_document(inspection) + b"\n")
    elif form.html is not None:
        _write_file(form.html, html_report(inspection))
    else:
        _write_words(text_report(inspection))


def _write_comparison(comparison: comparing.Comparison, form: Form) -> None:
    if form.is_json:
        _write_bytes(dumps(comparing.document_of(comparison)) + b"\n")
    elif form.html is not None:
        _write_file(form.html, comparing.html_of(comparison))
    else:
        _write_words(comparing.text_of(comparison))


def _write_words(words: Sequence[Word]) -> None:
    screen_of(sys.stdout).write([Segment(word.text, word.look) for word in words])


def _write_bytes(data: bytes) -> None:
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def _write_file(file: Path, text: str) -> None:
    if str(file) == _STDIN:
        _write_bytes(text.encode())
        return
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot write {str(file)!r}: {error.strerror or error}", argument="html") from error
    screen_of(sys.stderr).write([Segment(f"the report is in {file}\n", "note")])


# ---------------------------------------------------------------------------------------------- serving


def serve_command(host: str, port: int) -> int:
    """Serve the page until Ctrl-C.

    Raises:
        UsageError: the address cannot be listened at.
    """
    return _sync.run(_serve(host, port))


async def _serve(host: str, port: int) -> int:
    async with serving(answer, host=host, port=port) as server:
        return await until_interrupted(f"{server.url}{PATH}")


class _Page:
    """A whole answer; see `Response`."""

    def __init__(self, answer: serving_page.Answer) -> None:
        self.status = answer.status
        length = ("content-length", str(len(answer.body)))
        self.headers: Mapping[str, str] = dict((*serving_page.HEADERS, ("content-type", answer.content_type), length))
        self._body = answer.body

    async def chunks(self) -> AsyncIterator[bytes]:
        yield self._body

    async def aclose(self) -> None:
        """Nothing is open."""


def answer(request: HTTPRequest) -> AbstractAsyncContextManager[Response]:
    """Answer a request for the page, or for a report on what was posted.

    Raises:
        RefusedError: there is nothing at this path, or the post comes from another site.
    """
    return _answer(request)


@asynccontextmanager
async def _answer(request: HTTPRequest) -> AsyncGenerator[Response]:
    url = urlsplit(request.url)
    if url.path not in (PATH, "/"):
        raise RefusedError(404, "not_found", f"there is nothing at {url.path}; the page is at {PATH}")
    if request.method == "POST":
        _check_origin(request)
        query = dict(parse_qsl(url.query))
        yield _Page(await asyncio.to_thread(serving_page.report, request.body, query))
    elif request.method in ("GET", "HEAD"):
        yield _Page(serving_page.form(PATH))
    else:
        raise RefusedError(405, "method_not_allowed", f"{request.method} is not allowed here; GET and POST are")


def _check_origin(request: HTTPRequest) -> None:
    """Refuse what another site's page sent: a browser says where a post comes from."""
    headers = {name.lower(): value for name, value in request.headers}
    origin = headers.get("origin")
    if origin is not None and urlsplit(origin).netloc != headers.get("host"):
        raise RefusedError(403, "wrong_origin", "this page answers only what was posted from itself")
