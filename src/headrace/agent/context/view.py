"""The view: what is sent to the model of a history, kept beside it while it grows.

The rule of this file: a message is looked at once, when it is appended; what a round costs does not grow with the length of the talk. The
history itself is never changed: the view leaves out its beginning, puts a summary or a note in its place, and cuts long results, each of
which can be made again from the history and a small JSON state. A legal history gives a legal view: it begins with the system messages and
a user message, and no call is parted from its result (`cuts.py`).

When the cut falls into a user's turn, the words that began the turn stay, so that the question is never lost.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec

from headrace._json import JSON
from headrace.agent.context.compaction import Summary, compaction_request
from headrace.agent.context.cuts import Entry, Pairing, choose_cut
from headrace.agent.context.estimate import estimate_tokens
from headrace.agent.context.plan import UNBOUNDED, Aim, Compacted, Compaction, result_cap
from headrace.agent.context.policy import ContextPolicy
from headrace.agent.context.shorten import cut_text
from headrace.agent.context.view_state import ViewState, read_state
from headrace.errors import StateError
from headrace.messages.message import Message, SystemMessage, ToolMessage, UserMessage
from headrace.messages.parts import TextPart
from headrace.messages.request import ToolSpec

SUMMARY: Final = "summary"
WINDOW: Final = "window"
"""The kinds of the message that stands for what was left out."""

_SUMMARY_LEAD: Final = "The conversation before this was left out. A summary of it:\n\n"
_WINDOW_NOTE: Final = "The conversation before this was left out, to save room."
_STALE: Final = "\n\n(What was said between this summary and the messages below was left out.)"
_LEAD_TOKENS: Final = 40
_SMALLEST_LEARNT: Final = 200
_FACTORS: Final = (0.25, 4.0)


class View:
    """What is sent of a history. Append each message of it, in order, the instructions first."""

    def __init__(self, policy: ContextPolicy | None = None, *, tools: Iterable[ToolSpec] = ()) -> None:
        """Start empty.

        Args:
            policy: how long it may get; None: not bounded.
            tools: what is sent beside the messages, and counts.
        """
        self.policy = policy or ContextPolicy()
        self._pairing = Pairing()
        self._head: list[Entry] = []
        self._notes: list[Entry] = []  # what stands for what was left out: the summary or note, the question
        self._tail: list[Entry] = []
        self._count = 0
        self._tools = self._estimate = estimate_tokens(tools)
        self._factor = 1.0
        self._summary: str | None = None
        self._quiet = (0.0, 0)  # nothing could be done about a view of this size

    # ------------------------------------------------------------------------------------------ growing

    def append(self, message: Message) -> None:
        """Take the next message of the history."""
        is_start, is_turn = self._pairing.feed(message)
        entry = Entry(self._count, message, estimate_tokens(message), is_start, is_turn)
        self._count += 1
        self._estimate += entry.tokens
        is_head = isinstance(message, SystemMessage) and not self._tail and not self._notes
        (self._head if is_head else self._tail).append(entry)

    def extend(self, messages: Iterable[Message]) -> None:
        """Take the next messages of the history."""
        for message in messages:
            self.append(message)

    def offer(self, tools: Iterable[ToolSpec]) -> None:
        """Other tools are sent beside the messages from now on."""
        before, self._tools = self._tools, estimate_tokens(tools)
        self._estimate += self._tools - before

    def learn(self, input_tokens: int | None) -> None:
        """Correct the estimate by what the provider reports of what was sent.

        Call it with `usage.input_tokens` of an answer before the answer is appended. A small request teaches nothing (what the provider adds
        by itself outweighs it), nor does None; the correction stays between a quarter and four times.
        """
        if input_tokens is not None and input_tokens > 0 and self._estimate >= _SMALLEST_LEARNT:
            least, most = _FACTORS
            self._factor = min(max(input_tokens / self._estimate, least), most)

    @property
    def messages(self) -> tuple[Message, ...]:
        """What is sent. A message that was not changed is the very one that was appended."""
        return tuple(entry.message for part in (self._head, self._notes, self._tail) for entry in part)

    @property
    def tokens(self) -> int:
        """About how many tokens are sent, the tools included."""
        return round(self._estimate * self._factor)

    def __len__(self) -> int:
        """Return how many messages are sent."""
        return len(self._head) + len(self._notes) + len(self._tail)

    @property
    def needs_compaction(self) -> bool:
        """Whether the view has got longer than the policy says. After nothing could be done, it is only asked again once it has grown."""
        policy = self.policy
        quiet_tokens, quiet_count = self._quiet
        is_long = policy.max_tokens is not None and self.tokens > policy.compact_at * policy.max_tokens
        is_wide = policy.max_messages is not None and len(self) > policy.max_messages
        return (is_long and self._estimate > quiet_tokens) or (is_wide and self._count > quiet_count)

    # ------------------------------------------------------------------------------------------ getting shorter

    def plan(self, *, is_recovery: bool = False) -> Compaction | None:
        """Return how the view can be made shorter, or None if it cannot, or would hardly be.

        Args:
            is_recovery: the provider has said that the context is too long: aim at half of what was sent, whatever the policy says.
        """
        aim = Aim.of(self.policy, fixed=self._fixed, estimate=self._estimate, factor=self._factor, is_recovery=is_recovery)
        cut = self._worthwhile(choose_cut(self._tail, aim.keep_tokens, aim.keep_messages), aim)
        notes = self._notes_tokens(cut, aim) if cut else sum(entry.tokens for entry in self._notes)
        stays = self._fixed + notes + sum(entry.tokens for entry in self._tail[cut:])
        cap = result_cap(self._tail[cut:], stays - aim.tokens)
        if not cut:
            if cap is None:
                self._hush()
                return None
            return Compaction(first_kept=self._first, result_cap=cap, detail=f"results cut to about {cap} tokens")
        request: tuple[Message, ...] = ()
        if self.policy.summarize:
            gone = [entry.message for entry in self._tail[:cut]]
            limit = None if aim.tokens == UNBOUNDED else int(aim.tokens)
            request = compaction_request(gone, previous=self._summary, limit_tokens=limit)
        return Compaction(
            first_kept=self._tail[cut].index,
            request=request,
            result_cap=cap,
            question_cap=aim.question_cap,
            summary_cap=aim.summary_cap,
            detail=f"{cut} messages left out",
        )

    def compact(self, plan: Compaction, summary: Summary | str | None = None) -> Compacted:
        """Make the view shorter.

        Args:
            plan: what `plan` gave; messages may have been appended since.
            summary: of what goes; None, or an empty one: a note stands for it (a window), below a summary that was there before.

        Raises:
            StateError: the view has been cut beyond the plan since.
        """
        before = (len(self), self.tokens)
        cut = plan.first_kept - self._first
        if cut < 0:
            message = f"the plan keeps the messages from {plan.first_kept} on, but the view begins at {self._first} by now: make a new plan"
            raise StateError(message)
        text = (summary.text if isinstance(summary, Summary) else summary or "").strip()
        if cut:
            self._cut(cut, text, plan)
        self._tail = [entry.capped(plan.result_cap) if isinstance(entry.message, ToolMessage) else entry for entry in self._tail]
        self._count_again()
        if self.needs_compaction:
            self._hush()
        said = "" if not plan.request else ", with a summary" if text else ", without a summary"
        return Compacted(before[0], len(self), before[1], self.tokens, plan.detail + said)

    def window(self) -> Compacted | None:
        """Make the view shorter without a model; None if it cannot be, or would hardly be."""
        plan = self.plan()
        return None if plan is None else self.compact(plan)

    @property
    def _first(self) -> int:
        """The place of the tail's first message in the history."""
        return self._count - len(self._tail)

    @property
    def _fixed(self) -> int:
        return self._tools + sum(entry.tokens for entry in self._head)

    def _worthwhile(self, cut: int, aim: Aim) -> int:
        """Return the cut, or 0 if it saves less than a tenth and, where messages are counted, leaves out none."""
        question = self._question(cut)
        gone = sum(1 for entry in self._tail[:cut] if entry is not question)
        freed = self._estimate - self._fixed - self._notes_tokens(cut, aim) - sum(entry.tokens for entry in self._tail[cut:])
        return cut if freed * 10 >= self._estimate or (gone and aim.keep_messages != UNBOUNDED) else 0

    def _notes_tokens(self, cut: int, aim: Aim) -> int:
        """Return how many tokens will stand for what is cut; a summary for which there is no limit is not known yet."""
        question, cap = self._question(cut), aim.question_cap
        asked = 0 if question is None else question.tokens if cap is None else min(question.tokens, cap)
        return asked + _LEAD_TOKENS + ((aim.summary_cap or 0) if self.policy.summarize or self._summary is not None else 0)

    def _question(self, cut: int) -> Entry | None:
        """Return the words that began the turn into which a cut falls."""
        if not cut or self._tail[cut].is_turn:
            return None
        asked = (entry for entry in reversed(self._tail[:cut]) if entry.is_turn)
        return next(asked, next((entry for entry in self._notes if entry.is_turn), None))

    def _cut(self, cut: int, summary: str, plan: Compaction) -> None:
        question, first = self._question(cut), self._tail[cut]
        if summary:
            self._summary = summary if plan.summary_cap is None else cut_text(summary, plan.summary_cap)
        elif self._summary is not None and not self._summary.endswith(_STALE):
            self._summary += _STALE
        self._tail = self._tail[cut:]
        self._notes = [self._note(first.index, first.message.id)]
        if question is not None:
            self._notes.append(question.capped(plan.question_cap))

    def _note(self, first_kept: int, first_kept_id: str | None) -> Entry:
        text = _WINDOW_NOTE if self._summary is None else _SUMMARY_LEAD + self._summary
        message = UserMessage.assemble(
            (TextPart(text),),
            id=f"{first_kept_id or first_kept}/summary",
            origin="framework",
            reminder_kind=WINDOW if self._summary is None else SUMMARY,
        )
        return Entry(-1, message, estimate_tokens(message))

    def _count_again(self) -> None:
        self._estimate = self._fixed + sum(entry.tokens for entry in (*self._notes, *self._tail))

    def _hush(self) -> None:
        """Nothing more can be done now: ask again when the view has grown by a tenth."""
        self._quiet = (self._estimate * 1.1, self._count + max(1, (self.policy.max_messages or 0) // 10))

    # ------------------------------------------------------------------------------------------ going on elsewhere

    @property
    def state(self) -> dict[str, JSON]:
        """What is needed beside the history to go on in another process, as JSON."""
        question = next((entry for entry in self._notes if entry.index >= 0), None)
        state = ViewState(
            first_kept=self._first if self._notes else 0,
            first_kept_id=self._tail[0].message.id if self._notes else None,
            is_cut=bool(self._notes),
            summary=self._summary,
            question=None if question is None else question.index,
            caps=tuple((entry.index, entry.cap) for entry in (*self._notes, *self._tail) if entry.cap is not None),
            factor=self._factor,
        )
        form: dict[str, JSON] = msgspec.to_builtins(state)
        return form

    @classmethod
    def from_state(
        cls, state: Mapping[str, Any], history: Sequence[Message], policy: ContextPolicy | None = None, *, tools: Iterable[ToolSpec] = ()
    ) -> View:
        """Return the view of a history as it stood when `state` was taken; the history may have grown since.

        Raises:
            UsageError: it is no such state, of a newer version, or of another history.
        """
        held = read_state(state, history)
        view = cls(policy, tools=tools)
        view._factor = held.factor
        caps = dict(held.caps)
        rest: Sequence[Message] = history
        if held.is_cut:
            for message in history[: held.first_kept]:
                if not isinstance(message, SystemMessage):
                    break
                view.append(message)
            view._summary, view._count = held.summary, held.first_kept
            view._notes = [view._note(held.first_kept, held.first_kept_id)]
            if held.question is not None:
                asked = history[held.question]
                entry = Entry(held.question, asked, estimate_tokens(asked), is_start=True, is_turn=True)
                view._notes.append(entry.capped(caps.get(held.question)))
            rest = history[held.first_kept :]
        view.extend(rest)
        view._tail = [entry.capped(caps[entry.index]) if entry.index in caps else entry for entry in view._tail]
        view._count_again()
        return view
