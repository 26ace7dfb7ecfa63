from __future__ import annotations

import json

import pytest

from headrace.messages.message import AssistantMessage
from headrace.messages.parts import (
    JsonPart,
    MediaPart,
    OpaquePart,
    ProviderItem,
    ProviderToolPart,
    ReasoningPart,
    RefusalPart,
    TextPart,
    ToolCallPart,
    make,
)
from headrace.wire.anthropic_messages.request_assistant import encode_assistant
from headrace.wire.history import PairedCall
from headrace.wire.profile import Profile

OWN = Profile(provider="mill")
STRICT = OWN.replace(needs_signature=True, takes_foreign_reasoning=False)
SEARCH = {"type": "server_tool_use", "result": {"type": "web_search_tool_result", "caller": {"type": "direct"}}}


def read(*parts, profile=OWN, provider="mill", **fields):
    message = AssistantMessage(list(parts), provider=provider, **fields)
    calls = [PairedCall(part, part.id) for part in message.tool_calls]
    fragment = encode_assistant(message, profile, calls)
    return json.loads(b"[" + fragment.body + b"]"), [(note.part, note.text) for note in fragment.notes]


def text(value):
    return {"type": "text", "text": value}


class TestText:
    def test_each_of_ones_own_is_a_block_with_its_citations_and_data(self):
        parts = [TextPart("a"), TextPart("b", citations=[{"n": 1}], provider_data={"mood": "glad"}), TextPart(" ")]
        assert read(*parts) == ([text("a"), {**text("b"), "citations": [{"n": 1}], "mood": "glad"}], [])

    def test_of_anothers_the_text_goes_alone(self):
        parts = [TextPart("a", citations=[{"n": 1}]), TextPart("b", provider_data={"x": 1})]
        assert read(*parts, provider="other") == ([text("ab")], [(0, "citations of other"), (1, "data (x) of other")])

    def test_refusals_and_values_are_text(self):
        assert read(RefusalPart("no"), JsonPart({"x": 1})) == ([text('no\n{"x":1}')], [])

    def test_a_speakers_name_and_media_have_no_place(self):
        _, notes = read("a", MediaPart(kind="image", url="https://x"), name="ann")
        assert notes == [(1, "image: an assistant message holds none on this wire"), (None, "the speaker's name 'ann'")]


class TestThinking:
    SIGNED = ReasoningPart("hm", signature="s", provider_data={"x": 1})

    def test_ones_own_goes_back_with_its_signature(self):
        for profile in (OWN, STRICT):
            assert read(self.SIGNED, profile=profile) == ([{"type": "thinking", "thinking": "hm", "signature": "s", "x": 1}], [])
            assert read(ReasoningPart("", signature="s"), profile=profile)[0] == [{"type": "thinking", "thinking": "", "signature": "s"}]
            assert read(ReasoningPart("", encrypted="zz"), profile=profile)[0] == [{"type": "redacted_thinking", "data": "zz"}]

    def test_without_one_it_goes_back_where_the_server_does_not_insist(self):
        assert read(ReasoningPart("hm")) == ([{"type": "thinking", "thinking": "hm"}], [])
        assert read(ReasoningPart("hm"), profile=STRICT) == ([], [(0, "reasoning without a signature")])

    def test_anothers_goes_as_text_alone_or_not_at_all(self):
        assert read(ReasoningPart("hm"), provider="other") == ([{"type": "thinking", "thinking": "hm"}], [])
        assert read(self.SIGNED, provider="other")[1] == [(0, "the signature of other's reasoning")]
        assert read(self.SIGNED, provider="other", profile=STRICT) == ([], [(0, "reasoning of other")])
        assert read(ReasoningPart("", encrypted="z"), provider="other") == ([], [(0, "reasoning of other")])

    @pytest.mark.parametrize(("when", "sent"), [("always", True), ("never", False), ("tool_turns", False)])
    def test_when_it_goes_back_is_the_servers_to_say(self, when, sent):
        assert bool(read(self.SIGNED, profile=OWN.replace(reasoning_when=when))[0]) == sent

    def test_in_turns_with_tools_it_does(self):
        assert len(read(self.SIGNED, ToolCallPart(id="a", name="f"), profile=OWN.replace(reasoning_when="tool_turns"))[0]) == 2


class TestCalls:
    def call(self, profile=OWN, provider="mill", **fields):
        part = make(ToolCallPart, **{"id": "a", "name": "f", **fields})
        [block], notes = read(part, profile=profile, provider=provider)
        return block, [note for _, note in notes]

    @pytest.mark.parametrize(
        ("fields", "expected"),
        [
            ({"arguments": '{"n": 10000000000000001}'}, {"n": 10000000000000001}),
            ({"arguments": ' {"a":1}\n'}, {"a": 1}),
            ({"arguments": '{"a":1}</tool>', "parsed": {"a": 1}}, {"a": 1}),
            ({"arguments": "", "parsed": {}}, {}),
            ({"arguments": '{"a": "On'}, {"_invalid_arguments": '{"a": "On'}),
            ({"arguments": "[1]"}, {"_invalid_arguments": "[1]"}),
            ({"arguments": "ls -l", "kind": "custom"}, {"input": "ls -l"}),
        ],
    )
    def test_arguments_are_always_an_object(self, fields, expected):
        assert self.call(**fields) == ({"type": "tool_use", "id": "a", "name": "f", "input": expected}, [])

    def test_data_of_a_call_goes_back_to_whom_it_came_from(self):
        data = {"caller": {"type": "direct"}, "id": "never"}
        assert self.call(provider_data=data)[0] == {"type": "tool_use", "id": "a", "name": "f", "input": {}, "caller": {"type": "direct"}}
        assert "caller" not in self.call(provider_data=data, profile=OWN.replace(sends_provider_data=False))[0]
        assert self.call(provider_data=data, provider="other") == (
            {"type": "tool_use", "id": "a", "name": "f", "input": {}},
            ["data of other on a call: caller, id"],
        )

    def test_a_name_that_the_server_refuses_is_spelled_so_that_it_takes_it(self):
        block, [note] = self.call(name="get time", profile=OWN.replace(tool_name_pattern="[a-z_]"))
        assert block["name"] == "get_time"
        assert "'get time'" in note


class TestToolsOfTheProvider:
    def part(self, **fields):
        return ProviderToolPart(
            **{
                "id": "s1",
                "name": "web_search",
                "arguments": '{"q": 1.0}',
                "provider": "mill",
                "provider_data": SEARCH,
                "result": [1],
                **fields,
            }
        )

    def test_call_and_result_go_back_as_they_came(self):
        assert read(self.part()) == (
            [
                {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"q": 1.0}},
                {"type": "web_search_tool_result", "caller": {"type": "direct"}, "tool_use_id": "s1", "content": [1]},
            ],
            [],
        )

    def test_a_call_alone_goes_back_if_its_result_comes_later_or_elsewhere(self):
        lone = self.part(result=None, arguments="", provider_data={"type": "server_tool_use"})
        item = ProviderItem(provider="mill", protocol="anthropic-messages", raw=b'{"type":"x_tool_result","tool_use_id":"s1"}')
        for word in ("pause", "tool_calls"):
            assert read(lone, finish_reason=word)[0] == [{"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}}]
        assert len(read(lone, item, finish_reason="length")[0]) == 2
        assert read(lone, finish_reason="length") == ([], [(0, "the call of 'web_search', which the provider did not finish")])

    def test_one_that_was_cut_off_does_not(self):
        assert read(self.part(arguments='{"q'), finish_reason="pause")[0] == []

    @pytest.mark.parametrize(("provider", "whose"), [("other", "mill"), ("mill", "other")])
    def test_anothers_does_not(self, provider, whose):
        blocks, [(_, note)] = read(self.part(provider=whose), provider=provider)
        assert (blocks, note.startswith("the call of 'web_search'")) == ([], True)

    def test_one_that_another_protocol_gave_does_not(self):
        assert read(self.part(provider_data={}))[0] == []


class TestItems:
    RAW = b'{"type": "compaction",  "content": "so far", "n": 1.0}'

    def item(self, **fields):
        return ProviderItem(**{"provider": "mill", "protocol": "anthropic-messages", "raw": self.RAW, **fields})

    def test_they_go_back_byte_for_byte(self):
        message = AssistantMessage([self.item()], provider="mill")
        assert encode_assistant(message, OWN, ()).body == self.RAW

    @pytest.mark.parametrize("fields", [{"provider": "other"}, {"protocol": "openai-chat"}, {"raw": b"{"}, {"raw": b"[]"}])
    def test_what_is_not_of_this_wire_and_server_does_not(self, fields):
        blocks, notes = read(self.item(**fields))
        assert (blocks, len(notes)) == ([], 1)

    def test_parts_that_nobody_knows_go_to_their_own_server(self):
        part = OpaquePart({"type": "new", "x": 1})
        assert read(part) == ([{"type": "new", "x": 1}], [])
        assert read(part, provider="other") == ([], [(0, "a part that only other understands")])
