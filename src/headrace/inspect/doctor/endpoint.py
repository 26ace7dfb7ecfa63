"""What is examined, and what that may cost.

The rule of this file: values only; the key shows itself to nobody.
"""

from __future__ import annotations

import msgspec

from headrace.errors import ConfigError
from headrace.providers.catalogue import BY_NAME, PROVIDERS
from headrace.providers.secret import Secret


class Endpoint(msgspec.Struct, frozen=True, kw_only=True):
    """What is examined.

    Attributes:
        base_url: where the API begins, version included.
        model: the model's name there.
        protocol: the protocol to speak.
        api_key: the key, or None.
    """

    base_url: str
    model: str
    protocol: str = "openai-chat"
    api_key: Secret | None = None

    @property
    def model_id(self) -> str:
        """The id by which its users know the model.

        Where a protocol is called as a provider is that speaks another one, the provider that speaks it names it.
        """
        named = BY_NAME.get(self.protocol)
        if named is None or named.protocol == self.protocol:
            return self.id_of(self.model)
        return f"{next((one.id for one in PROVIDERS if one.protocol == self.protocol), self.protocol)}:{self.model}"

    def id_of(self, model: str) -> str:
        """Return the id of a model there, for who says that the protocol is meant."""
        return f"{self.protocol}:{model}"


class Bounds(msgspec.Struct, frozen=True, kw_only=True):
    """What an examination may cost.

    Attributes:
        max_requests: the most requests that are sent.
        max_tokens: the most tokens that the answers may have, all together.
        side_by_side: how many questions are asked at the same time.
    """

    max_requests: int = 120
    max_tokens: int = 20_000
    side_by_side: int = 2

    def __post_init__(self) -> None:
        """Refuse numbers below 1."""
        for name in self.__struct_fields__:
            if getattr(self, name) < 1:
                raise ConfigError(f"{name} is {getattr(self, name)}; it counts from 1", argument=name)
