"""`headrace run`, the real program against a real server."""

from __future__ import annotations

import asyncio
import json

import pytest

from chat_bytes import DONE, call_stream, chunk, event, text_stream
from headrace.agent.event_codec import decode_event
from headrace.agent.fold import fold
from servers import Hold, Reply, Reset, Stall, free_port, scripted_server

TIME = call_stream("city_time", '{"ci', 'ty":"Tokyo"}')


def model(server):
    return ("-m", "openai-chat:m-1", "--base-url", f"{server.url}/v1")


async def test_in_a_pipe_the_answer_alone_is_on_standard_output(program):
    async with scripted_server([TIME, text_stream("It is ", "late.")]) as server:
        done = await program("run", "How late is it?", *model(server), "-T", "time")
    assert (done.code, done.text) == (0, "It is late.\n")
    called, came, ended = done.err.splitlines()
    assert called == '→ city_time {"city":"Tokyo"}'
    assert came.startswith("← city_time In Tokyo it is ")
    assert ended == "· 2 rounds · 3 tokens in, 2 out"
    tools = json.loads(server.requests[0].body)["tools"]
    assert [tool["function"]["name"] for tool in tools] == ["city_time"]


async def test_quiet_says_the_answer_alone(program):
    async with scripted_server([TIME, text_stream("Late.")]) as server:
        done = await program("run", "?", "-q", *model(server), "-T", "time")
    assert (done.code, done.text, done.err) == (0, "Late.\n", "")


async def test_without_tools_the_answer_comes_while_it_is_said(program):
    gate = asyncio.Event()
    events = text_stream("Once ", "upon a time.")
    async with scripted_server([[*events[:2], Hold(gate), *events[2:]]]) as server:
        process = await program.start("run", "A story?", *model(server))
        process.stdin.close()
        assert await process.stdout.readexactly(5) == b"Once "
        gate.set()
        assert await process.stdout.read() == b"upon a time.\n"
        assert await process.wait() == 0


async def test_json_is_one_event_a_line_that_fold_to_the_messages(program):
    async with scripted_server([TIME, text_stream("Late.")]) as server:
        done = await program("run", "How late?", "--json", *model(server), "-T", "time")
    assert (done.code, done.err) == (0, "")
    events = [decode_event(line) for line in done.out.splitlines()]
    assert [one.seq for one in events] == list(range(1, len(events) + 1))
    assert events[0].type == "run_started"
    assert events[-1].type == "run_ended"
    assert [message.role for message in fold(events)] == ["user", "assistant", "tool", "assistant"]


@pytest.mark.parametrize("arguments", [("-",), ()])
async def test_the_question_may_come_through_a_pipe(program, arguments):
    async with scripted_server([text_stream("Yes.")]) as server:
        done = await program("run", *arguments, *model(server), given=b"Is it\nso?\n")
    assert (done.code, done.text) == (0, "Yes.\n")
    assert json.loads(server.requests[0].body)["messages"] == [{"role": "user", "content": "Is it\nso?\n"}]


async def test_system_settings_and_key_reach_the_server(program):
    async with scripted_server([text_stream("Yes.")]) as server:
        options = ("-s", "Be brief.", "--max-tokens", "7", "--temperature", "0.5", "--api-key-env", "MY_KEY")
        done = await program("run", "?", *model(server), *options, environ={"MY_KEY": "k-123456"})
    assert done.code == 0
    (request,) = server.requests
    body = json.loads(request.body)
    assert body["messages"][0] == {"role": "system", "content": "Be brief."}
    assert (body["max_tokens"], body["temperature"]) == (7, 0.5)
    assert request.headers["authorization"] == "Bearer k-123456"


async def test_thinking_in_tags_is_no_answer(program):
    events = [chunk({"content": "hm</think>Yes."}), chunk(finish="stop"), DONE]
    async with scripted_server([events]) as server:
        done = await program("run", "?", *model(server), "--think-starts-open")
    assert done.text == "Yes.\n"


async def test_tools_of_the_current_folder_run(program):
    (program.folder / "mine.py").write_text("def double(n: int) -> int:\n    '''Double a number.'''\n    return 2 * n\n")
    async with scripted_server([call_stream("double", '{"n": 21}'), text_stream("42.")]) as server:
        done = await program("run", "?", *model(server), "-T", "mine:double")
    assert done.code == 0
    assert "← double 42" in done.err


async def test_after_max_rounds_the_model_has_to_answer(program):
    async with scripted_server([TIME, text_stream("Late.")]) as server:
        done = await program("run", "?", *model(server), "-T", "time", "--max-rounds", "1")
    assert (done.code, done.text) == (0, "Late.\n")
    assert json.loads(server.requests[1].body)["tool_choice"] == "none"


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (Reply([b'{"error":{"message":"bad key"}}'], status=401, headers=[("content-type", "application/json")]), "Check the key"),
        (Reply([*text_stream("Half")[:2], Reset()]), "headrace: "),
        (Reply([*text_stream("Half")[:2]]), "headrace: "),
        (Reply([event({"error": {"message": "the engine is on fire"}})]), "the engine is on fire"),
        (Reply([b"<html>hello</html>"], headers=[("content-type", "text/html")]), "headrace: "),
    ],
)
async def test_a_run_that_fails_is_1_and_says_why_plainly(program, reply, words):
    async with scripted_server([reply]) as server:
        done = await program("run", "?", *model(server))
    assert done.code == 1
    assert words in done.err
    assert "Traceback" not in done.err
    assert done.text in ("", "Half\n")


async def test_a_failure_in_json_is_in_the_events_too(program):
    async with scripted_server([[*text_stream("Half")[:2]]]) as server:
        done = await program("run", "?", "--json", *model(server))
    assert done.code == 1
    *_, error, ended = [json.loads(line) for line in done.out.splitlines()]
    assert (error["type"], ended["type"], ended["generate_reason"]) == ("error", "run_ended", "error")


async def test_nobody_there_is_1(program):
    done = await program("run", "?", "-m", "openai-chat:m", "--base-url", f"http://127.0.0.1:{free_port()}/v1")
    assert done.code == 1
    assert "Check the address" in done.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["run", " "], "empty"),
        (["run", "?"], "headrace local pull"),
        (["run", "?"], "HEADRACE_MODEL"),
        (["run", "?", "-m", "nobody:m"], "nobody"),
        (["run", "?", "-m", "deepseek:deepseek-chat"], "DEEPSEEK_API_KEY"),
        (["run", "?", "-m", "openai-chat:m"], "base_url"),
        (["run", "?", "-m", "ollama:m", "-T", "weather"], "weather"),
        (["run", "?", "-m", "ollama:m", "--max-rounds", "-1"], "--max-rounds"),
        (["run", "?", "-m", "ollama:m", "--api-key-env", "NO_SUCH_KEY"], "NO_SUCH_KEY"),
        (["run", "?", "--loud"], "--loud"),
        (["shout"], "shout"),
    ],
)
async def test_wrong_use_is_2_and_says_what_is_wrong(program, arguments, words):
    done = await program(*arguments)
    assert (done.code, done.out) == (2, b"")
    assert words in done.err
    assert "Traceback" not in done.err


async def test_the_model_may_come_from_the_environment(program):
    done = await program("run", "?", environ={"HEADRACE_MODEL": "nobody:m"})
    assert "nobody" in done.err


async def test_no_question_on_a_terminal_is_wrong_use(on_terminal):
    terminal = await on_terminal("run")
    await terminal.until("there is no question")
    assert await terminal.ended() == 2


async def test_ctrl_c_interrupts_the_run_and_keeps_what_came(program, on_terminal):
    stalled = Reply([*text_stream("Once upon")[:2], Stall()])
    async with scripted_server([stalled]) as server:
        terminal = await on_terminal("run", "A story?", *model(server))
        await terminal.until("Once upon")
        terminal.type("\x03")
        await terminal.until("interrupted; what came is kept")
        assert await terminal.ended() == 130
        await stalled.left.wait()
    assert "Traceback" not in terminal.shown


async def test_a_second_ctrl_c_leaves_also_where_a_tool_does_not_end(program, on_terminal):
    (program.folder / "slow.py").write_text(
        "import asyncio\nasync def wait() -> str:\n    '''Wait.'''\n    print('begun', flush=True)\n    try:\n        await asyncio.Event().wait()\n"
        "    except asyncio.CancelledError:\n        print('not yet', flush=True)\n        await asyncio.Event().wait()\n"
    )
    async with scripted_server([call_stream("wait", "{}")]) as server:
        terminal = await on_terminal("run", "?", *model(server), "-T", "slow:wait")
        await terminal.until("begun")
        terminal.type("\x03")
        await terminal.until("not yet")
        terminal.type("\x03")
        assert await terminal.ended() == 130
    assert "Traceback" not in terminal.shown


async def test_on_a_terminal_everything_is_shown_live(program, on_terminal):
    gate = asyncio.Event()
    thinking = [chunk({"reasoning_content": "A city."}), *TIME]
    async with scripted_server([[*thinking[:3], Hold(gate), *thinking[3:]], text_stream("Late.")]) as server:
        terminal = await on_terminal("run", "How late?", *model(server), "-T", "time")
        await terminal.until("A city.")
        await terminal.until('→ city_time {"ci')
        gate.set()
        await terminal.until('ty":"Tokyo"}')
        await terminal.until("← city_time In Tokyo it is")
        await terminal.until("Late.")
        await terminal.until("· 2 rounds · 3 tokens in")
        assert await terminal.ended() == 0
    assert "\x1b[2;3mA city." in terminal.raw


async def test_the_program_ends_quietly_when_its_reader_leaves(program):
    async with scripted_server([text_stream(*["x" * 10_000] * 50)]) as server:
        process = await program.start("run", "?", "--json", *model(server))
        process.stdin.close()
        await process.stdout.readexactly(10)
        process.stdout._transport.close()
        err = await process.stderr.read()
        assert (await process.wait(), err) == (141, b"")


async def test_a_call_that_stands_in_the_text_runs_on_request(program):
    said = '<tool_call>{"name": "calculate", "arguments": {"expression": "6*7"}}</tool_call>'
    async with scripted_server([text_stream(said[:20], said[20:]), text_stream("It is 42."), text_stream(said)]) as server:
        done = await program("run", "?", *model(server), "-T", "calculate", "--inline-tool-calls")
        assert (done.code, done.text) == (0, "It is 42.\n")
        assert '→ calculate {"expression":"6*7"}' in done.err
        done = await program("run", "?", "-q", *model(server), "-T", "calculate")
    assert done.text == said + "\n"
    answered = json.loads(server.requests[1].body)["messages"][-1]
    assert (answered["role"], answered["content"]) == ("tool", "6*7 = 42")
