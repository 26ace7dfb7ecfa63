"""The house keeps its rules (DESIGN: floors, pure rooms, vendors as data), and the checker can see a breach."""

from __future__ import annotations

import textwrap
import tomllib

import pytest

from architecture import EXCUSES, FLOOR, IMPURE_MODULES, PURE, SOURCE, Finding, check_source, check_tree, module_of, without_excuses


def test_the_house_keeps_its_rules():
    complaints = without_excuses(check_tree(), EXCUSES)
    assert not complaints, "\n" + "\n".join(complaints)


def test_every_room_stands_on_a_floor():
    rooms = {path.stem for path in SOURCE.iterdir() if path.suffix == ".py" or (path.is_dir() and any(path.rglob("*.py")))}
    assert rooms - {"__init__"} <= set(FLOOR)


def test_the_import_contracts_know_the_same_rooms():
    contracts = tomllib.loads((SOURCE.parents[1] / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    floors, pure = contracts[0], contracts[2]
    below = [{room.strip(" ()") for room in layer.split("|")} for layer in reversed(floors["layers"])]
    assert set().union(*below) == set(FLOOR)
    heights = {room: height for height, rooms in enumerate(below) for room in rooms}
    assert all((heights[one] < heights[other]) >= (FLOOR[one] < FLOOR[other]) for one in FLOOR for other in FLOOR)
    assert {module.removeprefix("*.") for module in pure["source_modules"]} == set(PURE)
    assert set(pure["forbidden_modules"]) == IMPURE_MODULES


# --- the checker sees what it should -----------------------------------------------------------------


def rules(source, path="agent/execution.py"):
    """Name the rules that a source text breaks, given a docstring."""
    return [finding.rule for finding in check_source('"""It is."""\n' + textwrap.dedent(source), path)]


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("messages/parts.py", "from headrace.wire.sse import Frames"),
        ("messages/parts.py", "import headrace.wire.sse"),
        ("messages/parts.py", "from headrace import wire"),
        ("messages/parts.py", "from ..wire import sse"),
        ("messages/parts.py", "from .. import agent"),
        ("errors.py", "from headrace.messages import Message"),
        ("errors.py", "from headrace import _json"),
        ("tools/tool.py", "from headrace.wire.sse import Frames"),
        ("decoding.py", "from headrace.models.model import Model"),
        ("surfaces/agui.py", "from headrace.sessions.log import Log"),
        ("sessions/log.py", "from headrace.durable import Engine"),
        ("durable/engine.py", "from headrace.surfaces import agui"),
        ("agent/loop.py", "from headrace import Model"),
        ("agent/loop.py", "import headrace"),
        ("agent/loop.py", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from headrace.server import App"),
        ("attic/box.py", "from headrace.errors import UsageError"),
    ],
)
def test_an_import_from_a_higher_floor_or_a_neighbour_is_seen(path, source):
    assert rules(source, path) == ["floor"]


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("wire/sse.py", "from headrace.messages.parts import TextPart"),
        ("wire/sse.py", "from headrace import errors"),
        ("_json.py", "from headrace.errors import UsageError"),
        ("wire/openai_chat/stream_in.py", "from headrace.wire.sse import Frames"),
        ("wire/openai_chat/stream_in.py", "from ..sse import Frames"),
        ("wire/__init__.py", "from . import sse"),
        ("durable/engine.py", "from headrace.sessions.log import Log"),
        ("cli/main.py", "from headrace.agent import Agent"),
        ("__main__.py", "from headrace.cli.main import main"),
        ("__init__.py", "from headrace.cli.main import main"),
        ("messages/parts.py", "import headrace_of_somebody_else"),
    ],
)
def test_an_import_from_below_or_from_the_own_room_is_fine(path, source):
    assert rules(source, path) == []


@pytest.mark.parametrize("statement", ["import asyncio", "import asyncio.subprocess", "from time import monotonic", "import random as r"])
@pytest.mark.parametrize("path", ["wire/sse.py", "agent/loop.py", "io/retry.py", "errors.py", "messages/__init__.py"])
def test_a_pure_room_that_touches_the_world_is_seen(path, statement):
    assert rules(statement, path) == ["pure"]


@pytest.mark.parametrize("path", ["io/transport.py", "agent/execution.py", "tools/tool.py", "_sync.py", "agent/loops.py"])
def test_a_shell_may_touch_the_world(path):
    assert rules("import asyncio, time", path) == []


def test_an_import_inside_a_function_is_seen():
    assert rules("def f():\n    import json") == ["inner-import"]
    assert rules("class A:\n    async def f(self):\n        if self:\n            from json import loads") == ["inner-import"]
    assert rules("def f():\n    if TYPE_CHECKING:\n        x = 1\n    else:\n        import json") == ["inner-import"]


def test_an_import_inside_a_function_is_fine_for_an_extra_and_for_types():
    assert rules("def f():\n    import rich.console\n    from prompt_toolkit import PromptSession") == []
    assert rules("def f():\n    from pydantic import TypeAdapter") == []
    assert rules("import typing\ndef f():\n    if typing.TYPE_CHECKING:\n        import json") == []
    assert rules("try:\n    import json\nexcept ImportError:\n    json = None") == []


@pytest.mark.parametrize(
    "source",
    [
        "x = vendor == 'openai'",
        "x = 'deepseek' in model",
        "x = vendor in ('a', 'mistral')",
        "x = vendor in {'groq'}",
        "x = model.startswith('gpt-5')",
        "x = model.startswith(('o3', 'claude-4'))",
        "x = model.endswith('-qwen3')",
        "x = line == b'ollama'",
        "match vendor:\n    case 'xai':\n        pass",
        "match vendor:\n    case 'a' | 'SmolLM2':\n        pass",
        "x = [m for m in models if m != 'gemini']",
    ],
)
def test_a_vendor_in_a_comparison_is_seen_outside_of_providers(source):
    assert rules(source) == ["vendor-name"]
    assert rules(source, "providers/catalogue.py") == []


@pytest.mark.parametrize(
    "source",
    [
        "x = 'openai'",
        "x = {'openai': 1}",
        "x = protocol == 'openai-chat'",
        "from headrace.wire.anthropic_messages import stream_in",
        "x = word == 'translate'",
        "raise ValueError('openai wants a key')",
    ],
)
def test_a_vendor_as_data_or_a_protocols_name_is_fine(source):
    assert rules(source) == []


def test_a_module_without_docstring_is_seen():
    assert [finding.rule for finding in check_source("x = 1\n", "cli/main.py")] == ["docstring"]


def test_a_long_file_is_seen():
    assert rules("x = 1\n" * 399) == []
    assert rules("x = 1\n" * 400) == ["file-length"]


def test_a_long_function_is_seen_also_inside_a_class():
    body = "    x = 1\n"
    assert rules("def f():\n" + body * 59) == []
    assert rules("def f():\n" + body * 60) == ["function-length"]
    (finding,) = check_source('"""It is."""\nclass A:\n    async def f(self):\n' + "        x = 1\n" * 60, "cli/main.py")
    assert (finding.place, finding.line) == ("cli/main.py:A.f", 3)


def test_an_excuse_needs_a_finding_and_a_reason():
    finding = Finding("cli/main.py", "file-length", 500, "500 lines")
    key = ("file-length", "cli/main.py")
    assert without_excuses([finding], {}) == [str(finding)]
    assert without_excuses([finding], {key: "a table"}) == []
    assert without_excuses([], {key: "a table"}) == [f"the excuse {key} excuses nothing: remove it"]
    assert without_excuses([finding], {key: " "}) == [f"the excuse {key} gives no reason"]


def test_the_module_of_a_path():
    assert [module_of(path) for path in ("__init__.py", "wire/__init__.py", "wire/sse.py")] == ["", "wire", "wire.sse"]
