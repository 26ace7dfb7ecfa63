"""`headrace inspect`, the real program."""

from __future__ import annotations

import json
import signal

import pytest

from chat_bytes import text_stream
from headrace.cli.app import main
from headrace.cli.inspect import Sending, answer, headers_of
from headrace.errors import UsageError
from headrace.io.http_server import RefusedError, serving
from headrace.io.httpx_transport import HttpTransport
from headrace.io.replay import Recorded
from headrace.io.replay_server import Exchange, Manner, Replayer
from headrace.io.transport import HTTPRequest, read_bounded
from inspect_samples import SAMPLES

WHOLE = b"".join(text_stream("It is ", "late."))
CUT = SAMPLES["cut-with-error"]().body


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with a whole stream and a broken one, as the current one."""
    (tmp_path / "whole.sse").write_bytes(WHOLE)
    (tmp_path / "cut.sse").write_bytes(CUT)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_whole_stream_is_0_and_a_failed_one_1(here, capsys):
    assert main(["inspect", "whole.sse"]) == 0
    text = capsys.readouterr().out
    assert "It is late." in text
    assert "\x1b" not in text  # not a terminal
    assert main(["inspect", "cut.sse", "--text"]) == 1
    assert "the worker ran out of memory" in capsys.readouterr().out


def test_json_is_one_line_with_every_key(here, capsysbinary):
    assert main(["inspect", "whole.sse", "--json", "--protocol", "openai-chat"]) == 0
    (line,) = capsysbinary.readouterr().out.splitlines()
    document = json.loads(line)
    assert list(document) == [
        "format_version",
        "source",
        "protocol",
        "status",
        "notes",
        "facts",
        "warnings",
        "parts",
        "rows",
        "plot",
        "summary",
    ]
    assert document["summary"]["text"] == "It is late."


def test_html_is_written_to_a_file_or_to_standard_output(here, capsysbinary):
    assert main(["inspect", "whole.sse", "--html", "report.html"]) == 0
    assert "the report is in report.html" in capsysbinary.readouterr().err.decode()
    assert main(["inspect", "whole.sse", "--html", "-"]) == 0
    assert capsysbinary.readouterr().out == (here / "report.html").read_bytes()


def test_options_reach_the_decoder(here, capsysbinary):
    (here / "think.sse").write_bytes(b"".join(text_stream("<think>late?</think>", "Yes.")))
    assert main(["inspect", "think.sse", "--json", "-o", "think_tags=true", "--provider", "mill"]) == 0
    document = json.loads(capsysbinary.readouterr().out)
    assert (document["summary"]["reasoning"], document["summary"]["message"]["provider"]) == ("late?", "mill")


@pytest.mark.parametrize("form", [[], ["--json"], ["--html", "-"]])
def test_two_captures_are_compared(here, capsysbinary, form):
    assert main(["inspect", "whole.sse", "--compare", "whole.sse", *form]) == 0
    assert main(["inspect", "whole.sse", "--compare", "cut.sse", *form]) == 1
    out = capsysbinary.readouterr().out.decode()
    assert "they differ" in out or '"is_same":false' in out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "say what to inspect"),
        (["missing.sse"], "cannot read 'missing.sse'"),
        (["whole.sse", "--protocol", "x"], "there is no protocol 'x'"),
        (["whole.sse", "--json", "--html", "a.html"], "exclude each other"),
        (["-", "--compare", "-"], "can be read once"),
        (["whole.sse", "--body", "x"], "are for a URL"),
        (["whole.sse", "-o", "x"], "name=value"),
        (["whole.sse", "--html", "missing/a.html"], "cannot write 'missing/a.html'"),
        (["http://127.0.0.1:1/", "--body", "missing"], "cannot read 'missing'"),
        (["http://127.0.0.1:1/", "--body", "cut.sse", "--request", "cut.sse"], "exclude each other"),
        (["http://127.0.0.1:1/", "--api-key-env", "HEADRACE_NO_SUCH_KEY"], "HEADRACE_NO_SUCH_KEY is not set"),
    ],
)
def test_wrong_use_is_2_and_says_what_was_wrong(here, capsys, arguments, words):
    assert main(["inspect", *arguments]) == 2
    assert words in capsys.readouterr().err


def test_a_server_that_is_not_there_is_1(here, capsys):
    assert main(["inspect", "http://127.0.0.1:1/"]) == 1
    assert "Check the address" in capsys.readouterr().err


def test_a_header_that_is_none_is_not_repeated_since_it_may_hold_a_key():
    with pytest.raises(UsageError) as caught:
        headers_of(Sending(headers=("sk-0123456789",)), {})
    assert "sk-0123456789" not in str(caught.value)
    assert headers_of(Sending(headers=("X-A: b:c",), api_key_env="K"), {"K": "k"}) == (("X-A", "b:c"), ("authorization", "Bearer k"))


async def test_a_url_is_asked_and_its_times_noted(program):
    asked = []
    replayer = Replayer((Exchange(Recorded(body=WHOLE)),), Manner(slice_size=50, delay_s=0.05, is_looping=True))

    def reply(request):
        asked.append(request)
        return replayer(request)

    (program.folder / "ask.json").write_text('{"model": "m"}')
    async with serving(reply) as server:
        done = await program(
            "inspect", f"{server.url}/v1/chat/completions", "--body", "ask.json", "-H", "X-Key: sk-0123456789abc", "--json"
        )
    document = json.loads(done.out)
    assert (done.code, asked[0].method, asked[0].body) == (0, "POST", b'{"model": "m"}')
    assert {name.lower(): value for name, value in asked[0].headers}["x-key"] == "sk-0123456789abc"
    assert document["facts"]["reads"] > 1
    assert document["facts"]["duration_ms"] > 0
    assert document["status"] == 200
    assert b"sk-0123456789abc" not in done.out


async def test_standard_input_is_read_with_its_times(program):
    done = await program("inspect", "-", "--json", given=WHOLE)
    assert json.loads(done.out)["facts"]["duration_ms"] is not None


async def test_it_serves_the_page_until_it_is_interrupted(program):
    process = await program.start("inspect", "--serve")
    try:
        url = (await process.stdout.readline()).decode().strip()
        async with HttpTransport() as client:
            async with client.stream(HTTPRequest("GET", url)) as page:
                assert (page.status, page.headers["x-frame-options"]) == (200, "DENY")
                assert b"Inspect a stream" in await read_bounded(page)
            async with client.stream(HTTPRequest("POST", f"{url}?name=mill&format=json", (), WHOLE)) as report:
                assert json.loads(await read_bounded(report))["summary"]["text"] == "It is late."
    finally:
        process.send_signal(signal.SIGINT)
        await process.communicate()
    assert process.returncode == 0


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (HTTPRequest("GET", "/other"), 404),
        (HTTPRequest("PUT", "/inspect"), 405),
        (HTTPRequest("POST", "/inspect", (("Host", "127.0.0.1:8"), ("Origin", "http://evil.example")), b"x"), 403),
    ],
)
async def test_other_paths_methods_and_sites_are_refused(request_, status):
    with pytest.raises(RefusedError) as caught:
        async with answer(request_):
            pass
    assert caught.value.status == status


async def test_its_own_page_may_post():
    async with answer(HTTPRequest("POST", "/inspect", (("Host", "127.0.0.1:8"), ("Origin", "http://127.0.0.1:8")), WHOLE)) as response:
        assert response.status == 200
