"""From findings to a `Profile`: the switches with which Headrace and its gateway cope, as a `headrace.toml`.

The rule of this file: only switches that exist, each with the reason beside it; what two findings say of one switch is joined, so that
neither is lost.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final, cast

from headrace._json import JSON, dumps_text
from headrace.inspect.doctor.probe import Finding
from headrace.wire.profile import DEFAULT, Profile

_LACKING: Final = frozenset({"tool_choices", "output_formats"})
"""Switches that list what there is: of two lists only what is in both is there."""
_PLAIN_KEY: Final = re.compile(r"[A-Za-z0-9_-]+")
_WIDTH: Final = 110


def joined(findings: Iterable[Finding], base: Profile) -> dict[str, Any]:
    """Return the switches of all findings, as they differ from a profile.

    Where two findings give a value to one switch, the first counts; lists and tables are joined, also with what the profile has. A switch that
    changes nothing is left out.
    """
    switches: dict[str, Any] = {}
    for finding in findings:
        for name, value in finding.switches.items():
            own = switches[name] if name in switches else getattr(base, name)
            is_joined = isinstance(value, tuple | Mapping)
            switches[name] = _both(name, value, own) if is_joined else switches.get(name, value)
    return {name: value for name, value in switches.items() if value != getattr(base, name)}


def config_toml(
    findings: Iterable[Finding], base: Profile, *, model_id: str, protocol: str, base_url: str, key_variable: str | None = None
) -> str:
    """Return a `headrace.toml` with the switches that were found, each with the reason as a comment.

    They stand for the model at any address (`Model(model_id, base_url=…)`); where the endpoint is like any other of its protocol, they stand a
    second time, for a provider of its own, by whose name the command line and the gateway find it with every model that it has.
    """
    found = [finding for finding in findings if finding.switches]
    switches = joined(found, base)
    lines = [
        *_comment(f"What `headrace doctor` found out about {base_url}, model {model_id}, by {protocol}."),
        "# Use it as headrace.toml, or name it in HEADRACE_CONFIG.",
        "",
        *_table(f"models.{_key(model_id)}.profile", switches, found),
    ]
    if base.replace(provider="") == DEFAULT:
        lines += _provider(base_url, protocol, switches, key_variable)
    return "\n".join(lines) + "\n"


def _provider(base_url: str, protocol: str, switches: Mapping[str, Any], key_variable: str | None) -> list[str]:
    name = re.sub(r"[^a-z0-9]+", "-", base_url.lower().partition("://")[2]).strip("-")[:60] or "examined"
    lines = [
        "",
        f"[providers.{_key(name)}]",
        f"base_url = {_text(base_url)}",
        f"protocol = {_text(protocol)}",
        f"needs_key = {dumps_text(key_variable is not None)}",
    ]
    if key_variable is not None:
        lines.append(f"key_variables = [{_text(key_variable)}]")
    return [*lines, "", *_table(f"providers.{_key(name)}.profile", switches, ())]


def _table(path: str, switches: Mapping[str, Any], reasons: Iterable[Finding]) -> list[str]:
    lines = [f"[{path}]"]
    reasons = tuple(reasons)
    if not switches:
        lines.append("# nothing that differs")
    for name, value in switches.items():
        lines += [line for finding in reasons if name in finding.switches for line in _comment(f"{finding.probe}: {finding.what}")]
        lines.append(f"{name} = {_toml(value)}")
    return lines


def _comment(text: str) -> list[str]:
    """A text as lines of comment; no character in it can end the comment."""
    words = re.sub(r"[\x00-\x1f\x7f]+", " ", text).split()
    lines: list[str] = []
    line = "#"
    for word in words:
        if len(line) + len(word) > _WIDTH and line != "#":
            lines.append(line)
            line = "#"
        line += f" {word}"
    return [*lines, line]


def _both(name: str, one: Any, other: Any) -> Any:
    if isinstance(one, Mapping):
        return {**cast("Mapping[str, Any]", other), **cast("Mapping[str, Any]", one)}
    first, second = cast("tuple[Any, ...]", one), cast("tuple[Any, ...]", other)
    if name in _LACKING:
        return tuple(word for word in second if word in first)
    return (*second, *(word for word in first if word not in second))


def _key(text: str) -> str:
    return text if _PLAIN_KEY.fullmatch(text) else _text(text)


def _text(text: str) -> str:
    """A text as TOML: as JSON writes it, but for one character that TOML wants escaped too."""
    return dumps_text(text).replace("\x7f", "\\u007f")


def _toml(value: object) -> str:
    """A JSON value as TOML: texts and numbers are written the same way in both."""
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(key)} = {_toml(member)}" for key, member in cast("Mapping[str, Any]", value).items()) + " }"
    if isinstance(value, tuple | list):
        return "[" + ", ".join(map(_toml, cast("Iterable[Any]", value))) + "]"
    return dumps_text(cast("JSON", value))
