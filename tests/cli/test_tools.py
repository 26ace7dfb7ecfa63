"""The demonstration's tools, and loading of others."""

from __future__ import annotations

import re
import sys

import pytest

from headrace.cli.tools import BUILT_IN, calculate, city_time, load_tools, zone_of
from headrace.errors import ToolError, UsageError


@pytest.mark.parametrize(
    ("city", "zone"),
    [
        ("Tokyo", "Asia/Tokyo"),
        ("new york", "America/New_York"),
        ("Paris, France", "Europe/Paris"),
        ("Beijing", "Asia/Shanghai"),
        ("  London ", "Europe/London"),
    ],
)
def test_a_city_has_its_zone(city, zone):
    assert zone_of(city) == zone


def test_an_unknown_city_is_said_so_that_the_model_can_choose_another():
    with pytest.raises(ToolError, match="Atlantis"):
        zone_of("Atlantis")


def test_the_time_names_city_and_zone():
    assert re.fullmatch(r"In Tokyo it is \d\d:\d\d on [A-Z]\w+day, \d\d \w+ \d{4} \(Asia/Tokyo\)\.", city_time("Tokyo"))


def test_a_sum_is_said_with_its_question():
    assert calculate("2 + 2") == "2 + 2 = 4"


def test_built_in_tools_are_known_by_short_names():
    assert load_tools(["time", "calculate"]).names == ("city_time", "calculate")
    assert set(BUILT_IN) == {"time", "calculate"}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A current folder with a module of tools, forgotten afterwards."""
    (tmp_path / "my_own_tools.py").write_text(
        "from headrace.tools.tool import tool\n"
        "def roll(sides: int) -> int:\n    '''Roll a die.'''\n    return sides\n"
        "@tool\ndef flip() -> str:\n    '''Flip a coin.'''\n    return 'heads'\n"
        "class Box:\n    @staticmethod\n    def open(key: str) -> str:\n        return key\n"
        "both = [roll, flip]\nnumber = 7\n"
    )
    (tmp_path / "my_broken_tools.py").write_text("raise RuntimeError('no database')\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield tmp_path
    for name in ("my_own_tools", "my_broken_tools"):
        sys.modules.pop(name, None)


def test_tools_are_found_in_the_current_folder(folder):
    assert load_tools(["my_own_tools:roll", "my_own_tools:flip"]).names == ("roll", "flip")
    assert load_tools(["my_own_tools:both"]).names == ("roll", "flip")
    assert load_tools(["my_own_tools:Box.open"]).names == ("open",)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("weather", "module:function"),
        (":roll", "module:function"),
        ("my_own_tools:", "module:function"),
        ("no_such_module_here:f", "there is no module 'no_such_module_here'"),
        ("my_own_tools:nothing", "has no 'nothing'"),
        ("my_own_tools:number", "is a int"),
        ("my_broken_tools:f", "no database"),
    ],
)
def test_what_cannot_be_loaded_is_wrong_use_and_said_by_name(folder, name, words):
    with pytest.raises(UsageError, match=re.escape(words)) as caught:
        load_tools([name])
    assert name in str(caught.value)


def test_the_same_tool_twice_is_wrong_use():
    with pytest.raises(UsageError, match="two tools"):
        load_tools(["time", "time"])
