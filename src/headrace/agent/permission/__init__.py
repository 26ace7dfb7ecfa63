"""Whether a call may run: rules, modes, and what the tool says of itself. Pure."""
