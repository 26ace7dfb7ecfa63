"""How a view is to be made shorter, as a value: what goes, what stays, and what to ask a model about it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from headrace.agent.context.cuts import Entry
from headrace.agent.context.estimate import estimate_tokens
from headrace.agent.context.policy import ContextPolicy
from headrace.agent.context.shorten import MIN_RESULT_TOKENS, common_cap, stays
from headrace.messages.message import Message, ToolMessage

UNBOUNDED: Final = float("inf")


class Compaction(msgspec.Struct, frozen=True, kw_only=True):
    """How a view is to be made shorter.

    Attributes:
        first_kept: the place, in the history, of the first message that stays.
        request: what to ask a model for the summary of what goes; empty: no model is needed.
        result_cap: how many tokens each result that stays may have; None: they stay as they are.
        question_cap: the same for the words that began a turn whose later part stays.
        summary_cap: the same for the summary.
        detail: why, in words.
    """

    first_kept: int
    request: tuple[Message, ...] = ()
    result_cap: int | None = None
    question_cap: int | None = None
    summary_cap: int | None = None
    detail: str = ""


class Compacted(msgspec.Struct, frozen=True):
    """What became of a view.

    Attributes:
        messages_before, messages_after: how many messages were and are sent.
        tokens_before, tokens_after: about how many tokens.
        detail: what was done, in words.
    """

    messages_before: int
    messages_after: int
    tokens_before: int
    tokens_after: int
    detail: str


class Aim(msgspec.Struct, frozen=True):
    """How long a view may be, in the estimate's own tokens, and how much of its end stays."""

    tokens: float
    keep_tokens: float
    keep_messages: float

    @classmethod
    def of(cls, policy: ContextPolicy, *, fixed: int, estimate: int, factor: float, is_recovery: bool) -> Aim:
        """Return what a policy aims at.

        Args:
            policy: it.
            fixed: the estimate of the instructions and the tools.
            estimate: the estimate of all that is sent.
            factor: by how much the estimate is too low.
            is_recovery: aim at half of what was sent, if that is less than the policy says.
        """
        limit = UNBOUNDED if policy.max_tokens is None else policy.max_tokens / factor
        if is_recovery:
            limit = min(limit, estimate / 2 / policy.compact_at)
        keep_messages: float = UNBOUNDED
        if policy.keep_messages is not None:
            keep_messages = policy.keep_messages
        elif policy.max_messages is not None:
            keep_messages = max(1, int(policy.max_messages * policy.keep))
        tokens = policy.compact_at * limit
        # The summary takes a part of what is left beside the instructions and the tools.
        return cls(tokens, max(min(policy.keep * limit, (tokens - fixed) * 0.6), 0), keep_messages)

    @property
    def question_cap(self) -> int | None:
        """How many tokens the words that began a cut turn may have; None: any number."""
        return None if self.keep_tokens == UNBOUNDED else max(int(self.keep_tokens / 2), MIN_RESULT_TOKENS)

    @property
    def summary_cap(self) -> int | None:
        """How many tokens a summary may have; None: any number."""
        return None if self.tokens == UNBOUNDED else max(int(self.tokens / 5), MIN_RESULT_TOKENS)


def result_cap(entries: Iterable[Entry], over: float) -> int | None:
    """Return to how many tokens each result must be cut so that `over` tokens are saved, or as many as can be; None: none can."""
    messages = [entry.message for entry in entries]
    results = [result for message in messages if isinstance(message, ToolMessage) for result in message.results]
    sizes = [estimate_tokens(result) for result in results if not all(map(stays, result.parts))]
    if not sizes or over <= 0:
        return None
    cap = max(common_cap(sizes, int(sum(sizes) - over)), MIN_RESULT_TOKENS)
    return cap if max(sizes) > cap else None
