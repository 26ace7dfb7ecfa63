import { answer, makeAgent } from "./agent.mjs";

const agent = makeAgent(process.env.HEADRACE_URL, { key: process.env.HEADRACE_KEY });
agent.addMessage({ id: crypto.randomUUID(), role: "user", content: "pay Ada 30" });
await agent.runAgent();
while (agent.pendingInterrupts.length) {
  await answer(agent, (asked) => ({ approved: true, editedArgs: { to: "Ada", euros: 25 } }));
}
console.log(agent.messages.at(-1).content);
