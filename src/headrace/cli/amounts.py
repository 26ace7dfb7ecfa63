"""Amounts on the command line: a number and a unit."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from headrace.errors import UsageError

AGES: Final = {"d": 86_400.0, "h": 3_600.0, "min": 60.0, "s": 1.0}
SIZES: Final = {"GB": 1e9, "MB": 1e6, "kB": 1e3, "B": 1.0}
_AMOUNT: Final = re.compile(r"\s*(?P<number>\d+(?:\.\d+)?)\s*(?P<unit>[A-Za-z]+)\s*")


def amount(text: str, units: Mapping[str, float], argument: str) -> float:
    """Read a number with a unit.

    Raises:
        UsageError: it is none.
    """
    read = _AMOUNT.fullmatch(text)
    if read is None or read["unit"] not in units:
        raise UsageError(f"--{argument.replace('_', '-')} is {text!r}; give a number and one of {', '.join(units)}", argument=argument)
    return float(read["number"]) * units[read["unit"]]
