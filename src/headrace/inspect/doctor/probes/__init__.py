"""The probes, in the order in which they are reported; the first one goes ahead alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from headrace.errors import ConfigError
from headrace.inspect.doctor.probe import Probe
from headrace.inspect.doctor.probes.choice import CHOICE
from headrace.inspect.doctor.probes.history import HISTORY
from headrace.inspect.doctor.probes.lengths import LENGTHS
from headrace.inspect.doctor.probes.output import OUTPUT
from headrace.inspect.doctor.probes.reasoning import REASONING
from headrace.inspect.doctor.probes.refusals import REFUSALS
from headrace.inspect.doctor.probes.sampling import SAMPLING
from headrace.inspect.doctor.probes.text import TEXT
from headrace.inspect.doctor.probes.tools import TOOLS
from headrace.inspect.doctor.probes.usage import USAGE
from headrace.inspect.doctor.probes.waiting import WAITING

PROBES: Final[tuple[Probe, ...]] = (
    *TEXT, *TOOLS, *CHOICE, *OUTPUT, *REASONING, *USAGE, *SAMPLING, *LENGTHS, *HISTORY, *REFUSALS, *WAITING
)  # fmt: skip
"""Every probe."""


def chosen(names: Sequence[str]) -> tuple[Probe, ...]:
    """Return the probes of these names, the first one of all always with them; all of them where none is named.

    Raises:
        ConfigError: there is no such probe.
    """
    known = {probe.name for probe in PROBES}
    for name in names:
        if name not in known:
            raise ConfigError(f"there is no probe {name!r}; there are {', '.join(probe.name for probe in PROBES)}", argument="only")
    return tuple(probe for n, probe in enumerate(PROBES) if not names or n == 0 or probe.name in names)
