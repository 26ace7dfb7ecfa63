"""Where a path leads."""

from __future__ import annotations

import pytest

from headrace.server.gateway.routes import ROUTES, find
from headrace.wire.protocols import WIRES


@pytest.mark.parametrize(
    ("path", "protocol", "model", "is_streamed"),
    [
        ("/v1/chat/completions", "openai-chat", None, None),
        ("/v1/responses", "openai-responses", None, None),
        ("/v1/messages", "anthropic-messages", None, None),
        ("/v1beta/models/a:generateContent", "gemini", "a", False),
        ("/v1/models/a:streamGenerateContent", "gemini", "a", True),
        ("/v1beta/models/team/b:1:streamGenerateContent", "gemini", "team/b:1", True),
    ],
)
def test_each_address_is_a_protocols(path, protocol, model, is_streamed):
    found = find(path)
    assert (found.route.protocol, found.model, found.route.is_streamed) == (protocol, model, is_streamed)


@pytest.mark.parametrize(
    "path", ["/", "/v1", "/v1/chat/completions/", "/v1beta/models/:generateContent", "/v1beta/models/a:countTokens", "//v1/messages"]
)
def test_other_addresses_lead_nowhere(path):
    assert find(path) is None


def test_every_route_is_of_a_protocol_that_there_is():
    assert {route.protocol for route in ROUTES} <= set(WIRES)


@pytest.mark.parametrize(
    ("query", "expected"), [("", True), ("alt=json", True), ("alt=sse", False), ("key=k&alt=sse", False), ("malt=sse", True)]
)
def test_a_stream_without_the_word_for_events_is_an_array(query, expected):
    assert find("/v1beta/models/a:streamGenerateContent").route.wants_array(query) is expected
    assert not find("/v1/messages").route.wants_array(query)
