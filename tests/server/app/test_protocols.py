"""The protocols that clients speak already: their own SDKs and models against the server, and how each comes back."""

from __future__ import annotations

import asyncio
import json

import httpx2
import openai
import pytest

from app_ground import app_ground, bearer, key, make_agent
from client_bodies import agui, agui_events, datas, openai_client, said
from headrace.sessions.sqlite import SQLiteStore

# --- Chat Completions ----------------------------------------------------------------------------------


async def test_chat_completions_streamed_and_whole_by_the_vendors_sdk():
    async with app_ground(name="mill") as ground, openai_client(ground) as client:
        assert [model.id async for model in client.models.list()] == ["mill"]
        messages = said(("system", "Be brief."), ("user", "hi"), ("assistant", "hello"), ("user", "how are you"))
        whole = await client.chat.completions.create(model="mill", messages=messages)
        assert whole.choices[0].message.content == "You said: how are you"
        assert (whole.choices[0].finish_reason, whole.usage.completion_tokens) == ("stop", 5)
        stream = await client.chat.completions.create(model="mill", messages=messages, stream=True, stream_options={"include_usage": True})
        chunks = [chunk async for chunk in stream]
        text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
        assert (text, chunks[-1].usage.completion_tokens) == ("You said: how are you", 5)


async def test_a_clients_own_tool_is_called_and_its_result_goes_on_with_the_same_run():
    async with app_ground() as ground, openai_client(ground) as client:
        messages = said(("user", "temperature"))
        asked = await client.chat.completions.create(model="x", messages=messages)
        (call,) = asked.choices[0].message.tool_calls
        assert (asked.choices[0].finish_reason, call.function.name) == ("tool_calls", "temperature")
        messages += [
            asked.choices[0].message.model_dump(exclude_none=True),
            {"role": "tool", "tool_call_id": call.id, "content": "21.5"},
        ]
        done = await client.chat.completions.create(model="x", messages=messages)
        assert done.choices[0].message.content.startswith("Done:")
        runs = (await ground.client.get("/runs")).json()["runs"]
        assert [run["status"] for run in runs] == ["ended"]
        # The same once more: the run is over, so it is a conversation like any other.
        again = await client.chat.completions.create(model="x", messages=messages)
        assert again.choices[0].message.content.startswith("Done:")


async def test_a_client_of_chat_completions_that_leaves_ends_its_run():
    async with app_ground() as ground, openai_client(ground) as client:
        for is_streamed in (True, False):
            asking = asyncio.create_task(
                ground.client.post(
                    "/v1/chat/completions", json={"model": "x", "stream": is_streamed, "messages": said(("user", "slowly 500"))}
                )
            )
            run = await ground.said("w1 " if is_streamed else "w2 ")
            asking.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asking
            assert (await ground.done(run["id"]))["generate_reason"] == "interrupted"
        stream = await client.chat.completions.create(model="x", messages=said(("user", "slowly 500")), stream=True)
        await anext(aiter(stream))
        await stream.close()
        run = (await ground.client.get("/runs")).json()["runs"][0]
        assert (await ground.done(run["id"]))["generate_reason"] == "interrupted"


async def test_refusals_have_the_vendors_form():
    async with app_ground(keys=[key("anna", tokens_per_day=1)]) as ground:
        async with openai_client(ground, "wrong") as client:
            with pytest.raises(openai.AuthenticationError):
                await client.models.list()
        async with openai_client(ground, bearer("anna")["authorization"].removeprefix("Bearer ")) as client:
            with pytest.raises(openai.BadRequestError) as caught:
                await client.chat.completions.create(model="x", messages=[{"role": "user", "content": 5}])
            assert caught.value.body["type"] == "invalid_request_error"
            with pytest.raises(openai.BadRequestError):
                await client.responses.create(model="x", input=[])
            await client.responses.create(model="x", input="hello")
            for asked in (
                client.chat.completions.create(model="x", messages=said(("user", "hi"))),
                client.responses.create(model="x", input="hello"),
            ):
                with pytest.raises(openai.RateLimitError):
                    await asked
            with pytest.raises(openai.NotFoundError):
                await client.responses.retrieve("resp_none")


async def test_a_run_that_fails_is_an_error_of_the_protocol():
    from headrace.agent.agent import Agent
    from headrace.errors import OverloadedError
    from headrace.models.scripted import ScriptedModel

    model = ScriptedModel(*[OverloadedError("too much", status=529)] * 3)
    async with app_ground(agent=Agent(model)) as ground, openai_client(ground) as client:
        with pytest.raises(openai.APIStatusError) as caught:
            await client.chat.completions.create(model="x", messages=said(("user", "hi")))
        assert caught.value.status_code == 502
        response = await client.responses.create(model="x", input="hi")
        assert response.status == "failed"


# --- Responses -----------------------------------------------------------------------------------------


async def test_responses_by_the_vendors_sdk_and_what_goes_on_from_one():
    async with app_ground() as ground, openai_client(ground) as client:
        first = await client.responses.create(model="x", input="hello", instructions="Be brief.")
        assert (first.status, first.output_text) == ("completed", "You said: hello")
        second = await client.responses.create(model="x", input="again", previous_response_id=first.id)
        assert (second.output_text, second.previous_response_id) == ("You said: again", first.id)
        result = await ground.runs.result(second.id.removeprefix("resp_"))
        assert len(result.messages) == 2
        kept = await client.responses.retrieve(first.id)
        assert kept.output_text == first.output_text
        await client.responses.delete(first.id)
        with pytest.raises(openai.NotFoundError):
            await client.responses.retrieve(first.id)


async def test_a_response_in_the_background_is_polled_streamed_from_anywhere_and_cancelled():
    async with app_ground() as ground, openai_client(ground) as client:
        begun = await client.responses.create(model="x", input="slowly 40", background=True)
        assert begun.status in ("queued", "in_progress")
        whole = [event async for event in await client.responses.retrieve(begun.id, stream=True)]
        assert [event.sequence_number for event in whole] == list(range(len(whole)))
        assert whole[-1].type == "response.completed"
        rest = [event async for event in await client.responses.retrieve(begun.id, stream=True, starting_after=7)]
        assert [event.model_dump() for event in rest] == [event.model_dump() for event in whole[8:]]
        assert (await client.responses.retrieve(begun.id)).status == "completed"
        long = await client.responses.create(model="x", input="slowly 1000", background=True)
        await ground.said("w1 ")
        assert (await client.responses.cancel(long.id)).status == "cancelled"


async def test_a_stream_of_a_response_that_breaks_off_goes_on_in_the_next_process(tmp_path):
    path = tmp_path / "runs.db"
    async with app_ground(store=SQLiteStore(path)) as ground, openai_client(ground) as client:
        stream = await client.responses.create(model="x", input="slowly 100", stream=True, background=True)
        got = []
        async for event in stream:
            got.append(event)
            if len(got) == 15:
                break
        await stream.close()
    async with app_ground(store=SQLiteStore(path)) as ground, openai_client(ground) as client:
        response_id = got[0].response.id
        got += [event async for event in await client.responses.retrieve(response_id, stream=True, starting_after=got[-1].sequence_number)]
        assert [event.sequence_number for event in got] == list(range(len(got)))
        assert got[-1].response.output_text == "".join(f"w{n} " for n in range(100))


async def test_an_approval_of_a_response_is_answered_by_the_next_one():
    async with app_ground() as ground, openai_client(ground) as client:
        first = await client.responses.create(model="x", input="pay Ada 3")
        (question,) = [item for item in first.output if item.type == "mcp_approval_request"]
        answer = {"type": "mcp_approval_response", "approval_request_id": question.id, "approve": True}
        second = await client.responses.create(model="x", input=[answer], previous_response_id=first.id)
        assert second.output_text == "Done: paid 3 to Ada"
        assert second.id.startswith(f"{first.id}_")
        assert (await client.responses.retrieve(second.id)).output_text == second.output_text
        with pytest.raises(openai.APIStatusError) as caught:
            await client.responses.create(model="x", input=[answer], previous_response_id=first.id)
        assert caught.value.status_code == 409


async def test_only_a_response_that_is_not_kept_ends_with_its_client():
    async with app_ground() as ground, openai_client(ground) as client:
        for stores, reason in ((True, "completed"), (False, "interrupted")):
            stream = await client.responses.create(model="x", input="slowly 60", stream=True, store=stores)
            await anext(aiter(stream))
            await stream.close()
            run = (await ground.client.get("/runs")).json()["runs"][0]
            assert (await ground.done(run["id"]))["generate_reason"] == reason


# --- AG-UI ---------------------------------------------------------------------------------------------


async def test_an_agui_client_asks_answers_a_question_and_goes_on():
    async with app_ground() as ground:
        events = await agui_events(ground, agui("t", "r1", ("user", "pay Ada 3")))
        assert [events[0]["type"], events[-1]["type"]] == ["RUN_STARTED", "RUN_FINISHED"]
        (interrupt,) = events[-1]["outcome"]["interrupts"]
        resume = [{"interruptId": interrupt["id"], "status": "resolved", "payload": {"approved": True}}]
        events = await agui_events(ground, agui("t", "r2", ("user", "pay Ada 3"), resume=resume))
        assert "paid 3 to Ada" in json.dumps(events)
        assert events[-1]["outcome"] == {"type": "success"}
        again = await ground.client.post("/agui", json=agui("t", "r3", ("user", "pay Ada 3"), resume=resume))
        assert again.status_code == 409
        events = await agui_events(ground, agui("t", "r4", ("user", "pay Ada 3"), ("assistant", "Done"), ("user", "thanks")))
        assert "".join(event.get("delta", "") for event in events) == "You said: thanks"
        assert (await ground.client.get("/sessions/t")).json()["messages"] == 6


async def test_an_agui_client_comes_back_with_the_number_of_its_last_event():
    async with app_ground() as ground:
        body, text = agui("t", "r1", ("user", "slowly 60")), ""
        async with httpx2.AsyncClient(base_url=ground.url) as client, client.stream("POST", "/agui", json=body) as response:
            assert response.headers["x-headrace-run-id"] == "r1"
            async for piece in response.aiter_text():
                text += piece
                if len(text) > 1500:
                    break
        text = text.rpartition("\n\n")[0] + "\n\n"
        last = [line.removeprefix("id: ") for line in text.splitlines() if line.startswith("id: ")][-1]
        rest = await agui_events(ground, body, {"last-event-id": last})
        told = datas(text) + rest
        assert "".join(event.get("delta", "") for event in told) == "".join(f"w{n} " for n in range(60))
        assert [event["type"] for event in told].count("RUN_STARTED") == 1
        assert len((await ground.client.get("/runs")).json()["runs"]) == 1


async def test_an_agui_client_comes_back_to_what_follows_its_answer(tmp_path):
    path = tmp_path / "runs.db"
    asked = agui("t", "r1", ("user", "pay Ada 3"))
    async with app_ground(store=SQLiteStore(path)) as ground:
        (interrupt,) = (await agui_events(ground, asked))[-1]["outcome"]["interrupts"]
        resume = [{"interruptId": interrupt["id"], "status": "resolved", "payload": True}]
        answer = agui("t", "r2", ("user", "pay Ada 3"), resume=resume)
        whole = await agui_events(ground, answer)
        assert await agui_events(ground, answer, {"last-event-id": "0"}) == whole
    async with app_ground(store=SQLiteStore(path)) as ground:  # another process knows as much
        assert await agui_events(ground, answer, {"last-event-id": "3"}) == whole[3:]
        assert (await ground.client.post("/agui", json=answer)).status_code == 409
        await agui_events(ground, agui("t", "r3", ("user", "pay Ada 3"), ("assistant", "Done"), ("user", "temperature")))
        (record,) = await ground.store.runs(session_id="t", statuses=("waiting",))
        (pending,) = (await ground.client.get(f"/runs/{record.id}")).json()["pending"]
        body = agui("t", "r4", ("user", "pay Ada 3"), ("assistant", "Done"), ("user", "temperature"))
        body["messages"].append({"id": "x", "role": "tool", "toolCallId": pending["call_key"], "content": "21.5"})
        whole = await agui_events(ground, body)
        assert await agui_events(ground, body, {"last-event-id": "2"}) == whole[2:]
        body["runId"] = "r5"
        body["messages"].append({"id": "y", "role": "user", "content": "thanks"})
        events = await agui_events(ground, body, {"last-event-id": "0"})
        assert "".join(event.get("delta", "") for event in events) == "You said: thanks"
        assert len((await ground.client.get("/runs")).json()["runs"]) == 3


# --- the UI message stream -----------------------------------------------------------------------------


def ui(chat, *messages, **more):
    return {"id": chat, "messages": [ui_message(n, role, text) for n, (role, text) in enumerate(messages)], **more}


def ui_message(n, role, text):
    return {"id": f"m{n}", "role": role, "parts": [{"type": "text", "text": text}]}


def ui_text(chunks):
    return "".join(chunk["delta"] for chunk in chunks if isinstance(chunk, dict) and chunk["type"] == "text-delta")


async def test_a_chat_asks_again_anew_and_with_other_words():
    async with app_ground() as ground:
        post = "/api/chat"
        first = await ground.client.post(post, json=ui("c", ("user", "one")))
        assert first.headers["x-vercel-ai-ui-message-stream"] == "v1"
        chunks = datas(first.text)
        assert (chunks[0]["type"], chunks[-1], ui_text(chunks)) == ("start", "[DONE]", "You said: one")
        second = ui("c", ("user", "one"), ("assistant", "You said: one"), ("user", "two"))
        assert ui_text(datas((await ground.client.post(post, json=second)).text)) == "You said: two"
        assert (await ground.client.get("/sessions/c")).json()["messages"] == 4
        anew = ui("c", ("user", "one"), ("assistant", "You said: one"), ("user", "two"), ("assistant", "x"), trigger="regenerate-message")
        assert ui_text(datas((await ground.client.post(post, json=anew)).text)) == "You said: two"
        copy = (await ground.client.get("/sessions/c~2")).json()
        assert (copy["messages"], copy["forked_from"]) == (4, "c")
        edited = ui("c", ("user", "three"))
        assert ui_text(datas((await ground.client.post(post, json=edited)).text)) == "You said: three"
        assert (await ground.client.get("/sessions/c~3")).json()["messages"] == 2
        known_elsewhere = ui("d", ("user", "a"), ("assistant", "b"), ("user", "c"))
        await ground.client.post(post, json=known_elsewhere)
        assert (await ground.client.get("/sessions/d")).json()["messages"] == 4


async def test_a_chat_that_is_reloaded_gets_its_answer_from_the_start_and_nothing_once_it_is_over():
    async with app_ground() as ground:
        assert (await ground.client.get("/api/chat/c/stream")).status_code == 204
        async with (
            httpx2.AsyncClient(base_url=ground.url) as client,
            client.stream("POST", "/api/chat", json=ui("c", ("user", "slowly 60"))) as response,
        ):
            async for _ in response.aiter_raw():
                break
        response = await ground.client.get("/api/chat/c/stream")
        assert ui_text(datas(response.text)) == "".join(f"w{n} " for n in range(60))
        assert (await ground.client.get("/api/chat/c/stream")).status_code == 204


async def test_a_chat_is_stopped_by_its_own_way_and_not_by_leaving():
    async with app_ground() as ground:
        asking = asyncio.create_task(ground.client.post("/api/chat", json=ui("c", ("user", "slowly 900"))))
        await ground.said("w1 ")
        assert (await ground.client.post("/api/chat/c/stop")).status_code == 204
        assert datas((await asking).text)[-2]["type"] == "abort"
        assert (await ground.client.post("/api/chat/none/stop")).status_code == 404


@pytest.mark.parametrize("secret", [None, b"mill"])
async def test_a_chat_approves_or_says_something_else(secret):
    async with app_ground(secret=secret, agent=make_agent()) as ground:
        chunks = datas((await ground.client.post("/api/chat", json=ui("c", ("user", "pay Ada 3")))).text)
        asked = next(chunk for chunk in chunks if isinstance(chunk, dict) and chunk["type"] == "tool-approval-request")
        approval = {"id": asked["approvalId"], "approved": True, **({"signature": asked["signature"]} if secret else {})}
        part = {"type": "tool-pay", "toolCallId": asked["toolCallId"], "state": "approval-responded", "input": {"to": "Ada", "euros": 3}}
        answer = {"id": chunks[0]["messageId"], "role": "assistant", "parts": [{"type": "step-start"}, {**part, "approval": approval}]}
        body = {"id": "c", "messages": [ui_message(0, "user", "pay Ada 3"), answer]}
        if secret:
            forged = json.loads(json.dumps(body).replace(asked["signature"], "forged"))
            assert (await ground.client.post("/api/chat", json=forged)).status_code == 409
        told = datas((await ground.client.post("/api/chat", json=body)).text)
        assert ui_text(told) == "Done: paid 3 to Ada"
        await ground.client.post("/api/chat", json=ui("d", ("user", "pay Bob 4")))
        changed = ui("d", ("user", "pay Bob 4"), ("assistant", "I will."), ("user", "never mind"))
        assert ui_text(datas((await ground.client.post("/api/chat", json=changed)).text)) == "You said: never mind"
        given_up = (await ground.client.get("/sessions/d/runs")).json()["runs"][-1]
        assert given_up["generate_reason"] == "interrupted"


async def test_a_chat_of_another_key_is_not_to_be_had():
    async with app_ground(keys=[key("anna"), key("bert")]) as ground:
        await ground.client.post("/api/chat", json=ui("c", ("user", "one")), headers=bearer("anna"))
        await ground.client.post("/agui", json=agui("t", "r1", ("user", "one")), headers=bearer("anna"))
        bert = bearer("bert")
        assert (await ground.client.post("/api/chat", json=ui("c", ("user", "one")), headers=bert)).status_code == 409
        assert (await ground.client.get("/api/chat/c/stream", headers=bert)).status_code in (204, 409)
        assert (await ground.client.post("/agui", json=agui("t", "r2", ("user", "one")), headers=bert)).status_code == 409
        assert (await ground.client.post("/agui", json=agui("u", "r1", ("user", "one")), headers=bert)).status_code == 409
