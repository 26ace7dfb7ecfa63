"""Where a run stands, as its log does not say it: the state without what can be read elsewhere.

The rule of this file: a checkpoint is as long as what is open, not as long as the run. The messages of the run are folded from its log
(law 8), and the conversation before it is where conversations are kept; together the three are the state that `agent.resume` takes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, cast

import msgspec

from headrace._json import EMPTY, JSON, dumps, loads
from headrace.agent.events import Event
from headrace.agent.fold import Folder
from headrace.agent.run_result import RunResult
from headrace.agent.run_state import open_form
from headrace.errors import SchemaVersionError, StoreError
from headrace.messages.json_form import to_dict
from headrace.messages.message import Message

CHECKPOINT_VERSION: Final = 1


def checkpoint_of(result: RunResult) -> bytes:
    """Return where a run stands, as JSON without its messages and what was said before it."""
    form = msgspec.structs.replace(result, messages=()).state
    assert isinstance(form, dict)
    form = {
        **cast("dict[str, JSON]", form),
        "checkpoint_version": CHECKPOINT_VERSION,
        "messages": len(result.messages),
        "open": None if result.open is None else open_form(msgspec.structs.replace(result.open, history=())),
    }
    return dumps(form)


class Checkpoint:
    """A checkpoint, read.

    Attributes:
        seq: the last event that it knows of.
        count: how many messages the run had.
        is_open: whether the run can go on from here.
        answering: the id of the answer that was on its way, or None.
    """

    def __init__(self, data: bytes, seq: int) -> None:
        """Read one.

        Raises:
            StoreError: it is none.
            SchemaVersionError: a later version wrote it.
        """
        try:
            form = loads(data)
        except ValueError as error:
            raise StoreError(f"the checkpoint at event {seq} is no JSON: {error}") from error
        if not isinstance(form, Mapping):
            raise StoreError(f"the checkpoint at event {seq} is a {type(form).__name__}, not an object")
        self._form = cast("Mapping[str, Any]", form)
        version = self._form.get("checkpoint_version")
        if version != CHECKPOINT_VERSION:
            raise SchemaVersionError(f"the checkpoint has version {version!r}; this version of headrace reads {CHECKPOINT_VERSION}")
        self.seq = seq
        count, opened = self._form.get("messages"), self._form.get("open")
        if type(count) is not int or count < 0 or not isinstance(opened, Mapping | None):
            raise StoreError(f"the checkpoint at event {seq} cannot be read: messages is {count!r}")
        self.count: int = count
        self._open = cast("Mapping[str, Any] | None", opened)

    @property
    def is_open(self) -> bool:
        """Whether the run can go on from here."""
        return self._open is not None

    @property
    def answering(self) -> str | None:
        """The id of the answer that was on its way, or None."""
        return None if self._open is None else self._open.get("answering")

    def state(
        self,
        events: Iterable[Event],
        history: Sequence[Message] = (),
        *,
        last_seq: int | None = None,
        inner_seqs: Mapping[str, int] = EMPTY,
    ) -> dict[str, JSON]:
        """Return the run's state.

        Args:
            events: the run's log from its start; only those up to the checkpoint count.
            history: what was said before the run.
            last_seq: the number after which the run goes on, if the log is longer than the checkpoint knows.
            inner_seqs: the same for runs of sub-agents, by their ids.

        Raises:
            StoreError: the log and the checkpoint do not belong together.
        """
        folder = Folder()
        for event in events:
            if event.seq > self.seq:
                break
            folder.feed(event)
        messages = folder.settled(self.count)
        if messages is None:
            raise StoreError(f"the log makes fewer messages than the checkpoint at event {self.seq} counts, which is {self.count}")
        form: dict[str, Any] = {name: value for name, value in self._form.items() if name != "checkpoint_version"}
        form["messages"] = [to_dict(message) for message in messages]
        if self._open is not None:
            opened = {**self._open, "history": [to_dict(message) for message in history]}
            form["open"] = opened if last_seq is None else {**opened, "seq": last_seq}
            _renumber(form, inner_seqs)
        return form


def _renumber(state: Mapping[str, Any], seqs: Mapping[str, int]) -> None:
    """Let the runs inside of calls go on after the events that the log has of them."""
    opened = _object(state.get("open"))
    for name in ("inside", "waiting"):
        for call in _object(opened.get(name)).values():
            inner = _object(_object(call).get("state"))
            numbers = _object(inner.get("open"))
            if numbers:
                numbers["seq"] = max(numbers.get("seq", 1), seqs.get(inner.get("run_id", ""), 0))
                _renumber(inner, seqs)


def _object(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}
