"""The HTTP client of an MCP session: what goes wrong with one request is the answer to that request alone.

The rule of this file: no request raises for the network's sake. The session would end over it, and every other call with
it; so a failure becomes a JSON-RPC error that says what happened, and whether the request can have left (law 9).
"""

from __future__ import annotations

import contextlib
import json
from typing import Any, Final, cast

import httpx2

NOT_SENT: Final = "headrace/not_sent"
"""A key of the error's data: the request certainly did not reach the server, or the server did not look at it."""
UNSURE: Final = "headrace/unsure"
"""A key of the error's data: the request may have reached the server."""
_CODE: Final = -32000
_NEVER_LEFT: Final = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout, httpx2.UnsupportedProtocol)
_MAX_BODY_BYTES: Final = 64 * 1024
_MAX_SHOWN_CHARS: Final = 300


class IsolatingClient(httpx2.AsyncClient):
    """An HTTP client that answers with an error instead of raising one."""

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        """Send a request; a failure of the network comes back as a response with a JSON-RPC error."""
        if request.method == "DELETE":  # the farewell: whether it is heard does not matter, and the session would complain of it
            with contextlib.suppress(httpx2.TransportError):
                await (await super().send(request, **options)).aclose()
            return httpx2.Response(204, request=request)
        try:
            response = await super().send(request, **options)
        except httpx2.TransportError as error:
            key = NOT_SENT if isinstance(error, _NEVER_LEFT) else UNSURE
            return _answer(
                request, 502, f"{_WORDS.get(type(error), 'the connection failed')}: {str(error) or type(error).__name__}", {key: True}
            )
        if response.status_code < 400 or request.method != "POST":
            return response
        return await _explained(request, response)


_WORDS: Final[dict[type[Exception], str]] = {
    httpx2.ConnectError: "no connection could be made",
    httpx2.ConnectTimeout: "no connection could be made in time",
    httpx2.ReadError: "the connection broke",
    httpx2.RemoteProtocolError: "the connection broke",
}


def _answer(request: httpx2.Request, status: int, message: str, data: Any = None) -> httpx2.Response:
    error = {"code": _CODE, "message": message} | ({} if data is None else {"data": data})
    return httpx2.Response(status, json={"jsonrpc": "2.0", "id": None, "error": error}, request=request)


async def _explained(request: httpx2.Request, response: httpx2.Response) -> httpx2.Response:
    """Return a refusal as a JSON-RPC error: the server's own if it wrote one, else its status and the beginning of its text.

    A server that does not know the session any more says 404 (as the protocol wants), or 400 with words of its own.
    """
    status, body = response.status_code, b""
    try:
        async for piece in response.aiter_bytes():
            body += piece
            if len(body) > _MAX_BODY_BYTES:
                break
    except httpx2.TransportError:
        pass  # the status is known, and says enough
    finally:
        await response.aclose()
    try:
        parsed: Any = json.loads(body)
    except ValueError:
        parsed = None
    has_session = "mcp-session-id" in request.headers
    if has_session and (status == 404 or (status == 400 and b"session" in body.lower())):
        return _answer(request, status, "it has forgotten the session", {NOT_SENT: True})
    if isinstance(parsed, dict) and isinstance(cast("dict[str, Any]", parsed).get("error"), dict) and "jsonrpc" in parsed:
        return httpx2.Response(status, json=parsed, request=request)
    text = " ".join(body.decode("utf-8", "replace").split())[:_MAX_SHOWN_CHARS]
    return _answer(request, status, f"the server answered HTTP {status} {response.reason_phrase}" + (f": {text}" if text else ""))
