"""One part of a candidate's content.

The rule of this file: a part is text, thinking, a call, a tool that the provider ran, or a medium; what else it may be is kept as the
bytes that came. Whatever stands beside the content (a thought signature first of all) stays with the part that it came with.
"""

# JSON of a peer is read here: what `isinstance` finds in it holds unknown types.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from headrace._json import JSON, dumps_text
from headrace.messages.deltas import MediaDelta, PartDataDelta, PartDelta, ProviderToolFragment, ReasoningDelta
from headrace.messages.parts import MediaPart, ProviderItem, make
from headrace.wire.decoder import Output
from headrace.wire.gemini.call_in import CallReader
from headrace.wire.gemini.candidate import Candidate, OpenTool
from headrace.wire.gemini.values import bytes_of, kept, kind_of, text_of

PROTOCOL: Final = "gemini"
SIGNATURE: Final = "thoughtSignature"
"""The field that has to go back on the part that it came with."""

_TEXT_FIELDS: Final = frozenset({"text", "thought"})
_RESULT_OF: Final = {"codeExecutionResult": "executableCode", "toolResponse": "toolCall"}
_TOOLS: Final = (*_RESULT_OF.values(), *_RESULT_OF)
CODE_EXECUTION: Final = "code_execution"


class PartReader:
    """Reads parts into an `Output`."""

    def __init__(self, output: Output, provider: str | None) -> None:
        """Start before the first part."""
        self._output = output
        self._provider = provider or ""
        self._calls = CallReader(output)

    def read(self, part: Mapping[str, Any], candidate: Candidate, raw: Callable[[], bytes]) -> None:
        """Read one part; `raw` gives its bytes."""
        beside = {name: kept(value) for name, value in part.items() if value is not None}
        call = part.get("functionCall")
        tool = next((kind for kind in _TOOLS if isinstance(part.get(kind), dict)), None)
        if isinstance(call, dict):
            beside.pop("functionCall")
            self._calls.read(call, beside, candidate)
        elif tool is not None:
            self._tool(tool, beside, candidate)
        elif isinstance(part.get("inlineData"), dict):
            self._inline(part["inlineData"], beside, candidate, raw)
        elif isinstance(part.get("fileData"), dict):
            self._file(part["fileData"], beside, candidate, raw)
        elif isinstance(part.get("text"), str) or not beside.keys() - {*_TEXT_FIELDS, SIGNATURE}:
            self._text(part, {name: value for name, value in beside.items() if name not in _TEXT_FIELDS}, candidate)
        else:
            self._unknown(candidate, raw)

    def finish(self, candidate: Candidate) -> None:
        """The candidate has ended well: close what the wire left open."""
        self._calls.finish(candidate)

    def _text(self, part: Mapping[str, Any], beside: dict[str, JSON], candidate: Candidate) -> None:
        text = part.get("text")
        piece = text if isinstance(text, str) else ""
        is_thought = part.get("thought") is True
        if not piece and not beside:
            return
        if piece:
            candidate.grow()
        kind = "reasoning" if is_thought else "text"
        key = candidate.open_part() if beside else candidate.part_for(kind)
        if piece:
            self._output.text("reasoning" if is_thought else "text", piece, candidate.index, key)
        signature = beside.pop(SIGNATURE) if is_thought and isinstance(beside.get(SIGNATURE), str) else None
        if signature:
            self._output.add(ReasoningDelta("", key, candidate.index, signature))
        if beside:
            self._output.add(PartDataDelta(beside, "reasoning" if is_thought else "text", key, candidate.index))

    def _tool(self, kind: str, part: dict[str, JSON], candidate: Candidate) -> None:
        candidate.grow()
        body = part[kind]
        identifier = body.get("id")
        call_id = identifier if isinstance(identifier, str) else ""
        name = CODE_EXECUTION if "code" in kind.lower() else str(body.get("toolType") or "tool")
        before = candidate.tool
        if kind in _RESULT_OF:
            is_next = before is not None and before.kind == _RESULT_OF[kind] and call_id in ("", before.id)
            result = body.get("response", body) if kind == "toolResponse" else body
            parts = (*before.wire_parts, part) if before is not None and is_next else (part,)
            key = before.part if before is not None and is_next else candidate.open_part()
            fragment = ProviderToolFragment(call_id, name, None, result, self._provider, key, candidate.index, {"parts": list(parts)})
            candidate.tool = None
        else:
            parts, key = (part,), candidate.open_part()
            candidate.tool = OpenTool(key, kind, call_id, parts)
            arguments = body.get("args") if kind == "toolCall" else {name: value for name, value in body.items() if name != "id"}
            text = dumps_text(arguments or {})
            fragment = ProviderToolFragment(call_id, name, text, None, self._provider, key, candidate.index, {"parts": list(parts)})
        self._output.add(fragment)

    def _inline(self, blob: Mapping[str, Any], beside: dict[str, JSON], candidate: Candidate, raw: Callable[[], bytes]) -> None:
        data, mime = bytes_of(blob.get("data")), text_of(blob.get("mimeType"))
        if data is None:
            self._unknown(candidate, raw)
            return
        candidate.grow()
        beside.pop("inlineData")
        kind = kind_of(mime)
        name = text_of(blob.get("displayName"))
        if kind == "audio" and not beside and not name:
            key = candidate.part_for(f"audio {mime}")  # speech comes in pieces
            self._output.add(MediaDelta(kind, data, media_type=mime, part=key, choice=candidate.index))
            return
        part = make(MediaPart, kind=kind, data=data, media_type=mime, name=name, provider_data=beside)
        self._output.add(PartDelta(part, candidate.open_part(), candidate.index))

    def _file(self, file: Mapping[str, Any], beside: dict[str, JSON], candidate: Candidate, raw: Callable[[], bytes]) -> None:
        url, mime = text_of(file.get("fileUri")), text_of(file.get("mimeType"))
        if url is None:
            self._unknown(candidate, raw)
            return
        candidate.grow()
        beside.pop("fileData")
        name = text_of(file.get("displayName"))
        part = make(MediaPart, kind=kind_of(mime), url=url, media_type=mime, name=name, provider_data=beside)
        self._output.add(PartDelta(part, candidate.open_part(), candidate.index))

    def _unknown(self, candidate: Candidate, raw: Callable[[], bytes]) -> None:
        candidate.grow()
        item = make(ProviderItem, provider=self._provider, protocol=PROTOCOL, raw=raw())
        self._output.add(PartDelta(item, candidate.open_part(), candidate.index))
