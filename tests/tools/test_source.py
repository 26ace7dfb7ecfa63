"""A source of tools, opened and closed."""

from __future__ import annotations

import pytest

from headrace.tools.source import ToolSource, opened
from headrace.tools.toolset import Toolset


class Written:
    """A source that writes down what is done with it."""

    name = "written"
    problem = None
    toolset = Toolset()

    def __init__(self):
        self.done = []

    async def open(self):
        self.done.append("open")
        return self.toolset

    async def aclose(self):
        self.done.append("close")


async def test_a_source_is_closed_when_the_block_ends_also_by_an_error():
    source: ToolSource = Written()

    async def use():
        async with opened(source) as tools:
            assert tools is source.toolset
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await use()
    assert source.done == ["open", "close"]
