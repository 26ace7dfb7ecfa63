// AG-UI's own client in front of the server: it enforces the schema and the order of events, and keeps the messages.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { describe, test } from "node:test";

import { buildResumeArray } from "@ag-ui/client";

import { answer, makeAgent, Returning } from "./agent.mjs";

const BASE = process.env.HEADRACE_URL;
const LOCKED = process.env.HEADRACE_LOCKED_URL;
const PAINT = {
  name: "paint", description: "Paint the wall.",
  parameters: { type: "object", properties: { colour: { type: "string" } }, required: ["colour"] },
};

function agentOf(options = {}) {
  const agent = makeAgent(BASE, { threadId: randomUUID(), ...options });
  const events = [], ends = [];
  agent.subscribe({
    onEvent: ({ event }) => { events.push(event); },
    onRunFinishedEvent: ({ event, ...end }) => { ends.push(end); },
  });
  return { agent, events, ends };
}

const say = (agent, text) => agent.addMessage({ id: randomUUID(), role: "user", content: text });

const callsOf = (agent) => agent.messages.flatMap((message) => message.toolCalls ?? []);

async function asked(text, parameters = {}, options = {}) {
  const ground = agentOf(options);
  say(ground.agent, text);
  ground.result = await ground.agent.runAgent(parameters);
  return ground;
}

const lastText = (agent) => agent.messages.findLast((message) => message.role === "assistant" && message.content).content;
const of = (events, type) => events.filter((event) => event.type === type);

describe("an agent", { concurrency: 8 }, () => {
  test("text, and several turns of one thread", async () => {
    const { agent, events, ends } = await asked("hello there");
    assert.equal(lastText(agent), "You said: hello there");
    assert.equal(events[0].type, "RUN_STARTED");
    assert.equal(events[0].protocolVersion, "1.0");
    assert.deepEqual([ends[0].outcome, ends[0].pendingToolCallIds], ["success", []]);
    say(agent, "and again");
    await agent.runAgent();
    assert.deepEqual(agent.messages.map((message) => message.role), ["user", "assistant", "user", "assistant"]);
    assert.equal(lastText(agent), "You said: and again");
    assert.equal((await (await fetch(`${BASE}/sessions/${agent.threadId}`)).json()).messages, 4);
  });

  test("reasoning, and usage", async () => {
    const { agent, events } = await asked("tour");
    const [, reasoning, text] = agent.messages;
    assert.deepEqual([reasoning.role, text.role], ["reasoning", "assistant"]);
    assert.match(reasoning.content, /^The reader wants to know .* a formula\.$/);
    assert.match(text.content, /^## How a headrace works\n/);
    assert.equal(of(events, "RUN_FINISHED")[0].usage[0].inputTokens, 1200);
    say(agent, "and now");  // what was thought goes back with the rest
    await agent.runAgent();
    assert.equal(lastText(agent), "You said: and now");
  });

  test("parallel calls: progress, results, and one that fails", async () => {
    const { agent, events } = await asked("tools");
    const calls = callsOf(agent);
    assert.deepEqual(calls.map((call) => call.function.name), ["search", "chart", "weigh"]);
    assert.deepEqual(JSON.parse(calls[0].function.arguments), { query: "head" });
    const results = Object.fromEntries(agent.messages.filter((message) => message.role === "tool").map((one) => [one.toolCallId, one]));
    assert.match(JSON.stringify(results[calls[0].id].content), /page 4: something about head/);
    assert.match(JSON.stringify(results[calls[1].id].content), /image\/png/);
    assert.match(results[calls[2].id].content, /the scales are broken/);
    assert.equal(results[calls[2].id].metadata.headrace.state, "error");
    assert.match(lastText(agent), /^Done: /);
    assert.ok(of(events, "ACTIVITY_SNAPSHOT").length + of(events, "CUSTOM").length > 0);
  });

  test("arguments letter by letter", async () => {
    const { agent, events } = await asked("spell headrace");
    assert.ok(of(events, "TOOL_CALL_ARGS").length > 4);
    const [call] = callsOf(agent);
    assert.deepEqual(JSON.parse(call.function.arguments), { query: "headrace" });
    assert.match(lastText(agent), /about headrace/);
  });

  test("a question: approved", async () => {
    const { agent, events, ends } = await asked("pay Ada 3");
    assert.equal(ends[0].outcome, "interrupt");
    const [interrupt] = agent.pendingInterrupts;
    assert.equal(callsOf(agent)[0].id, interrupt.toolCallId);
    await answer(agent, () => true);
    assert.equal(lastText(agent), "Done: paid 3 euros to Ada");
    assert.deepEqual(agent.pendingInterrupts, []);
    assert.equal(of(events, "TOOL_CALL_RESULT").length, 1);
    say(agent, "thanks");
    await agent.runAgent();
    assert.equal(lastText(agent), "You said: thanks");
  });

  test("a question: approved with other arguments", async () => {
    const { agent } = await asked("pay Ada 3");
    await answer(agent, () => ({ approved: true, editedArgs: { to: "Ada", euros: 2 } }));
    assert.match(lastText(agent), /paid 2 euros to Ada$/);
  });

  test("a question: denied with a reason, and one that is left", async () => {
    const { agent } = await asked("pay Bob 4");
    await answer(agent, () => ({ approved: false, reason: "not Bob" }));
    assert.match(lastText(agent), /^Done: .*not Bob/);
    const left = (await asked("pay Bob 5")).agent;
    const entries = Object.fromEntries(left.pendingInterrupts.map(({ id }) => [id, { status: "cancelled" }]));
    await left.runAgent({ resume: buildResumeArray(left.pendingInterrupts, entries) });
    assert.match(lastText(left), /^Done: /);
    assert.doesNotMatch(lastText(left), /paid/);
  });

  test("two questions at once", async () => {
    const { agent } = await asked("pays Ada Bob");
    assert.equal(agent.pendingInterrupts.length, 2);
    let n = 0;
    await answer(agent, () => n++ === 0);
    assert.match(lastText(agent), /^Done: paid 1 euros to Ada/);
    assert.doesNotMatch(lastText(agent), /paid 2 euros/);
  });

  test("a stale answer is refused", async () => {
    const { agent } = await asked("pay Ada 7");
    const resume = buildResumeArray(agent.pendingInterrupts, { [agent.pendingInterrupts[0].id]: { status: "resolved", payload: true } });
    await agent.runAgent({ resume });
    await assert.rejects(agent.runAgent({ resume }), /409|no question/);
  });

  test("a tool that the client declares and runs", async () => {
    const ground = await asked('call paint {"colour": "red"}', { tools: [PAINT] });
    const { agent, ends } = ground;
    const [call] = callsOf(agent);
    assert.deepEqual(ends[0].pendingToolCallIds, [call.id]);
    assert.deepEqual(JSON.parse(call.function.arguments), { colour: "red" });
    agent.addMessage({ id: randomUUID(), role: "tool", toolCallId: call.id, content: "the wall is red" });
    await agent.runAgent({ tools: [PAINT] });
    assert.equal(lastText(agent), "Done: the wall is red");
    const { runs } = await (await fetch(`${BASE}/sessions/${agent.threadId}/runs`)).json();
    assert.equal(runs.length, 1);
  });

  test("a tool that the agent has for whoever asks, with a value and with an error", async () => {
    const { agent } = await asked("temperature");
    const [call] = callsOf(agent);
    agent.addMessage({ id: randomUUID(), role: "tool", toolCallId: call.id, content: '{"celsius": 21.5}' });
    await agent.runAgent();
    assert.match(lastText(agent), /^Done: /);
    const broken = (await asked("temperature")).agent;
    const [other] = callsOf(broken);
    broken.addMessage({ id: randomUUID(), role: "tool", toolCallId: other.id, content: "", error: "no thermometer" });
    await broken.runAgent();
    assert.match(lastText(broken), /no thermometer/);
  });

  test("an answer that is taken back leaves no trace", async () => {
    const { agent } = await asked("discard");
    assert.deepEqual(agent.messages.map((message) => message.content), ["discard", "This counts."]);
  });

  test("a run that fails, and an input that does not fit", async () => {
    const failed = agentOf();
    say(failed.agent, "fail");
    await failed.agent.runAgent().catch((error) => { failed.error = error; });
    const [error] = of(failed.events, "RUN_ERROR");
    assert.match(error.message, /too much to do/);
    say(failed.agent, "and now");
    await failed.agent.runAgent();
    assert.equal(lastText(failed.agent), "You said: and now");
    await assert.rejects(asked("hello", {}, { threadId: "." }), /400/);
  });

  test("interrupted: cancelled, and what came is kept", async () => {
    const { agent, ends } = agentOf();
    say(agent, "slowly 500");
    const runId = randomUUID();
    const running = agent.runAgent({ runId });
    await new Promise((done) => setTimeout(done, 400));
    const response = await fetch(`${BASE}/runs/${runId}/interrupt`, {
      method: "POST", body: "{}", headers: { "content-type": "application/json" },
    });
    assert.equal(response.status, 202);
    await running;
    assert.equal(ends[0].outcome, "cancelled");
    assert.match(lastText(agent), /^w1 w2 /);
    say(agent, "and now");
    await agent.runAgent();
    assert.equal(lastText(agent), "You said: and now");
  });

  test("a connection that is lost: the same run again from the last event", async () => {
    const threadId = randomUUID(), runId = randomUUID();
    const body = { threadId, runId, protocolVersion: "1.0", state: {}, tools: [], context: [], forwardedProps: {} };
    body.messages = [{ id: "m1", role: "user", content: "slowly 60" }];
    const leaving = new AbortController();
    const response = await fetch(`${BASE}/agui`, {
      method: "POST", body: JSON.stringify(body), headers: { "content-type": "application/json" }, signal: leaving.signal,
    });
    let text = "";
    for await (const piece of response.body.pipeThrough(new TextDecoderStream())) {
      text += piece;
      if (text.includes("w9")) break;
    }
    leaving.abort();
    // All of it once more, by a client that has seen nothing.
    const anew = agentOf({ threadId, initialMessages: body.messages });
    await anew.agent.runAgent({ runId });
    const all = Array.from({ length: 60 }, (_, n) => `w${n + 1}`).join(" ");
    assert.equal(lastText(anew.agent), all);
    // And the rest alone.
    const seen = text.slice(0, text.lastIndexOf("\n\n"));
    const agent = new Returning({ url: `${BASE}/agui`, threadId, initialMessages: body.messages });
    agent.lastEventId = seen.match(/^id: (\d+)$/gm).at(-1).slice(4);
    const rest = [];
    await new Promise((done, failed) => agent.run({ ...body, resume: [] }).subscribe({ next: (event) => rest.push(event), complete: done, error: failed }));
    const heard = [...seen.matchAll(/^data: (.*)$/gm)].map(([, data]) => JSON.parse(data));
    assert.equal([...heard, ...rest].map((event) => event.delta ?? "").join(""), all);
    assert.equal(of([...heard, ...rest], "RUN_STARTED").length, 1);
    const { runs } = await (await fetch(`${BASE}/sessions/${threadId}/runs`)).json();
    assert.equal(runs.length, 1);
  });

  test("an agent inside of the agent asks, and its question can be answered", async () => {
    const { agent, events } = await asked("delegate");
    assert.equal(of(events, "SUBAGENT_STARTED").length, 1);
    await answer(agent, () => true);
    assert.match(lastText(agent), /^Done: /);
  });

  test("other words instead of an answer give the question up", async () => {
    const { agent } = await asked("pay Ada 6");
    const anew = agentOf({ threadId: agent.threadId, initialMessages: agent.messages }).agent;
    say(anew, "never mind");
    await anew.runAgent();
    assert.equal(lastText(anew), "You said: never mind");
    const { runs } = await (await fetch(`${BASE}/sessions/${agent.threadId}/runs`)).json();
    assert.deepEqual(runs.map((run) => run.generate_reason), ["completed", "interrupted"]);
  });

  test("a key is asked for, and taken", async () => {
    const without = makeAgent(LOCKED, { threadId: randomUUID() });
    say(without, "hello");
    await assert.rejects(without.runAgent(), /401/);
    const agent = makeAgent(LOCKED, { threadId: randomUUID(), key: process.env.HEADRACE_KEY });
    say(agent, "hello");
    await agent.runAgent();
    assert.equal(lastText(agent), "You said: hello");
  });

  test("context that the client gives is said to the model and not kept", async () => {
    const { agent } = await asked("hello", { context: [{ description: "the page", value: "mills" }] });
    assert.equal(lastText(agent), "You said: hello");
    assert.equal((await (await fetch(`${BASE}/sessions/${agent.threadId}`)).json()).messages, 2);
  });
});
