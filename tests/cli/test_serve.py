"""`headrace serve` and `headrace keys` as a person starts them: processes of their own."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from contextlib import contextmanager
from pathlib import Path

import pytest

SUPPORT = Path(__file__).resolve().parents[1] / "support"


@contextmanager
def served(*options, folder):
    """Serve the agent of the tests, and give the address and the process."""
    command = [sys.executable, "-m", "headrace", "serve", f"{SUPPORT / 'app_ground.py'}:make_agent", "--port", "0", *options]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=folder, env=env)
    try:
        yield process.stdout.readline().strip(), process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def ask(url, body=None, headers=None):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"content-type": "application/json", **(headers or {})})
    with urllib.request.urlopen(request, timeout=20) as response:
        return response.read().decode()


def headrace(*arguments, folder):
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.run(
        [sys.executable, "-m", "headrace", *arguments], capture_output=True, text=True, cwd=folder, env=env, timeout=60, check=False
    )


@pytest.mark.parametrize("way", ["asked to end", "killed"])
def test_a_server_that_ends_or_dies_in_mid_run_is_gone_on_with_by_the_next_one(tmp_path, way):
    store = ("--store", str(tmp_path / "runs.db"))
    with served(*store, folder=tmp_path) as (url, process):
        view = json.loads(ask(f"{url}/runs", {"input": "slowly 200", "session_id": "talk"}))
        response = urllib.request.urlopen(f"{url}/runs/{view['id']}/events", timeout=20)
        text = ""
        while "w20 " not in text:
            text += response.readline().decode()
        process.send_signal(signal.SIGTERM if way == "asked to end" else signal.SIGKILL)
        try:
            text += response.read().decode()
        except (OSError, http.client.HTTPException):
            assert way == "killed"
        assert process.wait(20) == (0 if way == "asked to end" else -signal.SIGKILL)
    seen = [block for block in text.split("\n\n") if block.startswith("id: ")]
    seqs = [int(block.splitlines()[0].removeprefix("id: ")) for block in seen]
    with served(*store, folder=tmp_path) as (url, _):
        rest = ask(f"{url}/runs/{view['id']}/events?after={seqs[-1]}")
        seqs += [int(line.removeprefix("id: ")) for line in rest.splitlines() if line.startswith("id: ")]
        assert seqs == sorted(set(seqs))
        deadline = time.monotonic() + 20
        while (shown := json.loads(ask(f"{url}/runs/{view['id']}")))["status"] != "ended":
            assert time.monotonic() < deadline
            time.sleep(0.05)
        assert shown["message"]["parts"][0]["text"] == "".join(f"w{n} " for n in range(200))


def test_keys_are_made_at_the_command_line_and_let_their_holders_in(tmp_path):
    made = headrace("keys", "new", "anna", "--keys", "keys.toml", folder=tmp_path)
    key = made.stdout.strip()
    assert made.returncode == 0
    assert key.startswith("hr-")
    assert headrace("keys", "new", "anna", "--keys", "keys.toml", folder=tmp_path).returncode == 2
    assert headrace("keys", "list", "--keys", "keys.toml", folder=tmp_path).stdout == "anna\n"
    options = ("--store", "memory:", "--keys", "keys.toml", "--host", "0.0.0.0", "--allow-host", "localhost")
    with served(*options, folder=tmp_path) as (url, process):
        local = url.replace("0.0.0.0", "127.0.0.1")
        with pytest.raises(urllib.error.HTTPError, match="401"):
            ask(f"{local}/runs")
        assert json.loads(ask(f"{local}/runs", headers={"authorization": f"Bearer {key}"})) == {"runs": []}
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (("nothing:agent",), "nothing"),
        (("json:loads",), "json:loads"),
        (("--host", "0.0.0.0"), "--keys"),
        (("--keys", "none.toml"), "none.toml"),
        (("json:loads", "-m", "local:smollm2"), "options"),
        (("--no-work",), "--durable"),
        (("--keep-for", "ever"), "keep-for"),
        (("--wait-for", "me"), "wait-for"),
    ],
)
def test_what_does_not_do_is_said_in_a_line(tmp_path, arguments, word):
    done = headrace("serve", *arguments, "--store", "memory:", "--port", "0", folder=tmp_path)
    assert done.returncode == 2
    assert word in done.stderr
    assert "Traceback" not in done.stderr


def ended(url, run_id):
    deadline = time.monotonic() + 30
    while (shown := json.loads(ask(f"{url}/runs/{run_id}")))["status"] != "ended":
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return shown


def test_durable_runs_are_worked_on_by_workers_of_the_same_store(tmp_path):
    store = str(tmp_path / "runs.db")
    agent = f"{SUPPORT / 'app_ground.py'}:make_agent"
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with served("--store", store, "--durable", "--no-work", folder=tmp_path) as (url, _):
        assert json.loads(ask(f"{url}/api/info"))["durable"] is True
        view = json.loads(ask(f"{url}/runs", {"input": "slowly 3"}))
        command = [sys.executable, "-m", "headrace", "worker", "--database", store, agent]
        worker = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path, env=env)
        try:
            shown = ended(url, view["id"])
        finally:
            worker.send_signal(signal.SIGTERM)
            worker.communicate(timeout=30)
        assert shown["message"]["parts"][0]["text"] == "w0 w1 w2 "


def test_what_is_too_old_is_deleted_while_it_serves(tmp_path):
    with served("--store", "memory:", "--keep-for", "1s", folder=tmp_path) as (url, _):
        run_id = json.loads(ask(f"{url}/runs", {"input": "slowly 1", "session_id": "old"}))["id"]
        deadline = time.monotonic() + 30
        while json.loads(ask(f"{url}/runs"))["runs"] or json.loads(ask(f"{url}/sessions"))["sessions"]:
            assert time.monotonic() < deadline
            time.sleep(0.1)
        with pytest.raises(urllib.error.HTTPError, match="404"):
            ask(f"{url}/runs/{run_id}")


def test_what_nobody_answers_is_given_up_while_it_serves(tmp_path):
    with served("--store", "memory:", "--wait-for", "1s", folder=tmp_path) as (url, _):
        run_id = json.loads(ask(f"{url}/runs", {"input": "pay Ada 3"}))["id"]
        assert ended(url, run_id)["generate_reason"] == "interrupted"
