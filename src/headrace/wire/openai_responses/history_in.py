"""The input items of a client's request, as messages: the inverse of `request_items.py` and `request_results.py`.

The rule of this file: what an assistant said, thought and called, one item after the other, is one message, and each result is one. An
item that is not understood stays as the bytes that came. Whoever refers to what we should have kept is told that nothing is kept.
"""

# JSON of a client is read here: what `isinstance` finds in it holds unknown types.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Final

from headrace._json import EMPTY, dumps_text
from headrace.errors import UsageError
from headrace.messages.message import AssistantMessage, Message, SystemMessage, ToolMessage, UserMessage
from headrace.messages.parts import (
    JsonPart,
    MediaPart,
    OpaquePart,
    Part,
    ProviderItem,
    ReasoningPart,
    ResultState,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    make,
)
from headrace.wire.openai_chat.request_results import ENDINGS
from headrace.wire.openai_responses.call_in import ACTIONS
from headrace.wire.openai_responses.content_in import read_content, read_given
from headrace.wire.openai_responses.item_in import PROTOCOL
from headrace.wire.openai_responses.request_items import SUMMARIES
from headrace.wire.openai_responses.sealed_reasoning import unseal
from headrace.wire.request_fields import Fields

_GIVEN: Final = ("_output", "_response")
"""How the items end that a client writes about what was not said."""


class HistoryReader:
    """Reads items one after the other; `messages` gives what they were."""

    def __init__(self, provider: str | None) -> None:
        """Start before the first item.

        Args:
            provider: who made the assistant's items, if known.
        """
        self._provider = provider
        self._messages: list[Message] = []
        self._said: list[Part] = []
        self._is_behind_message = False
        self._calls: set[str] = set()

    def messages(self) -> tuple[Message, ...]:
        """Return what was read so far."""
        self._end_answer()
        return tuple(self._messages)

    def text(self, text: str) -> None:
        """Take an input that is a text alone."""
        self._add(UserMessage.assemble([make(TextPart, text=text)] if text else []))

    def read(self, item: Fields, raw: bytes) -> None:
        """Read an item; `raw`: its bytes.

        Raises:
            UsageError: it is no such item; the error names the path.
        """
        kind = item.text("type") or "message"
        reader = self._READERS.get(kind)
        if reader is not None:
            reader(self, item)
        elif kind in ACTIONS and self._action(item, kind):
            return
        elif kind in _OUTPUTS and item.text("call_id") in self._calls:
            self._result(item, *_OUTPUTS[kind](item))
        elif kind.endswith(_GIVEN):
            self._add(UserMessage.assemble([make(OpaquePart, raw=item.values())]))
        else:
            self._say(make(ProviderItem, provider=self._provider or "", protocol=PROTOCOL, raw=raw))

    # ------------------------------------------------------------------------------------------ messages

    def _add(self, message: Message) -> None:
        self._end_answer()
        self._messages.append(message)

    def _say(self, *parts: Part, is_message: bool = False) -> None:
        """Add to the answer at hand; a message right behind a message begins another one, so that two stay two."""
        if is_message and self._is_behind_message and not any(isinstance(part, ToolCallPart) for part in self._said):
            self._end_answer()
        self._said += parts
        self._is_behind_message = is_message

    def _end_answer(self) -> None:
        if self._said:
            self._messages.append(AssistantMessage.assemble(self._said, provider=self._provider))
        self._said, self._is_behind_message = [], False

    def _message(self, item: Fields) -> None:
        role = item.required_text("role")
        item.any("status")
        if role == "assistant":
            identifier, content = item.text("id"), item.any("content")
            data = {**({} if identifier is None else {"id": identifier}), **item.rest()}
            if content is not None:
                self._say(*read_content(item, "content", data), is_message=True)
            return
        if role not in ("user", "system", "developer"):
            raise item.unknown("role", "user, assistant, system, developer")
        item.any("id")
        parts = read_given(item, "content")
        if role == "user":
            self._add(UserMessage.assemble(parts, metadata=item.rest()))
            return
        for n, part in enumerate(parts):
            if not isinstance(part, TextPart):
                place = f"{item.at('content')}[{n}]"
                raise UsageError(f"{place} is no text; instructions are text alone", argument=place)
        self._add(SystemMessage.assemble(parts, metadata=item.rest()))

    def _reference(self, item: Fields) -> None:
        identifier = item.text("id")
        raise UsageError(
            f"{item.path} refers to the item {identifier!r}, but nothing is kept here; send the item itself", argument=item.path
        )

    # ------------------------------------------------------------------------------------------ thinking and calls

    def _reasoning(self, item: Fields) -> None:
        sealed = unseal(item.text("encrypted_content"))
        summaries = [text.required_text("text") for text in item.objects("summary")]
        contents = [text.required_text("text") for text in item.objects("content")]
        data = item.rest()
        if not data.get("id") and len(summaries) > 1:  # without an id only one part stays one item
            data = {**data, SUMMARIES: summaries}
            summaries = ["\n\n".join(summaries)]
        texts = [(text, data) for text in summaries] + [(text, {**data, "field": "content"}) for text in contents]
        for n, (text, own) in enumerate(texts or [("", data)]):
            self._say(make(ReasoningPart, text=text, provider_data=own, **(sealed if n == 0 else {})))

    def _function(self, item: Fields) -> None:
        call_id, name, text = item.required_text("call_id"), item.required_text("name"), item.text("arguments") or ""
        self._calls.add(call_id)
        if text.strip() in ("", "null"):  # a call of the past that took nothing
            self._say(make(ToolCallPart, id=call_id, name=name, arguments=text, parsed={}, runnable=bool(name), provider_data=item.rest()))
        else:
            self._say(ToolCallPart(id=call_id, name=name, arguments=text, provider_data=item.rest()))

    def _custom(self, item: Fields) -> None:
        call_id, name, text = item.required_text("call_id"), item.required_text("name"), item.text("input") or ""
        self._calls.add(call_id)
        self._say(ToolCallPart(id=call_id, name=name, kind="custom", arguments=text, provider_data=item.rest()))

    def _action(self, item: Fields, kind: str) -> bool:
        """Read a call of a tool that the provider defines and the client runs; returns whether it is one."""
        environment, execution = item.values().get("environment"), item.values().get("execution")
        is_hosted = kind == "shell_call" and isinstance(environment, dict) and environment.get("type") != "local"
        value = item.values().get(ACTIONS[kind])
        if value is None and kind == "computer_call" and isinstance(item.values().get("actions"), list):
            value = {"actions": item.any("actions")}
        if is_hosted or (kind == "tool_search_call" and execution != "client") or not isinstance(value, dict):
            return False
        call_id = item.text("call_id")
        if not call_id:
            return False
        item.any(ACTIONS[kind])
        item.any("status")
        self._calls.add(call_id)
        self._say(ToolCallPart(id=call_id, name=kind, kind="provider", arguments=dumps_text(value), provider_data=item.rest()))
        return True

    # ------------------------------------------------------------------------------------------ results

    def _output(self, item: Fields) -> None:
        self._result(item, read_given(item, "output"), "success")

    def _result(self, item: Fields, parts: list[Part], state: ResultState, metadata: dict[str, Any] = EMPTY) -> None:
        call_id = item.required_text("call_id")
        item.any("id")
        item.any("status")
        kept = tuple(part for part in parts if isinstance(part, (TextPart, MediaPart, JsonPart, OpaquePart)))
        result = make(ToolResultPart, call_id=call_id, parts=kept, state=state, metadata=metadata)
        self._add(ToolMessage.assemble([result], metadata=item.rest()))

    _READERS: ClassVar[dict[str, Callable[[HistoryReader, Fields], None]]] = {
        "message": _message,
        "reasoning": _reasoning,
        "function_call": _function,
        "custom_tool_call": _custom,
        "function_call_output": _output,
        "custom_tool_call_output": _output,
        "item_reference": _reference,
    }


Output = tuple[list[Part], ResultState, dict[str, Any]]


def _kept(item: Fields, name: str) -> dict[str, Any]:
    value = item.any(name)
    return {} if value is None else {name: value}


def _shell(item: Fields) -> Output:
    return [make(JsonPart, value=item.any("output") or [])], "success", _kept(item, "max_output_length")


def _words(item: Fields) -> Output:
    return read_given(item, "output"), "success", {}


def _patch(item: Fields) -> Output:
    """Read how a patch went: the status says that it failed, the first words how."""
    text = item.text("output") or ""
    state: ResultState = "success"
    if item.text("status") == "failed":
        state = "error"
        for ending, (before, alone) in ENDINGS.items():
            if text == alone or text.startswith(before):
                state, text = ending, "" if text == alone else text[len(before) :]
                break
    return [make(TextPart, text=text)] if text else [], state, {}


def _found(item: Fields) -> Output:
    item.any("execution")
    return [make(JsonPart, value=item.any("tools") or [])], "success", {}


def _screenshot(item: Fields) -> Output:
    output = item.required_object("output")
    url, file_id = output.text("image_url"), output.text("file_id")
    part = None if url is None and file_id is None else make(MediaPart, kind="image", url=url, file_id=None if url else file_id)
    return [] if part is None else [part], "success", _kept(item, "acknowledged_safety_checks")


_OUTPUTS: Final[dict[str, Callable[[Fields], Output]]] = {
    "shell_call_output": _shell,
    "local_shell_call_output": _words,
    "apply_patch_call_output": _patch,
    "tool_search_output": _found,
    "computer_call_output": _screenshot,
}
"""For each output of a tool that the provider defines: what reads it."""
