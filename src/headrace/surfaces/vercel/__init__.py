"""The UI message stream v1 of the AI SDK: a run as its chunks, and the posts of its chat as requests."""
