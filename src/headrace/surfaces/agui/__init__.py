"""AG-UI 1.0: a run as its events, and `RunAgentInput` as a request."""
