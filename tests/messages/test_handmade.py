from __future__ import annotations

import pydantic
import pytest

from headrace.errors import UsageError
from headrace.messages.chunk import AssistantMessageChunk, MessageChunk, SystemMessageChunk, ToolMessageChunk, UserMessageChunk
from headrace.messages.deltas import ToolCallFragment
from headrace.messages.parts import ProviderToolPart, ToolCallPart, ToolResultPart


class Model(pydantic.BaseModel):
    text: str
    items: list[int] = []


WRONG = {
    "an unknown argument": (lambda: AssistantMessageChunk(contents="x"), "contents"),
    "an argument too many": (lambda: AssistantMessageChunk("a", "b"), "AssistantMessageChunk"),
    "the identity takes nothing": (lambda: MessageChunk("a"), "MessageChunk"),
    "content that is no JSON": (lambda: AssistantMessageChunk({"a": {1}}), "content.a"),
    "content in a list that is no JSON": (lambda: AssistantMessageChunk(["a", object()]), "content[1]"),
    "bytes as content": (lambda: UserMessageChunk(b"a"), "content"),
    "a result in an assistant's content": (lambda: AssistantMessageChunk([ToolResultPart(call_id="a")]), "content[0]"),
    "a call in a user's content": (lambda: UserMessageChunk(["a", ToolCallPart(name="f")]), "content[1]"),
    "JSON in a system's content": (lambda: SystemMessageChunk({"a": 1}), "content[0]"),
    "a result in a result": (lambda: ToolMessageChunk([ToolResultPart(call_id="a")]), "content[0]"),
    "a provider's tool in a result": (lambda: ToolMessageChunk([ProviderToolPart(name="f")]), "content[0]"),
    "reasoning": (lambda: AssistantMessageChunk(reasoning=["a"]), "reasoning"),
    "refusal": (lambda: AssistantMessageChunk(refusal=1), "refusal"),
    "finish_reason": (lambda: AssistantMessageChunk(finish_reason=1), "finish_reason"),
    "name": (lambda: AssistantMessageChunk(name=1), "name"),
    "id": (lambda: AssistantMessageChunk(id=1), "id"),
    "model": (lambda: AssistantMessageChunk(model=b"m"), "model"),
    "a call of another class": (lambda: AssistantMessageChunk(tool_calls=[{"id": "a"}]), "tool_calls[0]"),
    "calls that are no list": (lambda: AssistantMessageChunk(tool_calls=5), "tool_calls"),
    "a call alone": (lambda: AssistantMessageChunk(tool_calls=ToolCallFragment("a")), "tool_calls"),
    "a call's id": (lambda: AssistantMessageChunk(tool_calls=[ToolCallFragment(5)]), "tool_calls[0].id"),
    "a call's index": (lambda: AssistantMessageChunk(tool_calls=[ToolCallFragment(index="0")]), "tool_calls[0].index"),
    "a call's kind": (lambda: AssistantMessageChunk(tool_calls=[ToolCallFragment(kind="tool")]), "tool_calls[0].kind"),
    "a call's arguments": (lambda: AssistantMessageChunk(tool_calls=[ToolCallFragment("a", "f", ["x"])]), "tool_calls[0].arguments"),
    "arguments that are no JSON": (
        lambda: AssistantMessageChunk(tool_calls=[ToolCallFragment("a", "f", {"x": float("nan")})]),
        "tool_calls[0].arguments.x",
    ),
    "usage": (lambda: AssistantMessageChunk(usage=5), "usage"),
    "a field of usage": (lambda: AssistantMessageChunk(usage={"tokens": 5}), "usage.tokens"),
    "metadata": (lambda: AssistantMessageChunk(metadata=5), "metadata"),
    "metadata that is no JSON": (lambda: ToolMessageChunk(metadata={"a": object()}), "metadata.a"),
    "snapshot_keys": (lambda: AssistantMessageChunk(snapshot_keys="abc"), "snapshot_keys"),
    "one of snapshot_keys": (lambda: AssistantMessageChunk(snapshot_keys=["a", 1]), "snapshot_keys[1]"),
    "logprobs": (lambda: AssistantMessageChunk(logprobs=object()), "logprobs"),
    "prompt_token_ids": (lambda: AssistantMessageChunk(prompt_token_ids="12"), "prompt_token_ids"),
    "one of completion_token_ids": (lambda: AssistantMessageChunk(completion_token_ids=[1, True]), "completion_token_ids[1]"),
    "call_id": (lambda: ToolMessageChunk(call_id=1), "call_id"),
    "state": (lambda: ToolMessageChunk(state="done"), "state"),
}


@pytest.mark.parametrize("what", WRONG)
def test_wrong_use_is_a_usage_error_that_names_the_argument(what):
    make, argument = WRONG[what]
    with pytest.raises(UsageError) as raised:
        make()
    assert raised.value.argument == argument
    assert "deltas" not in str(raised.value), "the error speaks of the class that was called"


def test_the_error_of_an_unknown_argument_reads_well():
    with pytest.raises(TypeError, match=r"^AssistantMessageChunk got an unexpected keyword argument 'contents'$"):
        AssistantMessageChunk(contents="x")


def test_what_goes_in_is_copied():
    metadata, parsed, arguments, model = {"a": [1]}, {"a": [1]}, {"a": [1]}, Model(text="a", items=[1])
    chunk = AssistantMessageChunk(
        [{"x": metadata}], metadata=metadata, parsed=parsed, tool_calls=[ToolCallFragment("a", "f", arguments)], logprobs=[metadata]
    )
    of_model = AssistantMessageChunk(parsed=model)
    before = chunk.to_message()
    for value in (metadata, parsed, arguments):
        value["a"].append(2)
    model.items.append(2)
    assert chunk.to_message() == before
    assert of_model.parsed == Model(text="a", items=[1])
