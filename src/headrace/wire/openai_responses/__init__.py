"""OpenAI Responses and those who speak it: requests out, streams in."""
