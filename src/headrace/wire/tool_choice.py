"""Tools and the choice among them, for wires that have words of their own for each choice.

The rule of this file: a choice is never weakened. Where a server lacks a word for it, it is said in another way that means the same (no
tools instead of `none`; only the one tool, required, instead of its name), or it is an error. The words are the protocol's.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable
from typing import NamedTuple

from headrace._json import JSON, dumps
from headrace.errors import UnsupportedError, UsageError
from headrace.messages.request import NamedTool, Request, ToolSpec
from headrace.messages.warning import Warning  # noqa: A004 - the field's word
from headrace.wire.encoding_cache import EncodingCache, Fragment
from headrace.wire.profile import Profile


class ToolForm(NamedTuple):
    """How a protocol says tools and choices.

    Attributes:
        key: sets its tools in the cache apart.
        encode: encodes one tool.
        none: the choice of no tool.
        required: the choice of any tool.
        named: makes the choice of one tool.
    """

    key: Hashable
    encode: Callable[[ToolSpec, Profile], Fragment]
    none: JSON
    required: JSON
    named: Callable[[ToolSpec], JSON]


def choose_in_words(request: Request, profile: Profile, form: ToolForm) -> tuple[tuple[ToolSpec, ...], JSON]:
    """Return the tools to declare and the choice to send; None sends none, which means `auto`.

    Raises:
        UsageError: the choice asks for a tool that is not among the tools.
        UnsupportedError: the server has no way to say the choice.
    """
    choice, tools, words = request.tool_choice, request.tools, profile.tool_choices
    if isinstance(choice, NamedTool):
        return _choose_named(choice, tools, profile, form)
    if choice == "none":
        # With the tools still declared the server keeps its cache of them, and a model its idea of the calls before.
        return (tools, form.none) if "none" in words else ((), None)
    if choice == "required":
        if not tools:
            raise UsageError("tool_choice is 'required', but there are no tools", argument="tool_choice")
        if "required" not in words:
            raise UnsupportedError("this provider cannot be made to call a tool (tool_choice 'required')", argument="tool_choice")
        return tools, form.required
    return tools, None


def _choose_named(choice: NamedTool, tools: tuple[ToolSpec, ...], profile: Profile, form: ToolForm) -> tuple[tuple[ToolSpec, ...], JSON]:
    named = next((tool for tool in tools if tool.name == choice.name), None)
    if named is None:
        raise UsageError(f"tool_choice names the tool {choice.name!r}, which is not among the tools", argument="tool_choice")
    if "named" in profile.tool_choices:
        return tools, form.named(named)
    if "required" in profile.tool_choices:
        return (named,), form.required
    raise UnsupportedError(f"this provider cannot be made to call the tool {choice.name!r}", argument="tool_choice")


def encode_tools(tools: Collection[ToolSpec], profile: Profile, cache: EncodingCache, warnings: list[Warning], form: ToolForm) -> bytes:
    """Return the tools as a JSON list, each encoded once.

    Raises:
        UnsupportedError: the server has no tools of that kind.
    """
    encoded: list[bytes] = []
    for tool in tools:
        fragment = cache.find(tool, profile, form.key)
        if fragment is None:
            fragment = cache.store(tool, profile, form.key, form.encode(tool, profile))
        warnings += [Warning("dropped_for_provider", detail=note.text) for note in fragment.notes]
        encoded.append(fragment.body)
    return b"[" + b",".join(encoded) + b"]"


def tool_members(request: Request, profile: Profile, cache: EncodingCache, warnings: list[Warning], form: ToolForm) -> dict[str, bytes]:
    """Return `tools`, `tool_choice` and `parallel_tool_calls`, encoded.

    Raises:
        UsageError: the choice asks for a tool that is not among the tools.
        UnsupportedError: the server has no way to say the choice, or no tools of that kind.
    """
    tools, choice = choose_in_words(request, profile, form)
    if not tools:
        return {}
    fields = {"tools": encode_tools(tools, profile, cache, warnings, form)}
    if choice is not None:
        fields["tool_choice"] = dumps(choice)
    is_parallel = request.settings.parallel_tool_calls
    if is_parallel is not None:
        if "parallel_tool_calls" not in profile.unsupported_settings:
            fields["parallel_tool_calls"] = dumps(is_parallel)
        elif not is_parallel:
            warnings.append(Warning("dropped_for_provider", detail="settings.parallel_tool_calls: this provider cannot be told"))
    return fields
