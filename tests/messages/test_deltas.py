from __future__ import annotations

from typing import get_args

import msgspec
import pytest

from headrace.messages.accumulator import Accumulator
from headrace.messages.deltas import Delta, Ended, TextDelta, ToolCallFragment

KINDS = get_args(Delta)


def test_every_delta_has_a_type_of_its_own_and_the_fold_knows_them_all():
    assert len({kind.__struct_config__.tag for kind in KINDS}) == len(KINDS)
    assert set(Accumulator._HANDLERS) == set(KINDS)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_deltas_are_frozen_and_not_visited_by_the_garbage_collector(kind):
    config = kind.__struct_config__
    assert (config.frozen, config.gc, config.tag_field) == (True, False, "type")


@pytest.mark.parametrize("delta", [TextDelta("a"), ToolCallFragment("a", "f", {"x": 1}), Ended()])
def test_a_delta_says_its_type_and_its_json_says_the_same(delta):
    written = msgspec.json.encode(delta)
    assert msgspec.json.decode(written)["type"] == delta.type
    assert msgspec.json.decode(written, type=Delta) == delta
