"""Clients' keys: a TOML file that lists each key's name, the hash of it and what it may use; the keys themselves are kept nowhere.

    [[keys]]
    name = "anna"
    sha256 = "9f86d081884c7d65…"
    per_minute = 120            # requests
    max_runs = 4                # that are worked on at once
    max_streams = 20            # that are open at once
    tokens_per_day = 1000000    # of runs that began on the same day, in UTC

The rule of this file: a key has 256 random bits, so a plain SHA-256 cannot be guessed from; comparing takes as long for a wrong key as for a
right one.
"""

from __future__ import annotations

import hmac
import os
import re
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import msgspec

from headrace.errors import ConfigError
from headrace.server.keys import hash_of, new_key

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}")
_HASH: Final = re.compile(r"[0-9a-f]{64}")


class Key(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One key.

    Attributes:
        name: whose it is; runs and sessions belong to this name.
        sha256: the hash of the key.
        per_minute: how many requests it may send in a minute; None: any number.
        max_runs: how many of its runs may be worked on at once.
        max_streams: how many streams it may have open at once.
        tokens_per_day: how many tokens the runs may use that begin on one day (UTC); looked at before a run begins or goes on.
    """

    name: str
    sha256: str = ""
    per_minute: int | None = None
    max_runs: int | None = None
    max_streams: int | None = None
    tokens_per_day: int | None = None

    def __post_init__(self) -> None:
        """Check it.

        Raises:
            ConfigError: a name, a hash or a number is none.
        """
        if not self.name and not self.sha256:
            return  # nobody in particular
        if not _NAME.fullmatch(self.name):
            raise ConfigError(f"{self.name!r} is no name of a key: up to 64 letters, digits and . _ @ -", argument="name")
        if not _HASH.fullmatch(self.sha256):
            raise ConfigError(f"the sha256 of the key {self.name!r} is no hash: 64 hexadecimal digits, in small letters", argument="sha256")
        for name in ("per_minute", "max_runs", "max_streams", "tokens_per_day"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ConfigError(f"{name} of the key {self.name!r} is {value}; it must be above 0", argument=name)

    @property
    def is_bounded(self) -> bool:
        """Whether the store has to be asked before a run of it begins or goes on."""
        return self.max_runs is not None or self.tokens_per_day is not None


ANYBODY: Final = Key(name="")
"""Whoever asks a server without keys."""


class Keys:
    """The keys that are let in."""

    def __init__(self, keys: Iterable[Key] = ()) -> None:
        """Take the keys; without any, everybody is let in.

        Raises:
            ConfigError: two have one name.
        """
        self._keys = tuple(keys)
        names = [key.name for key in self._keys]
        doubled = sorted({name for name in names if names.count(name) > 1})
        if doubled:
            raise ConfigError(f"two keys have the name {doubled[0]!r}; each needs its own", argument="name")
        self._hashes = [(key.sha256.encode(), key) for key in self._keys]

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[Key]:
        return iter(self._keys)

    def find(self, given: str) -> Key | None:
        """Return the key that was given, or None; all are compared, whichever it is."""
        wanted = hash_of(given).encode()
        found: Key | None = None
        for held, key in self._hashes:
            if hmac.compare_digest(held, wanted):
                found = key
        return found


def load_keys(path: Path) -> Keys:
    """Read a file of keys.

    Raises:
        ConfigError: it cannot be read, is no such file, or lists no key.
    """
    keys = _read(path)
    if not keys:
        raise ConfigError(f"{path} lists no key; `headrace keys new NAME --keys {path}` makes one", argument="keys")
    return Keys(keys)


def add_key(path: Path, name: str) -> str:
    """Make a key, write its hash into the file, which is made if need be, and return the key.

    Raises:
        ConfigError: the name is none, or taken; or the file cannot be read or written.
    """
    key = new_key()
    made = Key(name=name, sha256=hash_of(key))
    if any(one.name == name for one in (_read(path) if path.exists() else ())):
        raise ConfigError(f"{path} has a key of the name {name!r} already", argument="name")
    try:
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), "a", encoding="utf-8") as file:
            file.write(f'{"" if file.tell() == 0 else chr(10)}[[keys]]\nname = "{made.name}"\nsha256 = "{made.sha256}"\n')
    except OSError as error:
        raise ConfigError(f"{path} cannot be written: {error.strerror or error}", argument="keys") from error
    return key


def _read(path: Path) -> tuple[Key, ...]:
    try:
        form = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"the keys in {path} cannot be read: {error}", argument="keys") from error
    unknown = sorted(set(form) - {"keys"})
    if unknown:
        raise ConfigError(f"{path} has {unknown[0]!r}; it lists [[keys]] and nothing else", argument=unknown[0])
    try:
        return msgspec.convert(form.get("keys", []), type=tuple[Key, ...])
    except msgspec.ValidationError as error:
        raise ConfigError(f"{path}: {error}", argument="keys") from error
