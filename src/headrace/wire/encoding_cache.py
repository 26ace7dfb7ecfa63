"""Remembers the bytes of messages that were encoded before, so that a long run encodes each message once.

The rule of this file: an entry holds its owner, so an `id()` cannot come to mean another object while the entry lives; and
the memory that it takes is bounded. A cache changes how long encoding takes, never what comes out.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final

import msgspec

from headrace.messages.warning import Warning  # noqa: A004 - the field's word
from headrace.wire.beginnings import Beginnings
from headrace.wire.profile import Profile

DEFAULT_CACHE_BYTES: Final = 16 * 1024 * 1024
_ENTRY_BYTES = 256  # about what an entry costs beside its bytes


class Note(msgspec.Struct, frozen=True, gc=False):
    """What was left out of one message: which of its parts, and why."""

    part: int | None
    text: str


class Fragment(msgspec.Struct, frozen=True, gc=False):
    """The encoded form of one message, result or tool.

    Attributes:
        body: its JSON; empty if nothing of it is sent.
        notes: what was left out.
        follow: JSON of content that has to follow in a message of its own.
    """

    body: bytes
    notes: tuple[Note, ...] = ()
    follow: tuple[bytes, ...] = ()


class Fixed(msgspec.Struct, frozen=True):
    """The members of a body beside the messages, as they were encoded last.

    Attributes:
        key: what they were made of; the very same values give the same members.
        fields: the members.
        headers: those of the request.
        warnings: what could not be taken along.
    """

    key: tuple[object, ...]
    fields: dict[str, bytes]
    headers: tuple[tuple[str, str], ...]
    warnings: tuple[Warning, ...]


class EncodingCache:
    """A bounded memory of fragments by the identity of what they encode.

    Two generations: what is used moves to the young one; when that is full the old one is forgotten. So what a run sends
    again and again stays, at most `2 * max_bytes` are held, and each step costs the same.

    Attributes:
        misses: how many fragments had to be encoded.
        beginnings: how far the histories of long runs were encoded.
        fixed: the rest of the last body.
    """

    def __init__(self, max_bytes: int = DEFAULT_CACHE_BYTES) -> None:
        """Start empty; `max_bytes` bounds one generation."""
        self.misses = 0
        self.beginnings = Beginnings(max_bytes)
        self.fixed: Fixed | None = None
        self._max_bytes = max_bytes
        self._bytes = 0
        self._young: dict[Hashable, tuple[object, Profile, Fragment]] = {}
        self._old: dict[Hashable, tuple[object, Profile, Fragment]] = {}

    def find(self, owner: object, profile: Profile, key: Hashable) -> Fragment | None:
        """Return what was stored for this very object under this very profile and an equal key."""
        name = (id(owner), id(profile), key)
        entry = self._young.get(name)
        if entry is None:
            entry = self._old.pop(name, None)
            if entry is None:
                self.misses += 1
                return None
            self._put(name, entry)
        return entry[2]

    def store(self, owner: object, profile: Profile, key: Hashable, fragment: Fragment) -> Fragment:
        """Keep a fragment and return it."""
        self._put((id(owner), id(profile), key), (owner, profile, fragment))
        return fragment

    def _put(self, name: Hashable, entry: tuple[object, Profile, Fragment]) -> None:
        self._young[name] = entry
        self._bytes += _ENTRY_BYTES + len(entry[2].body) + sum(map(len, entry[2].follow))
        if self._bytes > self._max_bytes:
            self._old, self._young, self._bytes = self._young, {}, 0
