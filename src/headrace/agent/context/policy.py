"""What an agent does about the length of what it sends: a value that is checked when it is made."""

from __future__ import annotations

import msgspec

from headrace.agent.context.offload import ResultStore
from headrace.errors import UsageError
from headrace.models.answer import ModelLike


class ContextPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """How long the context may get, and how it is made shorter. All tokens are estimates, corrected by what the provider reports.

    The default bounds nothing: until the provider says that the context is too long, it is sent as it is. Then it is made shorter once,
    to half of what was sent, and sent again.

    Attributes:
        max_tokens: how many tokens may be sent, the tools included; leave room for the answer. None: no bound.
        max_messages: how many messages may be sent. None: no bound.
        compact_at: the share of `max_tokens` at which the context is made shorter.
        keep: the share of `max_tokens` (and of `max_messages`) of the newest messages that stays word for word. The more is cut at once,
            the longer the provider's cache of what was sent before is of use.
        keep_messages: how many of the newest messages stay at most; None: `keep` says it.
        summarize: what is cut is put into a summary by a model; False: it is left out (a window).
        summary_model: the model that writes summaries (such as `Model("…")`, a cheap one); None: the agent's own.
        max_result_tokens: a result longer than this is made shorter before it is kept: its beginning and its end stay. None: no bound.
        offload: where long results go whole, for the model to read on in them; None: what was cut is lost.
    """

    max_tokens: int | None = None
    max_messages: int | None = None
    compact_at: float = 0.8
    keep: float = 0.3
    keep_messages: int | None = None
    summarize: bool = True
    summary_model: ModelLike | None = None
    max_result_tokens: int | None = None
    offload: ResultStore | None = None

    def __post_init__(self) -> None:
        """Check every field; the error names it."""
        for name in ("max_tokens", "max_messages", "keep_messages", "max_result_tokens"):
            value = getattr(self, name)
            if value is not None and (type(value) is not int or value < 1):
                raise UsageError(f"{name} is {value!r}; it must be a whole number above 0, or None", argument=name)
        for name in ("compact_at", "keep"):
            value = getattr(self, name)
            if type(value) not in (int, float) or not 0 < value <= 1:
                raise UsageError(f"{name} is {value!r}; it must be a share, above 0 and up to 1", argument=name)
        if self.keep >= self.compact_at:
            message = f"keep is {self.keep!r}, which is not below compact_at, {self.compact_at!r}: nothing would be cut"
            raise UsageError(message, argument="keep")
        if type(self.summarize) is not bool:
            raise UsageError(
                f"summarize is {self.summarize!r}; it must be True or False (give a model as summary_model)", argument="summarize"
            )
        if self.offload is not None and self.max_result_tokens is None:
            raise UsageError(
                "offload has nothing to do without max_result_tokens: say from which length on results go out", argument="offload"
            )
        if self.max_messages is not None and self.keep_messages is not None and self.keep_messages >= self.max_messages:
            message = f"keep_messages is {self.keep_messages}, which is not below max_messages, {self.max_messages}"
            raise UsageError(message, argument="keep_messages")
