"""Cohere v2 (`POST /v2/chat`)."""
