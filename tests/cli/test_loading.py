"""What `module:name` names is found, or it is said what is wrong."""

from __future__ import annotations

import sys

import pytest

from headrace.cli.loading import load, load_agent
from headrace.errors import UsageError

MODULE = """
from headrace import Agent, ScriptedModel

agent = Agent(ScriptedModel("Hi."))
number = 3


class Held:
    inner = agent


def make():
    return Agent(ScriptedModel("Made."))


def needs(what):
    return agent


def gives():
    return 3


def fails():
    raise RuntimeError("no luck")
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = set(sys.modules)
    (tmp_path / "loaded_here.py").write_text(MODULE)
    (tmp_path / "breaks_here.py").write_text("1 / 0")
    (tmp_path / "lacks_here.py").write_text("import a_module_that_is_nowhere")
    (tmp_path / "package_here").mkdir()
    (tmp_path / "package_here" / "__init__.py").touch()
    (tmp_path / "package_here" / "deep.py").write_text(MODULE)
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "in_a_folder.py").write_text(MODULE)
    yield tmp_path
    for name in set(sys.modules) - before:
        if name.partition(".")[0] in {"loaded_here", "breaks_here", "lacks_here", "package_here", "in_a_folder"}:
            del sys.modules[name]


@pytest.mark.parametrize(
    "target", ["loaded_here:agent", "loaded_here:Held.inner", "loaded_here:make", "package_here.deep:agent", "folder/in_a_folder.py:agent"]
)
def test_an_agent_is_found(place, target):
    assert load_agent(target).run_sync("hi").message.text in ("Hi.", "Made.")


def test_anything_can_be_loaded(place):
    assert load("loaded_here:number") == 3


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("loaded_here", "write module:name"),
        (":agent", "write module:name"),
        ("loaded_here:", "write module:name"),
        ("nowhere_at_all:agent", "no module 'nowhere_at_all'"),
        ("package_here.other:agent", "no module 'package_here.other'"),
        ("nothing.py:agent", "no file"),
        ("loaded_here:agnet", "has no 'agnet'; it has the agent agent"),
        ("loaded_here:Held.outer", "loaded_here.Held has no 'outer'; it has the agent inner"),
        ("loaded_here:number", "is a int, not an Agent"),
        ("loaded_here:Held", "is the class Held, not an Agent"),
        ("loaded_here:gives", "gave a int"),
        ("loaded_here:needs", "without arguments"),
        ("loaded_here:fails", "RuntimeError: no luck"),
        ("breaks_here:agent", "ZeroDivisionError"),
        ("lacks_here:agent", "ModuleNotFoundError: No module named 'a_module_that_is_nowhere'"),
    ],
)
def test_what_is_wrong_is_said(place, target, words):
    with pytest.raises(UsageError) as caught:
        load_agent(target)
    assert words in str(caught.value)
    assert caught.value.argument == "target"
