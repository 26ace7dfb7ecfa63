"""The deltas of one choice on their way to a client: what one chunk adds becomes as few events as keep its order.

The rule of this file: a client reads the fields of a delta in one order (thinking, text, refusal, calls, media), so what came in another
order goes in a further event. The writer of `stream_out.py` decides what goes; here it is put together.
"""

from __future__ import annotations

from typing import Any, Final

from headrace._json import JSON, dumps

_ORDER: Final = {
    "reasoning_content": 0,
    "reasoning_details": 0,
    "content": 1,
    "refusal": 2,
    "tool_calls": 3,
    "audio": 4,
    "images": 4,
    "annotations": 5,
}


class DeltaOut:
    """Puts deltas of one choice together.

    Attributes:
        index: the choice.
        has_begun: its role went out.
    """

    __slots__ = ("_delta", "_logprobs", "_rank", "_ready", "has_begun", "index")

    def __init__(self, index: int) -> None:
        """Start before the role."""
        self.index = index
        self.has_begun = False
        self._delta: dict[str, Any] = {}
        self._rank = 0
        self._logprobs: JSON = None
        self._ready: list[bytes] = []

    def begin(self) -> None:
        """Say the role, once."""
        if not self.has_begun:
            self.has_begun = True
            self._ready.append(self._choice({"role": "assistant", "content": ""}))

    def add_text(self, field: str, text: str) -> None:
        """Add to a field that is one text."""
        self._place(field)
        held = self._delta.get(field)
        self._delta[field] = text if held is None else held + text

    def add_items(self, field: str, *items: JSON) -> None:
        """Add to a field that is a list."""
        self._place(field)
        self._delta.setdefault(field, []).extend(items)

    def grow_call(self, index: int, word: str, field: str, text: str) -> None:
        """Add to a field of a call: to its piece that is there already, if it is the last one."""
        self._place("tool_calls")
        items: list[dict[str, Any]] = self._delta.setdefault("tool_calls", [])
        if items and items[-1]["index"] == index:
            body = items[-1][word]
            body[field] = body.get(field, "") + text
        else:
            items.append({"index": index, word: {field: text}})

    def add_object(self, field: str, value: JSON) -> None:
        """Set a field that is an object; a second one goes in a further event."""
        self._place(field)
        if field in self._delta:
            self._flush()
            self._rank = _ORDER[field]
        self._delta[field] = value

    def add_logprobs(self, logprobs: JSON) -> None:
        """Add log-probabilities, beside the text that they are about."""
        if self._logprobs is not None:
            self._flush()
        self._logprobs = logprobs

    def take(self) -> list[bytes]:
        """Return the choices that are ready, one for each event, and start anew."""
        if self._delta or self._logprobs is not None:
            self._flush()
        ready, self._ready = self._ready, []
        return ready

    def end(self, word: str) -> bytes:
        """Return the choice that says why it ended."""
        return self._choice({}, word)

    def _place(self, field: str) -> None:
        rank = _ORDER[field]
        if rank < self._rank:
            self._flush()
        self._rank = rank
        if not self.has_begun:
            self.begin()

    def _flush(self) -> None:
        if not self.has_begun:
            self.begin()
        self._ready.append(self._choice(self._delta))
        self._delta, self._rank, self._logprobs = {}, 0, None

    def _choice(self, delta: dict[str, Any], word: str | None = None) -> bytes:
        return dumps({"index": self.index, "delta": delta, "logprobs": self._logprobs, "finish_reason": word})
