"""Floor 5: the agent: what comes next (pure), running tools, events, sessions in memory."""
