"""Calls: whole ones, and those whose arguments come in pieces.

The rule of this file: each call is a part of its own, with or without an id, so that two calls of one tool are never one. A call that
comes in pieces is whole when the wire says so (a piece that will not continue) or when the candidate has ended well and no piece waits
for its rest.
"""

# JSON of a peer is read here: what `isinstance` finds in it holds unknown types.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from headrace._json import EMPTY, JSON, dumps_text, replace_surrogates
from headrace.messages.deltas import ToolCallFragment, ToolCallSettled
from headrace.wire.decoder import Output
from headrace.wire.gemini.candidate import Candidate, OpenCall
from headrace.wire.gemini.partial_arguments import PartialArguments

_FIELDS: Final = frozenset({"id", "name", "args", "partialArgs", "willContinue"})


class CallReader:
    """Reads `functionCall`s into an `Output`."""

    def __init__(self, output: Output) -> None:
        """Start before the first call."""
        self._output = output

    def read(self, call: Mapping[str, Any], beside: dict[str, JSON], candidate: Candidate) -> None:
        """Read one `functionCall`; `beside` is what stands next to it in its part."""
        name, call_id = _text(call.get("name")), _text(call.get("id"))
        args, pieces = call.get("args"), call.get("partialArgs")
        rest = {key: value for key, value in call.items() if key not in _FIELDS and value is not None}
        data = {**beside, "functionCall": replace_surrogates(rest)} if rest else beside
        found = self._open_call(name, call_id, pieces, candidate)
        if found is None and (name or args is not None or pieces or (call_id and call.get("willContinue"))):
            candidate.grow()
            self._new(name, call_id, call, data, candidate)
        elif found is not None:
            candidate.grow()
            if data:
                self._add(candidate, found[1].part, data=data)
            self._pieces(found[0], found[1], call, candidate)
        elif data and candidate.last_call is not None:
            self._add(candidate, candidate.last_call, data=data)

    def finish(self, candidate: Candidate) -> None:
        """Close the calls that are still open; one that is not whole stays as it came."""
        for key, found in list(candidate.calls.items()):
            self._close(key, found, candidate)

    def _open_call(self, name: str, call_id: str, pieces: JSON, candidate: Candidate) -> tuple[str | int, OpenCall] | None:
        """Return the open call that a piece belongs to: the one of its id, else the one that was opened last."""
        if call_id and call_id in candidate.calls:
            return call_id, candidate.calls[call_id]
        if not candidate.calls:
            return None
        key, last = next(reversed(candidate.calls.items()))
        # A server may say the name again with each piece; a call that begins has no pieces yet.
        is_named_again = name == last.name and bool(pieces) and not call_id
        is_next = not name and (not call_id or isinstance(key, int))
        return (key, last) if is_named_again or is_next else None

    def _new(self, name: str, call_id: str, call: Mapping[str, Any], data: dict[str, JSON], candidate: Candidate) -> None:
        if not call_id:
            self.finish(candidate)
        candidate.has_calls = True
        candidate.last_call = part = candidate.open_part()
        if not call.get("willContinue") and not call.get("partialArgs"):
            self._add(candidate, part, call_id=call_id, name=name, arguments=_arguments(call.get("args")), data=data)
            self._output.add(ToolCallSettled(part, choice=candidate.index))
            return
        key = call_id or part
        found = candidate.calls[key] = OpenCall(part, name, PartialArguments())
        self._add(candidate, part, call_id=call_id, name=name, data=data)
        self._pieces(key, found, call, candidate)

    def _pieces(self, key: str | int, found: OpenCall, call: Mapping[str, Any], candidate: Candidate) -> None:
        args, pieces = call.get("args"), call.get("partialArgs")
        text = found.arguments.seed(args) if isinstance(args, dict) else ""
        for piece in pieces if isinstance(pieces, list) else [pieces] if pieces else ():
            text += found.arguments.add(piece)
        if text:
            self._add(candidate, found.part, arguments=text)
        if not call.get("willContinue"):
            self._close(key, found, candidate)

    def _close(self, key: str | int, found: OpenCall, candidate: Candidate) -> None:
        del candidate.calls[key]
        text = found.arguments.end()
        if text is not None:
            self._add(candidate, found.part, arguments=text)
            self._output.add(ToolCallSettled(found.part, choice=candidate.index))

    def _add(
        self,
        candidate: Candidate,
        part: int,
        *,
        call_id: str = "",
        name: str = "",
        arguments: str | dict[str, Any] | None = None,
        data: dict[str, JSON] = EMPTY,
    ) -> None:
        event, offset = self._output.events, self._output.offset
        self._output.add(
            ToolCallFragment(call_id or None, name or None, arguments, None, None, part, candidate.index, True, event, offset, data)
        )


def _text(value: JSON) -> str:
    return replace_surrogates(value) if isinstance(value, str) else ""


def _arguments(args: JSON) -> str | dict[str, Any]:
    """Return whole arguments; a call without any has none to give, which the wire says by leaving them out."""
    if args is None:
        return {}
    if isinstance(args, dict):
        return replace_surrogates(args)  # type: ignore[no-any-return]
    return args if isinstance(args, str) else dumps_text(replace_surrogates(args))
