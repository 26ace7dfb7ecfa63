"""Tools for the command line: the two for demonstration, and those that `-T module:name` finds.

The rule of this file: what cannot be loaded is wrong use, said with the name that was given.
"""

from __future__ import annotations

import zoneinfo
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, Final, cast

from headrace.cli.calculator import evaluate
from headrace.cli.loading import load
from headrace.errors import ToolError, UsageError
from headrace.tools.tool import Tool, tool
from headrace.tools.toolset import Toolset


@tool(idempotent=True)
def city_time(city: str) -> str:
    """Tell the current local time in a city.

    Args:
        city: The name of the city, for example "Tokyo".
    """
    zone = zone_of(city)
    now = datetime.now(UTC).astimezone(zoneinfo.ZoneInfo(zone))
    return f"In {city} it is {now:%H:%M} on {now:%A}, {now:%d %B %Y} ({zone})."


@tool(idempotent=True)
def calculate(expression: str) -> str:
    """Work out an arithmetic expression.

    Args:
        expression: For example "(2 + 3) * 4".
    """
    return f"{expression} = {evaluate(expression)}"


BUILT_IN: Final[dict[str, Tool[..., Any]]] = {"time": city_time, "calculate": calculate}
"""What `-T` takes by a short name."""

_MORE_CITIES: Final = {
    "beijing": "Asia/Shanghai",
    "shenzhen": "Asia/Shanghai",
    "hangzhou": "Asia/Shanghai",
    "guangzhou": "Asia/Shanghai",
    "mumbai": "Asia/Kolkata",
    "delhi": "Asia/Kolkata",
    "new delhi": "Asia/Kolkata",
    "san francisco": "America/Los_Angeles",
    "seattle": "America/Los_Angeles",
    "washington": "America/New_York",
    "boston": "America/New_York",
    "munich": "Europe/Berlin",
    "geneva": "Europe/Zurich",
    "barcelona": "Europe/Madrid",
    "milan": "Europe/Rome",
    "kyoto": "Asia/Tokyo",
    "osaka": "Asia/Tokyo",
}


def zone_of(city: str) -> str:
    """Return the time zone of a city: one that a zone is named after, or one of a few more.

    Raises:
        ToolError: the city is not known, or this system has no time zones.
    """
    wanted = city.partition(",")[0].strip().lower()
    zones = zoneinfo.available_timezones()
    if not zones:
        raise ToolError("this system has no time zone data; the Python package tzdata brings it")
    by_city = {
        zone.rpartition("/")[2].replace("_", " ").lower(): zone for zone in sorted(zones) if "/" in zone and not zone.startswith("Etc/")
    }
    zone = by_city.get(wanted) or _MORE_CITIES.get(wanted)
    if zone is None:
        raise ToolError(f"no time zone is known for {city!r}; name a bigger city of the same zone")
    return zone


def load_tools(names: Iterable[str]) -> Toolset:
    """Return the tools of these names: `time`, `calculate`, or `module:name`, also from the current folder.

    Raises:
        UsageError: a name is of no such form, cannot be imported, or is no tool.
    """
    return Toolset([_load(name) for name in names])


def _load(name: str) -> Any:
    if name in BUILT_IN:
        return BUILT_IN[name]
    module_name, colon, attribute = name.partition(":")
    if not colon or not module_name or not attribute:
        raise UsageError(f"-T {name!r} is no tool: write module:function, or one of {', '.join(BUILT_IN)}", argument="tool")
    try:
        found = load(name)
    except UsageError as error:
        raise UsageError(f"-T {error}", argument="tool") from error
    if isinstance(found, list | tuple):
        return Toolset(cast("Iterable[Any]", found))
    if not isinstance(found, Toolset) and not callable(found):
        raise UsageError(f"-T {name} is a {type(found).__name__}, no function, tool or toolset", argument="tool")
    return found
