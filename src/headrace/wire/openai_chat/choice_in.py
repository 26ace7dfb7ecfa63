"""One delta of a choice, or a whole message read as one: thinking first, then text, refusal, calls, media.

The rule of this file: it decides the order in which the fields of a delta count, and hands each field to `delta_in.py`; a message that
repeats what was streamed fills gaps and never adds.
"""

# JSON of a peer is read here: what `isinstance` finds in it holds unknown types.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from headrace._json import replace_surrogates
from headrace.messages.deltas import Delta, ReasoningDelta
from headrace.wire.decoder import Output
from headrace.wire.extras import Extras
from headrace.wire.openai_chat import delta_in

_AUDIO_FIELDS: Final = frozenset({"id", "data", "transcript"})


class DeltaReader:
    """Reads deltas into an `Output`; what it does not understand goes to the extras."""

    def __init__(self, output: Output, extras: Extras) -> None:
        """Start before the first delta."""
        self._output = output
        self._extras = extras

    def read(self, delta: Mapping[str, Any], choice: int, *, is_streamed: bool) -> bool:
        """Read a delta; returns whether it had anything of substance."""
        if delta.get("role") == "tool":
            return self._add_all(list(delta_in.search_result_of(delta, choice)))
        has_content = self._reasoning(delta, choice)
        for piece in delta_in.content_of(delta.get("content"), choice):
            has_content |= self._piece(piece, choice)
        refusal = delta.get("refusal")
        if isinstance(refusal, str) and refusal:
            self._output.text("refusal", refusal, choice)
            has_content = True
        has_content |= self._calls(delta, choice, is_streamed=is_streamed)
        has_content |= self._media(delta, choice)
        self._add_all(list(delta_in.citations_of(delta.get("annotations"), choice)))
        self._extras.take("delta.", delta, delta_in.KNOWN, delta_in.kept)
        return has_content

    def gaps(self, message: Mapping[str, Any], choice: int) -> dict[str, Any]:
        """Return what a repeated whole message has that did not come before."""
        found = self._output.fold.choices.get(choice)
        kinds = {part.kind for part in found.parts} if found else set[str]()
        gaps: dict[str, Any] = {}
        content = message.get("content")
        if isinstance(content, str) and not self._output.is_holding:
            so_far = "".join(piece for part in found.parts if part.kind == "text" for piece in part.pieces) if found else ""
            if len(content) > len(so_far) and content.startswith(so_far):
                gaps["content"] = content[len(so_far) :]
        for kind, names in (
            ("tool_call", ("tool_calls", "function_call")),
            ("reasoning", delta_in.REASONING_NAMES),
            ("refusal", ("refusal",)),
        ):
            if kind not in kinds:
                gaps.update({name: message[name] for name in names if message.get(name)})
        return gaps

    def _reasoning(self, delta: Mapping[str, Any], choice: int) -> bool:
        text = delta_in.reasoning_of(delta)
        details, details_text = delta_in.details_of(delta)
        text = text or details_text
        opaque = delta.get("reasoning_opaque")
        encrypted = replace_surrogates(opaque) if isinstance(opaque, str) and opaque else None
        if text:
            self._output.text("reasoning", text, choice)
        if details or encrypted:
            self._output.add(ReasoningDelta("", None, choice, None, encrypted, details))
        return bool(text or details)

    def _piece(self, piece: delta_in.Piece | Delta, choice: int) -> bool:
        if not isinstance(piece, tuple):
            self._output.add(piece)
            return True
        kind, text = piece
        if text:
            self._output.text(kind, text, choice)
        return bool(text)

    def _calls(self, delta: Mapping[str, Any], choice: int, *, is_streamed: bool) -> bool:
        output, has_call = self._output, False
        calls = delta.get("tool_calls")
        for item in calls if isinstance(calls, list) else [calls]:
            if isinstance(item, dict):
                read = delta_in.fragment_of(item, choice, output, needs_index=is_streamed)
                output.add(read)
                has_call |= bool(read.id or read.name or read.arguments)
            elif item:
                self._extras.take("delta.", {"tool_calls": calls}, frozenset(), delta_in.kept)
        legacy = delta.get("function_call")
        if isinstance(legacy, dict):
            output.add(delta_in.legacy_fragment_of(legacy, choice, output))
            has_call = True
        elif legacy:
            self._extras.take("delta.", {"function_call": legacy}, frozenset(), delta_in.kept)
        return has_call

    def _media(self, delta: Mapping[str, Any], choice: int) -> bool:
        has_media = False
        audio, images = delta.get("audio"), delta.get("images")
        if isinstance(audio, dict):
            piece, broken = delta_in.audio_of(audio, choice)
            has_media = piece is not None and self._add_all([piece])
            if broken:
                self._extras.take_piece("delta.audio.data", broken)
            self._extras.take("delta.audio.", audio, _AUDIO_FIELDS, delta_in.kept)
        for image in images if isinstance(images, list) else [images] if images else ():
            has_media |= self._add_all([delta_in.image_of(image, choice)])
        return has_media

    def _add_all(self, deltas: list[Delta]) -> bool:
        for delta in deltas:
            self._output.add(delta)
        return bool(deltas)
