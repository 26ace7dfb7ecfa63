from __future__ import annotations

from headrace.messages.deltas import MetadataDelta
from headrace.wire.extras import Extras

NONE = frozenset()


def kept(extras):
    return [(delta.values, delta.snapshot_keys) for delta in extras.deltas() if isinstance(delta, MetadataDelta)]


def same(value):
    return value


def test_nothing_seen_is_nothing_kept():
    extras = Extras()
    extras.take("", {"a": None, "b": "", "known": 1}, frozenset({"known"}), same)
    assert extras.deltas() == []


def test_of_events_and_choices_the_last_value_counts():
    extras = Extras()
    for value in (1, "x", "y", [1]):
        extras.take("", {"a": value}, NONE, same)
    extras.take("choice.", {"a": False}, NONE, same)
    assert kept(extras) == [({"provider_fields": {"a": [1], "choice.a": False}}, ("provider_fields",))]


def test_texts_of_deltas_are_joined_where_they_differ():
    extras = Extras()
    for value in ("x", "y", "y", "z"):
        extras.take("delta.", {"a": value, "b": "same"}, NONE, same)
    assert kept(extras)[0][0] == {"provider_fields": {"delta.a": "xyz", "delta.b": "same"}}


def test_pieces_are_joined_whatever_they_are():
    extras = Extras()
    extras.take_piece("a", "x")
    extras.take_piece("a", "x")
    assert kept(extras)[0][0] == {"provider_fields": {"a": "xx"}}
