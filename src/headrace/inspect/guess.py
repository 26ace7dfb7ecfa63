"""Which protocol a body speaks, by its own words. Pure.

The rule of this file: only the body's beginning is looked at, names of fields and events alone decide, and whoever gets a guess is told what it rests
on. A body that says nothing is no error: it is read as the protocol that most servers speak, and that is said.
"""

# JSON of a peer is read here: what `isinstance` finds in it holds unknown types.
# pyright: reportUnknownVariableType=false

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple, TypeAlias, cast

from headrace._json import JSONError, loads
from headrace.wire.frames import Frame
from headrace.wire.json_array import ArrayOrBody
from headrace.wire.limits import DEFAULT_LIMITS
from headrace.wire.protocols import WIRES

_HEAD: Final = 256 * 1024
_MAX_OBJECTS: Final = 60
_FALLBACK: Final = "openai-chat"
_Object: TypeAlias = dict[str, Any]

_MESSAGE_EVENTS: Final = frozenset(
    "message_start content_block_start content_block_delta content_block_stop message_delta message_stop".split()
)
_CONVERSE_EVENTS: Final = frozenset("messageStart contentBlockStart contentBlockDelta contentBlockStop messageStop".split())
_HYPHENED_EVENTS: Final = re.compile(r"(?:message|content|tool-plan|tool-call|citation|debug)-?(?:start|delta|end|generation)?")


class Guess(NamedTuple):
    """A protocol and what the guess rests on."""

    protocol: str
    why: str
    is_certain: bool


def guess_protocol(body: bytes) -> Guess:
    """Return the protocol that a body most likely speaks; any bytes will do."""
    if b"\0" in body[:12]:
        return _framed(body)
    votes: Counter[tuple[str, str]] = Counter()
    for found in _objects(body[:_HEAD]):
        for protocol, why, is_one in _RULES:
            if is_one(found):
                votes[protocol, why] += 1
                break
    if not votes:
        return Guess(_FALLBACK, "nothing in the body tells; most servers speak this one", is_certain=False)
    ((protocol, why), _count) = votes.most_common(1)[0]
    return Guess(protocol, why, is_certain=True)


# ---------------------------------------------------------------------------------------------- by fields


def _type(value: _Object) -> str:
    kind = value.get("type")
    return kind if isinstance(kind, str) else ""


def _is_responses(value: _Object) -> bool:
    return _type(value).startswith("response.") or value.get("object") == "response"


def _is_messages(value: _Object) -> bool:
    return _type(value) in _MESSAGE_EVENTS or (_type(value) == "message" and "role" in value)


def _is_steps(value: _Object) -> bool:
    kind = value.get("event_type")
    return (isinstance(kind, str) and kind.startswith(("interaction.", "step.", "content."))) or value.get("object") == "interaction"


def _is_wrapped(value: _Object) -> bool:
    output = value.get("output")
    return isinstance(output, dict) and ("choices" in output or "text" in output) and ("request_id" in value or "usage" in value)


def _is_candidates(value: _Object) -> bool:
    return any(name in value for name in ("candidates", "promptFeedback", "usageMetadata"))


def _is_chat(value: _Object) -> bool:
    kind = value.get("object")
    return isinstance(value.get("choices"), list) or (isinstance(kind, str) and kind.startswith("chat.completion"))


def _is_lines(value: _Object) -> bool:
    return isinstance(value.get("done"), bool) and ("message" in value or "response" in value)


def _is_hyphened(value: _Object) -> bool:
    kind = _type(value)
    is_event = "-" in kind and _HYPHENED_EVENTS.fullmatch(kind) is not None
    return is_event or ("finish_reason" in value and isinstance(value.get("message"), dict))


def _is_converse(value: _Object) -> bool:
    return any(name in value for name in _CONVERSE_EVENTS) or ("stopReason" in value and isinstance(value.get("output"), dict))


_RULES: Final[tuple[tuple[str, str, Callable[[_Object], bool]], ...]] = (
    ("openai-responses", "events whose type begins with response.", _is_responses),
    ("anthropic-messages", "events such as content_block_delta", _is_messages),
    ("gemini-interactions", "events of an interaction", _is_steps),
    ("dashscope", "choices inside of output", _is_wrapped),
    ("gemini", "candidates", _is_candidates),
    ("openai-chat", "choices", _is_chat),
    ("ollama", "lines that say whether they are done", _is_lines),
    ("cohere-v2", "events such as content-delta", _is_hyphened),
    ("bedrock-converse", "members such as contentBlockDelta", _is_converse),
)


# ---------------------------------------------------------------------------------------------- what is looked at


def _framed(body: bytes) -> Guess:
    """Tell the two protocols with binary frames apart by the names of their events."""
    framer = WIRES["bedrock-invoke"].make_framer(DEFAULT_LIMITS.max_event_bytes)
    for frame in framer.feed(body[:_HEAD]):
        names = {one.event for one in ([frame] if isinstance(frame, Frame) else frame.frames())}
        if "chunk" in names:
            return Guess("bedrock-invoke", "binary frames of the type chunk", is_certain=True)
        if names & _CONVERSE_EVENTS:
            return Guess("bedrock-converse", "binary frames of types such as contentBlockDelta", is_certain=True)
    return Guess("bedrock-converse", "binary frames", is_certain=False)


def _objects(head: bytes) -> Iterator[_Object]:
    """Give the first JSON objects of a body: of event lines, of lines, of an array, or the whole body."""
    count = 0
    for text in _texts(head):
        try:
            value = loads(text)
        except JSONError:
            continue
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, dict):
                yield cast("_Object", item)
                count += 1
        if count >= _MAX_OBJECTS:
            return


def _texts(head: bytes) -> Iterator[bytes]:
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    is_event_stream = not text.startswith((b"{", b"["))
    for line in re.split(rb"\r\n|\n|\r", text):
        if is_event_stream and line.startswith(b"data:"):
            yield line[5:].strip()
        elif line.startswith(b"{"):
            yield line
    if text.startswith(b"{"):
        yield text
    elif text.startswith(b"["):
        framer = ArrayOrBody(max_event_bytes=DEFAULT_LIMITS.max_event_bytes)
        for frame in framer.feed(text):
            if isinstance(frame, Frame):
                yield frame.data
        yield text
