"""What the catalogue's providers are called where their prices are listed.

The rule of this file: data only. The names on the right are those of the package genai-prices, whose prices are in US dollars. Left out are
providers that it has no list of, those that are billed by another list (the same vendor's offer in another country), and servers of one's own.
"""

from __future__ import annotations

from typing import Final

PRICE_LISTS: Final[dict[str, str]] = {
    "anthropic": "anthropic",
    "azure": "azure",
    "azure-responses": "azure",
    "bedrock": "aws",
    "bedrock-messages": "aws",
    "cerebras": "cerebras",
    "cohere": "cohere",
    "deepseek": "deepseek",
    "deepseek-messages": "deepseek",
    "fireworks": "fireworks",
    "gemini-openai": "google",
    "google": "google",
    "google-interactions": "google",
    "google-vertex": "google",
    "groq": "groq",
    "minimax": "minimax",
    "minimax-messages": "minimax",
    "mistral": "mistral",
    "moonshot": "moonshotai",
    "moonshot-messages": "moonshotai",
    "openai": "openai",
    "openrouter": "openrouter",
    "openrouter-responses": "openrouter",
    "ovhcloud": "ovhcloud",
    "perplexity": "perplexity",
    "together": "together",
    "xai": "x-ai",
    "xai-responses": "x-ai",
    "zai": "zai",
    "zai-messages": "zai",
    "zhipu": "zhipuai",
    "zhipu-messages": "zhipuai",
}
"""A provider's id -> the id of its price list."""
