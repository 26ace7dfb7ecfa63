"""Where a server listens."""

from __future__ import annotations

import socket
import sys

import pytest

from headrace.errors import ConfigError, MissingExtraError
from headrace.server.listening import Bounds, listen, listening


def test_a_chunk_waits_for_no_answer_to_the_one_before():
    """asyncio alone leaves this out for a socket that was made without its protocol's number, and each small write then waits 40 ms."""
    with listen("127.0.0.1", 0) as listener, socket.create_connection(listener.getsockname()):
        connection, _ = listener.accept()
        with connection:
            assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_an_address_that_is_taken_is_said():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ConfigError, match=f"cannot listen at 127.0.0.1:{port}"):
            listen("127.0.0.1", port)


@pytest.mark.parametrize("missing", ["uvicorn", "uvicorn.protocols.http.httptools_impl"])
async def test_a_server_without_what_bounds_its_connections_is_not_opened(monkeypatch, missing):
    monkeypatch.setitem(sys.modules, missing, None)
    server = listening(None, "127.0.0.1", 0, Bounds(max_requests=1, arrival_s=1.0, shutdown_s=1.0), feature="a test")
    with pytest.raises(MissingExtraError, match="server"):
        await server.__aenter__()
