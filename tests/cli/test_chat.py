"""`headrace chat`, the real program: on a terminal, and in a pipe."""

from __future__ import annotations

import json
import stat
import sys

import pytest

from chat_bytes import call_stream, text_stream
from servers import Reply, Stall, scripted_server


def model(server):
    return ("-m", "openai-chat:m-1", "--base-url", f"{server.url}/v1")


def asked(request):
    """What a request said: role and text of each message."""
    return [(message["role"], message.get("content")) for message in json.loads(request.body)["messages"]]


async def test_ctrl_c_interrupts_the_answer_and_keeps_the_conversation(on_terminal):
    stalled = Reply([*text_stream("Once upon")[:2], Stall()])
    async with scripted_server([stalled, text_stream("A frog.")]) as server:
        terminal = await on_terminal("chat", *model(server))
        await terminal.until(">")
        terminal.type("Tell me a story.\r")
        await terminal.until("Once upon")
        terminal.type("\x03")
        await terminal.until("interrupted; what came is kept")
        await stalled.left.wait()
        await terminal.until(">")
        terminal.type("About whom?\r")
        await terminal.until("A frog.")
        await terminal.until(">")
        terminal.type("/exit\r")
        assert await terminal.ended() == 0
    assert asked(server.requests[1]) == [("user", "Tell me a story."), ("assistant", "Once upon"), ("user", "About whom?")]
    assert "Traceback" not in terminal.shown


async def test_tool_calls_results_and_usage_are_shown(on_terminal):
    async with scripted_server([call_stream("calculate", '{"expression":', '"6 * 7"}'), text_stream("42.")]) as server:
        terminal = await on_terminal("chat", *model(server), "-T", "calculate")
        await terminal.until("tools: calculate")
        await terminal.until(">")
        terminal.type("6 * 7?\r")
        await terminal.until('→ calculate {"expression":"6 * 7"}')
        await terminal.until("← calculate 6 * 7 = 42")
        await terminal.until("42.")
        await terminal.until("2 rounds · 3 tokens in, 1 out")
        await terminal.until(">")
        terminal.type("\x04")
        assert await terminal.ended() == 0


async def test_an_entry_may_have_several_lines(on_terminal):
    async with scripted_server([text_stream("Yes.")]) as server:
        terminal = await on_terminal("chat", *model(server))
        await terminal.until(">")
        terminal.type("one\\\r")
        await terminal.until(".")
        terminal.type("two\x1b\r")
        await terminal.until(".")
        terminal.type("\x1b[200~three\nfour\x1b[201~")
        await terminal.until("four")
        terminal.type("\r")
        await terminal.until("Yes.")
        await terminal.until(">")
        terminal.type("\x04")
        assert await terminal.ended() == 0
    assert asked(server.requests[0]) == [("user", "one\ntwo\nthree\nfour")]


async def test_ctrl_c_clears_a_line_and_on_an_empty_one_leaves_at_the_second_time(on_terminal):
    terminal = await on_terminal("chat", "-m", "ollama:m")
    await terminal.until(">")
    terminal.type("half a thought")
    await terminal.until("thought")
    terminal.type("\x03")
    terminal.type("\x03")
    await terminal.until("Ctrl-C again, or Ctrl-D, leaves")
    await terminal.until(">")
    terminal.type("/tools\r")
    await terminal.until("no tools")
    await terminal.until(">")
    terminal.type("\x03")
    await terminal.until("Ctrl-C again, or Ctrl-D, leaves")
    await terminal.until(">")
    terminal.type("\x03")
    assert await terminal.ended() == 0


async def test_a_second_ctrl_c_in_an_answer_leaves(program, on_terminal):
    (program.folder / "slow.py").write_text(
        "import asyncio\nasync def wait() -> str:\n    '''Wait.'''\n    print('begun', flush=True)\n    try:\n        await asyncio.Event().wait()\n"
        "    except asyncio.CancelledError:\n        print('not yet', flush=True)\n        await asyncio.Event().wait()\n"
    )
    async with scripted_server([call_stream("wait", "{}")]) as server:
        terminal = await on_terminal("chat", *model(server), "-T", "slow:wait")
        await terminal.until(">")
        terminal.type("Wait.\r")
        await terminal.until("begun")
        terminal.type("\x03")
        await terminal.until("not yet")
        terminal.type("\x03")
        assert await terminal.ended() == 130
    assert "Traceback" not in terminal.shown


async def test_an_answer_that_fails_does_not_end_the_conversation(on_terminal):
    refused = Reply([b'{"error":{"message":"bad key"}}'], status=401, headers=[("content-type", "application/json")])
    async with scripted_server([refused, text_stream("Hello.")]) as server:
        terminal = await on_terminal("chat", *model(server))
        await terminal.until(">")
        terminal.type("Hi\r")
        await terminal.until("Check the key")
        await terminal.until(">")
        terminal.type("Hi again\r")
        await terminal.until("Hello.")
        await terminal.until(">")
        terminal.type("\x04")
        assert await terminal.ended() == 0


async def test_what_was_entered_is_kept_for_this_user_alone_and_comes_back(program, on_terminal):
    for n in range(2):
        terminal = await on_terminal("chat", "-m", "ollama:m")
        await terminal.until(">")
        terminal.type("/tools\r" if n == 0 else "\x1b[A\r")
        await terminal.until("no tools")
        await terminal.until(">")
        terminal.type("\x04")
        assert await terminal.ended() == 0
    history = program.folder / "state" / "history"
    assert "/tools" in history.read_text()
    if sys.platform != "win32":
        assert stat.S_IMODE(history.stat().st_mode) == 0o600
        assert stat.S_IMODE(history.parent.stat().st_mode) == 0o700


async def test_a_dumb_terminal_gets_no_escape_codes(on_terminal):
    async with scripted_server([text_stream("Plain.")]) as server:
        terminal = await on_terminal("chat", *model(server), environ={"TERM": "dumb"})
        await terminal.until(">")
        terminal.type("Hi\r")
        await terminal.until("Plain.")
        await terminal.until(">")
        terminal.type("\x04")  # no Ctrl-C here: Python's own input() loses one that comes between its prompt and its read
        assert await terminal.ended() == 0
    assert "\x1b" not in terminal.raw


# ---------------------------------------------------------------------------------------------- in a pipe


async def test_in_a_pipe_each_line_is_a_question_and_answers_are_plain(program):
    async with scripted_server([text_stream("One."), text_stream("Two.")]) as server:
        done = await program("chat", *model(server), given=b"first\n\nsec\\\nond\n")
    assert (done.code, done.text) == (0, "One.\nTwo.\n")
    assert asked(server.requests[1]) == [("user", "first"), ("assistant", "One."), ("user", "sec\nond")]


async def test_in_a_pipe_a_failed_answer_makes_the_status_1_and_the_rest_goes_on(program):
    refused = Reply([b'{"error":{"message":"bad key"}}'], status=401, headers=[("content-type", "application/json")])
    async with scripted_server([refused, text_stream("Two.")]) as server:
        done = await program("chat", *model(server), given=b"first\nsecond\n/exit\nthird\n")
    assert (done.code, done.text) == (1, "Two.\n")
    assert len(server.requests) == 2


async def test_commands_work_in_a_pipe(program):
    async with scripted_server([text_stream("One."), text_stream("Two."), text_stream("/ it is")]) as server:
        entries = ["hello", "/save talk.json", "/clear", "/load talk.json", "/system Be brief.", "again", "/clear", "//why", "/exit"]
        done = await program("chat", *model(server), given="\n".join(entries).encode())
    assert done.code == 0, done.err
    assert "2 messages saved in talk.json" in done.text
    assert "2 messages loaded from talk.json" in done.text
    assert asked(server.requests[1]) == [("system", "Be brief."), ("user", "hello"), ("assistant", "One."), ("user", "again")]
    assert asked(server.requests[2]) == [("system", "Be brief."), ("user", "/why")]


@pytest.mark.parametrize(
    ("entry", "words"),
    [("/nope", "there is no /nope"), ("/save", "one file"), ("/load nowhere.json", "nowhere.json"), ("/model nobody:m", "nobody")],
)
async def test_a_wrong_command_is_said_and_the_conversation_goes_on(program, entry, words):
    async with scripted_server([text_stream("Hello.")]) as server:
        done = await program("chat", *model(server), given=f"{entry}\nhi\n".encode())
    assert (done.code, done.text) == (1, "Hello.\n")
    assert words in done.err


async def test_ctrl_c_while_it_waits_for_a_line_of_a_pipe_is_130(program):
    process = await program.start("chat", "-m", "ollama:m")
    process.stdin.write(b"/tools\n")
    await process.stdout.readuntil(b"no tools")
    await process.stdout.readuntil(b"\n")
    process.send_signal(2)
    out, err = await process.communicate(b"")
    assert (process.returncode, out, err) == (130, b"", b"")


async def test_a_model_that_does_not_do_is_wrong_use(program):
    done = await program("chat", "-m", "nobody:m")
    assert (done.code, done.out) == (2, b"")
