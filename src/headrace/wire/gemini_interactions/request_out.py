"""A request in neutral words as the body of `POST …/interactions`.

The rule of this file: the whole history goes along as steps, and nothing is kept at the server (`store` is false; the caller's `extra_body`
can say otherwise, and name a `previous_interaction_id`). The same request gives the same bytes, each message is encoded once. What the
server cannot take is said as a `dropped_for_provider` warning; what would change the meaning of the request if it were left out is an
`UnsupportedError`.

Source: https://ai.google.dev/gemini-api/docs/interactions.
"""

from __future__ import annotations

from typing import Any, Final

from headrace._json import dumps
from headrace.errors import UnsupportedError, UsageError
from headrace.messages.message import SystemMessage
from headrace.messages.request import NamedTool, Request, ToolSpec
from headrace.messages.warning import Warning  # noqa: A004 - the field's word
from headrace.wire.encoding_cache import EncodingCache, Fragment, Note
from headrace.wire.gemini_interactions.request_steps import encode_message, encode_result
from headrace.wire.gemini_interactions.step_in import PROTOCOL
from headrace.wire.http import EncodedRequest, join_headers
from headrace.wire.message_list import MessageList, body_of, lay_over
from headrace.wire.profile import DEFAULT, Profile
from headrace.wire.setting_fields import effort_fields, setting_fields

PATH: Final = "/interactions"
REVISION: Final = "2026-05-20"
_SETTINGS: Final = {
    "max_tokens": "max_output_tokens",
    "temperature": "temperature",
    "top_p": "top_p",
    "seed": "seed",
    "stop": "stop_sequences",
    "modalities": "response_modalities",
}
_LEVELS: Final = ("minimal", "low", "medium", "high")
_EFFORTS: Final[dict[str, dict[str, Any]]] = {
    "none": {"thinking_level": "minimal", "thinking_summaries": "none"},
    **{level: {"thinking_level": level, "thinking_summaries": "auto"} for level in _LEVELS},
}


def encode_request(request: Request, profile: Profile = DEFAULT, *, cache: EncodingCache | None = None) -> EncodedRequest:
    """Encode a request.

    `settings.extra_body` is laid over the body last: its members replace the body's own, whole; None takes a member out.

    Args:
        request: what is asked.
        profile: what the server takes and wants.
        cache: remembers encoded messages between requests; changes nothing but the time.

    Raises:
        UsageError: there is no message to send, or a tool choice names no tool.
        UnsupportedError: something was asked for that this server lacks and that cannot be left out unnoticed.
    """
    cache = EncodingCache() if cache is None else cache
    steps = MessageList(PROTOCOL, profile, cache, message=encode_message, result=encode_result)
    steps.add_all(request.messages)
    warnings = steps.warnings
    config = setting_fields(request.settings, profile, _SETTINGS, warnings)
    modalities = config.pop("response_modalities", None)
    config |= effort_fields(request.settings, profile, _EFFORTS)
    fields: dict[str, bytes] = {"model": dumps(request.model)}
    system = "\n\n".join(message.text for message in request.messages if isinstance(message, SystemMessage) and message.text)
    if system:
        fields["system_instruction"] = dumps(system)
    fields["input"] = steps.joined()
    tools, choice = _tools(request, profile)
    if tools:
        fields["tools"] = b"[" + b",".join(_encoded(tool, profile, cache, warnings) for tool in tools) + b"]"
        if choice is not None:
            config["tool_choice"] = choice
        if request.settings.parallel_tool_calls is False:
            warnings.append(Warning("dropped_for_provider", detail="settings.parallel_tool_calls: this provider cannot be told"))
    if config:
        fields["generation_config"] = dumps(config)
    more: dict[str, Any] = {"stream": request.is_streamed, "store": False, **_output_fields(request, profile), **profile.body}
    if modalities is not None:
        more["response_modalities"] = modalities
    fields |= {name: dumps(value) for name, value in more.items()}
    lay_over(fields, request.settings.extra_body)
    accept = "text/event-stream" if request.is_streamed else "application/json"
    base = {"content-type": "application/json", "accept": accept, "api-revision": REVISION}
    return EncodedRequest(PATH, body_of(fields), join_headers(base, request.settings.extra_headers), tuple(warnings))


def _output_fields(request: Request, profile: Profile) -> dict[str, Any]:
    if request.output is None:
        return {}
    wanted = "json_object" if request.output.schema is None else "json_schema"
    if wanted not in profile.output_formats:
        raise UnsupportedError(
            f"this provider cannot be held to a {wanted.replace('_', ' ')}; a tool with that schema can", argument="output"
        )
    schema = {} if request.output.schema is None else {"schema": request.output.schema}
    return {"response_format": {"type": "text", "mime_type": "application/json", **schema}}


def _tools(request: Request, profile: Profile) -> tuple[tuple[ToolSpec, ...], Any]:
    """Return the tools to declare and the choice to send; None sends none, which means `auto`."""
    choice, tools, words = request.tool_choice, request.tools, profile.tool_choices
    if isinstance(choice, NamedTool):
        if all(tool.name != choice.name for tool in tools):
            raise UsageError(f"tool_choice names the tool {choice.name!r}, which is not among the tools", argument="tool_choice")
        if "named" not in words:
            raise UnsupportedError(f"this provider cannot be made to call the tool {choice.name!r}", argument="tool_choice")
        return tools, {"allowed_tools": {"mode": "any", "tools": [choice.name]}}
    if choice == "required":
        if not tools:
            raise UsageError("tool_choice is 'required', but there are no tools", argument="tool_choice")
        if "required" not in words:
            raise UnsupportedError("this provider cannot be made to call a tool (tool_choice 'required')", argument="tool_choice")
        return tools, "any"
    if choice == "none":
        return (tools, "none") if "none" in words else ((), None)
    return tools, None


def _encoded(tool: ToolSpec, profile: Profile, cache: EncodingCache, warnings: list[Warning]) -> bytes:
    fragment = cache.find(tool, profile, PROTOCOL)
    if fragment is None:
        fragment = cache.store(tool, profile, PROTOCOL, _declaration(tool))
    warnings += [Warning("dropped_for_provider", detail=note.text) for note in fragment.notes]
    return fragment.body


def _declaration(tool: ToolSpec) -> Fragment:
    if tool.kind == "custom":
        raise UnsupportedError(f"this provider has no tools that take free text, as {tool.name!r} does", argument="tools")
    function: dict[str, Any] = {"type": "function", "name": tool.name}
    if tool.description:
        function["description"] = tool.description
    if tool.parameters:
        function["parameters"] = tool.parameters
    function |= {key: value for key, value in tool.provider_data.items() if key not in function}
    notes = (Note(None, f"tool {tool.name}: this provider does not promise strict arguments"),) if tool.is_strict else ()
    return Fragment(dumps(function), notes)
