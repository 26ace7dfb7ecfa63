"""Which upstreams a request goes to, and in which order.

The rule of this file: pure; chance comes in as an argument. Among those that have the model each is first as often as its weight says; the
others stand behind it in the same manner, and those without weight come last, as they are listed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import msgspec

from headrace.server.gateway.config import Upstream


class Candidate(msgspec.Struct, frozen=True):
    """An upstream and what it calls the model."""

    upstream: Upstream
    model: str


def name_at(models: Mapping[str, str], asked: str) -> str | None:
    """Return an upstream's name of a model, or None if it does not have it: the exact name first, then patterns as they are listed."""
    if not models:
        return asked
    exact = models.get(asked)
    if exact is not None and "*" not in asked:
        return exact
    for pattern, target in models.items():
        before, star, after = pattern.partition("*")
        if star and len(asked) >= len(before) + len(after) and asked.startswith(before) and asked.endswith(after):
            return target.replace("*", asked[len(before) : len(asked) - len(after)])
    return None


def candidates(upstreams: Iterable[Upstream], model: str, chance: Callable[[], float]) -> tuple[Candidate, ...]:
    """Return who may be asked for a model, the first to ask first; empty if nobody has it.

    Args:
        upstreams: all that there are.
        model: the client's name of the model.
        chance: gives a number from 0 to 1, new each time.
    """
    able = [Candidate(one, name) for one in upstreams if (name := name_at(one.models, model)) is not None]
    weighted = [one for one in able if one.upstream.weight > 0]
    spare = [one for one in able if one.upstream.weight == 0]
    if len(weighted) > 1:
        # Efraimidis and Spirakis, "Weighted random sampling with a reservoir" (2006): the largest of u ** (1 / w) is drawn by weight.
        weighted = [one for _, one in sorted(((chance() ** (1 / one.upstream.weight), one) for one in weighted), key=_draw, reverse=True)]
    return (*weighted, *spare)


def known_names(upstream: Upstream) -> tuple[str, ...]:
    """Return the models that an upstream is said to have by name."""
    return tuple(name for name in upstream.models if "*" not in name)


def _draw(drawn: tuple[float, Candidate]) -> float:
    return drawn[0]
