"""Floor 2: tools as values: a function, its name, its schema, its options. Pure; nothing here runs a tool."""
