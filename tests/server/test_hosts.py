"""By which names a server answers."""

from __future__ import annotations

import pytest

from headrace.server.hosts import AllowedHosts, host_of, is_loopback


@pytest.mark.parametrize(
    ("header", "name"),
    [("Localhost:80", "localhost"), ("[::1]:8300", "::1"), ("::1", "::1"), ("a.example.", "a.example"), (" b:1 ", "b"), ("", "")],
)
def test_the_name_in_a_header(header, name):
    assert host_of(header) == name


def test_this_machine_and_the_names_that_are_listed_are_answered_and_others_are_not():
    hosts = AllowedHosts("127.0.0.1", ["gate.example:443"])
    assert all(map(hosts.allows, ("localhost", "127.0.0.1:8300", "[::1]:1", "GATE.example")))
    assert not any(map(hosts.allows, ("evil.example", "127.0.0.1.evil.example", "", None)))


def test_a_server_at_every_address_takes_any_name_only_where_clients_have_keys():
    assert AllowedHosts("0.0.0.0", has_keys=True).allows("anything.example")
    assert not AllowedHosts("0.0.0.0").allows("anything.example")
    assert not AllowedHosts("0.0.0.0", ["a.example"], has_keys=True).allows("b.example"), "whoever lists names means them"
    assert AllowedHosts("127.0.0.1", ["*"]).allows("b.example")


@pytest.mark.parametrize(
    ("host", "expected"), [("127.0.0.1", True), ("localhost", True), ("::1", True), ("0.0.0.0", False), ("a.example", False)]
)
def test_what_only_this_machine_can_reach(host, expected):
    assert is_loopback(host) is expected
