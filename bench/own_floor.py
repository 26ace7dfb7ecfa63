"""The least that a typed reader can do with such a stream: split on line feeds, decode each event into a narrow Struct, append.

It knows no other dialect, keeps nothing that it does not understand, sees no fault, and gives no chunks. It is the measure, not a rival.
"""

from __future__ import annotations

import msgspec


class _Function(msgspec.Struct, gc=False):
    arguments: str | None = None


class _Call(msgspec.Struct, gc=False):
    function: _Function
    index: int = 0


class _Delta(msgspec.Struct, gc=False):
    content: str | None = None
    tool_calls: list[_Call] | None = None


class _Choice(msgspec.Struct, gc=False):
    delta: _Delta
    finish_reason: str | None = None


class _Event(msgspec.Struct, gc=False):
    choices: list[_Choice]
    usage: dict[str, int] | None = None


class Floor:
    """Reads one stream."""

    def __init__(self) -> None:
        """Start empty."""
        self._rest = b""
        self._decode = msgspec.json.Decoder(_Event).decode
        self.text: list[str] = []
        self.arguments: dict[int, list[str]] = {}
        self.finish: str | None = None

    def feed(self, data: bytes) -> None:
        """Read some bytes."""
        lines = (self._rest + data).split(b"\n")
        self._rest = lines.pop()
        for line in lines:
            if line.startswith(b"data: {"):
                for choice in self._decode(line[6:]).choices:
                    delta = choice.delta
                    if delta.content:
                        self.text.append(delta.content)
                    for call in delta.tool_calls or ():
                        self.arguments.setdefault(call.index, []).append(call.function.arguments or "")
                    self.finish = choice.finish_reason or self.finish

    def done(self) -> tuple[str, list[str]]:
        """Return the text and the arguments of each call."""
        return "".join(self.text), ["".join(pieces) for _, pieces in sorted(self.arguments.items())]
