from __future__ import annotations

import pytest

from decoding_runs import decoded
from headrace.messages.parts import ProviderToolPart
from messages_bytes import SAMPLES, body, call, delta, opened, pieces_of, stopped


def read(*blocks, word="tool_use", **options):
    return decoded(body(*blocks, word=word), protocol="anthropic-messages", **options)[1]


class TestCalls:
    def test_an_empty_input_in_the_start_is_no_input(self):
        [item] = read(opened(0, "tool_use", id="a", name="f", input={}), pieces_of(0, "", '{"x":', "1}")).message.tool_calls
        assert (item.arguments, item.parsed, item.index) == ('{"x":1}', {"x": 1}, 0)

    def test_without_any_piece_there_are_no_arguments(self):
        [item] = read(call(0, "now")).message.tool_calls
        assert (item.arguments, item.parsed, item.runnable) == ("", {}, True)

    @pytest.mark.parametrize("given", [{"x": 1}, '{"x":1}'])
    def test_arguments_in_the_start_count_where_no_piece_comes(self, given):
        [item] = read(opened(0, "tool_use", id="a", name="f", input=given), stopped(0)).message.tool_calls
        assert (item.arguments, item.runnable) == ('{"x":1}', True)

    def test_where_pieces_come_those_count_and_the_others_are_kept(self):
        message = read(opened(0, "tool_use", id="a", name="f", input={"x": 1}), pieces_of(0, '{"y":2}'), stopped(0)).message
        assert message.tool_calls[0].parsed == {"y": 2}
        assert message.metadata == {"provider_fields": {"content_block.input": {"x": 1}}}

    def test_an_object_in_the_place_of_a_piece_is_taken_and_said(self):
        result = read(opened(0, "tool_use", id="a", name="f"), delta(0, "input_json_delta", partial_json={"x": 1}))
        assert result.message.tool_calls[0].parsed == {"x": 1}
        assert [warning.code for warning in result.warnings] == ["arguments_not_string"]

    def test_a_call_without_id_gets_one_and_one_without_name_is_never_run(self):
        result = read(opened(0, "tool_use", name="f"), pieces_of(0, "{}"), opened(1, "tool_use", id="b"), pieces_of(1, "{}"))
        assert [(item.id, item.runnable, item.id_made_up) for item in result.message.tool_calls] == [
            ("call_1", True, True),
            ("b", False, False),
        ]
        assert [warning.code for warning in result.warnings] == ["missing_tool_id", "missing_tool_name"]

    def test_two_calls_of_one_id_are_two(self):
        result = read(call(0, "f", "{}", id="a"), call(1, "f", "{}", id="a"))
        assert [item.id for item in result.message.tool_calls] == ["a", "call_1"]
        assert [warning.code for warning in result.warnings] == ["duplicate_tool_id"]

    def test_halves_of_a_character_in_neighbouring_pieces_are_one(self):
        result = decoded(SAMPLES["halves of characters"], protocol="anthropic-messages")[1]
        assert result.message.text == "Look: \U0001f600 and \ufffd alone"
        assert result.message.tool_calls[0].parsed == {"t": "\U0001f30a"}
        assert result.message.parts_of(ProviderToolPart)[0].arguments == '{"t": "\U0001f30a \ufffd"}'


class TestToolsOfTheProvider:
    def test_they_are_no_calls_of_ours_and_keep_what_they_came_with(self):
        some = call(0, "echo", '{"m":', '"hi"}', id="mcp_1", kind="mcp_tool_use", server_name="e")
        message = read(some, word="end_turn", provider="mill").message
        assert message.tool_calls == ()
        assert message.parts == (
            ProviderToolPart(
                id="mcp_1", name="echo", arguments='{"m":"hi"}', parsed={"m": "hi"}, provider="mill",
                provider_data={"type": "mcp_tool_use", "server_name": "e"},
            ),
        )  # fmt: skip

    def test_arguments_in_the_start_count_there_too(self):
        [part] = read(opened(0, "server_tool_use", id="s", name="f", input={"x": 1})).message.parts
        assert (part.arguments, part.parsed) == ('{"x":1}', {"x": 1})

    def test_their_arguments_are_bounded(self):
        result = read(call(0, "f", "x" * 9, kind="server_tool_use"), limits={"max_argument_bytes": 8})
        assert (result.error.kind, result.error.which) == ("limit_exceeded", "argument_bytes")
