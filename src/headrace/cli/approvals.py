"""Asks a person about the calls that a run waits for.

The rule of this file: each answer is checked before it counts, so a wrong one is asked for again and never reaches the run; Ctrl-C or
Ctrl-D gives all of them up.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from headrace.agent.approval import Approve, Pending, Reply
from headrace.agent.permission.judging import Permissions, judge
from headrace.agent.permission.rules import Rule
from headrace.agent.replies import checked_replies
from headrace.agent.run_result import RunResult
from headrace.cli.answers import bare_words
from headrace.cli.questions import arguments_text, prompt_of, question_of, read_arguments, read_entry
from headrace.cli.reader import Reader
from headrace.cli.screen import Screen
from headrace.cli.segments import Segment
from headrace.errors import StateError, UsageError
from headrace.tools.tool import Tool

_ToolOf: TypeAlias = Callable[[str], Tool[..., Any] | None]


class Asker:
    """Asks, one call after the other."""

    def __init__(self, reader: Reader, screen: Screen, *, tool_of: _ToolOf, name_of: Callable[[str], str]) -> None:
        """Ask nothing yet.

        Args:
            reader: where answers come from.
            screen: where questions go.
            tool_of: the tool of a name, or None for one that cannot be known here.
            name_of: the tool's name of a call's key, or nothing.
        """
        self._reader = reader
        self._screen = screen
        self._tool_of = tool_of
        self._name_of = name_of

    async def ask(self, result: RunResult) -> list[Reply] | None:
        """Return an answer to each call that waits, or None if the person gives the run up.

        What a rule allows that was chosen on the way ("always") is not asked any more.
        """
        replies: list[Reply] = []
        chosen: list[Rule] = []
        for pending in result.pending:
            rule = self._ruling(result.permissions.with_rules(*chosen), chosen, pending)
            if rule is not None:
                self._screen.write([Segment(f"· {pending.call.name}: allowed by `{rule}`\n", "note")])
                replies.append(pending.approve())
                continue
            reply = await self._one(pending)
            if reply is None:
                return None
            replies.append(reply)
            if isinstance(reply, Approve) and not pending.path:
                chosen += reply.rules
        return replies

    async def _one(self, pending: Pending) -> Reply | None:
        self._reader.forget()
        self._screen.write(question_of(pending, [self._name_of(key) or key for key in pending.path]))
        try:
            while (entry := await self._reader.ask(prompt_of(pending))) is not None:
                try:
                    typed = read_entry(pending, entry)
                    if typed == "edit":
                        return await self._edited(pending)
                    return self._checked(pending, typed)
                except (UsageError, StateError) as error:
                    self._complain(error)
        except KeyboardInterrupt:
            pass
        return None

    async def _edited(self, pending: Pending) -> Reply | None:
        if self._reader.edit_words:
            self._screen.write([Segment(f"{self._reader.edit_words}\n", "note")])
        text = arguments_text(pending)
        while (given := await self._reader.ask("arguments > ", default=text)) is not None:
            text = given
            try:
                return self._checked(pending, read_arguments(pending, text))
            except UsageError as error:
                self._complain(error)
        return None

    def _checked(self, pending: Pending, reply: Reply) -> Reply:
        (checked,) = checked_replies(reply, [pending], tool_of=self._tool_of)
        return checked

    def _ruling(self, permissions: Permissions, chosen: list[Rule], pending: Pending) -> Rule | None:
        """Return the rule, chosen a moment ago, by which a call need not be asked about any more."""
        # A call without suggestions waits for a reason that no rule clears.
        tool = self._tool_of(pending.call.name) if pending.suggestions and not pending.path else None
        if tool is None or judge(permissions, tool, pending.call).behavior != "allow":
            return None
        arguments = {"input": pending.call.arguments} if pending.call.parsed is None else pending.call.parsed
        return next((rule for rule in chosen if rule.is_for(tool, arguments)), None)

    def _complain(self, error: Exception) -> None:
        self._screen.write([Segment(f"{bare_words(error)}\n", "error")])
