"""Early start: calls of idempotent tools that run while the answer that they are in still streams.

The rule of this file: a call starts early only if the wire itself has said that it is whole, nobody has to be asked, and its turn would
have come anyway: nothing before it runs alone or works on the same thing. What became of it counts only if the answer, once it has ended,
holds the very same call; else it is dropped, which does no harm, since its tool is idempotent.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from headrace._json import JSONError, loads
from headrace.agent.ledger import Ledger
from headrace.agent.permission.judging import judge
from headrace.agent.running import Scope, run_call
from headrace.agent.steps import PlannedCall
from headrace.agent.tool_round import OnOutput, RunCall, ToolRound
from headrace.messages.growing import Growing
from headrace.messages.parts import ToolCallPart, ToolResultPart
from headrace.tools.resource import resource_of

_BEFORE: Final = -(10**9)
"""Early calls stand before all others in their round: their places are their parts' keys, from here on."""


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
        self._seen: dict[int, bool] = {}
        self._resources: set[str] = set()
        self._is_blocked = False
        self._run_others: RunCall | None = None
        self.calls: dict[str, ToolCallPart] = {}
        self.places: dict[str, int] = {}
        self.round = ToolRound((), self._run, is_parallel=self._is_parallel, limit=scope.limit, resource=self._resource)

    @property
    def is_running(self) -> bool:
        """Whether a call started early."""
        return bool(self.calls)

    def look(self) -> None:
        """Look at the answer so far, and start what may start."""
        for growing in self.blocks.calls:
            if growing.key in self._seen:
                continue
            if not growing.is_settled or self._is_blocked:
                return  # what comes behind a call that is not whole yet has to wait for its turn
            self._seen[growing.key] = self._starts(growing)

    def _starts(self, growing: Growing) -> bool:
        call = _whole_call(growing)
        tool = None if call is None else self._scope.offer.tools.get(call.name)
        if call is None or tool is None:
            return False
        options = tool.options
        try:
            resource = resource_of(tool, call)
        except Exception:  # noqa: BLE001 - a tool's own function is a stranger's code; the call fails when its turn comes
            return False
        is_free = resource is None or resource not in self._resources
        may_start = options.idempotent and options.parallel and not options.external and is_free
        if not may_start or judge(self._scope.permissions, tool, call).behavior != "allow":
            self._is_blocked = not options.parallel
            if resource is not None:
                self._resources.add(resource)
            return False
        call_key = self.blocks.call_key(growing.key)
        self.calls[call_key], self.places[call_key] = call, _BEFORE + growing.key
        self.round.add((PlannedCall(self.places[call_key], call),))
        return True

    async def cancel(self) -> None:
        """The answer is void: cancel what runs."""
        await self.round.cancel()

    def is_same(self, call_key: str, call: ToolCallPart) -> bool:
        """Return whether a call of the whole answer is one that started early, unchanged."""
        early = self.calls.get(call_key)
        return early is not None and call.runnable and (early.id, early.name, early.parsed) == (call.id, call.name, call.parsed)

    def join(self, calls: Iterable[PlannedCall], run: RunCall) -> None:
        """The answer has ended: its other calls run in the same round."""
        self._run_others = run
        self.round.add(calls)

    async def _run(self, planned: PlannedCall, on_output: OnOutput) -> ToolResultPart:
        if planned.place >= 0:
            assert self._run_others is not None
            return await self._run_others(planned, on_output)
        key = next(key for key, place in self.places.items() if place == planned.place)
        return await run_call(planned.call, key, self._scope, on_output=on_output)

    def _is_parallel(self, planned: PlannedCall) -> bool:
        return self._scope.tool(planned.call).options.parallel

    def _resource(self, planned: PlannedCall) -> str | None:
        return resource_of(self._scope.tool(planned.call), planned.call)


def _whole_call(growing: Growing) -> ToolCallPart | None:
    """Return a call that the wire calls whole, if its arguments are one object as they stand."""
    call = growing.call
    if call is None or not call.name or not call.id:
        return None
    text = "".join(call.body.pieces)
    try:
        parsed: Any = loads(text) if text.strip() else {}
    except JSONError:
        return None
    if not isinstance(parsed, dict):
        return None
    return ToolCallPart(id=call.id, name=call.name, kind=call.kind or "function", arguments=text or "{}", runnable=True)
