"""`headrace merge`, the real program: the contract for scripts."""

from __future__ import annotations

import asyncio
import json
import os
import sys

import pytest

from chat_bytes import DONE, call_stream, chunk, text_stream
from headrace.decoding import decode_stream

PROTOCOL = ("--protocol", "openai-chat")
HELLO = b"".join(text_stream("Hel", "lo"))
CUT = b"".join(call_stream("clock", '{"ci')[:-2])
# What stands in for an installation without extras: modules that cannot be imported.
WITHOUT_EXTRAS = "import sys\nfor name in ('typer', 'rich', 'prompt_toolkit', 'xllamacpp'): sys.modules[name] = None\n"
RUN = "from headrace.cli.main import main\nsys.exit(main())"


def lines(done):
    return [json.loads(line) for line in done.out.splitlines()]


async def test_json_is_one_line_per_file_the_summary_and_the_file(program):
    (program.folder / "a.sse").write_bytes(HELLO)
    (program.folder / "b.sse").write_bytes(CUT)
    done = await program("merge", "a.sse", *PROTOCOL, "b.sse", "--json")
    assert (done.code, done.err) == (0, "")
    a, b = lines(done)
    assert next(iter(a)) == "file"
    assert a == {"file": "a.sse", **json.loads(json.dumps(decode_stream(HELLO, protocol="openai-chat").summary()))}
    assert (b["file"], b["error"]["kind"], b["tool_calls"][0]["runnable"]) == ("b.sse", "stream_truncated", False)


async def test_standard_input_is_a_file_named_by_a_dash(program):
    done = await program("merge", "-", *PROTOCOL, "--json", given=HELLO)
    assert done.code == 0
    assert [(line["file"], line["text"]) for line in lines(done)] == [("-", "Hello")]


async def test_an_unreadable_file_is_said_the_others_are_printed_and_the_status_is_2(program):
    (program.folder / "a.sse").write_bytes(HELLO)
    (program.folder / "folder").mkdir()
    done = await program("merge", "nowhere.sse", "a.sse", "folder", *PROTOCOL, "--json")
    assert done.code == 2
    assert [line["file"] for line in lines(done)] == ["a.sse"]
    assert [line.split(": ")[1] for line in done.err.splitlines()] == ["nowhere.sse", "folder"]


async def test_an_empty_file_is_a_stream_that_was_cut(program):
    (program.folder / "a.sse").write_bytes(b"")
    done = await program("merge", "a.sse", *PROTOCOL, "--json")
    assert (done.code, lines(done)[0]["error"] is None) == (0, False)


async def test_options_provider_status_and_content_type_reach_the_decoder(program):
    thought = b"".join([chunk({"content": "<think>hm</think>Yes."}), chunk(finish="stop"), DONE])
    done = await program("merge", "-", *PROTOCOL, "--option", "think_tags=true", "--provider", "vllm", "--json", given=thought)
    assert [(line["reasoning"], line["text"], line["message"]["provider"]) for line in lines(done)] == [("hm", "Yes.", "vllm")]
    done = await program("merge", "-", *PROTOCOL, "--option", "think_tags=false", "--json", given=thought)
    assert lines(done)[0]["reasoning"] == ""
    body = b'{"error": {"message": "slow down"}}'
    done = await program("merge", "-", *PROTOCOL, "--status", "429", "--content-type", "application/json", "--json", given=body)
    assert (done.code, lines(done)[0]["error"]["message"]) == (0, "slow down")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["a.sse"], "--protocol"),
        ([*PROTOCOL], "FILE"),
        (["a.sse", "--protocol", "morse"], "there is no protocol 'morse'"),
        (["a.sse", *PROTOCOL, "--option", "think_tags"], "name=value"),
        (["a.sse", *PROTOCOL, "--option", "think_tags=1"], "true or false"),
        (["a.sse", *PROTOCOL, "--option", "inline_tool_calls=nobodys"], "nobodys"),
        (["a.sse", *PROTOCOL, "--option", "shout=true"], "options has no field 'shout'"),
        (["a.sse", *PROTOCOL, "--status", "teapot"], "teapot"),
        (["a.sse", *PROTOCOL, "--loud"], "--loud"),
        (["-", "-", *PROTOCOL], "read once"),
    ],
)
async def test_wrong_use_is_2_says_what_is_wrong_and_prints_nothing(program, arguments, words):
    (program.folder / "a.sse").write_bytes(HELLO)
    done = await program("merge", *arguments)
    assert (done.code, done.out) == (2, b"")
    assert words in done.err
    assert "Traceback" not in done.err


async def test_help_is_0(program):
    done = await program("merge", "--help")
    assert done.code == 0
    assert "--protocol" in done.text


async def test_a_report_for_people_is_plain_in_a_pipe(program):
    (program.folder / "a.sse").write_bytes(b"".join(call_stream("clock", '{"city":"Oslo"}')))
    done = await program("merge", "a.sse", *PROTOCOL)
    assert 'call        clock {"city":"Oslo"}  runnable  call_a\n' in done.text
    assert "\x1b" not in done.text
    assert "a.sse" not in done.text


async def test_the_reports_of_several_files_have_titles(program):
    (program.folder / "a.sse").write_bytes(HELLO)
    done = await program("merge", "a.sse", "a.sse", *PROTOCOL)
    assert done.text.count("a.sse\n") == 2


async def test_it_works_without_any_extra_and_loads_no_network(program):
    code = WITHOUT_EXTRAS + "import atexit\natexit.register(lambda: print('httpx2' in sys.modules, 'pydantic' in sys.modules))\n" + RUN
    done = await program("merge", "-", *PROTOCOL, "--json", given=HELLO, python=("-c", code))
    assert (done.code, done.err) == (0, "")
    line, loaded = done.out.splitlines()
    assert json.loads(line)["text"] == "Hello"
    assert loaded == b"False False"


async def test_the_program_ends_quietly_when_its_reader_leaves(program):
    (program.folder / "a.sse").write_bytes(b"".join(text_stream("x" * 200_000)))
    read, write = os.pipe()
    process = await program.start("merge", *["a.sse"] * 20, *PROTOCOL, "--json", stdout=write)
    os.close(write)
    os.read(read, 10)
    os.close(read)
    _, err = await process.communicate()
    assert (process.returncode, err) == (141, b"")


async def test_ctrl_c_is_130(program):
    process = await program.start("merge", "-", *PROTOCOL, "--json", python=("-u", "-m", "headrace"))
    process.stdin.write(HELLO)
    await process.stdin.drain()
    # It has begun to read once the pipe is empty; a signal before that would meet the interpreter's own start.
    await _until_empty(process)
    process.send_signal(2)
    out, err = await process.communicate()
    assert (process.returncode, out, err) == (130, b"", b"")


async def _until_empty(process):
    import fcntl
    import struct
    import termios

    pipe = process.stdin.get_extra_info("pipe").fileno()
    while struct.unpack("i", fcntl.ioctl(pipe, termios.FIONREAD, b"\0" * 4))[0]:  # noqa: ASYNC110 - no event tells when another process has read
        await asyncio.sleep(0.01)


@pytest.mark.skipif(sys.platform == "win32", reason="file names there are text")
async def test_a_file_name_that_is_no_text_is_named_as_far_as_it_is(program):
    name = os.fsencode(program.folder) + b"/\xff.sse"
    (program.folder / os.fsdecode(b"\xff.sse")).write_bytes(HELLO)
    done = await program("merge", name, *PROTOCOL, "--json")
    assert lines(done)[0]["file"].endswith("/\ufffd.sse")


async def test_a_large_file_shows_its_progress_on_a_terminal(program, on_terminal):
    silence = b": " + b"x" * 998 + b"\n"
    (program.folder / "big.sse").write_bytes(silence * 20_000 + HELLO)
    terminal = await on_terminal("merge", "big.sse", *PROTOCOL)
    await terminal.until(" % of ")
    await terminal.until("finish      stop")
    assert await terminal.ended() == 0


async def test_several_pieces_of_standard_input_are_taken_as_they_come(program):
    process = await program.start("merge", "-", *PROTOCOL, "--json")
    for at in range(0, len(HELLO), 50):
        process.stdin.write(HELLO[at : at + 50])
        await process.stdin.drain()
    process.stdin.close()
    out, _ = await process.communicate()
    assert json.loads(out)["text"] == "Hello"


async def test_calls_in_the_text_are_read_in_the_ways_and_for_the_tools_that_were_named(program):
    said = b"".join(text_stream('<tool_call>{"name": "w", "arguments": {}}</tool_call>'))
    for option, names, expected in (
        ("inline_tool_calls=true", "w", ["w"]),
        ("inline_tool_calls=glm, hermes", "v,w", ["w"]),
        ("inline_tool_calls=glm", "w", []),
        ("inline-tool-calls=true", "v", []),
        ("inline_tool_calls=false", "w", []),
    ):
        done = await program("merge", "-", *PROTOCOL, "-o", option, "-o", f"inline_tool_names={names}", "--json", given=said)
        assert [call["name"] for call in json.loads(done.out)["tool_calls"]] == expected
