"""The page's own tests, run by node: the parser of events, the fold, markdown, following; with the logs of real runs."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

import headrace.server
from headrace.agent.event_codec import encode_event
from headrace.agent.fold import fold
from headrace.messages.json_form import to_dict
from page_agent import make_agent

WEB = Path(__file__).parents[3] / "web"
PAGE = Path(headrace.server.__file__).parent / "page"


@pytest.fixture
def node():
    """Node, and what the page is built with."""
    found = shutil.which("node")
    if found is None or not (WEB / "node_modules").is_dir():
        pytest.skip("the page's tools are not here: install node >= 20 and npm, then make page")
    return found


async def logs():
    """Logs of real runs, with the messages that they stored."""
    made = []
    for said in ("tour", "tools", "pay Ada 30", "pays Ada Bob", "delegate", "discard", "fail", "grind 1", "temperature"):
        events = []
        agent = make_agent()
        try:
            result = await agent.run(said, on_event=events.append)
            while result.pending:
                replies = [one.answer({"wall": 21.5}) if one.kind == "external" else one.approve() for one in result.pending]
                result = await agent.resume(result.state, replies[:1], on_event=events.append)
        except Exception:  # noqa: BLE001 - a run that fails has a log too
            assert said == "fail"
        messages = [to_dict(message) for message in fold(events)]
        made.append({"name": said, "events": [json.loads(encode_event(event)) for event in events], "messages": messages})
    return made


def test_the_pages_own_tests_pass(node, tmp_path):
    file = tmp_path / "logs.json"
    file.write_text(json.dumps(asyncio.run(logs())))
    subprocess.run([node, "build.mjs", "--tests"], cwd=WEB, check=True)
    tests = sorted(str(path) for path in (WEB / ".test").glob("*.test.mjs"))
    done = subprocess.run(
        [node, "--test", *tests], cwd=WEB, env={**os.environ, "HEADRACE_LOGS": str(file)}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-6_000:]
    assert "events show what the kept messages show" in done.stdout


def test_what_is_committed_is_what_the_sources_build(node, tmp_path):
    subprocess.run([node, "build.mjs", str(tmp_path)], cwd=WEB, check=True, capture_output=True)

    def files(folder):
        return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}

    assert files(tmp_path) == files(PAGE), "make page"


def test_the_page_is_small_names_no_other_host_and_runs_nothing_of_its_own_text():
    script = "".join(path.read_text() for path in PAGE.rglob("*.js"))
    html = (PAGE / "index.html").read_text()
    assert len(script.encode()) < 130_000
    assert "eval(" not in script
    assert "<style" not in html
    assert "http" not in html
