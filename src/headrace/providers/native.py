"""Providers by a protocol of their own: further records of the catalogue.

The rule of this file: as in `catalogue.py`, data only.
"""

from __future__ import annotations

from typing import Final

from headrace.providers import profiles
from headrace.providers.record import Provider

NATIVE: Final[tuple[Provider, ...]] = (
    Provider(
        id="bedrock",
        name="Amazon Bedrock",
        protocol="bedrock-converse",
        base_url="https://bedrock-runtime.{region}.amazonaws.com",
        key_variables=("AWS_BEARER_TOKEN_BEDROCK",),
        profile=profiles.BEDROCK,
        aliases=("aws-bedrock", "amazon-bedrock"),
        docs_url="https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html",
        signing_service="bedrock",
    ),
    Provider(
        id="bedrock-messages",
        name="Amazon Bedrock (InvokeModel with Messages)",
        protocol="bedrock-invoke",
        base_url="https://bedrock-runtime.{region}.amazonaws.com",
        key_variables=("AWS_BEARER_TOKEN_BEDROCK",),
        profile=profiles.BEDROCK_MESSAGES,
        docs_url="https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-anthropic-claude-messages.html",
        signing_service="bedrock",
    ),
    Provider(
        id="google",
        name="Google Gemini",
        protocol="gemini",
        base_url="https://generativelanguage.googleapis.com/v1beta",
        key_variables=("GEMINI_API_KEY",),
        base_url_variables=(("GOOGLE_GEMINI_BASE_URL", "/v1beta"),),
        profile=profiles.GOOGLE,
        aliases=("gemini",),
        docs_url="https://ai.google.dev/api/generate-content",
        key_header="x-goog-api-key",
        key_prefix="",
    ),
    Provider(
        id="google-vertex",
        name="Google Vertex AI",
        protocol="gemini",
        base_url="https://aiplatform.googleapis.com/v1/publishers/google",
        key_variables=("VERTEX_API_KEY",),
        profile=profiles.GOOGLE,
        aliases=("vertex", "vertexai"),
        docs_url="https://cloud.google.com/vertex-ai/generative-ai/docs/model-reference/inference",
        key_header="x-goog-api-key",
        key_prefix="",
    ),
    Provider(
        id="google-interactions",
        name="Google Gemini (Interactions)",
        protocol="gemini-interactions",
        base_url="https://generativelanguage.googleapis.com/v1beta",
        key_variables=("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        profile=profiles.INTERACTIONS,
        aliases=("gemini-interactions",),
        docs_url="https://ai.google.dev/gemini-api/docs/interactions",
        key_header="x-goog-api-key",
        key_prefix="",
    ),
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
