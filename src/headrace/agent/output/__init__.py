"""The type of an answer: asked for, read, shown while it streams. Pure."""
