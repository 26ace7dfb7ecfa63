"""How many requests are let in."""

from __future__ import annotations

from headrace.server.gateway.admission import Admission
from headrace.server.gateway.config import Client

WEB = Client(name="web", key_sha256="0" * 64, max_open=2, max_per_minute=3)
APP = Client(name="app", key_sha256="1" * 64)


def test_each_client_has_its_own_bound_and_all_have_one():
    door = Admission(3)
    assert [door.enter(WEB, 0), door.enter(WEB, 0)] == [None, None]
    assert door.enter(WEB, 0).status == 429
    assert door.enter(APP, 0) is None
    assert (door.enter(APP, 0).status, door.open) == (503, 3)
    door.leave(WEB)
    assert door.enter(APP, 0) is None


def test_a_minute_has_so_many_beginnings_and_says_when_the_next_one_is_free():
    door = Admission(100)
    for at_s in (0, 10, 20):
        assert door.enter(WEB, at_s) is None
        door.leave(WEB)
    refusal = door.enter(WEB, 30)
    assert (refusal.status, refusal.retry_after_s, refusal.headers) == (429, 30, (("retry-after", "30"),))
    assert door.enter(WEB, 60) is None
    assert door.open == 1
