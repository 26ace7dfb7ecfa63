"""Ollama, its native API (`POST /api/chat`, and what `/api/generate` answers)."""
