"""The file that keeps a run."""

from __future__ import annotations

import json
import stat
import sys
from datetime import UTC, datetime

import pytest

from headrace.agent import events
from headrace.agent.agent import Agent
from headrace.cli.state_file import StateFile
from headrace.errors import UsageError
from headrace.messages.message import AssistantMessage
from headrace.messages.parts import ToolCallPart
from headrace.models.scripted import ScriptedModel
from headrace.tools.tool import tool

AT = datetime(2026, 1, 2, tzinfo=UTC)


@tool(needs_approval=True)
def delete(path: str) -> str:
    """Delete."""
    return path


async def paused():
    call = AssistantMessage([ToolCallPart(id="c", name="delete", arguments={"path": "ä"})])
    return await Agent(ScriptedModel(call), tools=[delete]).run("?")


async def test_a_run_that_waits_is_kept_for_this_user_alone_and_read_again(tmp_path):
    result, file = await paused(), StateFile(tmp_path / "s.json")
    file.end(result)
    assert file.read().state == result.state
    assert [path.name for path in tmp_path.iterdir()] == ["s.json"]
    if sys.platform != "win32":
        assert stat.S_IMODE((tmp_path / "s.json").stat().st_mode) == 0o600


async def test_of_a_run_that_is_over_nothing_is_left(tmp_path):
    result, file = await paused(), StateFile(tmp_path / "s.json")
    file.end(result)
    file.end(await Agent(ScriptedModel("done")).run("?"))
    assert not file.is_there
    file.end(await Agent(ScriptedModel("done")).run("?"))


async def test_what_was_kept_before_a_failure_stays(tmp_path):
    result, file = await paused(), StateFile(tmp_path / "s.json")
    file.write(result.state)
    broken = Agent(ScriptedModel(RuntimeError("no")))
    async with broken.stream("?") as run:
        with pytest.raises(RuntimeError):
            await run.finish()
        file.end(run.result)
    assert file.read().run_id == result.run_id


async def test_a_run_that_is_kept_is_not_written_over_by_another_one(tmp_path):
    file = StateFile(tmp_path / "s.json")
    file.check_free()
    file.end(await paused())
    with pytest.raises(UsageError, match="--resume"):
        file.check_free()


@pytest.mark.parametrize(
    ("text", "words"), [(None, "No such file"), ("", "no JSON"), ("[]", "state is a list"), ('{"a": "\xff"}', "utf-8")]
)
def test_what_is_no_state_is_wrong_use(tmp_path, text, words):
    path = tmp_path / "s.json"
    if text is not None:
        path.write_text(text, encoding="latin-1")
    with pytest.raises(UsageError, match=words):
        StateFile(path).read()


def test_a_file_that_cannot_be_written_is_wrong_use_and_leaves_nothing(tmp_path):
    with pytest.raises(UsageError, match="No such file"):
        StateFile(tmp_path / "nowhere" / "s.json").write({})
    (tmp_path / "folder").mkdir()
    with pytest.raises(UsageError, match="--state"):
        StateFile(tmp_path / "folder").write({})
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def test_a_state_is_written_whole_in_place_of_the_one_before(tmp_path):
    file = StateFile(tmp_path / "s.json")
    file.write({"a": 1})
    file.write({"b": 2})
    assert json.loads((tmp_path / "s.json").read_text()) == {"b": 2}


def test_it_is_written_after_what_must_not_happen_twice():
    file = StateFile(None)
    assert file.wants(events.ToolStarted(1, "r", 1, AT, "m/0"))
    assert file.wants(events.RoundStarted(1, "r", 1, AT, "m"))
    assert not file.wants(events.TextDelta(1, "r", 1, AT, "m", 0, "x"))
