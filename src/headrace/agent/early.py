"""Early start: calls of idempotent tools that run while the answer that they are in still streams.

The rule of this file: a call starts early only if the wire itself has said that it is whole, nobody has to be asked, no limit forbids it,
and its turn would have come anyway: nothing before it runs alone or works on the same thing. What became of it counts only if the
answer, once it has ended, holds the very same call; else it is dropped, which does no harm, since its tool is idempotent.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from functools import partial
from typing import Final

from headrace._json import dumps, thaw
from headrace.agent.ledger import Ledger
from headrace.agent.permission.judging import judge
from headrace.agent.running import Scope, run_call
from headrace.agent.steps import PlannedCall
from headrace.agent.tool_round import OnOutput, RunCall, ToolRound
from headrace.messages.arguments import parse_arguments
from headrace.messages.growing import Growing
from headrace.messages.parts import ToolCallPart, ToolResultPart
from headrace.tools.resource import resource_of

_BEFORE: Final = -(10**9)
"""Early calls stand before all others in their round: their places count from here on."""


class Early:
    """The calls of one answer that started early.

    Attributes:
        round: where they run, and where the other calls of the answer join them.
        blocks: the answer.
        calls: those that started, by their keys.
        places: their places in the round, by their keys.
    """

    def __init__(self, ledger: Ledger, scope: Scope) -> None:
        """Start none."""
        self._ledger = ledger
        self._scope = scope
        self.blocks = ledger.blocks
        self._seen = 0
        self._last_key = -1
        self._asked: Counter[str] = Counter()
        self._resources: set[str] = set()
        # Where all calls of a round wait for one that does, nobody knows before the end which may run.
        self._is_blocked = not scope.runs_others
        self._run_others: RunCall | None = None
        self.calls: dict[str, ToolCallPart] = {}
        self.places: dict[str, int] = {}
        self._keys: dict[int, str] = {}
        self.round = ToolRound((), self._run, is_parallel=self._is_parallel, limit=scope.limit, resource=self._resource)

    def look(self) -> None:
        """Look at what is new in the answer, and start what may start; costs what is new.

        Raises:
            BaseException: what a call raised although it should not have, such as what a hook raised: also if its answer will be void.
        """
        if self.round.error is not None:
            raise self.round.error
        parts = self.blocks.parts
        while self._seen < len(parts) and not self._is_blocked:
            growing = parts[self._seen]
            if growing.kind == "tool_call":
                if not growing.is_settled:
                    return  # what comes behind a call that is not whole yet has to wait for its turn
                self._take(growing)
            self._seen += 1

    def _take(self, growing: Growing) -> None:
        """Start a whole call if it may; see whether those behind it still may."""
        call = _whole_call(growing)
        if call is None or growing.key < self._last_key:
            self._is_blocked = True  # what it works on, or its turn, is known only at the end
            return
        self._last_key = growing.key
        tool = self._scope.offer.tools.get(call.name) if call.name in self._ledger.loop.offered else None
        has_room = self._ledger.loop.used.has_room(call.name, self._asked)
        self._asked[call.name] += 1
        if tool is None:
            return
        try:
            resource = resource_of(tool, call)
        except Exception:  # noqa: BLE001 - a tool's own function is a stranger's code; the call fails when its turn comes
            return
        options = tool.options
        is_free = resource is None or resource not in self._resources
        may_start = options.idempotent and options.parallel and not options.external and is_free and has_room
        if may_start and judge(self._scope.permissions, tool, call).behavior == "allow":
            self._start(call, self.blocks.call_key(growing.key))
            return
        self._is_blocked = not options.parallel
        if resource is not None:
            self._resources.add(resource)

    def _start(self, call: ToolCallPart, call_key: str) -> None:
        place = _BEFORE + len(self.calls)
        self.calls[call_key], self.places[call_key], self._keys[place] = call, place, call_key
        self.round.add((PlannedCall(place, call),))

    async def cancel(self) -> None:
        """The answer is void: cancel what runs."""
        await self.round.cancel()

    def is_same(self, call_key: str, call: ToolCallPart) -> bool:
        """Return whether a call of the whole answer is one that started early, unchanged; an id that the wire does not give came late."""
        early = self.calls.get(call_key)
        if early is None or not call.runnable or early.id not in ("", call.id):
            return False
        return early.name == call.name and dumps(thaw(early.parsed)) == dumps(thaw(call.parsed))

    def join(self, calls: Iterable[PlannedCall], run: RunCall, *, kept: Collection[int]) -> None:
        """The answer has ended: its other calls run in the same round, and of those that started early only the ones at these places count."""
        self._run_others = run
        self.round.drop(self._keys.keys() - set(kept))
        self.round.add(calls)

    async def _run(self, planned: PlannedCall, on_output: OnOutput) -> ToolResultPart:
        if planned.place >= 0:
            assert self._run_others is not None
            return await self._run_others(planned, on_output)
        call_key, journal = self._keys[planned.place], self._scope.journal
        run = partial(run_call, planned.call, call_key, self._scope, on_output=on_output)
        return await (run() if journal is None else journal.tool(call_key, planned.call, run))

    def _is_parallel(self, planned: PlannedCall) -> bool:
        return self._scope.tool(planned.call).options.parallel

    def _resource(self, planned: PlannedCall) -> str | None:
        return resource_of(self._scope.tool(planned.call), planned.call)


def _whole_call(growing: Growing) -> ToolCallPart | None:
    """Return a call that the wire calls whole, if its arguments are one object as they stand, without any repair."""
    call = growing.call
    if call is None or not call.name or call.kind == "custom":
        return None
    read = parse_arguments(call.body, is_whole=True, may_be_blank=True)
    if read.parsed is None or read.codes:
        return None
    return ToolCallPart(id=call.id or "", name=call.name, kind=call.kind or "function", arguments=read.parsed, runnable=True)
