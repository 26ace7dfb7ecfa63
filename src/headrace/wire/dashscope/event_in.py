"""One event of DashScope: its choices or its text, usage, errors, searches, and the record of tools that the provider ran.

The rule of this file: everything in an event is either a delta, or kept in the message's metadata, or known to say nothing. A message
here is what a delta of Chat Completions is, after `snapshots.py` has taken out what it repeats, so that protocol's reader reads it.
"""

# JSON of a peer is read here: what `isinstance` finds in it holds unknown types.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from headrace._json import JSON, JSONError, dumps_text, loads
from headrace.errors import UsageError
from headrace.messages.deltas import Delta, FinishDelta, LogprobsDelta, MessageStart, MetadataDelta, PartDelta, UsageDelta
from headrace.messages.finish import is_word
from headrace.messages.parts import MediaKind, MediaPart, ProviderToolPart, make
from headrace.wire.dashscope.snapshots import Said, Snapshots
from headrace.wire.dashscope.usage_in import usage_in
from headrace.wire.decoder import Output
from headrace.wire.error_in import stream_error
from headrace.wire.extras import Extras
from headrace.wire.json_events import kept, word_of
from headrace.wire.openai_chat.choice_in import DeltaReader

_KNOWN_EVENT: Final = frozenset({"output", "usage", "request_id", "code", "message", "status_code"})
_KNOWN_OUTPUT: Final = frozenset({"choices", "text", "finish_reason", "search_info", "tool_info"})
_KNOWN_CHOICE: Final = frozenset({"index", "message", "finish_reason", "logprobs"})
_MEDIA: Final[tuple[MediaKind, ...]] = ("image", "audio", "video")
_FIRST_ERROR: Final = 400


class EventReader:
    """Reads events into an `Output`.

    Attributes:
        open: for each choice that has come: whether it waits for its finish word.
        is_streamed: whether the objects are events, and not a whole answer.
        usage: the last usage that was not said yet; the short way leaves it unread.
    """

    def __init__(self, output: Output, provider: str | None, *, is_incremental: bool | None) -> None:
        """Start before the first event."""
        self.open: dict[int, bool] = {}
        self.is_streamed = True
        self.usage: dict[str, Any] | msgspec.Raw | None = None
        self._has_ended = False
        self._output = output
        self._provider = provider
        self._extras = Extras()
        self._messages = DeltaReader(output, self._extras)
        self._snapshots = Snapshots(is_incremental)
        self._id: str | None = None
        self._search: JSON = None
        self._tools: dict[int, JSON] = {}
        self._tool_keys: dict[int, int] = {}

    def read(self, event: dict[str, Any], *, is_error: bool, status: int | None) -> None:
        """Read one event or a whole answer; see `json_events.Reader`."""
        output, code = event.get("output"), event.get("status_code")
        status = status if status is not None else code if type(code) is int else None
        is_refused = status is not None and status >= _FIRST_ERROR
        if is_error or is_refused or (event.get("code") and not isinstance(output, dict)) or event.get("error"):
            self._fail(event, status)
        self._start(event)
        if isinstance(output, dict):
            self._read(output)
        usage = event.get("usage")
        if isinstance(usage, dict):
            self.usage = kept(usage)
        if self._has_ended or self._output.error is not None:
            self._report()
        self._extras.take("", event, _KNOWN_EVENT, kept)

    def rest(self) -> Iterable[Delta]:
        """Return what was kept without being understood."""
        self._report()
        return self._extras.deltas()

    def _report(self) -> None:
        """Say the usage so far. It comes with every event and each replaces the one before, so only the last ones are said."""
        raw, self.usage = self.usage, None
        if isinstance(raw, msgspec.Raw):
            try:
                raw = kept(loads(bytes(raw))) if bytes(raw) else None
            except (JSONError, UsageError):  # what a message cannot hold
                raw = None
        report = usage_in(raw) if isinstance(raw, dict) else None
        if report is not None:
            self._output.add(UsageDelta(report))

    @property
    def is_plain(self) -> bool:
        """Whether pieces of the first choice may go the short way: it has begun, and each piece is new."""
        return self._snapshots.is_incremental is True and self.open.get(0, False)

    @property
    def has_id(self) -> bool:
        """Whether the request's id is known."""
        return self._id is not None

    def _fail(self, event: dict[str, Any], status: int | None) -> None:
        error = event.get("error") or event
        self._output.fail(stream_error(kept(error), status=status if status is not None and status >= _FIRST_ERROR else None))
        self._output.add(MetadataDelta({"error": kept(error)}, ("error",)))

    def _start(self, event: Mapping[str, Any]) -> None:
        identifier = word_of(event.get("request_id"))
        if identifier and self._id is None:
            self._id = identifier
            self._output.add(MessageStart(identifier, provider=self._provider))

    # ------------------------------------------------------------------------------------------ the output

    def _read(self, output: Mapping[str, Any]) -> None:
        choices = _choices(output)
        self._search_info(output.get("search_info"))
        self._tool_info(output.get("tool_info"))
        said: list[Said] = []
        for index, choice in choices:
            if index not in self.open and len(self.open) >= self._output.limits.max_parts:
                self._output.exceed("parts", self._output.limits.max_parts)
                return
            self.open.setdefault(index, True)
            message = choice.get("message")
            if isinstance(message, dict):
                said.append((index, message))
        self._say(said)
        for index, choice in choices:
            self._choice(index, choice)
        self._extras.take("output.", output, _KNOWN_OUTPUT, kept)

    def _say(self, said: list[Said]) -> None:
        """Read what messages add."""
        snapshots = self._snapshots
        added = snapshots.feed(said) if self.is_streamed else None
        if added is not None and added.is_restart:
            self._restart("the texts are pieces, not repetitions" if snapshots.is_incremental else "a text is another than before")
        if snapshots.is_incremental is False and not snapshots.is_told:
            self._output.warn_once("cumulative_chunks", "each event repeats what came before")
        for index, message in said if added is None else added.said:
            if self._message(message, index):
                self.open[index] = True

    def _restart(self, why: str) -> None:
        self._output.restart()
        self._output.warn("restarted_message", why)
        self._output.add(MessageStart(self._id, provider=self._provider))
        search, tools = self._search, list(self._tools.values())
        self._search, self._tools, self._tool_keys = None, {}, {}
        self._search_info(search)
        self._tool_info(tools)

    def _message(self, message: dict[str, Any], index: int) -> bool:
        content = message.get("content")
        media: list[Delta] = []
        if isinstance(content, list):
            media = [delta for item in content if (delta := _medium_of(item, index)) is not None]
            message = {**message, "content": [item for item in content if _medium_of(item, index) is None]}
        has_content = self._messages.read(message, index, is_streamed=self.is_streamed)
        for delta in media:
            self._output.add(delta)
        return has_content or bool(media)

    def _choice(self, index: int, choice: Mapping[str, Any]) -> None:
        logprobs = choice.get("logprobs")
        if isinstance(logprobs, dict) and any(value is not None for value in logprobs.values()):
            self._output.add(LogprobsDelta(kept(logprobs), index))
        word = choice.get("finish_reason")
        if isinstance(word, str) and is_word(word):
            self._output.add(FinishDelta(word_of(word), index, None, self._output.events, self._output.offset))
            self.open[index] = False
            self._has_ended = True
        self._extras.take("choice.", choice, _KNOWN_CHOICE, kept)

    # ------------------------------------------------------------------------------------------ what the provider did itself

    def _search_info(self, info: JSON) -> None:
        """Keep what a search found; it comes once, and then empty."""
        if isinstance(info, dict) and any(info.values()) and info != self._search:
            self._search = info
            self._output.add(MetadataDelta({"search_info": kept(info)}, ("search_info",)))

    def _tool_info(self, tools: JSON) -> None:
        """Keep the tools that ran; the list comes again with each event, and grows."""
        for n, entry in enumerate(tools if isinstance(tools, list) else []):
            if entry == self._tools.get(n) or not isinstance(entry, dict):
                continue
            self._tools[n] = entry
            choice = self._output.fold.choices.get(0)
            key = self._tool_keys.setdefault(n, 0 if choice is None else choice.next_key)
            name = word_of(entry.get("type"))
            body = entry.get(name)
            part = make(
                ProviderToolPart,
                name=name,
                arguments=dumps_text(kept(body)) if body is not None else "",
                parsed=kept(body) if isinstance(body, dict) else None,
                provider=self._provider or "",
                provider_data=kept({"tool_info": entry}),
            )
            self._output.add(PartDelta(part, key))


def _choices(output: Mapping[str, Any]) -> list[tuple[int, Mapping[str, Any]]]:
    """Return the choices, each with its index; the format that has only a text is one choice."""
    choices = output.get("choices")
    if isinstance(choices, list):
        found = [(n, choice) for n, choice in enumerate(choices) if isinstance(choice, dict)]
        return [(_index(choice.get("index"), n), choice) for n, choice in found]
    if not {"text", "finish_reason"} & output.keys():
        return []
    return [(0, {"message": {"content": output.get("text")}, "finish_reason": output.get("finish_reason")})]


def _index(value: JSON, n: int) -> int:
    return value if type(value) is int and value >= 0 else n


def _medium_of(item: JSON, index: int) -> Delta | None:
    """Read a content part that names a medium by its address."""
    if isinstance(item, dict) and len(item) == 1:
        for kind in _MEDIA:
            address = word_of(item.get(kind))
            if address:
                return PartDelta(make(MediaPart, kind=kind, url=address), choice=index)
    return None
