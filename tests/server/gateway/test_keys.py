"""Clients' keys."""

from __future__ import annotations

import hashlib

import pytest

from headrace.server.gateway.config import Client
from headrace.server.gateway.keys import ANYBODY, Keyring
from headrace.server.keys import hash_of, key_in, new_key


def test_a_key_is_new_each_time_and_long():
    keys = {new_key() for _ in range(100)}
    assert len(keys) == 100
    assert all(key.startswith("hr-") and len(key) > 40 for key in keys)
    assert hash_of("abc") == hashlib.sha256(b"abc").hexdigest()


@pytest.mark.parametrize(
    ("headers", "key"),
    [
        ({"authorization": "Bearer k1"}, "k1"),
        ({"authorization": "bearer  k1"}, "k1"),
        ({"authorization": "Basic k1"}, None),
        ({"authorization": "Bearer "}, None),
        ({"x-api-key": "k2"}, "k2"),
        ({"x-goog-api-key": "k3"}, "k3"),
        ({"authorization": "Basic k1", "x-api-key": "k2"}, "k2"),
        ({}, None),
    ],
)
def test_where_a_key_stands(headers, key):
    assert key_in(headers) == key


def test_a_client_is_found_by_its_key_alone():
    web = Client(name="web", key_sha256=hash_of("k1").upper())
    ring = Keyring([web])
    assert ring.client_of({"x-api-key": "k1"}) == web
    assert ring.client_of({"x-api-key": web.key_sha256}) is None, "the hash is no key"
    assert Keyring([]).client_of({}) is ANYBODY
