"""Tools in whole runs: order by resource, barriers, retries, bounds, media, progress: what readers see and what the model gets."""

from __future__ import annotations

import asyncio
import json

import pytest

from headrace.agent import events
from headrace.agent.agent import Agent
from headrace.agent.approval import Approve
from headrace.errors import ToolError
from headrace.messages.message import AssistantMessage
from headrace.messages.parts import JsonPart, MediaPart, TextPart, ToolCallPart
from headrace.models.scripted import ScriptedModel
from headrace.tools.context import Context
from headrace.tools.tool import tool
from headrace.wire.anthropic_messages.request_out import encode_request as encode_messages
from headrace.wire.profile import Profile
from run_checks import run_checked, sent

PNG = b"\x89PNG"


def call(name, call_id, **arguments):
    return ToolCallPart(id=call_id, name=name, arguments=arguments)


def agent_of(tools, *calls, **fields):
    model = ScriptedModel(AssistantMessage(list(calls)), "fine")
    return Agent(model, tools=tools, **fields), model


def parts(result):
    return [part for message in result.messages if message.role == "tool" for part in message.parts]


class Log:
    """What ran when: `began`, `ended`, and how many at once."""

    def __init__(self):
        self.said = []
        self.most = self.running = 0

    async def run(self, name):
        self.said.append(f"+{name}")
        self.running += 1
        self.most = max(self.most, self.running)
        for _ in range(20):
            await asyncio.sleep(0)
        self.running -= 1
        self.said.append(f"-{name}")
        return name


@pytest.fixture
def log():
    return Log()


def writer(log, **options):
    @tool(resource="file:{path}", **options)
    async def write(path: str, n: int) -> str:
        """Write."""
        return await log.run(f"{path}{n}")

    return write


async def test_calls_on_one_resource_keep_their_order_and_others_run_beside_them(log):
    agent, _ = agent_of([writer(log)], *(call("write", f"c{n}", path="ab"[n % 2], n=n) for n in range(6)))
    result, _ = await run_checked(agent)
    assert [part.text for part in parts(result)] == ["a0", "b1", "a2", "b3", "a4", "b5"]
    assert log.most == 2
    for path, numbers in (("a", (0, 2, 4)), ("b", (1, 3, 5))):
        assert [said for said in log.said if said[1] == path] == [f"{sign}{path}{n}" for n in numbers for sign in "+-"]


async def test_arguments_that_a_person_edited_say_what_a_call_works_on(log):
    agent, _ = agent_of([writer(log, needs_approval=True)], call("write", "x", path="a", n=0), call("write", "y", path="b", n=1))
    paused, _ = await run_checked(agent)
    first, second = (pending.call_key for pending in paused.pending)
    await agent.resume(paused.state, [Approve(first), Approve(second, arguments={"path": "a", "n": 1})])
    assert log.said == ["+a0", "-a0", "+a1", "-a1"]


async def test_a_call_that_runs_alone_waits_for_all_and_holds_up_all(log):
    @tool(parallel=False)
    async def alone(n: int) -> str:
        """Run alone."""
        return await log.run(f"alone{n}")

    calls = [
        call("write", "a", path="a", n=0),
        call("write", "b", path="b", n=1),
        call("alone", "c", n=2),
        call("write", "d", path="c", n=3),
    ]
    agent, _ = agent_of([writer(log), alone], *calls)
    result, _ = await run_checked(agent)
    assert log.said[4:6] == ["+alone2", "-alone2"]
    assert log.said[6:] == ["+c3", "-c3"]
    assert [part.text for part in parts(result)] == ["a0", "b1", "alone2", "c3"]


@pytest.mark.parametrize("limit", [1, 3, 8])
async def test_so_many_run_at_once_and_no_more(log, limit):
    agent, _ = agent_of([writer(log)], *(call("write", f"c{n}", path=str(n), n=n) for n in range(8)), max_parallel_tools=limit)
    result, _ = await run_checked(agent)
    assert log.most == limit
    assert len(parts(result)) == 8


async def test_what_a_call_works_on_that_cannot_be_worked_out_is_an_error_and_the_others_run(log):
    def broken(arguments):
        raise LookupError(f"no place for {arguments['n']}")

    @tool(resource=broken)
    async def place(n: int) -> str:
        """Place."""
        return await log.run(f"place{n}")

    agent, model = agent_of([place, writer(log)], call("place", "a", n=1), call("write", "b", path="b", n=2))
    result, _ = await run_checked(agent)
    assert [part.state for part in parts(result)] == ["error", "success"]
    assert "no place for 1" in parts(result)[0].text
    assert log.said == ["+b2", "-b2"]
    sent(model.requests[1])


async def test_an_idempotent_tool_is_tried_again_and_readers_see_one_call():
    tries = []

    @tool(idempotent=True, retries=2)
    async def flaky(n: int, context: Context) -> str:
        """Fail twice."""
        tries.append(context.call_key)
        if len(tries) < 3:
            raise ConnectionError("not yet")
        return f"got {n}"

    agent, _ = agent_of([flaky], call("flaky", "a", n=1))
    result, made = await run_checked(agent)
    assert parts(result)[0].text == "got 1"
    assert len(tries) == 3
    assert len(set(tries)) == 1
    kinds = [event for event in made if isinstance(event, events.ToolStarted | events.ToolEnded)]
    assert [event.call_key for event in kinds] == [tries[0]] * 2


async def test_a_tool_that_is_not_idempotent_and_a_tools_own_word_are_final():
    tries = []

    @tool
    async def once() -> str:
        """Fail."""
        tries.append("once")
        raise ConnectionError("not yet")

    @tool(idempotent=True, retries=5)
    async def says() -> str:
        """Say no."""
        tries.append("says")
        raise ToolError("There is no such thing.")

    agent, _ = agent_of([once, says], call("once", "a"), call("says", "b"))
    result, _ = await run_checked(agent)
    assert sorted(tries) == ["once", "says"]
    assert parts(result)[1].text == "There is no such thing."


async def test_long_output_is_cut_and_that_is_said():
    @tool(max_output_bytes=100)
    async def long() -> str:
        """Say much."""
        return "x" * 1000

    agent, model = agent_of([long], call("long", "a"))
    result, _ = await run_checked(agent)
    (part,) = parts(result)
    assert len(part.text) < 300
    assert part.metadata["cut_bytes"] > 0
    sent(model.requests[1])


async def test_pieces_and_progress_come_in_the_tools_order_under_its_call():
    @tool
    async def download(context: Context):
        """Download."""
        yield "head "
        context.progress("half", done=1, total=2)
        yield "tail"

    agent, model = agent_of([download], call("download", "a"), call("download", "b"))
    result, made = await run_checked(agent)
    assert [part.text for part in parts(result)] == ["head tail", "head tail"]
    for key in {event.call_key for event in made if isinstance(event, events.ToolStarted)}:
        mine = [event for event in made if getattr(event, "call_key", None) == key and type(event).__name__.startswith("Tool")]
        names = [type(event).__name__ for event in mine if not type(event).__name__.startswith("ToolCall")]
        assert names == ["ToolStarted", "ToolOutput", "ToolProgress", "ToolOutput", "ToolEnded"]
        (progress,) = [event for event in mine if isinstance(event, events.ToolProgress)]
        assert (progress.message, progress.done, progress.total) == ("half", 1, 2)
    assert "half" not in json.dumps(sent(model.requests[1]))


async def test_a_flood_of_progress_is_not_a_flood_of_events():
    @tool
    async def count(context: Context) -> str:
        """Count."""
        for n in range(1000):
            context.progress(done=n, total=1000)
        return "counted"

    agent, _ = agent_of([count], call("count", "a"))
    _, made = await run_checked(agent)
    progress = [event.done for event in made if isinstance(event, events.ToolProgress)]
    assert progress == [999]


async def test_a_tool_in_a_thread_says_how_far_it_is():
    @tool
    def copy(context: Context) -> str:
        """Copy."""
        context.progress("copying", done=1, total=1)
        return "copied"

    agent, _ = agent_of([copy], call("copy", "a"))
    _, made = await run_checked(agent)
    assert [event.message for event in made if isinstance(event, events.ToolProgress)] == ["copying"]


async def test_images_in_results_reach_the_model_by_every_kind_of_wire():
    @tool
    async def plan() -> list[str | MediaPart]:
        """Show a plan."""
        return ["The plan:", MediaPart(kind="image", data=PNG, media_type="image/png")]

    agent, model = agent_of([plan], call("plan", "a"), call("plan", "b"))
    result, _ = await run_checked(agent)
    assert [type(part) for part in parts(result)[0].parts] == [TextPart, MediaPart]
    body = sent(model.requests[1])  # a wire without images in results: they follow in a message of their own
    assert [message["role"] for message in body["messages"]] == ["user", "assistant", "tool", "tool", "user"]
    assert [part["type"] for part in body["messages"][-1]["content"]].count("image_url") == 2
    inside = json.loads(encode_messages(model.requests[1], Profile(supports_images_in_results=True)).body)
    contents = [block["content"] for block in inside["messages"][-1]["content"]]
    assert [[block["type"] for block in content] for content in contents] == [["text", "image"]] * 2


async def test_data_goes_as_data_and_nothing_as_success():
    @tool
    async def data() -> dict[str, int]:
        """Give data."""
        return {"n": 1}

    @tool
    async def nothing() -> None:
        """Give nothing."""

    agent, model = agent_of([data, nothing], call("data", "a"), call("nothing", "b"))
    result, _ = await run_checked(agent)
    first, second = parts(result)
    assert first.parts == (JsonPart({"n": 1}),)
    assert (second.state, second.parts) == ("success", ())
    sent(model.requests[1])
