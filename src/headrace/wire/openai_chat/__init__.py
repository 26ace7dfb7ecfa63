"""OpenAI Chat Completions and its dialects, as a client."""
