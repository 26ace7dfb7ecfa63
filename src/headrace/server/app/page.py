"""The files of the web page, as they were built into the package.

The rule of this file: what is served was listed when the server began; a path that is not in the list leads nowhere, whatever it holds. The
page may load what lies here and talk to this server, and nothing else.
"""

from __future__ import annotations

import gzip
import hashlib
import mimetypes
import re
from pathlib import Path
from typing import Final

import msgspec

from headrace.server.app.asks import Ask
from headrace.server.app.faults import FaultError
from headrace.server.app.routing import Answer, Whole
from headrace.server.asgi import Headers

PAGE: Final = Path(__file__).resolve().parents[1] / "page"
POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; media-src 'self' data: blob:; "
    "font-src 'self'; connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""What the page may load."""
_INDEX: Final = "index.html"
_DIGEST: Final = re.compile(r"[-.][0-9a-zA-Z]{8,}\.[a-z0-9.]+$")
_TEXTS: Final = ("text/", "application/javascript", "application/json", "image/svg+xml", "application/manifest+json")
_TYPES: Final = {
    ".js": "text/javascript",
    ".mjs": "text/javascript",
    ".map": "application/json",
    ".webmanifest": "application/manifest+json",
}
_MAX_BYTES: Final = 8 * 1024 * 1024


class _File(msgspec.Struct, frozen=True):
    body: bytes
    packed: bytes | None
    media_type: str
    etag: str
    cache: str


class Page:
    """The files, in memory."""

    def __init__(self, folder: Path = PAGE) -> None:
        """Read them; a package without a page has none."""
        self._files: dict[str, _File] = {}
        if folder.is_dir():
            for path in sorted(folder.rglob("*")):
                name = path.relative_to(folder).as_posix()
                is_own = path.is_file() and not path.is_symlink() and not any(piece.startswith(".") for piece in name.split("/"))
                if is_own and path.suffix != ".py" and path.stat().st_size <= _MAX_BYTES:
                    self._files[name] = _read(path, name)

    async def index(self, ask: Ask) -> Answer:
        """Give the page."""
        return self._answer(ask, _INDEX)

    async def asset(self, ask: Ask) -> Answer:
        """Give one of its files."""
        return self._answer(ask, f"assets/{ask.params['name']}")

    def _answer(self, ask: Ask, name: str) -> Answer:
        file = self._files.get(name)
        if file is None:
            raise FaultError("not_found", "this server has no page" if name == _INDEX else "there is no such file")
        headers: Headers = (("etag", file.etag), ("cache-control", file.cache), ("vary", "accept-encoding"))
        if file.etag in [one.strip().removeprefix("W/") for one in ask.headers.get("if-none-match", "").split(",")]:
            return Whole(status=304, headers=headers)
        if file.packed is not None and _takes_gzip(ask.headers.get("accept-encoding", "")):
            return Whole(file.packed, media_type=file.media_type, headers=(*headers, ("content-encoding", "gzip")))
        return Whole(file.body, media_type=file.media_type, headers=headers)


def _read(path: Path, name: str) -> _File:
    body = path.read_bytes()
    media_type = _TYPES.get(path.suffix) or mimetypes.guess_type(name)[0] or "application/octet-stream"
    is_text = media_type.startswith(_TEXTS)
    packed = gzip.compress(body, 9, mtime=0) if is_text and len(body) > 500 else None
    return _File(
        body=body,
        packed=packed if packed is not None and len(packed) < len(body) else None,
        media_type=f"{media_type}; charset=utf-8" if is_text else media_type,
        etag=f'"{hashlib.sha256(body).hexdigest()[:32]}"',
        # A name that holds a digest of what is in the file means this content for ever.
        cache="public, max-age=31536000, immutable" if _DIGEST.search(name) and name != _INDEX else "no-cache",
    )


def _takes_gzip(header: str) -> bool:
    for one in header.lower().split(","):
        name, _, rest = one.partition(";")
        if name.strip() in ("gzip", "*") and rest.replace(" ", "") not in ("q=0", "q=0.0", "q=0.00", "q=0.000"):
            return True
    return False
