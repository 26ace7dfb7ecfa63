from __future__ import annotations

import pickle

import pydantic
import pytest

from headrace.errors import UsageError
from headrace.messages.chunk import AssistantMessageChunk, MessageChunk
from headrace.messages.chunk_codec import decode_chunk, encode_chunk
from headrace.messages.deltas import Ended, FinishDelta, MediaDelta, ReasoningDelta, StreamError, UsageDelta, WarningDelta
from headrace.messages.usage import Usage
from headrace.messages.warning import Warning  # noqa: A004 - the field's word


class Model(pydantic.BaseModel):
    text: str
    items: list[int] = []


def test_every_kind_of_delta_of_a_decoder_survives_json():
    chunk = AssistantMessageChunk.from_deltas(
        [
            MediaDelta("audio", b"\x00\xff"),
            ReasoningDelta(signature="s", details=({"a": 1},)),
            WarningDelta(Warning("invalid_utf8", 1, 2, 3, 4, "x")),
            UsageDelta(Usage(output_tokens=1)),
            FinishDelta("x", 1, "length"),
            Ended(StreamError("limit_exceeded", "m", "c", retryable=True, which="parts"), is_terminated=True),
        ],
        is_from_wire=True,
    )
    again = decode_chunk(encode_chunk(chunk))
    assert again == chunk
    assert again.is_from_wire
    assert again != AssistantMessageChunk.from_deltas(chunk.deltas)
    assert decode_chunk(encode_chunk(MessageChunk())) == MessageChunk()


def test_a_chunk_is_written_without_what_came_after_it():
    first = AssistantMessageChunk("a") + AssistantMessageChunk("b")
    _ = first + AssistantMessageChunk("secret")
    assert b"secret" not in encode_chunk(first)
    assert b"secret" not in pickle.dumps(first)
    assert "secret" not in repr(first)


NO_CHUNK = {
    "no JSON": (b"{", "chunk"),
    "not UTF-8": (b'{"role":"user\xff","deltas":[]}', "chunk"),
    "too deep": (b"[" * 100_000, "chunk"),
    "another shape": (b"[]", "chunk"),
    "no deltas": (b'{"role":"user"}', "chunk.deltas"),
    "an unknown role": (b'{"role":"judge","deltas":[]}', "chunk.role"),
    "a wrong field": (b'{"role":"user","deltas":[{"type":"text","text":1}]}', "chunk.deltas[0].text"),
    "an unknown delta": (b'{"role":"user","deltas":[{"type":"smell"}]}', "chunk.deltas[0].type"),
}


@pytest.mark.parametrize("case", NO_CHUNK)
def test_what_is_no_chunk_is_refused_with_its_path(case):
    data, argument = NO_CHUNK[case]
    with pytest.raises(UsageError) as raised:
        decode_chunk(data)
    assert raised.value.argument == argument


def test_a_parsers_model_is_written_as_its_fields():
    total = AssistantMessageChunk(parsed=Model(text="a", items=[1])) + AssistantMessageChunk(parsed=Model(text="b", items=[2]))
    assert decode_chunk(encode_chunk(total)).to_message() == total.to_message()


def test_only_chunks_and_whole_characters_are_written():
    with pytest.raises(UsageError, match="chunk is a str, not a chunk"):
        encode_chunk("text")
    with pytest.raises(UsageError, match="surrogate"):
        encode_chunk(AssistantMessageChunk("\ud83d"))
