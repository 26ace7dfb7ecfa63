"""Where `headrace.toml` is, and its reading.

The rule of this file: it finds and reads, and `providers/config.py` says what the text means. A file that was named must be there; the one
in the user's folder may be missing.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, TypeAlias

from headrace.errors import ConfigError
from headrace.providers.config import EMPTY_CONFIG, Config

CONFIG_VARIABLE: Final = "HEADRACE_CONFIG"
FILE_NAME: Final = "headrace.toml"
_MAX_BYTES: Final = 1 << 20

ConfigLike: TypeAlias = Config | Mapping[str, Any] | str | Path | None


def load_config(path: str | Path | None = None, *, environ: Mapping[str, str] | None = None) -> Config:
    """Read the user's config.

    Args:
        path: the file; by default the one that `HEADRACE_CONFIG` names, else the one in the user's folder, if it is there.
        environ: the environment; by default the process's own.

    Raises:
        ConfigError: a file that was named is not there; it cannot be read; or what it says is unknown or does not fit.
    """
    environ = os.environ if environ is None else environ
    if path is not None:
        return _read(Path(path).expanduser(), "config")
    named = environ.get(CONFIG_VARIABLE, "").strip()
    if named:
        return _read(Path(named).expanduser(), CONFIG_VARIABLE)
    usual = user_config_path(environ)
    return EMPTY_CONFIG if usual is None or not usual.is_file() else _read(usual, "config")


def user_config_path(environ: Mapping[str, str]) -> Path | None:
    """Return where the user's file would be; None where the environment names no home.

    `$XDG_CONFIG_HOME/headrace/headrace.toml`, else that below `~/.config`; on Windows below `%APPDATA%`.
    """
    # The XDG base directory specification says that a relative path is to be ignored.
    xdg = environ.get("XDG_CONFIG_HOME", "")
    if Path(xdg).is_absolute():
        return Path(xdg) / "headrace" / FILE_NAME
    if sys.platform == "win32":
        base = environ.get("APPDATA", "")
        return Path(base) / "headrace" / FILE_NAME if base else None
    home = environ.get("HOME", "")
    return Path(home) / ".config" / "headrace" / FILE_NAME if Path(home).is_absolute() else None


def config_of(value: ConfigLike, environ: Mapping[str, str]) -> Config:
    """Return what a caller says as a config: itself, a mapping, a file's path; None is the user's own file, if there is one.

    Raises:
        ConfigError: as `load_config`.
    """
    if isinstance(value, Config):
        return value
    if isinstance(value, Mapping):
        return Config.of(value)
    return load_config(value, environ=environ)


def _read(path: Path, argument: str) -> Config:
    try:
        facts = path.stat()
        if facts.st_size > _MAX_BYTES:
            raise ConfigError(f"{path} has {facts.st_size} bytes; a config has at most {_MAX_BYTES}", argument=argument)
        return _parsed(path, facts.st_mtime_ns, facts.st_size)
    except OSError as error:
        what = "the config" if argument == "config" else f"the config that {argument} names"
        raise ConfigError(f"{what} cannot be read: {error.strerror or error}: {path}", argument=argument) from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path} is no UTF-8 (byte {error.start})", argument=argument) from error


@lru_cache(maxsize=16)
def _parsed(path: Path, changed_ns: int, size: int) -> Config:  # noqa: ARG001 - a file that was changed is read again
    return Config.parse(path.read_text(encoding="utf-8-sig"), str(path))
