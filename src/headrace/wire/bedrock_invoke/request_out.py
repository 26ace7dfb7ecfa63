"""A request in neutral words for InvokeModel, for models that take the Messages protocol.

The rule of this file: the body is that protocol's, byte for byte, but for what this service says in other places: the model and whether
to stream stand in the path, the version and beta features in the body. Models with bodies of their own are asked by Converse.

Source: https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-anthropic-claude-messages.html
"""

from __future__ import annotations

from typing import Final
from urllib.parse import quote

import msgspec

from headrace._json import dumps
from headrace.messages.request import Request
from headrace.wire.anthropic_messages.request_out import encode_request as encode_messages
from headrace.wire.bedrock_converse.request_out import EVENT_STREAM
from headrace.wire.encoding_cache import EncodingCache
from headrace.wire.http import EncodedRequest
from headrace.wire.message_list import body_of
from headrace.wire.profile import DEFAULT, Profile

VERSION: Final = "bedrock-2023-05-31"
_SAID_ELSEWHERE: Final = ("model", "stream")
_BETA_HEADER: Final = "anthropic-beta"
_HEADERS_LEFT_OUT: Final = frozenset({_BETA_HEADER, "anthropic-version"})
_SSE: Final = "text/event-stream"
_members: Final = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


def encode_request(request: Request, profile: Profile = DEFAULT, *, cache: EncodingCache | None = None) -> EncodedRequest:
    """Encode a request; arguments and errors as for the Messages protocol."""
    messages = encode_messages(request, profile, cache=cache)
    fields: dict[str, bytes] = {name: bytes(value) for name, value in _members(messages.body).items() if name not in _SAID_ELSEWHERE}
    fields.setdefault("anthropic_version", dumps(VERSION))
    headers = dict(messages.headers)
    betas = [name.strip() for name in headers.get(_BETA_HEADER, "").split(",") if name.strip()]
    if betas:
        fields.setdefault("anthropic_beta", dumps(betas))
    if headers.get("accept") == _SSE:
        headers["accept"] = EVENT_STREAM
    path = f"/model/{quote(request.model, safe='')}/{'invoke-with-response-stream' if request.is_streamed else 'invoke'}"
    kept = tuple((name, value) for name, value in headers.items() if name not in _HEADERS_LEFT_OUT)
    return EncodedRequest(path, body_of(fields), kept, messages.warnings)
