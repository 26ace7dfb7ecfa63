"""`headrace chat` asks a person: the real program on a terminal, and in a pipe, where nobody can be asked."""

from __future__ import annotations

import json

import pytest

from chat_bytes import DONE, call_stream, chunk, text_stream
from servers import Stall, scripted_server

TOOLS = '''
from headrace import tool

@tool(needs_approval=True)
def delete(path: str, all: bool = False) -> str:
    """Delete a file."""
    return f"{path} is gone{' with all in it' if all else ''}"

@tool(external=True)
def sense(room: str) -> int:
    """The temperature of a room."""
'''
DELETE = call_stream("delete", '{"path": "a.txt"}')
ASKED = "(dit) >"


@pytest.fixture
async def chat(program, on_terminal):
    """Start a chat with these tools: `terminal = await chat(server)`."""
    (program.folder / "my.py").write_text(TOOLS)

    async def start(server, *options):
        terminal = await on_terminal("chat", *model(server), *options)
        await terminal.until("\n>")
        return terminal

    return start


def model(server):
    return ("-m", "openai-chat:m-1", "--base-url", f"{server.url}/v1", "-T", "my:delete", "-T", "my:sense")


def two_calls():
    calls = [
        {"index": n, "id": f"c{n}", "type": "function", "function": {"name": "delete", "arguments": f'{{"path": "{name}.txt"}}'}}
        for n, name in enumerate("ab")
    ]
    return [chunk({"role": "assistant", "content": None, "tool_calls": calls}), chunk(finish="tool_calls"), DONE]


def results(request):
    """The texts of the tools' results in a request."""
    return [message["content"] for message in json.loads(request.body)["messages"] if message["role"] == "tool"]


async def leave(terminal):
    await terminal.until("\n>")
    terminal.type("\x04")
    assert await terminal.ended() == 0
    assert "Traceback" not in terminal.shown


async def test_a_call_is_asked_about_and_yes_runs_it(chat):
    async with scripted_server([DELETE, text_stream("Done.")]) as server:
        terminal = await chat(server)
        terminal.type("Delete it.\r")
        await terminal.until("? May delete run?  (delete needs approval)")
        await terminal.until('"path": "a.txt"')
        await terminal.until('a1 always: allow delete(path=="a.txt")')
        await terminal.until(ASKED)
        terminal.type("maybe\r")
        await terminal.until("'maybe' is no answer")
        await terminal.until(ASKED)
        terminal.type("y\r")
        await terminal.until("← delete a.txt is gone")
        await terminal.until("Done.")
        await terminal.until("· 2 rounds")
        await leave(terminal)
    assert terminal.shown.count("→ delete") == 1
    assert terminal.shown.count("2 rounds") == 1
    assert "1 round " not in terminal.shown


async def test_no_tells_the_model_why(chat):
    async with scripted_server([DELETE, text_stream("I see.")]) as server:
        terminal = await chat(server)
        terminal.type("Delete it.\r")
        await terminal.until(ASKED)
        terminal.type("n because I need it\r")
        await terminal.until("← delete [denied]")
        await terminal.until("I see.")
        await leave(terminal)
    assert "I need it" in results(server.requests[1])[0]


async def test_always_holds_for_the_round_and_for_the_conversation_until_it_is_cleared(chat):
    async with scripted_server([two_calls(), text_stream("One."), DELETE, text_stream("Two."), DELETE, text_stream("Three.")]) as server:
        terminal = await chat(server)
        terminal.type("Delete both.\r")
        await terminal.until(ASKED)
        terminal.type("a3\r")
        await terminal.until("· delete: allowed by `allow delete`")
        await terminal.until("← delete b.txt is gone")
        await terminal.until("One.")
        await terminal.until("\n>")
        terminal.type("And this.\r")
        await terminal.until("← delete a.txt is gone")
        await terminal.until("Two.")
        await terminal.until("\n>")
        terminal.type("/mode\r")
        await terminal.until("  allow delete\n")
        await terminal.until("\n>")
        terminal.type("/clear\r")
        await terminal.until("a new conversation")
        await terminal.until(">")
        terminal.type("Again.\r")
        await terminal.until(ASKED)
        terminal.type("y\r")
        await terminal.until("Three.")
        await leave(terminal)
    assert terminal.shown.count("? May delete run?") == 2


async def test_arguments_are_edited_in_the_prompt_and_asked_again_while_they_are_wrong(chat):
    async with scripted_server([DELETE, text_stream("Done.")]) as server:
        terminal = await chat(server)
        terminal.type("Delete it.\r")
        await terminal.until(ASKED)
        terminal.type("e\r")
        await terminal.until("arguments >")
        await terminal.until("}")
        terminal.type('\x7f, "all": "perhaps"}\r')
        await terminal.until("Input should be a valid boolean")
        await terminal.until('"perhaps"')
        await terminal.until("}")
        terminal.type("\x7f" * len('"perhaps"}') + "true}\r")
        await terminal.until("← delete a.txt is gone with all in it")
        await terminal.until("Done.")
        await leave(terminal)
    assert '"all":true' in results(server.requests[1])[0]


async def test_arguments_are_edited_in_the_editor_of_the_person(program, chat):
    editor = program.folder / "editor.sh"
    editor.write_text("""#!/bin/sh\necho '{"path": "b.txt"}' > "$1"\n""")
    editor.chmod(0o700)
    program.environ["EDITOR"] = str(editor)
    async with scripted_server([DELETE, text_stream("Done.")]) as server:
        terminal = await chat(server)
        terminal.type("Delete it.\r")
        await terminal.until(ASKED)
        terminal.type("e\r")
        await terminal.until("Ctrl-X Ctrl-E opens $EDITOR")
        await terminal.until("}")
        terminal.type("\x18\x05")
        await terminal.until("b.txt")
        terminal.type("\r")
        await terminal.until("← delete b.txt is gone")
        await leave(terminal)


async def test_a_terminal_that_can_do_no_more_than_lines_is_asked_as_well(program, on_terminal):
    (program.folder / "my.py").write_text(TOOLS)
    async with scripted_server([DELETE, text_stream("Done.")]) as server:
        terminal = await on_terminal("chat", *model(server), environ={"TERM": "dumb"})
        await terminal.until("> ")
        terminal.type("Delete it.\r")
        await terminal.until(ASKED)
        terminal.type("e\r")
        await terminal.until("arguments >")
        terminal.type('{"path": "b.txt"}\r')
        await terminal.until("← delete b.txt is gone")
        await leave(terminal)
    assert "\x1b" not in terminal.raw


async def test_a_call_that_runs_elsewhere_gets_its_value_from_the_person(chat):
    async with scripted_server([call_stream("sense", '{"room": "attic"}'), text_stream("Warm.")]) as server:
        terminal = await chat(server)
        terminal.type("How warm?\r")
        await terminal.until("? sense runs elsewhere: what did it give?")
        await terminal.until("!text is an error >")
        terminal.type("warm\r")
        await terminal.until("does not fit what sense returns")
        await terminal.until("!text is an error >")
        terminal.type("21\r")
        await terminal.until("Warm.")
        await leave(terminal)
    assert results(server.requests[1]) == ["21"]


@pytest.mark.parametrize("key", ["\x03", "\x04"])
async def test_ctrl_c_at_a_question_gives_the_run_up_and_the_conversation_goes_on(chat, key):
    async with scripted_server([DELETE, text_stream("As you like.")]) as server:
        terminal = await chat(server)
        terminal.type("Delete it.\r")
        await terminal.until(ASKED)
        terminal.type(key)
        await terminal.until("given up; what came is kept")
        await terminal.until("\n>")
        terminal.type("Leave it.\r")
        await terminal.until("As you like.")
        await leave(terminal)
    (result,) = results(server.requests[1])
    assert "Interrupted" in result


async def test_what_was_typed_before_the_question_is_no_answer_to_it(chat):
    async with scripted_server([DELETE, text_stream("Done.")]) as server:
        terminal = await chat(server)
        terminal.type("Delete it.\ry\r")
        await terminal.until(ASKED)
        terminal.type("n\r")
        await terminal.until("← delete [denied]")
        await terminal.until("\n>")
        terminal.type("\x04")
        assert await terminal.ended() == 0


async def test_a_mode_that_is_set_in_the_chat_holds_from_the_next_answer_on(chat):
    async with scripted_server([DELETE, text_stream("Done.")]) as server:
        terminal = await chat(server)
        terminal.type("/mode bypass\r")
        await terminal.until("mode: bypass")
        await terminal.until("\n>")
        terminal.type("Delete it.\r")
        await terminal.until("Done.")
        await leave(terminal)
    assert results(server.requests[1]) == ["a.txt is gone"]


async def test_a_summary_can_be_interrupted_and_changes_nothing(chat):
    talk = [text_stream("One."), text_stream("Two."), [chunk({"role": "assistant", "content": "## Go"}), Stall()], text_stream("Three.")]
    async with scripted_server(talk) as server:
        terminal = await chat(server)
        for words, answer in (("first", "One."), ("second", "Two.")):
            terminal.type(f"{words}\r")
            await terminal.until(answer)
            await terminal.until("\n>")
        terminal.type("/compact\r")
        await server.replies[2].asked.wait()
        terminal.type("\x03")
        await terminal.until("interrupted; nothing was changed")
        await terminal.until(">")
        terminal.type("third\r")
        await terminal.until("Three.")
        await leave(terminal)
    assert [message["content"] for message in json.loads(server.requests[3].body)["messages"]] == [
        "first",
        "One.",
        "second",
        "Two.",
        "third",
    ]


# ---------------------------------------------------------------------------------------------- in a pipe


async def test_in_a_pipe_a_call_that_waits_ends_the_chat_with_status_3_and_says_what_waits(program):
    (program.folder / "my.py").write_text(TOOLS)
    async with scripted_server([DELETE]) as server:
        done = await program("chat", *model(server), given=b"Delete it.\nAnd then?\n")
    assert (done.code, done.text) == (3, "")
    assert '1. waits for approval: delete {"path": "a.txt"}' in done.err
    assert "--mode bypass" in done.err
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("options", "result"),
    [
        (("--mode", "bypass"), "a.txt is gone"),
        (("--allow", "delete(path=*.txt)"), "a.txt is gone"),
        (("--mode", "dont_ask"), "dont_ask"),
        (("--mode", "bypass", "--deny", "delete"), "denied by rule `deny delete`"),
    ],
)
async def test_in_a_pipe_modes_and_rules_answer_for_the_person(program, options, result):
    (program.folder / "my.py").write_text(TOOLS)
    async with scripted_server([DELETE, text_stream("Done.")]) as server:
        done = await program("chat", *model(server), *options, given=b"Delete it.\n")
    assert (done.code, done.text) == (0, "Done.\n")
    assert result in results(server.requests[1])[0]


async def test_in_a_pipe_a_conversation_is_summed_up_and_its_use_told(program):
    answers = [text_stream("One."), text_stream("Two."), text_stream("## Goal\nTo know."), text_stream("Three.")]
    async with scripted_server(answers) as server:
        done = await program("chat", *model(server)[:4], given=b"first\nsecond\n/compact\nthird\n/usage\n")
    assert done.code == 0, done.err
    assert "4 → 3 messages" in done.text
    assert "since the start  4 rounds · 12 tokens in, 4 out" in done.text
    contents = [message["content"] for message in json.loads(server.requests[3].body)["messages"]]
    assert "To know." in contents[0]
    assert "first" not in contents
    assert contents[-3:] == ["second", "Two.", "third"] or contents[-2:] == ["Two.", "third"]
