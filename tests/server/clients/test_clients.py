"""The official JavaScript clients of the protocols, run by node against the real server; they are pinned in `package.json`.

The rule of this file: what a client must do is written in JavaScript, beside it, and each `test` there is one here in what a failure says. A
machine without node skips, and says what to install; where nothing may be skipped, that fails.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from chat_server import ServedChat

HERE = Path(__file__).parent
STAMP = HERE / "node_modules" / ".installed"
PAGES = HERE.parents[2] / "docs" / "clients"
_LEAST_NODE = 20
SNIPPET = re.compile(r"^`(\w+\.mjs)`:\n\n```js\n(.*?)^```", re.DOTALL | re.MULTILINE)


@pytest.fixture(scope="module")
def node():
    """Node, where the clients are installed (Makefile)."""
    node = shutil.which("node")
    if node is None or int(subprocess.check_output([node, "-p", "process.versions.node.split('.')[0]"])) < _LEAST_NODE:
        pytest.skip("the JavaScript clients are not run: install node >= 20 and npm")
    if not STAMP.exists():
        pytest.skip("the JavaScript clients are not run: make test installs them, where it can")
    return node


@pytest.fixture(scope="module")
def environment():
    """Where the real server listens, which signs its questions; and where another one does, which asks for a key."""
    with ServedChat(secret=b"what only the server knows") as chat, ServedChat(key="hr-mill-0123456789") as locked:
        named = {"HEADRACE_URL": chat.url.rstrip("/"), "HEADRACE_LOCKED_URL": locked.url.rstrip("/"), "HEADRACE_KEY": "hr-mill-0123456789"}
        yield {**os.environ, **named}


@pytest.mark.parametrize("script", sorted(HERE.glob("*.test.mjs")), ids=lambda path: path.name.partition(".")[0])
def test_a_client_judges_what_the_server_says(node, environment, script):
    command = [node, "--test", "--test-reporter=spec", script.name]
    done = subprocess.run(command, cwd=HERE, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert not re.search(r"^ℹ (skipped|todo|cancelled) [1-9]", done.stdout, re.MULTILINE), done.stdout[-2000:]  # noqa: RUF001 - node's own sign


def test_the_talk_of_the_page_about_agui(node, environment):
    done = subprocess.run([node, "talk.mjs"], cwd=HERE, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout.rstrip().endswith("paid 25 euros to Ada"), done.stderr


def test_the_javascript_of_the_pages_is_what_is_run_here():
    for page in sorted(PAGES.glob("*.md")):
        text = page.read_text(encoding="utf-8")
        snippets = SNIPPET.findall(text)
        assert len(snippets) == text.count("```js\n"), page.name
        for name, code in snippets:
            assert code in (HERE / name).read_text(encoding="utf-8"), (page.name, name)
