"""A chat that is kept: it goes on with -c, also after the process died in the middle of an answer or of a question."""

from __future__ import annotations

import json
import signal

import pytest

from chat_bytes import call_stream, text_stream
from servers import Reply, Stall, scripted_server


def model(server):
    return ("-m", "openai-chat:m-1", "--base-url", f"{server.url}/v1")


def asked(request):
    """What a request said: role and text of each message."""
    return [(message["role"], message.get("content")) for message in json.loads(request.body)["messages"]]


async def leave(terminal):
    await terminal.until(">")
    terminal.type("\x04")
    assert await terminal.ended() == 0


async def test_a_conversation_goes_on_where_it_stopped(on_terminal, program):
    async with scripted_server([text_stream("Oslo."), text_stream("Bergen.")]) as server:
        terminal = await on_terminal("chat", *model(server))
        await terminal.until(">")
        terminal.type("The capital of Norway?\r")
        await terminal.until("Oslo.")
        await leave(terminal)
        again = await on_terminal("chat", "-c", *model(server))
        await again.until("going on after 2 messages")
        await again.until("Oslo.")
        await again.until(">")
        again.type("And the second city?\r")
        await again.until("Bergen.")
        await leave(again)
    assert [text for _, text in asked(server.requests[1])] == ["The capital of Norway?", "Oslo.", "And the second city?"]
    listed = await program("sessions", "list")
    assert "The capital of Norway?" in listed.text


async def test_an_answer_that_the_process_died_in_goes_on(on_terminal):
    stalled = Reply([*text_stream("Once upon")[:2], Stall()])
    async with scripted_server([stalled, text_stream("Once upon a time.")]) as server:
        terminal = await on_terminal("chat", "--session", "tale", *model(server))
        await terminal.until(">")
        terminal.type("Tell me a story.\r")
        await terminal.until("Once upon")
        terminal.process.send_signal(signal.SIGKILL)
        await terminal.ended()
        again = await on_terminal("chat", "--session", "tale", *model(server))
        await again.until("the last answer broke off; it goes on")
        await again.until("Once upon a time.")
        await leave(again)
    assert asked(server.requests[1]) == [("user", "Tell me a story.")]


async def test_a_question_that_the_process_died_at_is_asked_again(on_terminal):
    async with scripted_server([call_stream("calculate", '{"expression":', '"6 * 7"}'), text_stream("42.")]) as server:
        options = ("--session", "sum", *model(server), "-T", "calculate", "--ask", "calculate")
        terminal = await on_terminal("chat", *options)
        await terminal.until(">")
        terminal.type("6 * 7?\r")
        await terminal.until("May calculate run?")
        terminal.process.send_signal(signal.SIGKILL)
        await terminal.ended()
        again = await on_terminal("chat", *options)
        await again.until("May calculate run?")
        again.type("y\r")
        await again.until("42.")
        await leave(again)


async def test_while_another_process_works_on_it_it_is_not_taken(on_terminal, program):
    stalled = Reply([*text_stream("Once upon")[:2], Stall()])
    async with scripted_server([stalled]) as server:
        terminal = await on_terminal("chat", "--session", "tale", *model(server))
        await terminal.until(">")
        terminal.type("Tell me a story.\r")
        await terminal.until("Once upon")
        other = await program("chat", "--session", "tale", *model(server), given=b"hello\n")
        assert other.code == 1
        assert "another process works on session 'tale'" in other.err
        terminal.type("\x03")
        await terminal.until("interrupted; what came is kept")
        await leave(terminal)


async def test_in_a_pipe_it_is_kept_if_asked_for(program):
    async with scripted_server([text_stream("One."), text_stream("Two."), text_stream("Three.")]) as server:
        await program("chat", *model(server), given=b"first\n")
        assert (await program("sessions", "list", "--json")).out == b""
        await program("chat", "--session", "mine", *model(server), given=b"second\n")
        done = await program("chat", "-c", *model(server), given=b"third\n")
    assert done.text.strip() == "Three."
    assert [text for _, text in asked(server.requests[2])] == ["second", "Two.", "third"]


@pytest.mark.parametrize("options", [("-c",), ("--no-save", "-c")])
async def test_what_cannot_be_is_said(program, options):
    done = await program("chat", "-m", "ollama:m", *options)
    assert done.code == 2
    assert "headrace" in done.err


async def test_a_conversation_that_is_summed_up_or_begun_anew_leaves_the_first_one_whole(on_terminal, program):
    summary = json.dumps({"goal": "cities", "facts": ["Oslo"]})
    script = [text_stream("Oslo."), text_stream("Bergen."), text_stream("Rome."), text_stream(summary), text_stream("Fine.")]
    async with scripted_server(script) as server:
        terminal = await on_terminal("chat", "--session", "cities", *model(server))
        for question, answer in (("One?", "Oslo."), ("Two?", "Bergen."), ("Three?", "Rome.")):
            await terminal.until(">")
            terminal.type(f"{question}\r")
            await terminal.until(answer)
        await terminal.until(">")
        terminal.type("/compact\r")
        await terminal.until("6 → ")
        await terminal.until(">")
        terminal.type("Four?\r")
        await terminal.until("Fine.")
        await leave(terminal)
    kept = [json.loads(line) for line in (await program("sessions", "list", "--json")).out.splitlines()]
    assert sorted((one["messages"], one["forked_from"]) for one in kept if one["id"] == "cities") == [(6, None)]
    assert [one["forked_from"] for one in kept if one["id"] != "cities"] == ["cities"]
