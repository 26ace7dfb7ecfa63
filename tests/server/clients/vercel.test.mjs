// The AI SDK's own chat, over its own transport, in front of the server: its state machine judges every stream.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { describe, test } from "node:test";

import { readUIMessageStream } from "ai";

import { Chat } from "./chat.mjs";

const BASE = process.env.HEADRACE_URL;
const LOCKED = process.env.HEADRACE_LOCKED_URL;

function chatOf(options = {}) {
  const ended = [], data = [];
  const chat = new Chat(BASE, {
    id: randomUUID(), onFinish: (end) => ended.push(end), onData: (part) => data.push(part), ...options,
  });
  return { chat, ended, data };
}

const partsOf = (message) => message?.parts ?? [];
const textOf = (message) => partsOf(message).filter((part) => part.type === "text").map((part) => part.text).join("");
const toolsOf = (message) => partsOf(message).filter((part) => part.type.startsWith("tool-") || part.type === "dynamic-tool");

// Waits for what must come; a chat sends answers by itself, so there is no promise to wait for.
async function until(holds, what) {
  for (let n = 0; n < 500; n++) {
    if (holds()) return;
    await new Promise((done) => setTimeout(done, 20));
  }
  assert.fail(`never: ${what}`);
}

const answered = (chat, end) => until(() => chat.status === "ready" && textOf(chat.lastMessage).endsWith(end), `an answer with ${end}`);

describe("a chat", { concurrency: 8 }, () => {
  test("text, and several turns of one chat", async () => {
    const { chat, ended } = chatOf();
    await chat.sendMessage({ text: "hello there" });
    assert.equal(textOf(chat.lastMessage), "You said: hello there");
    await chat.sendMessage({ text: "and again" });
    assert.deepEqual(chat.messages.map((message) => message.role), ["user", "assistant", "user", "assistant"]);
    assert.equal(textOf(chat.lastMessage), "You said: and again");
    assert.notEqual(chat.messages[1].id, chat.messages[3].id);
    assert.deepEqual(ended.map((end) => [end.finishReason, end.isError, end.isAbort]), [["stop", false, false], ["stop", false, false]]);
    const kept = await (await fetch(`${BASE}/sessions/${chat.id}`)).json();
    assert.equal(kept.messages, 4);
  });

  test("an answer wanted anew, and an edited question", async () => {
    const { chat } = chatOf();
    await chat.sendMessage({ text: "one" });
    await chat.sendMessage({ text: "two" });
    const before = chat.lastMessage.id;
    await chat.regenerate();
    assert.equal(textOf(chat.lastMessage), "You said: two");
    assert.notEqual(chat.lastMessage.id, before);
    await chat.sendMessage({ text: "three", messageId: chat.messages[0].id });
    assert.deepEqual(chat.messages.map(textOf), ["three", "You said: three"]);
  });

  test("reasoning before text, both done, and usage", async () => {
    const { chat } = chatOf();
    await chat.sendMessage({ text: "tour" });
    const kinds = chat.lastMessage.parts.map((part) => part.type);
    assert.deepEqual(kinds, ["step-start", "reasoning", "text"]);
    const [, reasoning, text] = chat.lastMessage.parts;
    assert.match(reasoning.text, /^The reader wants to know .* a formula\.$/);
    assert.match(text.text, /^## How a headrace works\n/);
    assert.deepEqual([reasoning.state, text.state], ["done", "done"]);
    assert.equal(chat.lastMessage.metadata.usage.inputTokens, 1200);
  });

  test("parallel calls: progress, results, and one that fails", async () => {
    const { chat, data } = chatOf();
    await chat.sendMessage({ text: "tools" });
    const [search, chart, weigh] = toolsOf(chat.lastMessage);
    assert.deepEqual([search, chart, weigh].map((part) => part.state), ["output-available", "output-available", "output-error"]);
    assert.deepEqual(search.input, { query: "head" });
    assert.match(JSON.stringify(search.output), /page 4: something about head/);
    assert.notEqual(search.preliminary, true);
    assert.match(weigh.errorText, /weigh/);
    assert.match(JSON.stringify(chart.output), /"bars":8/);
    assert.match(textOf(chat.lastMessage), /^Let me look\.Done: /);
    assert.ok(data.some((part) => part.type === "data-tool-progress"));
    assert.equal(chat.lastMessage.parts.filter((part) => part.type === "step-start").length, 2);
  });

  test("arguments letter by letter", async () => {
    const { chat } = chatOf();
    const messages = [{ id: "m1", role: "user", parts: [{ type: "text", text: "spell headrace" }] }];
    const stream = await chat.transport.sendMessages({ chatId: chat.id, messages, trigger: "submit-message", abortSignal: undefined });
    const inputs = new Set();
    let last;
    for await (const message of readUIMessageStream({ stream, terminateOnError: true })) {
      for (const part of toolsOf(message)) if (part.state === "input-streaming") inputs.add(part.input?.query);
      last = message;
    }
    assert.ok(inputs.size > 3, [...inputs].join());
    assert.deepEqual(toolsOf(last)[0].input, { query: "headrace" });
  });

  test("a question: approved, and the same message goes on", async () => {
    const { chat, ended } = chatOf();
    await chat.sendMessage({ text: "pay Ada 3" });
    const [asked] = toolsOf(chat.lastMessage);
    assert.deepEqual([asked.state, asked.input], ["approval-requested", { to: "Ada", euros: 3 }]);
    assert.equal(typeof asked.approval.signature, "string");
    await chat.addToolApprovalResponse({ id: asked.approval.id, approved: true });
    await answered(chat, "Done: paid 3 euros to Ada");
    assert.equal(chat.messages.length, 2);
    assert.deepEqual(toolsOf(chat.lastMessage).map((part) => [part.state, part.output]), [["output-available", "paid 3 euros to Ada"]]);
    assert.equal(ended.length, 2);
    await chat.sendMessage({ text: "thanks" });
    assert.equal(textOf(chat.lastMessage), "You said: thanks");
  });

  test("a question: denied, with a reason", async () => {
    const { chat } = chatOf();
    await chat.sendMessage({ text: "pay Bob 4" });
    const [asked] = toolsOf(chat.lastMessage);
    await chat.addToolApprovalResponse({ id: asked.approval.id, approved: false, reason: "not Bob" });
    await until(() => chat.status === "ready" && /Done: .*not Bob/.test(textOf(chat.lastMessage)), "the reason");
    assert.deepEqual(toolsOf(chat.lastMessage).map((part) => part.state), ["output-denied"]);
  });

  test("two questions at once, one yes and one no", async () => {
    const { chat } = chatOf();
    await chat.sendMessage({ text: "pays Ada Bob" });
    const asked = toolsOf(chat.lastMessage);
    assert.deepEqual(asked.map((part) => part.state), ["approval-requested", "approval-requested"]);
    await chat.addToolApprovalResponse({ id: asked[0].approval.id, approved: true });
    assert.equal(chat.status, "ready");
    await chat.addToolApprovalResponse({ id: asked[1].approval.id, approved: false });
    await until(() => chat.status === "ready" && /Done:/.test(textOf(chat.lastMessage)), "the end");
    assert.deepEqual(toolsOf(chat.lastMessage).map((part) => part.state), ["output-available", "output-denied"]);
  });

  test("a question about another call than was signed is refused, and nothing runs", async () => {
    const { chat } = chatOf();
    await chat.sendMessage({ text: "pay Ada 5" });
    const last = structuredClone(chat.lastMessage);
    toolsOf(last)[0].input.euros = 5000;
    chat.messages = [chat.messages[0], last];
    await chat.addToolApprovalResponse({ id: toolsOf(last)[0].approval.id, approved: true });
    await until(() => chat.status === "error", "the refusal");
    assert.match(chat.error.message, /signature/);
    const { runs } = await (await fetch(`${BASE}/sessions/${chat.id}/runs`)).json();
    assert.deepEqual(runs.map((run) => run.status), ["waiting"]);
  });

  test("other words instead of an answer give the question up", async () => {
    const { chat } = chatOf();
    await chat.sendMessage({ text: "pay Ada 6" });
    await chat.sendMessage({ text: "never mind" });
    assert.equal(textOf(chat.lastMessage), "You said: never mind");
    const { runs } = await (await fetch(`${BASE}/sessions/${chat.id}/runs`)).json();
    assert.deepEqual(runs.map((run) => run.generate_reason), ["completed", "interrupted"]);
  });

  test("a tool that the page runs, with a value and with an error", async () => {
    const calls = [];
    const { chat } = chatOf({ onToolCall: ({ toolCall }) => { calls.push(toolCall); } });
    await chat.sendMessage({ text: "temperature" });
    const call = calls.find((one) => one.toolName === "temperature");
    assert.deepEqual(call.input, { room: "B2" });
    await chat.addToolOutput({ tool: "temperature", toolCallId: call.toolCallId, output: { celsius: 21.5 } });
    await until(() => chat.status === "ready" && /Done: /.test(textOf(chat.lastMessage)), "the answer");
    assert.deepEqual(toolsOf(chat.lastMessage).map((part) => part.output), [{ celsius: 21.5 }]);

    const broken = chatOf().chat;
    await broken.sendMessage({ text: "temperature" });
    const [part] = toolsOf(broken.lastMessage);
    await broken.addToolOutput({ tool: "temperature", toolCallId: part.toolCallId, state: "output-error", errorText: "no thermometer" });
    await answered(broken, "no thermometer");
  });

  test("an answer that is taken back leaves no trace in the message", async () => {
    const { chat } = chatOf();
    await chat.sendMessage({ text: "discard" });
    assert.equal(textOf(chat.lastMessage), "This counts.");
  });

  test("a run that fails is an error of the chat, and a body that does not fit is one too", async () => {
    const { chat, ended } = chatOf();
    await chat.sendMessage({ text: "fail" });
    assert.equal(chat.status, "error");
    assert.match(chat.error.message, /too much to do/);
    assert.deepEqual(ended.map((end) => end.isError), [true]);
    chat.clearError();
    await chat.sendMessage({ text: "and now" });
    assert.deepEqual([chat.status, textOf(chat.lastMessage)], ["ready", "You said: and now"]);
    const wrong = chatOf({ id: "." }).chat;
    await wrong.sendMessage({ text: "hello" });
    assert.match(wrong.error.message, /is no id/);
  });

  test("stopped for good by its own way: the stream says so, and what came is kept", async () => {
    const { chat, ended } = chatOf();
    const sending = chat.sendMessage({ text: "slowly 500" });
    await until(() => /w5/.test(textOf(chat.lastMessage)), "some words");
    const response = await fetch(`${BASE}/api/chat/${chat.id}/stop`, { method: "POST", body: "{}", headers: { "content-type": "application/json" } });
    assert.equal(response.status, 204);
    await sending;
    assert.deepEqual([chat.status, ended[0].isError, ended[0].finishReason], ["ready", false, undefined]);
    assert.match(textOf(chat.lastMessage), /^w1 w2 /);
    await chat.sendMessage({ text: "and now" });
    assert.equal(textOf(chat.lastMessage), "You said: and now");
  });

  test("a page that is reloaded in mid-answer gets it from its start, and nothing once it is over", async () => {
    const first = chatOf().chat;
    const sending = first.sendMessage({ text: "slowly 60" });
    await until(() => /w9/.test(textOf(first.lastMessage)), "some words");
    await first.stop(); // the reading alone: the run goes on
    await sending;
    const { chat } = chatOf({ id: first.id, messages: first.messages.slice(0, 1) });
    await chat.resumeStream();
    assert.equal(textOf(chat.lastMessage), Array.from({ length: 60 }, (_, n) => `w${n + 1}`).join(" "));
    assert.equal(chat.messages.length, 2);
    await chat.resumeStream();
    assert.deepEqual([chat.status, chat.messages.length], ["ready", 2]);
  });

  test("a page that is reloaded with half of an answer in its store has it once", async () => {
    const first = chatOf().chat;
    const sending = first.sendMessage({ text: "slowly 60" });
    await until(() => /w9/.test(textOf(first.lastMessage)), "some words");
    await first.stop();
    await sending;
    await first.resumeStream();
    assert.equal(textOf(first.lastMessage), Array.from({ length: 60 }, (_, n) => `w${n + 1}`).join(" "));
    assert.equal(first.messages.length, 2);
  });

  test("a page that is reloaded while a question waits goes on with what it kept", async () => {
    const first = chatOf().chat;
    await first.sendMessage({ text: "pay Ada 8" });
    const { chat } = chatOf({ id: first.id, messages: JSON.parse(JSON.stringify(first.messages)) });
    await chat.resumeStream();
    await chat.addToolApprovalResponse({ id: toolsOf(chat.lastMessage)[0].approval.id, approved: true });
    await answered(chat, "Done: paid 8 euros to Ada");
  });

  test("an agent inside of the agent asks, and its question can be answered", async () => {
    const { chat, data } = chatOf();
    await chat.sendMessage({ text: "delegate" });
    const asked = toolsOf(chat.lastMessage).find((part) => part.state === "approval-requested");
    assert.ok(asked, JSON.stringify(chat.lastMessage));
    await chat.addToolApprovalResponse({ id: asked.approval.id, approved: true });
    await until(() => chat.status === "ready" && /Done: /.test(textOf(chat.lastMessage)), "the answer");
    assert.ok(data.some((part) => part.type === "data-subrun"));
  });

  test("a key is asked for, and taken", async () => {
    const without = new Chat(LOCKED, { id: randomUUID() });
    await without.sendMessage({ text: "hello" });
    assert.match(without.error.message, /asks for a key/);
    const chat = new Chat(LOCKED, { id: randomUUID(), key: process.env.HEADRACE_KEY });
    await chat.sendMessage({ text: "hello" });
    assert.equal(textOf(chat.lastMessage), "You said: hello");
    await chat.resumeStream();
    assert.equal(chat.status, "ready");
  });

  test("the stream alone, read as messages", async () => {
    const { chat } = chatOf();
    const messages = [{ id: "m1", role: "user", parts: [{ type: "text", text: "tour" }] }];
    const stream = await chat.transport.sendMessages({ chatId: chat.id, messages, trigger: "submit-message", abortSignal: undefined });
    let last, count = 0;
    for await (const message of readUIMessageStream({ stream, terminateOnError: true })) [last, count] = [message, count + 1];
    assert.ok(count > 50);
    assert.match(textOf(last), /The call is `power\(0\.4, 6\.0\)`\.\n$/);
  });
});
