"""Chunks to bytes without a wait: what goes, what stays for later, and where it ends."""

from __future__ import annotations

import pytest

from headrace.messages.chunk import AssistantMessageChunk
from headrace.messages.deltas import Ended, MessageStart, StreamError, TextDelta, WarningDelta
from headrace.messages.warning import Warning  # noqa: A004
from headrace.server.gateway.exchange import Exchange
from headrace.server.gateway.passing import Passing, Pile
from headrace.wire.protocols import WIRES
from headrace.wire.server_side import Head


class Client:
    """Takes what is poured, unless it is busy or slow."""

    is_free, takes = True, True

    def __init__(self):
        self.got = []

    def pour(self, data):
        self.got.append(data)
        return self.takes


@pytest.fixture
def client():
    return Client()


def passing_to(client, *, strict=False):
    out = WIRES["openai-chat"].new_stream_out()(Head(id="x", model="mine", created_s=1))
    began = []
    exchange = Exchange(id="x", protocol="openai-chat", began_s=0.0)
    passing = Passing(out, client, exchange, model="mine", strict=strict, began=lambda: began.append(True))
    return passing, exchange, began


def chunk(*deltas):
    return AssistantMessageChunk.from_deltas(deltas, is_from_wire=True)


def test_chunks_go_together_and_at_once(client):
    passing, exchange, began = passing_to(client)
    assert passing.take([chunk(TextDelta("a")), chunk(TextDelta("b"))])
    assert passing.take([chunk(TextDelta("c"))])
    assert [piece.count(b"data: ") for piece in client.got] == [3, 1]
    assert (exchange.chunks, began, passing.pile.size) == (3, [True], 0)


def test_a_slow_client_is_told_of(client):
    passing, *_ = passing_to(client)
    client.takes = False
    assert not passing.take([chunk(TextDelta("a"))])


def test_what_cannot_go_now_stays_on_the_pile(client):
    passing, *_ = passing_to(client)
    client.is_free = False
    assert not passing.take([chunk(TextDelta("a"))])
    assert not passing.take([chunk(TextDelta("b"))])
    client.is_free = True
    assert passing.take([chunk(TextDelta("c"))])
    (piece,) = client.got
    assert [piece.index(b'"a"') < piece.index(b'"b"') < piece.index(b'"c"')] == [True]


def test_before_the_first_word_nothing_is_poured(client):
    passing, _, began = passing_to(client)
    assert not passing.take([chunk(MessageStart(None, "theirs"))])
    assert (client.got, began, passing.has_said) == ([], [], False)


def test_the_model_has_the_clients_name_and_an_upstreams_error_is_not_passed_on(client):
    passing, *_ = passing_to(client)
    passing.take([chunk(MessageStart(None, "theirs"), TextDelta("a")), chunk(Ended(StreamError("provider_error", "secret")))])
    assert b'"mine"' in client.got[0]
    assert b"theirs" not in client.got[0]
    assert b"secret" not in b"".join(client.got)


def test_a_strict_gateway_stops_at_the_first_repair(client):
    passing, *_ = passing_to(client, strict=True)
    assert passing.take([chunk(TextDelta("a"))])
    assert not passing.take([chunk(TextDelta("b"), WarningDelta(Warning("missing_tool_id", 1, 2, 0, None, "")))])
    assert (passing.is_over, passing.refused) == (True, "missing_tool_id")
    assert b'"b"' not in b"".join(client.got)


def test_a_pile_gives_each_byte_once():
    pile = Pile()
    for piece in (b"a", b"", b"bc"):
        pile.add(piece)
    assert (pile.size, pile.take(), pile.size, pile.take()) == (3, b"abc", 0, b"")
