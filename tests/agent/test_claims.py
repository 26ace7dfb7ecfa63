"""Which states were taken up."""

from __future__ import annotations

from headrace.agent.claims import MemoryClaims


async def test_a_state_is_taken_once_and_those_of_one_run_are_told_apart():
    claims = MemoryClaims()
    assert await claims.take("r", 1)
    assert not await claims.take("r", 1)
    assert await claims.take("r", 2)
    assert await claims.take("s", 1)


async def test_what_was_given_back_can_be_taken_again():
    claims = MemoryClaims()
    await claims.take("r", 1)
    await claims.give_back("r", 1)
    await claims.give_back("r", 7)
    assert await claims.take("r", 1)


async def test_the_oldest_are_forgotten_first():
    claims = MemoryClaims(limit=2)
    for seq in (1, 2, 3):
        assert await claims.take("r", seq)
    assert not await claims.take("r", 3)
    assert not await claims.take("r", 2)
    assert await claims.take("r", 1)
