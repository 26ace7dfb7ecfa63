"""Words for a run that goes on: the real program on a terminal."""

from __future__ import annotations

import asyncio
import json

import pytest

from chat_bytes import call_stream, chunk, text_stream
from headrace.agent.agent import Agent
from headrace.cli.reader import LineReader
from headrace.cli.steering import Steering
from headrace.models.scripted import ScriptedModel
from servers import Hold, Reply, Stall, scripted_server

STORY = text_stream("Once upon a time ", "there was a king.")


def said(request):
    return [message["content"] for message in json.loads(request.body)["messages"] if message["role"] == "user"]


@pytest.fixture
async def chat(on_terminal):
    async def start(server, *options):
        terminal = await on_terminal("chat", "-m", "openai-chat:m-1", "--base-url", f"{server.url}/v1", *options)
        await terminal.until("\n>")
        return terminal

    return start


async def leave(terminal):
    await terminal.until("\n>")
    terminal.type("\x04")
    assert await terminal.ended() == 0
    assert "Traceback" not in terminal.shown


async def test_the_first_key_opens_a_line_and_the_output_waits_until_it_is_said(chat):
    gate, last = asyncio.Event(), asyncio.Event()
    async with scripted_server([[*STORY[:2], Hold(gate), STORY[2], Hold(last), *STORY[3:]], text_stream("A queen.")]) as server:
        terminal = await chat(server)
        terminal.type("A story.\r")
        await terminal.until("a time ")
        terminal.type("No,")
        await terminal.until("+ No,")
        gate.set()
        terminal.type(" a queen!")
        await terminal.until("a queen!")
        assert "king" not in terminal.shown
        terminal.type("\r")
        await terminal.until("there was a king.")
        last.set()
        await terminal.until("· steered: No, a queen!\n")
        await terminal.until("A queen.")
        await terminal.until("· 2 rounds")
        await leave(terminal)
    assert said(server.requests[1]) == ["A story.", "No, a queen!"]


async def test_a_line_that_comes_at_once_is_said_at_once(chat):
    gate = asyncio.Event()
    calls = [chunk({"reasoning_content": "I count."}), *call_stream("calculate", '{"expression": "6*7"}')]
    async with scripted_server([[*calls[:2], Hold(gate), *calls[2:]], text_stream("42.")]) as server:
        terminal = await chat(server, "-T", "calculate")
        terminal.type("6*7?\r")
        await terminal.until("→ calculate")
        terminal.type("be brief\r")
        await terminal.until("+ be brief\n")
        gate.set()
        await terminal.until('→ calculate {"expression": "6*7"}\n← calculate')
        await terminal.until("· steered: be brief")
        await terminal.until("42.")
        await leave(terminal)
    assert said(server.requests[1]) == ["6*7?", "be brief"]


async def test_words_that_come_when_the_answer_has_ended_are_asked_next(chat):
    gate = asyncio.Event()
    async with scripted_server([[*STORY[:2], Hold(gate), *STORY[2:]], text_stream("A queen.")]) as server:
        terminal = await chat(server)
        terminal.type("A story.\r")
        await terminal.until("a time ")
        terminal.type("x")
        await terminal.until("+ x")
        gate.set()
        await server.replies[0].done.wait()
        terminal.type("\x7f//no")
        await terminal.until("//no")
        terminal.type("\r")
        await terminal.until("A queen.")
        await leave(terminal)
    assert said(server.requests[1]) == ["A story.", "/no"]


async def test_a_command_is_done_when_the_answer_has_ended(chat):
    gate = asyncio.Event()
    async with scripted_server([[*STORY[:2], Hold(gate), *STORY[2:]]]) as server:
        terminal = await chat(server)
        terminal.type("A story.\r")
        await terminal.until("a time ")
        terminal.type("/usage\r")
        await terminal.until("+ /usage\n")
        gate.set()
        await terminal.until("· 1 round · 3 tokens in, 2 out")
        await terminal.until("> /usage\n")
        await terminal.until("since the start  1 round")
        await leave(terminal)
    assert len(server.requests) == 1


PAY = 'from headrace import tool\n@tool(needs_approval=True)\ndef pay(amount: int) -> str:\n    "Pay."\n    return "paid"\n'


async def test_words_that_a_question_cuts_off_are_said_when_the_run_goes_on(program, chat):
    (program.folder / "my.py").write_text(PAY)
    gate = asyncio.Event()
    call = call_stream("pay", '{"amount": 3}')
    async with scripted_server([[call[0], Hold(gate), *call[1:]], text_stream("Paid.")]) as server:
        terminal = await chat(server, "-T", "my:pay")
        terminal.type("Pay.\r")
        await terminal.until("→ pay")
        terminal.type("and ")
        await terminal.until("+ and")
        gate.set()
        await server.replies[0].done.wait()
        terminal.type("smile")
        await terminal.until("smile")
        assert "May pay run?" not in terminal.shown
        terminal.type("\r")
        await terminal.until("(dit) >")
        terminal.type("y\r")
        await terminal.until("← pay paid")
        await terminal.until("· steered: and smile")
        await terminal.until("Paid.")
        await leave(terminal)
    assert said(server.requests[1]) == ["Pay.", "and smile"]
    assert len(server.requests) == 2


async def test_words_that_a_forced_answer_could_not_hear_are_asked_next(chat):
    gate = asyncio.Event()
    call = call_stream("calculate", '{"expression": "6*7"}')
    async with scripted_server([call, [*STORY[:2], Hold(gate), *STORY[2:]], text_stream("Yes.")]) as server:
        terminal = await chat(server, "-T", "calculate", "--max-rounds", "1")
        terminal.type("6*7?\r")
        await terminal.until("a time ")
        terminal.type("Sure?\r")
        await terminal.until("+ Sure?\n")
        gate.set()
        await terminal.until("the tool rounds were used up")
        await terminal.until("> Sure?\n")
        await terminal.until("Yes.")
        await leave(terminal)
    assert said(server.requests[2]) == ["6*7?", "Sure?"]


async def test_ctrl_c_drops_the_line_and_then_interrupts_the_run(chat):
    stalled = Reply([*STORY[:2], Stall()])
    async with scripted_server([stalled, text_stream("Yes.")]) as server:
        terminal = await chat(server)
        terminal.type("A story.\r")
        await terminal.until("a time ")
        terminal.type("wait")
        await terminal.until("+ wait")
        terminal.type("\x03")
        terminal.type("\x03")
        await terminal.until("interrupted; what came is kept")
        await stalled.left.wait()
        await terminal.until("\n>")
        terminal.type("Still there?\r")
        await terminal.until("Yes.")
        await leave(terminal)
    assert said(server.requests[1]) == ["A story.", "Still there?"]


async def test_an_empty_line_says_nothing(chat):
    gate = asyncio.Event()
    async with scripted_server([[*STORY[:2], Hold(gate), *STORY[2:]]]) as server:
        terminal = await chat(server)
        terminal.type("A story.\r")
        await terminal.until("a time ")
        terminal.type("\r\x1b[A")
        terminal.type("x")
        await terminal.until("+ x")
        terminal.type("\x7f\r")
        gate.set()
        await terminal.until("there was a king.")
        await leave(terminal)
    assert len(server.requests) == 1


async def test_the_terminal_is_left_as_it_was(chat):
    import termios

    async with scripted_server([text_stream("Hi.")]) as server:
        terminal = await chat(server)
        before = termios.tcgetattr(terminal._master)
        terminal.type("Hello\r")
        await terminal.until("Hi.")
        await terminal.until("\n>")
        assert termios.tcgetattr(terminal._master) == before
        terminal.type("\x04")
        assert await terminal.ended() == 0


async def test_where_there_is_no_prompt_nobody_is_listened_to():
    written = []
    steering = Steering(LineReader(), None)
    async with Agent(ScriptedModel("Hi.")).stream("?") as run, steering.listening(run, lambda: None):
        steering.show(lambda: written.append("at once"))
        await run.finish()
    assert written == ["at once"]
    assert steering.take() == []
