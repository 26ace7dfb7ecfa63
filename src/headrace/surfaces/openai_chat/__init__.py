"""Chat Completions: one leg of a run as one answer of a model; nobody has to know that there is an agent behind it."""
