"""Calls among the items: those that the client has to run, and those that the provider ran itself.

The rule of this file: who runs a call is read from the item, not guessed from a name. A call of the client's is a tool call, whatever
defines its tool; a call of the provider's is never one, and is kept whole, so that it can go back.
"""

# JSON of a peer is read here: what `isinstance` finds in it holds unknown types.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from typing import Any, Final

from headrace._json import JSON, dumps_text, has_lone_surrogate
from headrace.messages.deltas import PartDelta, ProviderToolFragment, ToolCallFragment, ToolCallSettled
from headrace.messages.parts import CallKind, MediaPart, make
from headrace.wire.decoder import Output
from headrace.wire.json_events import kept, word_of
from headrace.wire.openai_responses.items import Item
from headrace.wire.openai_responses.text_in import text_of

_CHECKS: Final = 6  # the whole arguments are repeated at most so often
_ARGUMENTS: Final = {"function_call": "arguments", "custom_tool_call": "input"}
"""The calls of the caller's own tools, and the field that holds their arguments."""
ACTIONS: Final = {
    "computer_call": "action",
    "local_shell_call": "action",
    "shell_call": "action",
    "apply_patch_call": "operation",
    "tool_search_call": "arguments",
}
"""The calls of tools that the provider defines and the client may have to run, and the field that says what to do."""
_INPUTS: Final = ("arguments", "action", "input", "operation", "queries", "code", "revised_prompt", "prompt", "query")
_RESULTS: Final = ("output", "outputs", "results", "tools", "result", "error")
_IDENTITY: Final = frozenset({"type", "call_id", "status", "name"})
_NAMED: Final = ("mcp_call", "custom_tool_call")  # of these the provider runs many, each by its own name
_CODE: Final = '{"code":"'
_IMAGE: Final = 1
"""The place of an image among the parts of the call that made it."""


class CallReader:
    """Reads calls into an `Output`.

    Attributes:
        custom_names: the names of the caller's own tools that take free text, as the response repeats the request; None if it does not.
    """

    def __init__(self, output: Output, provider: str | None) -> None:
        """Start before the first call."""
        self.custom_names: frozenset[str] | None = None
        self._output = output
        self._provider = provider

    # ------------------------------------------------------------------------------------------ who runs it

    def is_for_client(self, form: Mapping[str, Any]) -> bool:
        """Return whether the client has to run a call."""
        match form.get("type"):
            case "function_call" | "computer_call" | "local_shell_call" | "apply_patch_call":
                return True
            case "custom_tool_call":  # some providers show their own searches as such, which nobody declared
                name = word_of(form.get("name"))
                return not name or self.custom_names is None or name in self.custom_names
            case "tool_search_call":
                return form.get("execution") == "client"
            case "shell_call":
                environment = form.get("environment")
                return not isinstance(environment, dict) or environment.get("type") == "local"
            case _:
                return False

    # ------------------------------------------------------------------------------------------ pieces

    def start(self, item: Item) -> None:
        """Take the announcement of a call."""
        form = item.added
        if not self.is_for_client(form):
            name = _provider_name(form) if item.type not in _NAMED or word_of(form.get("name")) else None
            self._output.add(ProviderToolFragment(item.call_id or item.id or None, name, None, None, self._provider, item.key))
        elif item.type in _ARGUMENTS:
            item.is_named = bool(word_of(form.get("name")))
            self._fragment(item, form, item.call_id or item.id, word_of(form.get("name")))
        elif item.type != "shell_call":  # whose environment may come only with the whole item
            # Not its id: it has been seen to change until the item is whole.
            item.is_named = True
            self._fragment(item, {}, "", item.type)

    def piece(self, item: Item, piece: str) -> None:
        """Take a piece of a call's arguments."""
        if not piece:
            return
        item.opened.setdefault(0, "whole")
        if self.is_for_client(item.added or {"type": item.type}):
            text = self._output.arguments(None, piece, 0, item.key)
            output = self._output
            if text:
                output.add(ToolCallFragment(None, None, text, item.index, _kind(item), item.key, event=output.events, offset=output.offset))
        else:
            self._output.add(ProviderToolFragment(arguments=word_of(piece), part=item.key))

    def gather(self, item: Item, place: int, piece: str) -> None:
        """Keep a piece of input that is put into the call's action only at the end: commands, a patch."""
        item.pieces.setdefault(place, []).append(piece)
        item.size += len(piece)
        if item.size > self._output.limits.max_argument_bytes:
            self._output.exceed("argument_bytes", self._output.limits.max_argument_bytes)

    def code(self, item: Item, piece: str) -> None:
        """Take a piece of code that the provider runs; it becomes the value of `code` in the arguments."""
        if piece:
            begin = "" if item.opened else _CODE
            item.opened[0] = "whole"
            self._output.add(ProviderToolFragment(arguments=begin + _inside(piece), part=item.key))

    def settle(self, item: Item, arguments: JSON) -> None:
        """Take the whole arguments of a call that the client runs: what is missing of them is filled in."""
        text = text_of(arguments)
        if arguments is not None and not isinstance(arguments, str):
            self._output.warn_once("arguments_not_string")
        item.checks[0] = item.checks.get(0, 0) + 1
        if item.checks[0] <= _CHECKS:
            self._output.add(ToolCallSettled(item.key, None, text or None))

    # ------------------------------------------------------------------------------------------ whole items

    def whole(self, item: Item, form: Mapping[str, Any]) -> None:
        """Take a whole call."""
        item.call_id = item.call_id or word_of(form.get("call_id"))
        if not self.is_for_client(form):
            self._provider_call(item, form)
        elif item.type in _ARGUMENTS:
            name = "" if item.is_named else word_of(form.get("name"))
            item.is_named = item.is_named or bool(name)
            if item.call_id and word_of(form.get("call_id")) not in ("", item.call_id):
                self._output.warn_once("changing_tool_id", f"{item.call_id} became {form.get('call_id')}")
            self._fragment(item, form, item.call_id or item.id or word_of(form.get("id")), name)
            # Of free text nothing but the item itself says whether it is whole; a cut object shows by itself.
            if item.type == "function_call" or form.get("status") != "incomplete":
                self.settle(item, form.get(_ARGUMENTS[item.type]))
        elif not item.opened:
            item.opened[0] = "whole"
            name = "" if item.is_named else item.type
            item.is_named = True
            action = _action(item, form)
            self._fragment(item, form, word_of(form.get("call_id")) or item.call_id or item.id, name)
            self._output.add(ToolCallSettled(item.key, None, dumps_text(kept(action))))

    def output_of(self, call: Item, form: Mapping[str, Any]) -> None:
        """Take what a call of the provider's gave, which comes as an item of its own."""
        self._output.add(
            ProviderToolFragment(result=kept(_first(form, _RESULTS)), part=call.key, provider_data=kept({"output_item": form}))
        )

    def image(self, item: Item, data: JSON, form: Mapping[str, Any], *, is_partial: bool = False) -> bool:
        """Take an image that the provider made; returns whether it is one."""
        if not isinstance(data, str) or not data:
            return False
        extra: dict[str, Any] = {"id": item.id, **({"is_partial": True} if is_partial else {})}
        if data.startswith(("https://", "http://")):
            source: dict[str, Any] = {"url": word_of(data)}
        else:
            try:
                source = {"data": base64.b64decode(data, validate=True)}
            except (binascii.Error, ValueError):
                return False
        suffix = word_of(form.get("output_format")) or "png"
        part = make(MediaPart, kind="image", media_type=f"image/{suffix}", provider_data=kept(extra), **source)
        self._output.add(PartDelta(part, item.key + _IMAGE))
        return True

    def _fragment(self, item: Item, form: Mapping[str, Any], call_id: str, name: str) -> None:
        known = _IDENTITY | {_ARGUMENTS.get(item.type) or ACTIONS.get(item.type, ""), "actions"}
        data = {key: value for key, value in form.items() if key not in known and value is not None and value != ""}
        kind, output = _kind(item), self._output
        output.add(
            ToolCallFragment(
                call_id or None, name or None, None, item.index, kind, item.key, 0, False, output.events, output.offset, kept(data)
            )
        )

    def _provider_call(self, item: Item, form: Mapping[str, Any]) -> None:
        if item.final is not None:
            return
        kept_form = dict(form)
        result = _first(form, _RESULTS)
        if item.type == "image_generation_call" and self.image(item, form.get("result"), form):
            kept_form.pop("result")
            result = None
        arguments = self._rest_of_arguments(item, _input_of(form, result))
        identifier = item.call_id or item.id or None
        self._output.add(
            ProviderToolFragment(
                identifier, _provider_name(form), arguments, kept(result), self._provider, item.key, 0, kept({"item": kept_form})
            )
        )

    def _rest_of_arguments(self, item: Item, whole: str) -> str | None:
        """Return what is missing of a call's arguments after the pieces that have come."""
        choice = self._output.fold.choices.get(0)
        growing = choice.by_key.get(("provider_tool", item.key)) if choice is not None else None
        so_far = "".join(growing.own_call().body.pieces) if growing is not None else ""
        if whole.startswith(so_far):
            return whole[len(so_far) :] or None
        return '"}' if so_far.startswith(_CODE) and not so_far.endswith('"}') else None


def _kind(item: Item) -> CallKind:
    return "function" if item.type == "function_call" else "custom" if item.type == "custom_tool_call" else "provider"


def _provider_name(form: Mapping[str, Any]) -> str:
    """Return the name of a tool that the provider runs: its own where there are many of its type, else the type."""
    kind = word_of(form.get("type"))
    own = word_of(form.get("name")) if kind in _NAMED else ""
    return own or kind.removesuffix("_call")


def _input_of(form: Mapping[str, Any], result: JSON) -> str:
    """Return what a call of the provider's asked for, as the text of arguments."""
    for name in _INPUTS:
        value = form.get(name)
        if value is None or value is result or value == "":
            continue
        if isinstance(value, str) and name in ("arguments", "input"):
            return word_of(value)
        return dumps_text(kept(value if isinstance(value, dict) else {name: value}))
    return ""


def _action(item: Item, form: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the client has to do, as an object; what has streamed of it stands in for what did not come whole."""
    field = ACTIONS[item.type]
    value = form.get(field)
    if not isinstance(value, dict):
        actions = form.get("actions")
        value = {"actions": actions} if isinstance(actions, list) else {} if value is None else {field: value}
    action = dict(value)
    texts = ["".join(item.pieces[place]) for place in sorted(item.pieces)]
    if texts and item.type == "shell_call" and not action.get("commands"):
        action["commands"] = texts
    elif texts and item.type == "apply_patch_call" and not action.get("diff"):
        action["diff"] = "".join(texts)
    return action


def _first(form: Mapping[str, Any], names: tuple[str, ...]) -> JSON:
    return next((form[name] for name in names if form.get(name) is not None), None)


def _inside(piece: str) -> str:
    """Return text as it stands inside a JSON string; half a character as its escape, which meets that of the other half."""
    return (json.dumps(piece) if has_lone_surrogate(piece) else dumps_text(piece))[1:-1]
