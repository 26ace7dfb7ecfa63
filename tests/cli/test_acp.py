"""`headrace acp`, the real program, driven by the official package's client side."""

from __future__ import annotations

import asyncio
import sys
from contextlib import asynccontextmanager

import pytest
from acp import PROTOCOL_VERSION, RequestError, spawn_agent_process, text_block
from acp.schema import RequestPermissionResponse

MODULE = '''
import asyncio
from headrace import Agent, AssistantMessage, ReasoningPart, ScriptedModel, TextPart, ToolCallPart, ToolMessage, tool
from headrace.errors import RateLimitError


@tool
def weather(city: str) -> str:
    """Tell the weather."""
    print("this does not disturb the wire")
    return f"{city}: snow"


@tool(needs_approval=True)
def pay(to: str, euros: int) -> str:
    """Pay somebody."""
    return f"paid {euros} to {to}"


@tool
async def wait() -> str:
    """Wait."""
    await asyncio.sleep(3600)


@tool(external=True)
def look(at: str) -> str:
    """Look."""


CALLS = {
    "weather": ToolCallPart(id="c1", name="weather", arguments={"city": "Oslo"}),
    "pay": ToolCallPart(id="c1", name="pay", arguments={"to": "Ada", "euros": 30}),
    "wait": ToolCallPart(id="c1", name="wait"),
    "look": ToolCallPart(id="c1", name="look", arguments={"at": "it"}),
}


def play(request):
    last = request.messages[-1]
    if isinstance(last, ToolMessage):
        return "Done: " + "".join(part.text for part in last.results[0].parts)
    if last.text == "fail":
        return RateLimitError("slow down", status=429)
    if last.text in CALLS:
        return AssistantMessage([ReasoningPart("hm"), TextPart("Let me see. "), CALLS[last.text]])
    return f"You said: {last.text}; {len(request.messages)} messages"


agent = Agent(ScriptedModel(*[play] * 100), tools=[weather, pay, wait, look])
'''


class Editor:
    """The client's side: notes updates, answers questions as it was told to."""

    def __init__(self):
        self.updates = []
        self.asked = []
        self.answer = None
        self.has_begun = asyncio.Event()

    async def session_update(self, session_id, update, **_more):
        form = update.model_dump(mode="json", by_alias=True, exclude_none=True)
        self.updates.append(form)
        if form.get("status") == "in_progress":
            self.has_begun.set()

    async def request_permission(self, session_id, tool_call, options, **_more):
        self.asked.append((tool_call, options))
        answer = await self.answer() if callable(self.answer) else self.answer
        outcome = {"outcome": "cancelled"} if answer is None else {"outcome": "selected", "optionId": answer}
        return RequestPermissionResponse.model_validate({"outcome": outcome})

    @property
    def kinds(self):
        return [update["sessionUpdate"] for update in self.updates]

    @property
    def text(self):
        return "".join(update["content"]["text"] for update in self.updates if update["sessionUpdate"] == "agent_message_chunk")

    def statuses(self):
        return [update["status"] for update in self.updates if "status" in update]


@pytest.fixture
def place(program):
    (program.folder / "mine.py").write_text(MODULE)
    return program


@asynccontextmanager
async def opened(place, *arguments):
    editor = Editor()
    command = ("-m", "headrace", "acp", *(arguments or ("mine:agent",)))
    async with spawn_agent_process(editor, sys.executable, *command, env=place.environ, cwd=place.folder) as (connection, process):
        async with asyncio.timeout(60):
            await connection.initialize(protocol_version=PROTOCOL_VERSION)
            yield editor, connection
        assert process.returncode is None


async def begun(connection):
    return (await connection.new_session(cwd="/", mcp_servers=[])).session_id


async def said(connection, session, text):
    return (await connection.prompt(session_id=session, prompt=[text_block(text)])).stop_reason


async def test_a_session_from_the_first_word_to_a_question(place):
    async with opened(place) as (editor, connection):
        session = await begun(connection)
        assert await said(connection, session, "weather") == "end_turn"
        assert editor.kinds == [
            "agent_thought_chunk", "agent_message_chunk", "tool_call", "tool_call_update", "tool_call_update", "tool_call_update",
            "tool_call_update", "agent_message_chunk",
        ]  # fmt: skip
        assert editor.text == "Let me see. \n\nDone: Oslo: snow"
        assert await said(connection, session, "and now?") == "end_turn"
        assert editor.text.endswith("5 messages")  # it is one conversation

        editor.updates.clear()
        for answer, result in (("allow_once", "paid 30"), ("reject_once", "A person denied"), ("allow_always", "paid 30"), (None, "")):
            editor.answer = answer
            other = await begun(connection)
            stopped = await said(connection, other, "pay")
            assert stopped == ("cancelled" if answer is None else "end_turn")
            assert result in editor.text
            editor.updates.clear()
        assert len(editor.asked) == 4
        assert editor.asked[0][0].raw_input == {"to": "Ada", "euros": 30}
        assert await said(connection, other, "hello") == "end_turn"  # a turn that was cancelled does not hold the session
        assert "hello" in editor.text


async def test_a_turn_is_cancelled_while_it_works_and_while_it_waits(place):
    async with opened(place) as (editor, connection):
        session = await begun(connection)
        turn = asyncio.create_task(said(connection, session, "wait"))
        await editor.has_begun.wait()
        with pytest.raises(RequestError):
            await said(connection, session, "meanwhile")  # one turn at a time
        await connection.cancel(session_id=session)
        assert await turn == "cancelled"
        assert editor.statuses()[-1] == "failed"

        async def cancel():
            await connection.cancel(session_id=session)

        editor.answer = cancel  # it gives None: as a client has to answer what it cancels
        assert await said(connection, session, "pay") == "cancelled"
        assert await said(connection, session, "hello") == "end_turn"


async def test_a_conversation_is_shown_again(place):
    async with opened(place) as (editor, connection):
        session = await begun(connection)
        await said(connection, session, "weather")
        editor.updates.clear()
        await connection.load_session(cwd="/", session_id=session, mcp_servers=[])
        assert editor.kinds == [
            "user_message_chunk", "agent_thought_chunk", "agent_message_chunk", "tool_call", "tool_call_update", "agent_message_chunk",
        ]  # fmt: skip
        with pytest.raises(RequestError):
            await connection.load_session(cwd="/", session_id="nowhere", mcp_servers=[])
        with pytest.raises(RequestError):
            await said(connection, "nowhere", "hi")


async def test_modes_failures_and_tools_that_nobody_runs(place):
    async with opened(place) as (editor, connection):
        made = await connection.new_session(cwd="/", mcp_servers=[])
        session = made.session_id
        assert made.modes.current_mode_id == "default"
        await connection.set_session_mode(session_id=session, mode_id="bypass")
        assert await said(connection, session, "pay") == "end_turn"
        assert editor.asked == []
        with pytest.raises(RequestError):
            await connection.set_session_mode(session_id=session, mode_id="none")
        with pytest.raises(RequestError) as caught:
            await said(connection, session, "fail")
        assert caught.value.data["kind"] == "RateLimitError"
        assert await said(connection, session, "look") == "end_turn"
        assert "runs no tools" in editor.text


async def test_what_is_wrong_is_said(place):
    done = await place("acp", "mine:nothing")
    assert (done.code, done.out) == (2, b"")
    assert "it has the agent agent" in done.err
    done = await place("acp", "mine:agent", "-s", "Be brief.")
    assert done.code == 2
