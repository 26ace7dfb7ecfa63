"""Complaints of the users of other libraries, each once, with the right behaviour: 1 to 16 streaming and merging, 17 to 21 messages and
history, 22 and 23 people in the loop, 24 a crash. Most come as the bytes that a server sent, and go all the way through an agent."""

from __future__ import annotations

import asyncio
import json
import sys

import pytest

from chat_bytes import DONE, StillClock, call_stream, chunk, text_stream
from headrace import decode_stream
from headrace.agent import events
from headrace.agent.agent import Agent
from headrace.errors import SchemaVersionError, StateError, StreamTruncatedError
from headrace.io.replay import Recorded, ReplayTransport
from headrace.messages.chunk import AssistantMessageChunk, MessageChunk
from headrace.messages.deltas import TextDelta, ToolCallFragment
from headrace.messages.parts import TextPart
from headrace.models.model import Model
from headrace.models.script import Scripted
from headrace.models.scripted import ScriptedModel
from headrace.tools.context import Context
from headrace.tools.tool import tool
from headrace.wire.openai_chat.request_out import encode_request
from headrace.wire.profile import DEFAULT
from seed_runs import asks, call, call_list, check, check_requests, fail, go_on, of, run

END = b"".join(text_stream("done"))


def body(*parts):
    return b"".join(part for group in parts for part in ([group] if isinstance(group, bytes) else group))


def fragment(index=None, call_id=None, name=None, arguments=None):
    """One entry of `tool_calls` in a delta; what is None is absent."""
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
    entry = {"index": index, "id": call_id, "function": function}
    return {key: value for key, value in entry.items() if value is not None}


def calling(*fragments, finish="tool_calls", text=None):
    """A body in which each fragment has a chunk of its own."""
    begin = [chunk({"content": text})] if text is not None else []
    return body(begin, [chunk({"tool_calls": [one]}) for one in fragments], [chunk(finish=finish), DONE])


def noting():
    """A tool that takes anything of a few arguments, and the list of what it was called with."""
    seen = []

    @tool
    async def note(a: int = 0, b: int = 0, text: str = "") -> str:
        seen.append({key: value for key, value in (("a", a), ("b", b), ("text", text)) if value})
        return f"noted {len(seen)}"

    return note, seen


async def through(*bodies, **options):
    """Send bodies through an agent, cut into small reads; returns what the tool saw, the result, the events and the model."""
    note, seen = noting()
    model = ScriptedModel(*(Scripted(one, slice_chars=37) if isinstance(one, bytes) else one for one in bodies), END)
    result, made = await run(Agent(model, tools=[note], **options))
    check_requests(model)
    return seen, result, made, model


# ---------------------------------------------------------------------------------------------- streaming and merging


@pytest.mark.parametrize("text", ["Let me look. ", "\n\n", " "])
async def test_complaint_01_text_before_a_call_is_not_taken_for_the_answer(text):
    """pydantic-ai #3574 and #7688: the loop stops at the text, and the tool never runs."""
    seen, result, made, _ = await through(calling(fragment(0, "A", "note", '{"a":1}'), text=text))
    assert seen == [{"a": 1}]
    assert result.output == "done"
    assert result.messages[1].text == text
    assert [event.is_final for event in of(made, events.RoundEnded)] == [False, True]


@pytest.mark.parametrize("protocol", ["openai-chat", "gemini"])
async def test_complaint_02_an_empty_text_before_a_call_does_not_end_the_run(protocol):
    """pydantic-ai #1292, #2256: Ollama, Gemini and Bedrock send an empty text first."""
    if protocol == "openai-chat":
        answer, end = calling(fragment(0, "A", "note", '{"a":1}'), text=""), END
    else:
        answer = gemini([{"text": ""}], [{"functionCall": {"name": "note", "args": {"a": 1}}}])
        end = gemini([{"text": "done"}])
    note, seen = noting()
    result, _ = await run(Agent(ScriptedModel(answer, end, protocol=protocol), tools=[note]))
    assert (seen, result.output) == ([{"a": 1}], "done")


def gemini(*turns, usage=None):
    """A Gemini stream, a chunk for each list of parts."""
    made = []
    for n, parts in enumerate(turns):
        candidate = {"content": {"role": "model", "parts": parts}, "index": 0}
        if n == len(turns) - 1:
            candidate["finishReason"] = "STOP"
        form = {"candidates": [candidate], "modelVersion": "g-1"}
        if usage is not None:
            form["usageMetadata"] = usage[n]
        made.append(f"data: {json.dumps(form)}\r\n\r\n".encode())
    return b"".join(made)


@pytest.mark.parametrize(
    "fragments",
    [
        [fragment(0, "A", "note", '{"a":1}'), fragment(0, "B", "note", '{"a":2}')],
        [
            fragment(0, "A", "note", '{"a"'),
            fragment(0, None, None, ":1}"),
            fragment(0, "B", "note", '{"a"'),
            fragment(0, None, None, ":2}"),
        ],
        [fragment(0, None, "note", '{"a":1}'), fragment(0, None, "note", '{"a":2}')],
    ],
    ids=["whole", "in pieces", "without ids"],
)
async def test_complaint_03_parallel_calls_that_share_an_index_stay_apart(fragments):
    """smolagents #1958, langchain #35281: Ollama says index 0 for all; they became one call with `{..}{..}`."""
    seen, result, _, _ = await through(calling(*fragments))
    assert seen == [{"a": 1}, {"a": 2}]
    assert "reused_tool_index" in [warning.code for warning in result.messages[1].warnings]


async def test_complaint_04_interleaved_pieces_do_not_go_to_the_last_call():
    """agent-framework #8336, Qwen-Agent #943."""
    pieces = [
        fragment(0, "A", "note", '{"a"'),
        fragment(1, "B", "note", '{"b"'),
        fragment(0, arguments=":1}"),
        fragment(1, arguments=":2}"),
    ]
    seen, _, made, _ = await through(calling(*pieces))
    assert seen == [{"a": 1}, {"b": 2}]
    assert len(of(made, events.ToolCallStarted)) == 2


@pytest.mark.parametrize("call_id", ["", "null", None])
async def test_complaint_05_a_continuation_with_an_empty_id_is_no_new_call(call_id):
    """spring-ai #6374, #5806, langchainjs #11373: DeepSeek and Qwen send `"id": ""`, others `"null"`."""
    pieces = [fragment(0, "A", "note", ""), fragment(0, call_id, None, '{"a"'), fragment(0, call_id, "", ":1}")]
    seen, result, _, _ = await through(calling(*pieces))
    assert seen == [{"a": 1}]
    assert call_list(result.messages[1]) == [("A", "note", '{"a":1}')]


async def test_complaint_06_a_name_that_comes_once_counts_for_all_pieces():
    """spring-ai #4790, #5116: "toolName cannot be null or empty"."""
    seen, result, _, _ = await through(calling(fragment(0, "A", "note"), fragment(0, arguments='{"a"'), fragment(0, arguments=":1}")))
    assert seen == [{"a": 1}]
    assert [one.name for one in result.messages[1].tool_calls] == ["note"]


@pytest.mark.parametrize("call_id", ["A", None])
async def test_complaint_07_pieces_without_id_and_index_join_the_call_before_them(call_id):
    """langchain-oracle #108: a new id was made for each chunk, so pieces never joined; vllm #18412: the id comes once."""
    seen, result, _, _ = await through(calling(fragment(None, call_id, "note", '{"a"'), fragment(arguments=":1"), fragment(arguments="}")))
    assert seen == [{"a": 1}]
    (one,) = result.messages[1].tool_calls
    assert one.id


async def test_complaint_08_an_empty_list_of_calls_beside_text_leaves_it_text_and_live():
    """spring-ai #6504: the list switches to tool mode, and the text is held back."""
    answer = body([chunk({"content": piece, "tool_calls": []}) for piece in ("Hel", "lo")], [chunk(finish="stop"), DONE])
    result, made = await run(Agent(ScriptedModel(Scripted(answer, slice_chars=200))))
    assert result.output == "Hello"
    assert [event.text for event in of(made, events.TextDelta)] == ["Hel", "lo"]


async def test_complaint_09_long_arguments_are_seen_while_they_come():
    """spring-ai #5950: the page stays blank while 5 kB of arguments stream; wanted are the pieces and the merged view."""
    pieces = ["x" * 50] * 100
    gate = asyncio.Event()
    fragments = [ToolCallFragment("A", "note", '{"text":"', 0), *(ToolCallFragment(arguments=piece, index=0) for piece in pieces)]
    from_wire = body(
        [chunk({"tool_calls": [fragment(one.index, one.id, one.name, one.arguments)]}) for one in fragments],
        [chunk({"tool_calls": [fragment(0, arguments='"}')]}), chunk(finish="tool_calls"), DONE],
    )
    note, seen = noting()
    agent = Agent(ScriptedModel(Scripted(from_wire, gates={101: gate}), END), tools=[note])
    made = []
    async with agent.stream("go", on_event=made.append) as watched:
        async for event in watched:
            if isinstance(event, events.ToolCallArguments) and len(of(made, events.ToolCallArguments)) == 101:
                gate.set()  # the rest comes only now: what was seen so far was live
    check(made, watched.result)
    assert len(of(made, events.ToolCallArguments)) == 102
    assert seen == [{"text": "x" * 5_000}]
    assert json.loads(of(made, events.ToolCallEnded)[0].arguments) == {"text": "x" * 5_000}


@pytest.mark.parametrize("again", [{}, {"tool_calls": [fragment(0, "A", "note", '{"a":1}')]}], ids=["empty", "with the call again"])
async def test_complaint_10_two_finish_chunks_do_not_call_twice(again):
    """hass_local_openai_llm #92: OpenRouter sends the reason, then usage with the reason again."""
    usage = {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7}
    answer = body(
        [chunk({"tool_calls": [fragment(0, "A", "note", '{"a":1}')]})],
        [chunk(finish="tool_calls"), chunk(again, "tool_calls", usage=usage), DONE],
    )
    seen, result, made, _ = await through(answer)
    assert seen == [{"a": 1}]
    assert len(of(made, events.ToolStarted)) == 1
    assert result.messages[1].usage.output_tokens == 4


@pytest.mark.parametrize("finish", ["stop", None, "function_call", "with the call", "nonsense"])
async def test_complaint_11_calls_run_whatever_the_finish_reason_says(finish):
    """python-genai #2868 says "stop" beside calls; vllm #25054 differs by tool_choice; vllm-ascend #8327 packs the reason with the data."""
    delta = {"tool_calls": [fragment(0, "A", "note", '{"a":1}')]}
    match finish:
        case "with the call":
            answer = body([chunk(delta, "tool_calls"), DONE])
        case None:
            answer = body([chunk(delta), DONE])
        case _:
            answer = body([chunk(delta), chunk(finish=finish), DONE])
    seen, result, _, _ = await through(answer)
    assert seen == [{"a": 1}]
    message = result.messages[1]
    assert message.finish_reason == ("other" if finish == "nonsense" else "tool_calls")
    assert message.finish_reason_raw == ("tool_calls" if finish == "with the call" else finish)


def sse(*forms):
    """Events of a wire that names each by its type."""
    return b"".join(f"event: {form['type']}\ndata: {json.dumps(form)}\n\n".encode() for form in forms)


ANTHROPIC = [
    {"type": "message_start", "message": {"id": "m", "type": "message", "role": "assistant", "model": "x", "content": []}},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "tool_use", "id": "A", "name": "note", "input": {}}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": '{"a":1}'}},
    {"type": "content_block_stop", "index": 0},
]
CUT = {
    "text": ("openai-chat", body(text_stream("half an ")[:2])),
    "whole arguments": ("openai-chat", body(call_stream("note", '{"a":1}')[:2])),
    "whole arguments of Anthropic": ("anthropic-messages", sse(*ANTHROPIC)),
    "a whole call of Ollama": (
        "ollama",
        json.dumps(
            {"model": "m", "message": {"role": "assistant", "tool_calls": [{"function": {"name": "note", "arguments": {"a": 1}}}]}}
        ).encode()
        + b"\n",
    ),
    "a text of Gemini": ("gemini", b'data: {"candidates":[{"content":{"role":"model","parts":[{"text":"half an "}]}}]}\r\n\r\n'),
}


@pytest.mark.parametrize("what", CUT)
async def test_complaint_12_a_stream_that_just_closes_is_an_error_and_no_answer(what):
    """oh-my-pi #9609, openclaw #127338: the half is taken for the whole."""
    protocol, cut = CUT[what]
    note, seen = noting()
    error, made = await fail(Agent(ScriptedModel(cut, protocol=protocol), tools=[note]), StreamTruncatedError)
    assert seen == []
    assert made[-1].generate_reason == "error"
    assert error.result.messages[1].generate_reason == "error"
    assert error.result.messages[1].finish_reason is None


async def test_complaint_12_a_body_without_anything_is_no_empty_answer():
    """lemonade: a gateway made an ending up for a body that had none, and the run ended well with nothing said."""
    error, made = await fail(Agent(ScriptedModel(b"")), StreamTruncatedError)
    assert [message.role for message in error.result.messages] == ["user"]
    assert of(made, events.ReminderAdded) == []


async def test_complaint_13_a_try_after_partial_output_does_not_join_both():
    """llxprt-code #3048: both attempts became one message; deepagents #5905 and the AI SDK 7 give each attempt events of its own."""
    broken, whole = body(text_stream("Hello ", "wor")[:3]), body(text_stream("Hello ", "world"))
    replay = ReplayTransport([Recorded(body=broken), Recorded(body=whole)])
    model = Model("openai-chat:m", base_url="http://lab.test/v1", transport=replay, clock=StillClock(), mid_stream_retries=1)
    result, made = await run(Agent(model))
    assert result.output == "Hello world"
    (discarded,) = of(made, events.AttemptDiscarded)
    by_message = {}
    for event in of(made, events.TextDelta):
        by_message[event.message_id] = by_message.get(event.message_id, "") + event.text
    assert by_message == {discarded.message_id: "Hello wor", result.message.id: "Hello world"}


async def test_complaint_14_usage_is_not_added_inside_an_answer_and_is_added_over_rounds():
    """langchain #35615, ogx #5122: running totals in every chunk were summed; elsewhere usage was lost."""

    def counted(output):
        return {"prompt_tokens": 10, "completion_tokens": output, "total_tokens": 10 + output}

    answer = body(
        [chunk({"tool_calls": [fragment(0, "A", "note", '{"a":1}')]}, usage=counted(1)), chunk({}, usage=counted(2))],
        [chunk(finish="tool_calls", usage=counted(3)), chunk(choices=[], usage=counted(3)), DONE],
    )
    _, result, made, _ = await through(answer)
    assert (result.messages[1].usage.input_tokens, result.messages[1].usage.output_tokens) == (10, 3)
    assert (result.usage.input_tokens, result.usage.output_tokens) == (13, 4)
    assert made[-1].usage == result.usage
    totals = [{"promptTokenCount": 10, "candidatesTokenCount": n, "totalTokenCount": 10 + n} for n in (1, 2, 3)]
    usage = decode_stream(gemini(*[[{"text": "x"}]] * 3, usage=totals), protocol="gemini").message.usage
    assert (usage.input_tokens, usage.output_tokens) == (10, 3)


@pytest.mark.parametrize("make", [lambda n: TextDelta("x"), lambda n: ToolCallFragment(None if n else "a", None if n else "f", "x", 0)])
def test_complaint_15_a_chunk_costs_the_same_however_many_came_before_it(make):
    """langchainjs #11148, litellm #21698, kimi-cli #2515: each delta parsed, joined or copied the whole once more."""

    def calls_for(size):
        made = [AssistantMessageChunk.from_deltas((make(n),)) for n in range(size)]
        count = 0

        def profile(frame, event, arg):
            nonlocal count
            count += event in {"call", "c_call"}

        before = sys.getprofile()
        sys.setprofile(profile)
        try:
            total = MessageChunk()
            for one in made:
                total = total + one
            total.to_message()
        finally:
            sys.setprofile(before)
        return count

    assert calls_for(4_000) <= 4.2 * calls_for(1_000)


@pytest.mark.parametrize("text", ["}", "if (x) { y(); }", '{"a": 1', "```json\n{}\n```"])
async def test_complaint_16_braces_in_text_are_text_at_once(text):
    """agentscope #782: the output hangs at `}`, since a repairer waits for its brace."""
    gate = asyncio.Event()
    answer = [*(chunk({"content": one}) for one in text), chunk(finish="stop"), DONE]
    agent = Agent(ScriptedModel(Scripted(b"".join(answer), gates={len(text): gate})))
    made = []
    async with agent.stream("go", on_event=made.append) as watched:
        async for _ in watched:
            if "".join(event.text for event in of(made, events.TextDelta)) == text:
                gate.set()
    assert watched.result.output == text


@pytest.mark.parametrize("raw", ['{"a": 1', "{'a': 1}x", "a=1", '{"a": }', "[1]", '"a"'])
async def test_complaint_16_arguments_that_do_not_parse_never_become_an_empty_object(raw):
    """agentscope #1272: a repairer's own error became `{}`, and tools ran without arguments."""
    seen, result, _, _ = await through(calling(fragment(0, "A", "note", raw)))
    assert seen == []
    (one,) = result.messages[1].tool_calls
    assert (one.arguments, one.parsed, one.runnable) == (raw, None, False)
    assert result.messages[2].results[0].state == "error"


# ---------------------------------------------------------------------------------------------- messages and history


def thinking_call(reasoning):
    return body(
        [chunk({"reasoning_content": reasoning})],
        [chunk({"tool_calls": [fragment(0, "A", "note", '{"a":1}')]}), chunk(finish="tool_calls"), DONE],
    )


@pytest.mark.parametrize(
    ("model_id", "is_wanted"), [("deepseek:deepseek-chat", True), ("moonshot:kimi-k2-thinking", True), ("groq:m", False)]
)
async def test_complaint_17_reasoning_goes_back_to_those_who_want_it_and_to_no_other(model_id, is_wanted):
    """langchain #37390, #39370: it is dropped, and DeepSeek V4, Kimi K2 and Qwen3 say 400; others say 400 where it comes."""
    replay = ReplayTransport([Recorded(body=thinking_call("hm, so")), Recorded(body=END)])
    note, _ = noting()
    model = Model(model_id, api_key="sk-none-of-yours", transport=replay, clock=StillClock())
    await run(Agent(model, tools=[note]))
    sent = json.loads(replay.requests[1].body)["messages"][1]
    assert sent["role"] == "assistant"
    assert sent.get("reasoning_content") == ("hm, so" if is_wanted else None)


async def test_complaint_18_signatures_go_back_byte_for_byte():
    """The redesigns of llm 0.32 and llm-gemini 0.33: what is opaque must make the round trip."""
    signature = 'CiQB+/==\\u00e9 "quoted"'
    first = gemini([{"functionCall": {"name": "note", "args": {"a": 1}}, "thoughtSignature": signature}])
    replay = ReplayTransport([Recorded(body=first), Recorded(body=gemini([{"text": "done"}]))])
    note, seen = noting()
    model = Model("google:g-1", api_key="none-of-yours", transport=replay, clock=StillClock())
    await run(Agent(model, tools=[note]))
    assert seen == [{"a": 1}]
    parts = [part for content in json.loads(replay.requests[1].body)["contents"] for part in content["parts"]]
    assert [part["thoughtSignature"] for part in parts if "thoughtSignature" in part] == [signature]


async def test_complaint_19_an_interrupted_stream_leaves_no_half_arguments_to_send():
    """agentscope #2474: strict servers refuse every later turn; remote-swe-agents #420: results are missing after a cancel."""
    note, seen = noting()
    answer = body(call_stream("note", '{"a"', ":1}"))
    model = ScriptedModel(Scripted(answer, gates={2: asyncio.Event()}), END)
    agent = Agent(model, tools=[note])
    made = []
    async with agent.stream("go", session="s", on_event=made.append) as watched:
        async for event in watched:
            if isinstance(event, events.ToolCallArguments):
                break
    check(made, watched.result)
    assert seen == []
    assert watched.result.messages[-1].results[0].state == "interrupted"
    assert (await agent.run("go on", session="s")).output == "done"
    sent = json.loads(encode_request(model.requests[1], DEFAULT).body)["messages"]
    assert [message["role"] for message in sent] == ["user", "assistant", "tool", "user"]
    assert isinstance(json.loads(sent[1]["tool_calls"][0]["function"]["arguments"]), dict)
    check_requests(model)


async def test_complaint_20_the_partial_text_of_a_cancelled_run_is_in_the_history():
    """agno #5816: it is left out, and the model does not know what it had said."""
    begun = asyncio.Event()

    def on_event(event):
        if isinstance(event, events.TextDelta):
            begun.set()

    model = ScriptedModel(Scripted("The answer is forty-two", slice_chars=10, gates={1: asyncio.Event()}), "next")
    agent = Agent(model)
    task = asyncio.create_task(agent.run("go", session="s", on_event=on_event))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await agent.run("go on", session="s")
    assert [message.text for message in model.requests[1].messages] == ["go", "The answer", "go on"]


async def test_complaint_21_a_stored_state_has_a_version_and_a_newer_one_is_refused():
    """openai-agents #2502, #2632: states without a version could not be told apart."""

    @tool(needs_approval=True)
    async def pay() -> str:
        return "paid"

    agent = Agent(ScriptedModel(asks(call("A", "pay", "{}"))), tools=[pay])
    result, _ = await run(agent)
    assert result.state["schema_version"] == 1
    for version in (2, None):
        with pytest.raises(SchemaVersionError, match=str(version)):
            await agent.resume({**result.state, "schema_version": version}, [result.pending[0].approve()])


# ---------------------------------------------------------------------------------------------- people in the loop


def paying():
    """A tool that a person must allow, and the list of what was paid."""
    paid = []

    @tool(needs_approval=True)
    async def pay(to: str) -> str:
        """Pay somebody."""
        paid.append(to)
        yield f"paid {to}"

    return pay, paid


def pays(*who):
    return asks(*(call(f"c{n}", "pay", json.dumps({"to": one})) for n, one in enumerate(who)))


async def test_complaint_22_each_question_has_its_own_answer_in_any_order():
    """langgraph #6533, #6624: questions share an id, answers go astray, only one is shown, a node runs again after each answer."""
    pay, paid = paying()
    agent = Agent(ScriptedModel(pays("ann", "bob", "cid"), "done"), tools=[pay])
    result, made = await run(agent)
    assert len({question.call_key for question in result.pending}) == 3
    by_name = {question.call.parsed["to"]: question for question in result.pending}
    result, made = await go_on(agent, result, [by_name["cid"].deny("too much")], made)
    assert [question.call.parsed["to"] for question in result.pending] == ["ann", "bob"]
    assert paid == []
    result, made = await go_on(agent, result, [by_name["bob"].approve()], made)
    assert paid == ["bob"]
    result, made = await go_on(agent, result, [by_name["ann"].approve({"to": "anna"})], made)
    assert paid == ["bob", "anna"]
    assert [part.state for part in result.messages[2].results] == ["success", "success", "denied"]
    assert result.output == "done"
    assert len(of(made, events.ApprovalRequired)) == 3


async def test_complaint_22_a_second_question_after_a_resume_is_shown():
    """Yuxi #475: the approval that a resumed run needs is not shown."""
    pay, paid = paying()
    agent = Agent(ScriptedModel(pays("ann"), pays("bob"), "done"), tools=[pay])
    result, made = await run(agent)
    result, made = await go_on(agent, result, [result.pending[0].approve()], made)
    assert [question.call.parsed for question in result.pending] == [{"to": "bob"}]
    assert [event.pending.call.parsed["to"] for event in of(made, events.ApprovalRequired)] == ["ann", "bob"]
    result, _ = await go_on(agent, result, [result.pending[0].approve()], made)
    assert (paid, result.output) == (["ann", "bob"], "done")


async def test_complaint_23_the_output_of_an_approved_tool_is_in_the_resumed_stream():
    """openai-agents #4125: the tool runs, and its output is lost; agentscope #2593: the panel shows empty arguments."""
    pay, paid = paying()
    agent = Agent(ScriptedModel(pays("ann"), "done"), tools=[pay])
    result, made = await run(agent)
    (asked,) = of(made, events.ApprovalRequired)
    assert asked.pending.call.parsed == {"to": "ann"}
    before = len(made)
    async with agent.resume_stream(result.state, [result.pending[0].approve()], on_event=made.append) as watched:
        seen = [event async for event in watched]
    check(made, watched.result)
    assert seen == made[before:]
    assert [event.type for event in seen[:4]] == ["approval_given", "tool_started", "tool_output", "tool_ended"]
    assert of(seen, events.ToolOutput)[0].output == TextPart("paid ann")
    assert paid == ["ann"]


async def test_complaint_23_a_cancelled_resume_closes_the_call_and_a_stale_answer_is_refused():
    """harness-sdk #3594: a cancelled resume destroys the pending answer; a stale answer approves a new call."""
    pay, paid = paying()
    agent = Agent(ScriptedModel(pays("ann"), pays("bob"), "done"), tools=[pay])
    first, made = await run(agent)
    stale = first.pending[0].approve()
    second, made = await go_on(agent, first, [stale], made)
    with pytest.raises(StateError):
        await agent.resume(second.state, [stale])
    forged = first.pending[0].approve()
    with pytest.raises(StateError, match="another call"):
        await agent.resume(second.state, [type(forged)(second.pending[0].call_key, digest=forged.digest)])
    assert paid == ["ann"]
    # Refused answers used nothing up: the state can still be resumed; and once only.
    result, _ = await go_on(agent, second, [second.pending[0].approve()], made)
    assert (result.output, paid) == ("done", ["ann", "bob"])
    with pytest.raises(StateError):
        await agent.resume(second.state, [second.pending[0].approve()])
    assert paid == ["ann", "bob"]


async def test_complaint_23_a_resume_that_is_cancelled_says_what_became_of_the_call():
    """harness-sdk #3594: neither the answer nor the call was to be found afterwards."""
    begun = asyncio.Event()

    @tool(needs_approval=True)
    async def pay() -> str:
        begun.set()
        await asyncio.Event().wait()

    agent = Agent(ScriptedModel(asks(call("A", "pay", "{}")), "next"), tools=[pay])
    result, made = await run(agent, session="s")
    task = asyncio.create_task(agent.resume(result.state, [result.pending[0].approve()], on_event=made.append))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    kept = agent.sessions.get("s").messages
    assert kept[-1].results[0].state == "interrupted"
    assert "while it ran" in kept[-1].results[0].text
    assert (await agent.run("go on", session="s")).output == "next"


# ---------------------------------------------------------------------------------------------- a crash


async def test_complaint_24_a_call_that_may_have_run_before_a_crash_does_not_run_again_by_itself():
    """adk-python 8039: an approved `pay` runs twice; langgraph #8039; users are told to make their tools idempotent."""
    paid = []

    @tool
    async def pay(to: str) -> str:
        paid.append(to)
        return f"paid {to}"

    model = ScriptedModel(pays("ann"), "never", "done")
    agent = Agent(model, tools=[pay])
    made = []
    async with agent.stream("go", on_event=made.append) as watched:
        states = [(json.dumps(watched.state), list(made)) async for event in watched if isinstance(event, events.ToolStarted)]
    assert paid == ["ann"]
    ((state, before),) = states
    # What is stored says "started"; the result never came. Another process goes on:
    other = Agent(ScriptedModel("done"), tools=[pay])
    made = list(before)
    result = await other.resume(state, on_event=made.append)
    check(made, result)
    assert paid == ["ann"]
    assert [question.kind for question in result.pending] == ["in_doubt"]
    result, made = await go_on(other, result, [result.pending[0].answer("paid ann, says the bank")], made)
    assert (paid, result.output) == (["ann"], "done")
    assert "says the bank" in result.messages[2].results[0].text


async def test_complaint_24_an_idempotent_call_runs_again_with_the_same_key():
    """openai-agents-js #441: there is no key by which a tool could see that it runs again."""
    keys = []

    @tool(idempotent=True)
    async def pay(to: str, context: Context) -> str:
        keys.append(context.call_key)
        return f"paid {to}"

    agent = Agent(ScriptedModel(pays("ann"), "never"), tools=[pay])
    async with agent.stream("go") as watched:
        states = [json.dumps(watched.state) async for event in watched if isinstance(event, events.ToolStarted)]
    result = await Agent(ScriptedModel("done"), tools=[pay]).resume(states[0])
    assert result.output == "done"
    assert len(keys) == 2
    assert len(set(keys)) == 1
