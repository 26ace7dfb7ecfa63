"""Tools that a client declares and runs itself, over each protocol that can say so."""

from __future__ import annotations

import json

import httpx2
import openai
import pytest

from app_ground import SECRETS, app_ground, key
from client_bodies import agui, agui_events, openai_client, said
from headrace.sessions.request import Request
from headrace.sessions.sqlite import SQLiteStore

SCHEMA = {"type": "object", "properties": {"colour": {"type": "string"}}, "required": ["colour"]}
WORDS = 'call paint {"colour": "red"}'
CHAT_TOOL = {"type": "function", "function": {"name": "paint", "description": "Paint the wall.", "parameters": SCHEMA}}
RESPONSES_TOOL = {"type": "function", "name": "paint", "description": "Paint the wall.", "parameters": SCHEMA}
AGUI_TOOL = {"name": "paint", "description": "Paint the wall.", "parameters": SCHEMA}


async def test_chat_completions_call_the_clients_tool_and_go_on_with_its_result():
    async with app_ground() as ground, openai_client(ground) as client:
        messages = said(("user", WORDS))
        first = await client.chat.completions.create(model="x", messages=messages, tools=[CHAT_TOOL])
        (call,) = first.choices[0].message.tool_calls
        assert (call.function.name, json.loads(call.function.arguments)) == ("paint", {"colour": "red"})
        messages += [
            first.choices[0].message.model_dump(exclude_none=True),
            {"role": "tool", "tool_call_id": call.id, "content": "the wall is red"},
        ]
        done = await client.chat.completions.create(model="x", messages=messages, tools=[CHAT_TOOL])
        assert done.choices[0].message.content == "Done: the wall is red"
        (run,) = (await ground.client.get("/runs")).json()["runs"]
        assert run["status"] == "ended"


async def test_a_stream_of_chat_completions_calls_the_clients_tool():
    async with app_ground() as ground, openai_client(ground) as client:
        asked = {"model": "x", "messages": said(("user", WORDS)), "tools": [CHAT_TOOL]}
        async with client.chat.completions.stream(**asked) as stream:
            kinds = [event.type async for event in stream]
            whole = await stream.get_final_completion()
        assert "tool_calls.function.arguments.done" in kinds
        (call,) = whole.choices[0].message.tool_calls
        assert (whole.choices[0].finish_reason, json.loads(call.function.arguments)) == ("tool_calls", {"colour": "red"})


async def test_a_client_that_wants_no_tool_called_brings_none():
    async with app_ground() as ground, openai_client(ground) as client:
        whole = await client.chat.completions.create(model="x", messages=said(("user", WORDS)), tools=[CHAT_TOOL], tool_choice="none")
        assert whole.choices[0].message.content == f"You said: {WORDS}"
        response = await client.responses.create(model="x", input=WORDS, tools=[RESPONSES_TOOL], tool_choice="none")
        assert response.output_text == f"You said: {WORDS}"


async def test_a_response_calls_the_clients_tool_and_the_next_one_has_its_result():
    async with app_ground() as ground, openai_client(ground) as client:
        first = await client.responses.create(model="x", input=WORDS, tools=[RESPONSES_TOOL])
        (call,) = [item for item in first.output if item.type == "function_call"]
        assert (call.name, json.loads(call.arguments)) == ("paint", {"colour": "red"})
        assert first.tools[0].name == "paint"
        result = {"type": "function_call_output", "call_id": call.call_id, "output": "the wall is red"}
        second = await client.responses.create(model="x", input=[result], previous_response_id=first.id, tools=[RESPONSES_TOOL])
        assert second.output_text == "Done: the wall is red"
        assert second.id.startswith(f"{first.id}_")


async def test_a_client_that_keeps_its_responses_itself_gives_the_whole_input_again():
    async with app_ground() as ground, openai_client(ground) as client:
        given = [{"role": "user", "content": WORDS}]
        first = await client.responses.create(model="x", input=given, tools=[RESPONSES_TOOL], store=False)
        (call,) = [item for item in first.output if item.type == "function_call"]
        given += [item.model_dump(exclude_none=True) for item in first.output]
        given += [{"type": "function_call_output", "call_id": call.call_id, "output": "the wall is red"}]
        second = await client.responses.create(model="x", input=given, tools=[RESPONSES_TOOL], store=False)
        assert second.output_text == "Done: the wall is red"
        (run,) = (await ground.client.get("/runs")).json()["runs"]
        assert run["status"] == "ended"


async def paint(client, colour, given=()):
    """Ask for a wall in a colour, as a client that keeps its conversations; return the conversation with the result of its tool."""
    words = f'call paint {{"colour": "{colour}"}}'
    given = [*given, {"role": "user", "content": words}]
    response = await client.responses.create(model="x", input=given, tools=[RESPONSES_TOOL], store=False)
    (call,) = [item for item in response.output if item.type == "function_call"]
    given += [item.model_dump(exclude_none=True) for item in response.output]
    return [*given, {"type": "function_call_output", "call_id": call.call_id, "output": f"the wall is {colour}"}]


async def test_of_many_conversations_with_calls_each_goes_on_with_its_own_run():
    async with app_ground() as ground, openai_client(ground) as client:
        first = await paint(client, "c0")
        for n in range(1, 60):  # more than are looked at
            await paint(client, f"c{n}")
        done = await client.responses.create(model="x", input=first, tools=[RESPONSES_TOOL], store=False)
        assert done.output_text == "Done: the wall is c0"
        runs = (await ground.client.get("/runs", params={"status": "waiting", "limit": 100})).json()["runs"]
        assert len(runs) == 59


async def test_a_conversation_goes_on_with_its_run_call_after_call_and_after_a_restart(tmp_path):
    path = tmp_path / "runs.db"
    async with app_ground(store=SQLiteStore(path)) as ground, openai_client(ground) as client:
        given = await paint(client, "red")
        done = await client.responses.create(model="x", input=given, tools=[RESPONSES_TOOL], store=False)
        given += [item.model_dump(exclude_none=True) for item in done.output]
        given = await paint(client, "blue", given)
    async with app_ground(store=SQLiteStore(path)) as ground, openai_client(ground) as client:
        done = await client.responses.create(model="x", input=given, tools=[RESPONSES_TOOL], store=False)
        assert done.output_text == "Done: the wall is blue"
        runs = (await ground.client.get("/runs")).json()["runs"]
        assert [run["status"] for run in runs] == ["ended", "ended"]


async def test_a_conversation_that_was_changed_is_a_new_run():
    async with app_ground() as ground, openai_client(ground) as client:
        given = await paint(client, "red")
        given[0] = {"role": "user", "content": 'call paint {"colour": "green"}'}
        done = await client.responses.create(model="x", input=given, tools=[RESPONSES_TOOL], store=False)
        assert done.output_text == "Done: the wall is red"
        runs = (await ground.client.get("/runs")).json()["runs"]
        assert sorted(run["status"] for run in runs) == ["ended", "waiting"]


async def test_an_agui_client_runs_its_own_tool():
    async with app_ground() as ground:
        events = await agui_events(ground, agui("t", "r1", ("user", WORDS), tools=[AGUI_TOOL]))
        (call_id,) = events[-1]["outcome"]["pendingToolCallIds"]
        body = agui("t", "r2", ("user", WORDS), tools=[AGUI_TOOL])
        body["messages"] += [
            {
                "id": "a1",
                "role": "assistant",
                "toolCalls": [{"id": call_id, "type": "function", "function": {"name": "paint", "arguments": '{"colour": "red"}'}}],
            },
            {"id": "t1", "role": "tool", "toolCallId": call_id, "content": "the wall is red"},
        ]
        events = await agui_events(ground, body)
        assert "".join(event.get("delta", "") for event in events) == "Done: the wall is red"


async def test_a_tool_that_the_agent_knows_as_the_clients_may_be_declared_and_another_of_its_may_not():
    async with app_ground() as ground, openai_client(ground) as client:
        tools = [{"type": "function", "function": {"name": name, "parameters": SCHEMA}} for name in ("temperature", "pay")]
        whole = await client.chat.completions.create(model="x", messages=said(("user", "temperature")), tools=tools[:1])
        (call,) = whole.choices[0].message.tool_calls
        assert json.loads(call.function.arguments) == {"room": "B2"}
        with pytest.raises(openai.BadRequestError, match="pay"):
            await client.chat.completions.create(model="x", messages=said(("user", "temperature")), tools=tools)
        response: httpx2.Response = await ground.client.post(
            "/agui", json=agui("t", "r1", ("user", "hi"), tools=[{"name": "pay", "description": "", "parameters": SCHEMA}])
        )
        assert response.status_code == 400


async def test_a_client_names_items_of_a_response_instead_of_giving_them():
    async with app_ground() as ground, openai_client(ground) as client:
        given = [{"role": "user", "content": WORDS}]
        first = await client.responses.create(model="x", input=given, tools=[RESPONSES_TOOL])
        (call,) = [item for item in first.output if item.type == "function_call"]
        given += [{"type": "item_reference", "id": item.id} for item in first.output]
        given += [{"type": "function_call_output", "call_id": call.call_id, "output": "the wall is red"}]
        second = await client.responses.create(model="x", input=given, tools=[RESPONSES_TOOL])
        assert second.output_text == "Done: the wall is red"
        assert second.id.startswith(f"{first.id}_")  # the run that waited went on
        given += [{"type": "item_reference", "id": item.id} for item in second.output]
        third = await client.responses.create(model="x", input=[*given, {"role": "user", "content": "thanks"}])
        assert third.output_text == "You said: thanks"
        assert len((await ground.client.get("/runs")).json()["runs"]) == 2
        for name in (f"msg_{'0' * 32}_0", "msg_1", first.output[0].id + "9"):
            with pytest.raises(openai.APIStatusError) as caught:
                await client.responses.create(model="x", input=[{"type": "item_reference", "id": name}, *given[:1]])
            assert caught.value.status_code in (400, 404)


async def test_a_question_is_answered_without_the_name_of_the_response_that_asked():
    async with app_ground() as ground, openai_client(ground) as client:
        first = await client.responses.create(model="x", input="pay Ada 3")
        (question,) = [item for item in first.output if item.type == "mcp_approval_request"]
        answer = {"type": "mcp_approval_response", "approval_request_id": question.id, "approve": True}
        given = [{"role": "user", "content": "pay Ada 3"}, {"type": "item_reference", "id": question.id}, answer]
        second = await client.responses.create(model="x", input=given)
        assert second.output_text == "Done: paid 3 to Ada"
        (made,) = [item for item in second.output if item.type == "mcp_call"]
        assert (made.approval_request_id, made.output) == (question.id, "paid 3 to Ada")
        with pytest.raises(openai.ConflictError):
            await client.responses.create(model="x", input=given)


async def test_what_another_key_was_told_cannot_be_named():
    async with app_ground(keys=[key("anna"), key("bert")]) as ground:
        anna, bert = (openai_client(ground, SECRETS[name]) for name in ("anna", "bert"))
        async with anna, bert:
            first = await anna.responses.create(model="x", input="pay Ada 3")
            *_, question = first.output
            named = {"type": "item_reference", "id": first.output[0].id}
            with pytest.raises(openai.NotFoundError):
                await bert.responses.create(model="x", input=[named, {"role": "user", "content": "go on"}])
            answer = {"type": "mcp_approval_response", "approval_request_id": question.id, "approve": True}
            with pytest.raises(openai.ConflictError):
                await bert.responses.create(model="x", input=[answer])


async def test_the_runs_own_calls_go_back_as_calls_and_results():
    async with app_ground() as ground, openai_client(ground) as client:
        given = [{"role": "user", "content": "grind 2"}]
        first = await client.responses.create(model="x", input=given, store=False)
        assert [item.type for item in first.output] == ["mcp_call", "message"]
        given += [item.model_dump(exclude_none=True) for item in first.output]
        second = await client.responses.create(model="x", input=[*given, {"role": "user", "content": "thanks"}], store=False)
        result = await ground.runs.result(second.id.removeprefix("resp_"))
        assert result.message.text == "You said: thanks"
        history = Request.decoded((await ground.store.run(result.run_id)).request).history
        assert [message.role for message in history] == ["user", "assistant", "tool", "assistant"]


async def test_the_vendors_helper_puts_a_stream_with_the_runs_own_calls_together():
    async with app_ground() as ground, openai_client(ground) as client:
        async with client.responses.stream(model="x", input="grind 2") as stream:
            kinds = [event.type async for event in stream]
            whole = await stream.get_final_response()
        assert [kind for kind in kinds if "mcp" in kind] == [
            "response.mcp_call_arguments.done",
            "response.mcp_call.in_progress",
            "response.mcp_call.completed",
        ]
        made, _ = whole.output
        assert (made.name, made.arguments, made.status, made.output) == (
            "grind",
            '{"sacks":2}',
            "completed",
            "sack 0 is flour\nsack 1 is flour\n",
        )
        async with client.responses.stream(model="x", input=WORDS, tools=[RESPONSES_TOOL]) as stream:
            kinds = [event.type async for event in stream]
            whole = await stream.get_final_response()
        assert "response.function_call_arguments.delta" in kinds
        assert [item.type for item in whole.output] == ["function_call"]
