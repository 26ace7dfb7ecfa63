"""A conversation made shorter on request: a model sums up what was said, the newest messages stay.

The rule of this file: nothing is lost to a failure. Without a summary the conversation stays as it was.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from headrace.agent.context.compaction import Summary, read_summary
from headrace.agent.context.plan import Compacted, Compaction
from headrace.agent.context.policy import ContextPolicy
from headrace.agent.context.view import View
from headrace.errors import ContextLengthError, ModelOutputError
from headrace.messages.message import AssistantMessage, Message
from headrace.models.answer import ModelLike

KEPT_MESSAGES: Final = 2
"""How many of the newest messages stay word for word, at most: the last question and its answer."""


class Shortened(NamedTuple):
    """A conversation after it was made shorter.

    Attributes:
        messages: what it is now; a legal history.
        summary: what stands for what is gone.
        answer: the model's answer that gave the summary.
        compacted: the sizes before and after.
    """

    messages: tuple[Message, ...]
    summary: Summary
    answer: AssistantMessage
    compacted: Compacted


async def shortened_by(model: ModelLike, messages: Sequence[Message]) -> Shortened | None:
    """Return the conversation with a summary in place of all but its end, or None if there is nothing to sum up.

    Raises:
        HeadraceError: the model or the network failed.
        ModelOutputError: the model wrote no summary.
    """
    view = View(ContextPolicy(keep_messages=KEPT_MESSAGES))
    view.extend(messages)
    plan = view.plan()
    if plan is None or not plan.request:
        return None
    try:
        answer = await model.request(plan.request)
    except ContextLengthError:
        # The transcript is too long for the model as well: ask with half of it.
        shorter: Compaction | None = view.plan(is_recovery=True)
        if shorter is None or not shorter.request:
            raise
        answer, plan = await model.request(shorter.request), shorter
    summary = read_summary(answer)
    if not summary:
        raise ModelOutputError("the model wrote no summary, so the conversation stays as it is")
    compacted = view.compact(plan, summary)
    return Shortened(view.messages, summary, answer, compacted)
