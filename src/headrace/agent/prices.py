"""What an answer of a model cost, by the list prices that come with the package genai-prices.

The rule of this file: nothing is fetched and nothing is guessed. A model or a provider that is not listed has no price: None, never 0.
List prices are those of plain requests: batches, service tiers, contracts and tools that the provider runs itself are not in them.
"""

from __future__ import annotations

from datetime import datetime
from types import ModuleType

from headrace.agent.limits import Price
from headrace.errors import MissingExtraError
from headrace.messages.message import AssistantMessage
from headrace.messages.usage import Usage
from headrace.providers.catalogue import BY_NAME
from headrace.providers.names import split_name
from headrace.providers.prices import PRICE_LISTS


def price_of(model: str | None, provider: str | None, usage: Usage | None, *, at: datetime | None = None) -> float | None:
    """Return what a model call cost.

    Args:
        model: the model's name, as its provider or the answer says it.
        provider: the provider's id in our catalogue; None: the one that is known for models of this name.
        usage: what the call used.
        at: when it was made, as some prices change with the day or the hour; None: now.

    Returns:
        US dollars; None if the model or the provider is not listed, or nobody said what was used.

    Raises:
        MissingExtraError: the prices are not installed.
    """
    genai_prices = _package()
    if not model or usage is None or (usage.input_tokens is None and usage.output_tokens is None):
        return None
    if any(count is not None and count < 0 for count in usage.counts().values()):
        return None
    listed_as = None if provider is None else PRICE_LISTS.get(provider)
    if provider is not None and listed_as is None:
        return None
    cache_read, cache_write, reasoning = usage.cache_read_tokens or 0, usage.cache_write_tokens or 0, usage.reasoning_tokens or 0
    # There as here, the input holds what was cached and the output holds the reasoning. A report in which a part is more than the whole
    # would be refused there; what it says of the part is then believed.
    theirs = genai_prices.Usage(
        input_tokens=max(usage.input_tokens or 0, cache_read + cache_write),
        cache_read_tokens=cache_read,
        cache_write_tokens=cache_write,
        output_tokens=max(usage.output_tokens or 0, reasoning),
        output_reasoning_tokens=reasoning,
    )
    try:
        price = genai_prices.calc_price(theirs, model, provider_id=listed_as, genai_request_timestamp=at)
    except (LookupError, ValueError):  # not listed; or listed by a measure that token counts do not tell
        return None
    return float(price.total_price)


def listed_prices(model_id: str = "") -> Price:
    """Return the function that says what an answer cost, for `Rules.price`.

    Args:
        model_id: the model that is asked, as in `provider:model`; it counts where an answer does not say which model gave it, or says a
            name that is not listed.

    Raises:
        MissingExtraError: the prices are not installed.
    """
    _package()
    split = split_name(model_id, BY_NAME)
    asked = split[1] if split else model_id

    def price(message: AssistantMessage) -> float | None:
        for model in dict.fromkeys((message.model, asked)):
            cost = price_of(model, message.provider, message.usage, at=message.created_at)
            if cost is not None:
                return cost
        return None

    return price


def _package() -> ModuleType:
    try:
        import genai_prices  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise MissingExtraError("prices", feature="a limit on cost", module="genai-prices") from error
    return genai_prices
