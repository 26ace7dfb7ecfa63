"""A whole answer as the body of Chat Completions, and what it has in common with a streamed one.

The rule of this file: the same words as in the stream; arguments go as the text that the model wrote.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any, cast

from headrace._json import JSON, dumps_text
from headrace.messages.message import AssistantMessage
from headrace.messages.parts import CallKind, JsonPart, MediaPart, ReasoningPart, TextPart, ToolCallPart
from headrace.wire.openai_chat.finish_out import finish_word, usage_body
from headrace.wire.openai_chat.sealed_reasoning import sealed_details
from headrace.wire.server_side import is_cut


def answer_body(messages: Sequence[AssistantMessage]) -> dict[str, Any]:
    """Return choices and usage of an answer; each message is a choice."""
    body: dict[str, Any] = {"choices": [_choice(index, message) for index, message in enumerate(messages)]}
    usage = messages[0].usage
    return body if usage is None else body | {"usage": usage_body(usage)}


def kind_word(kind: CallKind) -> str:
    """Return the word for a kind of call; a tool that a provider defines is a function to others."""
    return "custom" if kind == "custom" else "function"


def is_annotation(citation: JSON) -> bool:
    """Return whether a citation has the form of an annotation of this wire."""
    return isinstance(citation, dict) and isinstance(cast("dict[str, Any]", citation).get("url_citation"), dict)


def image_item(part: MediaPart) -> dict[str, Any]:
    """Return an image that a model made; it is named by its address or stands in it."""
    url = part.url
    if url is None:
        url = f"data:{part.media_type or 'image/png'};base64,{base64.b64encode(part.data or b'').decode('ascii')}"
    return {"type": "image_url", "image_url": {"url": url}}


def _choice(index: int, message: AssistantMessage) -> dict[str, Any]:
    texts = [
        part.text if isinstance(part, TextPart) else dumps_text(part.value)
        for part in message.parts
        if isinstance(part, (TextPart, JsonPart))
    ]
    body: dict[str, Any] = {"role": "assistant", "content": "".join(texts) if texts else None, "refusal": message.refusal or None}
    if message.has(ReasoningPart):
        body["reasoning_content"] = message.reasoning
        details = [item for part in message.parts_of(ReasoningPart) for item in part.details] or sealed_details(message)
        if details:
            body["reasoning_details"] = details
    if message.tool_calls:
        body["tool_calls"] = [_call(call) for call in message.tool_calls]
    annotations = [item for part in message.parts_of(TextPart) for item in part.citations if is_annotation(item)]
    if annotations:
        body["annotations"] = annotations
    body |= _media(message)
    cut = any(not call.runnable and is_cut(message, call.name) for call in message.tool_calls)
    return {"index": index, "message": body, "logprobs": message.logprobs, "finish_reason": finish_word(message, is_cut=cut)}


def _call(call: ToolCallPart) -> dict[str, Any]:
    word = kind_word(call.kind)
    if word == "custom":
        body = {"name": call.name, "input": call.arguments}
    else:
        is_blank = call.parsed == {} and not call.arguments.strip()
        body = {"name": call.name, "arguments": "{}" if is_blank else call.arguments}
    item = {"id": call.id, "type": word, word: body}
    return item | {name: value for name, value in call.provider_data.items() if name not in item}


def _media(message: AssistantMessage) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    images = [image_item(part) for part in message.parts_of(MediaPart, kind="image") if part.file_id is None]
    if images:
        fields["images"] = images
    sound = next(iter(message.parts_of(MediaPart, kind="audio")), None)
    if sound is not None and sound.data is not None:
        data = base64.b64encode(sound.data).decode("ascii")
        fields["audio"] = {"id": sound.provider_data.get("id", ""), "data": data, "transcript": sound.transcript or ""}
    return fields
