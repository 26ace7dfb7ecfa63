"""What a conversation used: rounds, tokens and, where the prices are known, money. Pure.

The rule of this file: what is not known is not guessed. One answer without a price makes the cost of the sum unknown, never smaller.
"""

from __future__ import annotations

from typing import Final

import msgspec

from headrace.agent.limits import Price
from headrace.agent.prices import listed_prices
from headrace.agent.run_result import RunResult
from headrace.cli.wording import usage_words
from headrace.errors import MissingExtraError
from headrace.messages.message import AssistantMessage, Message
from headrace.messages.usage import Usage


class Spent(msgspec.Struct, frozen=True):
    """What was used.

    Attributes:
        rounds: how many model calls.
        usage: their tokens, those of sub-agents included.
        cost_usd: what the model calls cost by list prices, those of sub-agents not included; None: not known.
    """

    rounds: int = 0
    usage: Usage = Usage()
    cost_usd: float | None = 0.0

    def __add__(self, other: Spent) -> Spent:
        """Return the sum."""
        is_known = self.cost_usd is not None and other.cost_usd is not None
        cost_usd = (self.cost_usd or 0.0) + (other.cost_usd or 0.0) if is_known else None
        return Spent(self.rounds + other.rounds, self.usage + other.usage, cost_usd)

    @property
    def words(self) -> str:
        """All of it on one line."""
        rounds = f"{self.rounds} round{'' if self.rounds == 1 else 's'}"
        cost = f"${self.cost_usd:.4f}" if self.rounds and self.cost_usd is not None else ""
        return " · ".join(word for word in (rounds, usage_words(self.usage), cost) if word)


NOTHING: Final = Spent()


def spent_of(result: RunResult, price: Price) -> Spent:
    """Return what a run used, pauses and all."""
    return Spent(result.rounds, result.usage, cost_of(result.messages, price))


def cost_of(messages: tuple[Message, ...], price: Price) -> float | None:
    """Return what these answers cost, in US dollars, or None if that of one is not known."""
    costs = [price(message) for message in messages if isinstance(message, AssistantMessage)]
    known = [cost for cost in costs if cost is not None]
    return sum(known) if len(known) == len(costs) else None


def price_for(model_id: str) -> Price:
    """Return the list prices for a model; without the package that has them nothing has a price."""
    try:
        return listed_prices(model_id)
    except MissingExtraError:
        return lambda _message: None
