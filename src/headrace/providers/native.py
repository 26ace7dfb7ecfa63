"""Providers by a protocol of their own: further records of the catalogue.

The rule of this file: as in `catalogue.py`, data only.
"""

from __future__ import annotations

from typing import Final

from headrace.providers import profiles
from headrace.providers.record import Provider

NATIVE: Final[tuple[Provider, ...]] = (
    Provider(
        id="cohere",
        name="Cohere",
        protocol="cohere-v2",
        base_url="https://api.cohere.com/v2",
        key_variables=("CO_API_KEY",),
        profile=profiles.COHERE,
        docs_url="https://docs.cohere.com/reference/chat",
    ),
    Provider(
        id="dashscope",
        name="Alibaba Model Studio (DashScope)",
        protocol="dashscope",
        base_url="https://dashscope.aliyuncs.com/api/v1",
        profile=profiles.DASHSCOPE,
        docs_url="https://help.aliyun.com/zh/model-studio/qwen-api-via-dashscope",
    ),
    Provider(
        id="dashscope-intl",
        name="Alibaba Model Studio (DashScope, international)",
        protocol="dashscope",
        base_url="https://dashscope-intl.aliyuncs.com/api/v1",
        key_variables=("DASHSCOPE_API_KEY",),
        profile=profiles.DASHSCOPE,
        docs_url="https://www.alibabacloud.com/help/en/model-studio/",
    ),
    Provider(
        id="ollama-native",
        name="Ollama (native)",
        protocol="ollama",
        base_url="http://localhost:11434",
        key_variables=("OLLAMA_API_KEY",),
        profile=profiles.OLLAMA_NATIVE,
        docs_url="https://docs.ollama.com/api",
        needs_key=False,
    ),
)
"""What a provider offers beside, or instead of, Chat Completions; one that offers both has two records under two ids."""
