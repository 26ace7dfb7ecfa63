// The AI SDK's providers for Chat Completions and Responses, with the agent as their model.

import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, isStepCount, jsonSchema, streamText, tool } from "ai";

const BASE = process.env.HEADRACE_URL;
const openai = createOpenAI({ baseURL: `${BASE}/v1`, apiKey: "none" });
const compatible = createOpenAICompatible({ name: "mill", baseURL: `${BASE}/v1`, apiKey: "none", includeUsage: true });
const MODELS = { "openai.responses": openai.responses("Mill"), "openai.chat": openai.chat("Mill"), "openai-compatible": compatible("Mill") };

const paint = tool({
  description: "Paint the wall.",
  inputSchema: jsonSchema({ type: "object", properties: { colour: { type: "string" } }, required: ["colour"], additionalProperties: false }),
  execute: async ({ colour }) => `the wall is ${colour}`,
});

for (const [name, model] of Object.entries(MODELS)) {
  describe(name, { concurrency: 8 }, () => {
    test("a text, whole and streamed, with usage", async () => {
      const whole = await generateText({ model, prompt: "hello there", maxRetries: 0 });
      assert.equal(whole.text, "You said: hello there");
      assert.equal(whole.finishReason, "stop");
      assert.equal(whole.usage.inputTokens, 1200);
      const stream = streamText({ model, prompt: "slowly 20", maxRetries: 0 });
      let text = "", pieces = 0;
      for await (const piece of stream.textStream) [text, pieces] = [text + piece, pieces + 1];
      assert.equal(text, Array.from({ length: 20 }, (_, n) => `w${n + 1}`).join(" "));
      assert.ok(pieces > 2);
      assert.equal((await stream.usage).outputTokens, 20);
    });

    test("reasoning", async () => {
      if (name === "openai.chat") return;  // it reads none on this wire
      const stream = streamText({ model, prompt: "tour", maxRetries: 0 });
      assert.match(await stream.reasoningText, /^The reader wants to know .* a formula\.$/);
      assert.match(await stream.text, /^## How a headrace works\n/);
    });

    test("several turns", async () => {
      const messages = [{ role: "user", content: "one" }];
      const first = await generateText({ model, messages, maxRetries: 0 });
      messages.push(...first.response.messages, { role: "user", content: "two" });
      const second = await generateText({ model, messages, maxRetries: 0 });
      assert.equal(second.text, "You said: two");
    });

    test("the agent's own tools run there, and the caller's here", async () => {
      const own = await generateText({ model, prompt: "tools", maxRetries: 0 });
      assert.match(own.text, /Done: /);
      const stream = streamText({ model, prompt: 'call paint {"colour": "red"}', tools: { paint }, stopWhen: isStepCount(3), maxRetries: 0 });
      assert.match(await stream.text, /Done: .*the wall is red/);
      const steps = await stream.steps;
      assert.equal(steps.length, 2);
      assert.deepEqual(steps[0].toolCalls.map((call) => [call.toolName, call.input]), [["paint", { colour: "red" }]]);
      assert.equal(steps[0].finishReason, "tool-calls");
    });

    test("a run that fails is an error", async () => {
      await assert.rejects(generateText({ model, prompt: "fail", maxRetries: 0 }), /too much to do/);
      const errors = [];
      const stream = streamText({ model, prompt: "fail", maxRetries: 0, onError: ({ error }) => { errors.push(error); } });
      await stream.consumeStream();
      assert.equal(errors.length, 1);
      assert.match(JSON.stringify(errors[0]) + String(errors[0]?.message), /too much to do/);
    });

    test("a stop ends the stream", async () => {
      const leaving = new AbortController();
      const stream = streamText({ model, prompt: "slowly 500", maxRetries: 0, abortSignal: leaving.signal });
      let text = "";
      for await (const piece of stream.textStream) {
        text += piece;
        if (text.includes("w5")) leaving.abort();
      }
      assert.match(text, /^w1 w2 /);
      assert.ok(text.length < 2000);
    });
  });
}

describe("responses", { concurrency: 8 }, () => {
  const model = openai.responses("Mill");

  test("one that is kept goes on from its id, and one that is not from all that was said", async () => {
    const first = await generateText({ model, prompt: "one", maxRetries: 0 });
    const previousResponseId = first.providerMetadata.openai.responseId;
    const second = await generateText({ model, prompt: "two", providerOptions: { openai: { previousResponseId } }, maxRetries: 0 });
    assert.equal(second.text, "You said: two");
    const options = { model, providerOptions: { openai: { store: false } }, maxRetries: 0 };
    const messages = [{ role: "user", content: "tools" }];
    messages.push(...(await generateText({ ...options, messages })).response.messages, { role: "user", content: "three" });
    assert.equal((await generateText({ ...options, messages })).text, "You said: three");
  });

  test("the agent's own tools are calls that the provider ran", async () => {
    for (const result of [await generateText({ model, prompt: "tools", maxRetries: 0 }), streamText({ model, prompt: "tools", maxRetries: 0 })]) {
      const calls = await result.toolCalls;
      assert.deepEqual(calls.map((call) => call.toolName).sort(), ["mcp.chart", "mcp.search", "mcp.weigh"]);
      assert.ok(calls.every((call) => call.providerExecuted));
      assert.deepEqual(calls.find((call) => call.toolName === "mcp.search").input, { query: "head" });
      assert.match(JSON.stringify(await result.toolResults), /page 4: something about head/);
      assert.equal(await result.finishReason, "stop");
    }
  });

  test("a question: approved and denied", async () => {
    for (const approved of [true, false]) {
      const messages = [{ role: "user", content: "pay Ada 3" }];
      const first = await generateText({ model, messages, maxRetries: 0 });
      const asked = first.content.find((part) => part.type === "tool-approval-request");
      assert.deepEqual([asked.toolCall.toolName, asked.toolCall.input], ["mcp.pay", { to: "Ada", euros: 3 }]);
      messages.push(...first.response.messages);
      messages.push({ role: "tool", content: [{ type: "tool-approval-response", approvalId: asked.approvalId, approved, providerExecuted: true }] });
      const second = await generateText({ model, messages, maxRetries: 0 });
      assert.match(second.text, approved ? /Done: paid 3 euros to Ada/ : /Done: /);
    }
  });
});
