import { HttpAgent, buildResumeArray } from "@ag-ui/client";

export function makeAgent(base, { key, ...options } = {}) {
  return new HttpAgent({ url: `${base}/agui`, headers: key ? { authorization: `Bearer ${key}` } : {}, ...options });
}

// Answers what the last run asked; `decide` gives true or false, or { approved, reason, editedArgs, always }.
export async function answer(agent, decide, parameters = {}) {
  const answers = agent.pendingInterrupts.map((asked) => [asked.id, { status: "resolved", payload: decide(asked) }]);
  return agent.runAgent({ ...parameters, resume: buildResumeArray(agent.pendingInterrupts, Object.fromEntries(answers)) });
}

// Comes back to a run whose connection was lost: the same run again, from the last event that was read.
export class Returning extends HttpAgent {
  lastEventId;
  requestInit(input) {
    const init = super.requestInit(input);
    return this.lastEventId ? { ...init, headers: { ...init.headers, "last-event-id": this.lastEventId } } : init;
  }
}
