import {
  AbstractChat,
  DefaultChatTransport,
  lastAssistantMessageIsCompleteWithApprovalResponses,
  lastAssistantMessageIsCompleteWithToolCalls,
} from "ai";

// What useChat does in a page, without React: messages, and a status that changes.
class Plain {
  status = "ready";
  error = undefined;
  messages = [];
  pushMessage = (message) => { this.messages = [...this.messages, message]; };
  popMessage = () => { this.messages = this.messages.slice(0, -1); };
  replaceMessage = (at, message) => { this.messages = this.messages.with(at, message); };
  snapshot = structuredClone;
}

export class Chat extends AbstractChat {
  constructor(base, { key, messages = [], ...options }) {
    const state = new Plain();
    state.messages = messages;
    const transport = new DefaultChatTransport({
      api: `${base}/api/chat`,
      headers: key ? { authorization: `Bearer ${key}` } : {},
    });
    // Answers go out by themselves once every question of the last step has one.
    const sendAutomaticallyWhen = (chat) =>
      lastAssistantMessageIsCompleteWithApprovalResponses(chat) || lastAssistantMessageIsCompleteWithToolCalls(chat);
    super({ transport, sendAutomaticallyWhen, ...options, state });
  }
}
