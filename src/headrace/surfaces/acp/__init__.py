"""The Agent Client Protocol: a run as updates of an editor's session, questions as permission requests, prompts as messages."""
