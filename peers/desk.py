"""The server that replays the cases: a request gets the case that it names as its model.

Each case is answered by headrace's own replayer, as `headrace replay` does it, as often as it is asked for; in front of some of them a gateway
is served that asks this very server.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Collection, Iterable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from itertools import accumulate

from own_cases import Case

from headrace.io.http_server import RefusedError, serving
from headrace.io.record import RecordedError
from headrace.io.replay import Recorded
from headrace.io.replay_server import Exchange, Manner, Replayer
from headrace.io.transport import HTTPRequest, Response


class Desk:
    """Answers each request with the case that it names."""

    def __init__(self, cases: Iterable[Case]) -> None:
        """Prepare every case."""
        self._replayers = {case.name: Replayer([Exchange(recorded(case))], Manner(speed=None, is_looping=True)) for case in cases}

    def __call__(self, request: HTTPRequest) -> AbstractAsyncContextManager[Response]:
        """Give the case's answer.

        Raises:
            RefusedError: the request names none.
        """
        try:
            name = json.loads(request.body or b"")["model"]
        except (ValueError, TypeError, KeyError) as error:
            raise RefusedError(404, "no_model", "the request names no model") from error
        replayer = self._replayers.get(name)
        if replayer is None:
            raise RefusedError(404, "no_case", f"there is no case {name!r}")
        return replayer(request)


def recorded(case: Case) -> Recorded:
    """Return a case as a recording, in its own pieces."""
    starts = accumulate((len(segment) for segment in case.segments), initial=0)
    reads = tuple((start, 0.0) for start, _ in zip(starts, case.segments, strict=False))
    error = RecordedError(type="ConnectionLostError", message="the connection breaks here") if case.is_broken_off else None
    headers = (("content-type", case.content_type),)
    return Recorded(headers=headers, body=case.body, reads=reads, error=error)


@asynccontextmanager
async def served(cases: list[Case], *, ways: Collection[str]) -> AsyncGenerator[dict[str, dict[str, str]]]:
    """Serve the cases inside the block; gives for each way and case the base URL: of the cases' own server, or of the gateway in front of it.

    Cases that a reader has to be told something about have a gateway of their own, which is told.
    """
    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(serving(Desk(cases)))
        direct = f"{server.url}/v1"
        urls: dict[str, dict[str, str]] = {}
        for way in ways:
            by_options: dict[str, str] = {}
            for case in cases:
                key = json.dumps(case.options, sort_keys=True)
                if way != "direct" and key not in by_options:
                    by_options[key] = await stack.enter_async_context(_gateway(direct, case.options, refuses=way == "refusing"))
                urls.setdefault(way, {})[case.name] = by_options.get(key, direct)
        yield urls


@asynccontextmanager
async def _gateway(upstream: str, options: dict[str, object], *, refuses: bool) -> AsyncGenerator[str]:
    from headrace.server.gateway.config import config_of
    from headrace.server.gateway.serve import serving as serving_gateway

    # Without further attempts: each would be answered by the same recording.
    asked = {"name": "case", "base_url": upstream, "protocol": "openai-chat", "options": options, "max_retries": 0}
    async with serving_gateway(config_of({"upstreams": [asked], "port": 0, "refuse_cut_calls": refuses})) as gateway:
        yield f"{gateway.url}/v1"
