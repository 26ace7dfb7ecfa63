"""`headrace worker`: a process that works on runs that others begin, and gives them back when it is told to end."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest

from headrace.agent.agent import Agent
from headrace.cli.main import main
from headrace.models.scripted import ScriptedModel
from headrace.sessions.sqlite import SQLiteStore

pytest.importorskip("dbos", reason="the extra is missing: pip install 'headrace[durable]'")

SOURCE = Path(__file__).resolve().parents[2] / "src"
PROGRAM = """
import asyncio
from headrace import Agent, AssistantMessage, ScriptedModel, ToolCallPart, tool

@tool(idempotent=True)
async def wait(seconds: float) -> str:
    "Wait."
    await asyncio.sleep(seconds)
    return "waited"

def script(request):
    if len(request.messages) > 1:
        return "Done."
    return AssistantMessage([ToolCallPart(id="c", name="wait", arguments={"seconds": float(request.messages[0].text)})])

agent = Agent(ScriptedModel(*[script] * 100), tools=[wait])
"""


@pytest.fixture
def program(tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text(PROGRAM)
    monkeypatch.chdir(tmp_path)
    return "mine.py:agent"


async def begun(program, database, *options):
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "headrace", "worker", "--database", str(database), *options, program),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
    )
    name = (await asyncio.wait_for(process.stdout.readline(), 60)).decode().strip()
    assert name, (await process.stderr.read()).decode()
    return process, name


async def test_it_works_on_runs_and_gives_them_back_when_it_ends(program, tmp_path):
    from headrace.durable import DurableRuns

    database = tmp_path / "runs.db"
    async with SQLiteStore(database) as store, DurableRuns(Agent(ScriptedModel()), store, name=program, works=False) as front:
        first, first_name = await begun(program, database, "--concurrency", "4")
        try:
            await front.start("0", run_id="quick")
            assert (await front.wait("quick")).owner == first_name
            await front.start("1.5", run_id="slow")
            async for entry in front.read("slow"):
                if entry.data.startswith(b'{"type":"tool_started"'):
                    break
            first.send_signal(signal.SIGTERM)
            out, err = await asyncio.wait_for(first.communicate(), 30)
            assert (first.returncode, out) == (0, b"")
            assert b"works on mine.py:agent, 4 runs at once" in err
            assert [worker.id for worker in await store.workers()] == [front.worker_id]
            second, second_name = await begun(program, database, "-q")
            try:
                record = await front.wait("slow")
                assert (record.generate_reason, record.owner) == ("completed", second_name)
                second.send_signal(signal.SIGINT)
                assert await asyncio.wait_for(second.communicate(), 30) == (b"", b"")
                assert second.returncode == 0
            finally:
                if second.returncode is None:
                    second.kill()
                    await second.communicate()
        finally:
            if first.returncode is None:
                first.kill()
                await first.communicate()


def test_an_agent_that_is_not_there_is_wrong_use(program, capsys):
    assert main(["worker", "--database", "runs.db", "mine.py:nobody"]) == 2
    assert "nobody" in capsys.readouterr().err


def test_a_database_that_is_none_is_wrong_use(program, capsys):
    assert main(["worker", "--database", "mysql://x", program]) == 2
    assert "mysql" in capsys.readouterr().err


def test_without_the_extra_it_says_which_one_to_install(program, monkeypatch, capsys):
    for name in [name for name in sys.modules if name == "dbos" or name.startswith(("dbos.", "headrace.durable"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "dbos", None)
    assert main(["worker", "--database", "runs.db", program]) == 2
    assert "pip install 'headrace[durable]'" in capsys.readouterr().err
