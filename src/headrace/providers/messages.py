"""Second doors of vendors that speak Messages too: further records of the catalogue.

The rule of this file: as in `catalogue.py`, data only. Each door is a provider of its own, since what one gives means nothing to the other.
"""

from __future__ import annotations

from typing import Final

from headrace.providers import profiles
from headrace.providers.record import Provider

MESSAGES: Final[tuple[Provider, ...]] = (
    Provider(
        id="deepseek-messages",
        name="DeepSeek (Messages)",
        protocol="anthropic-messages",
        base_url="https://api.deepseek.com/anthropic/v1",
        key_variables=("DEEPSEEK_API_KEY",),
        profile=profiles.DEEPSEEK_MESSAGES,
        docs_url="https://api-docs.deepseek.com/guides/anthropic_api",
        key_header="x-api-key",
        key_prefix="",
    ),
    Provider(
        id="moonshot-messages",
        name="Moonshot AI (Messages)",
        protocol="anthropic-messages",
        base_url="https://api.moonshot.ai/anthropic/v1",
        key_variables=("MOONSHOT_API_KEY", "MOONSHOTAI_API_KEY"),
        profile=profiles.MOONSHOT_MESSAGES,
        aliases=("kimi-messages",),
        docs_url="https://platform.moonshot.ai/docs",
    ),
    Provider(
        id="zai-messages",
        name="Z.ai (Messages)",
        protocol="anthropic-messages",
        base_url="https://api.z.ai/api/anthropic/v1",
        key_variables=("ZAI_API_KEY",),
        profile=profiles.ZHIPU_MESSAGES,
        docs_url="https://docs.z.ai",
    ),
    Provider(
        id="zhipu-messages",
        name="Zhipu AI (Messages)",
        protocol="anthropic-messages",
        base_url="https://open.bigmodel.cn/api/anthropic/v1",
        key_variables=("ZHIPU_API_KEY", "ZHIPUAI_API_KEY"),
        profile=profiles.ZHIPU_MESSAGES,
        aliases=("glm-messages",),
        docs_url="https://docs.bigmodel.cn",
    ),
    Provider(
        id="minimax-messages",
        name="MiniMax (Messages)",
        protocol="anthropic-messages",
        base_url="https://api.minimax.io/anthropic/v1",
        key_variables=("MINIMAX_API_KEY",),
        profile=profiles.MINIMAX_MESSAGES,
        docs_url="https://platform.minimax.io/docs",
        key_header="x-api-key",
        key_prefix="",
    ),
)
"""Each speaks the protocol that its vendor's first door does not."""
