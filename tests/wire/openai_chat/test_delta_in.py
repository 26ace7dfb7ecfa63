from __future__ import annotations

import pytest

from chat_bytes import DONE, chunk
from decoding_runs import check_result, decoded
from headrace.messages.parts import JsonPart, MediaPart, OpaquePart, ProviderToolPart, ReasoningPart, RefusalPart, TextPart, ToolCallPart
from stream_samples import SAMPLES, call, calls


def read(*deltas, finish="stop", **options):
    """The message of a stream of these deltas, ended well."""
    chunks, result = decoded(b"".join(map(chunk, deltas)) + chunk(finish=finish) + DONE, **options)
    check_result(chunks, result)
    assert result.error is None
    return result.message


def codes(message):
    return [warning.code for warning in message.warnings]


class TestReasoning:
    @pytest.mark.parametrize("name", ["reasoning_content", "reasoning", "reasoning_text", "thinking", "reasoning_token_text"])
    def test_it_is_read_under_all_its_names(self, name):
        message = read({name: "Hm"}, {name: "m."}, {"content": "Yes"})
        assert [type(part) for part in message.parts] == [ReasoningPart, TextPart]
        assert (message.reasoning, message.text) == ("Hmm.", "Yes")

    def test_the_same_piece_under_several_names_counts_once(self):
        assert (
            read({"reasoning": "a", "reasoning_content": "a", "reasoning_details": [{"type": "reasoning.text", "text": "a"}]}).reasoning
            == "a"
        )

    def test_an_empty_name_falls_through_to_the_next(self):
        assert read({"reasoning_content": "", "reasoning": None, "reasoning_text": "a"}).reasoning == "a"

    def test_an_object_holds_its_text(self):
        assert (
            read({"reasoning": {"content": "a"}}, {"thinking": {"text": "b"}}, {"reasoning": {"x": 1}}, {"reasoning": 7}).reasoning == "ab"
        )

    def test_thinking_comes_before_the_text_of_its_event(self):
        message = read({"content": "4", "reasoning": "."})
        assert [type(part) for part in message.parts] == [ReasoningPart, TextPart]

    def test_details_give_the_text_where_no_plain_field_does(self):
        message = read(
            {"reasoning_details": [{"type": "reasoning.summary", "summary": "a"}, {"type": "x"}, 5]}, {"reasoning_details": {"text": "b"}}
        )
        assert message.reasoning == "ab"
        assert read({"reasoning_details": []}, {"content": "a"}).reasoning in (None, "")

    def test_opaque_reasoning_is_kept(self):
        (part, _) = read({"reasoning_text": "a", "reasoning_opaque": "b64"}, {"content": "c"}).parts
        assert (part.text, part.encrypted) == ("a", "b64")
        assert read({"reasoning_opaque": 5}, {"content": "c"}).parts[0] == TextPart("c")


class TestContent:
    def test_parts_are_read_each_as_what_it_is(self):
        reasoning, text, reference, rest = decoded(SAMPLES["content as parts"])[1].message.parts
        assert (reasoning.text, reasoning.signature) == ("Hm.", "sg")
        assert (text.text, rest.text) == ("See ", " there.")
        assert reference == OpaquePart({"type": "reference", "reference_ids": [1, 2]})

    def test_a_summary_with_a_signature_is_thinking(self):
        block = {"type": "reasoning", "summary": [{"type": "summary_text", "text": "a", "signature": "s1"}, "b", 7, {"text": None}]}
        (part,) = read({"content": [block]}).parts
        assert part == ReasoningPart("ab", signature="s1")

    def test_thinking_may_be_plain_text(self):
        for block in (
            {"type": "thinking", "thinking": "a"},
            {"type": "reasoning", "text": "a"},
            {"type": "thinking", "thinking": {"text": "a"}},
        ):
            assert read({"content": [block]}).reasoning == "a"

    def test_thinking_without_anything_says_nothing(self):
        assert read({"content": [{"type": "thinking"}]}, {"content": "a"}).parts == (TextPart("a"),)

    def test_texts_come_in_several_forms(self):
        assert read({"content": ["a", {"type": "text", "text": "b"}, {"type": "output_text", "text": "c"}, {"text": "d"}]}).text == "abcd"
        assert read({"content": {"type": "text", "text": "a"}}).text == "a"

    def test_a_text_part_brings_its_citations(self):
        (part,) = read({"content": [{"type": "text", "text": "a", "annotations": [{"url": "u"}]}]}).parts
        assert part.citations == ({"url": "u"},)

    def test_a_refusal_part_is_a_refusal(self):
        assert read({"content": [{"type": "refusal", "refusal": "no"}]}).parts == (RefusalPart("no"),)

    def test_an_image_part_is_media(self):
        for source in ({"url": "https://example.org/a.png"}, "https://example.org/a.png"):
            (part,) = read({"content": [{"type": "image_url", "image_url": source}]}).parts
            assert part == MediaPart(kind="image", url="https://example.org/a.png")

    def test_what_is_not_understood_is_kept_whole(self):
        odd = [
            {"type": "video", "id": 1},
            {"type": "text"},
            {"type": "image_url"},
            {"type": "refusal"},
            {"type": 5},
            {"a": 1},
            7,
            True,
            [1],
            None,
        ]
        parts = read({"content": odd}).parts
        assert [part.raw if isinstance(part, OpaquePart) else part.value for part in parts] == odd[:-1]
        assert [type(part) for part in parts] == [OpaquePart] * 4 + [JsonPart] * 5

    @pytest.mark.parametrize("content", [5, True, {"a": 1}])
    def test_content_that_is_another_json_value_is_a_json_part(self, content):
        assert read({"content": content}).parts == (JsonPart(content),)

    def test_null_and_empty_say_nothing(self):
        assert read({"content": None}, {"content": ""}, {"content": []}, {}, {"content": "a"}).parts == (TextPart("a"),)

    def test_roles_are_never_joined_and_never_needed(self):
        deltas = [{"role": role, "content": "a"} for role in ("assistant", "", None, "user", "assistant")]
        assert read(*deltas, {"content": "b"}).text == "aaaaab"

    def test_what_a_providers_own_search_found_is_a_provider_tool(self):
        parts = read({"role": "tool", "name": "search", "content": [{"url": "u"}]}, {"role": "tool", "content": ""}, {"content": "a"}).parts
        assert parts == (ProviderToolPart(name="search", result=[{"url": "u"}]), TextPart("a"))

    def test_a_tools_words_are_none_of_the_models_also_in_the_middle_of_a_stream(self):
        parts = read({"content": "a"}, {"content": "b"}, {"role": "tool", "content": "found"}, {"content": "c"}).parts
        assert [getattr(part, "text", None) for part in parts] == ["ab", None, "c"]

    def test_refusals_are_joined(self):
        message = decoded(SAMPLES["refusal"])[1].message
        assert (message.refusal, message.text, message.finish_reason) == ("I will not.", "", "stop")


class TestMedia:
    def test_pieces_of_sound_are_decoded_each_by_itself_and_joined(self):
        (part,) = decoded(SAMPLES["audio"])[1].message.parts
        assert (part.data, part.transcript, part.provider_data) == (b"\x00\x01\x02\x03", "Good day", {"id": "audio_1"})
        assert decoded(SAMPLES["audio"])[1].message.metadata == {"provider_fields": {"delta.audio.expires_at": 1_770_000_500}}

    def test_padding_may_be_missing(self):
        assert read({"audio": {"data": "AAE"}}).parts[0].data == b"\x00\x01"

    @pytest.mark.parametrize("data", ["A", "AA!E", "A A=", "\ud83d", "ü"])
    def test_what_is_no_base64_is_kept_as_it_came(self, data):
        message = read({"audio": {"data": "AAE="}}, {"audio": {"data": data}}, {"audio": {"data": data}}, {"audio": {"data": "AgM="}})
        assert message.parts[0].data == b"\x00\x01\x02\x03"
        assert message.metadata["provider_fields"] == {"delta.audio.data": data.replace("\ud83d", "\ufffd") * 2}

    def test_audio_that_says_nothing_is_none(self):
        assert read({"audio": {}}, {"audio": None}, {"audio": {"data": None, "id": 5}}, {"content": "a"}).parts == (TextPart("a"),)

    def test_images_are_media_and_odd_ones_are_kept(self):
        _, part = decoded(SAMPLES["images"])[1].message.parts
        assert part.url == "data:image/png;base64,AAAA"
        assert read({"images": ["x", {"image_url": {}}]}).parts == (JsonPart("x"), JsonPart({"image_url": {}}))
        assert read({"images": {"image_url": {"url": "u\ud800"}}}).parts == (MediaPart(kind="image", url="u\ufffd"),)

    def test_citations_belong_to_the_text(self):
        (part,) = decoded(SAMPLES["citations"])[1].message.parts
        assert part.citations[0]["url_citation"]["title"] == "A"
        assert read({"content": "a", "annotations": {"url": "u"}}).parts[0].citations == ({"url": "u"},)


class TestCalls:
    def test_calls_interleave_by_index(self):
        message = decoded(SAMPLES["calls interleaved"])[1].message
        assert [(item.id, item.name, item.parsed) for item in message.tool_calls] == [("a", "f", {"y": 1}), ("b", "g", {"x": 2})]

    def test_an_older_function_call_is_a_call_and_needs_no_id(self):
        message = decoded(SAMPLES["an older function call"])[1].message
        (item,) = message.tool_calls
        assert (item.name, item.parsed, item.id_made_up, message.finish_reason) == ("clock", {"zone": "UTC"}, True, "tool_calls")
        assert codes(message) == []

    def test_a_custom_tools_input_is_free_text(self):
        (item,) = decoded(SAMPLES["a custom tool"])[1].message.tool_calls
        assert (item.kind, item.name, item.arguments, item.parsed, item.runnable) == ("custom", "shell", "ls -l", None, True)

    def test_arguments_may_be_an_object(self):
        message = read(
            {"tool_calls": [call(0, "c", "f", {"a": 1})]}, {"tool_calls": [call(0, arguments={"a": 2, "b": 3})]}, finish="tool_calls"
        )
        assert message.tool_calls[0].parsed == {"a": 2, "b": 3}
        assert codes(message) == ["arguments_not_string"]

    @pytest.mark.parametrize("arguments", [["a"], 7, True])
    def test_arguments_may_be_any_other_value_and_are_kept(self, arguments):
        message = read({"tool_calls": [call(0, "c", "f", arguments)]}, finish="tool_calls")
        assert not message.tool_calls[0].runnable
        assert set(codes(message)) == {"arguments_not_string", "arguments_not_object"}

    def test_a_call_may_be_flat(self):
        message = read({"tool_calls": [{"index": 0, "id": "c", "name": "f", "arguments": "{}", "x": 1}]}, finish="tool_calls")
        assert message.tool_calls == (
            ToolCallPart(id="c", name="f", arguments="{}", parsed={}, runnable=True, index=0, provider_data={"x": 1}),
        )

    def test_an_index_may_be_text_and_anything_else_is_none(self):
        message = read({"tool_calls": [call("0", "a", "f", "{}"), call("1", "b", "f", "{}")]}, finish="tool_calls")
        assert ([item.index for item in message.tool_calls], codes(message)) == ([0, 1], [])
        for index in ("x", "-1", -1, 1.5, True, "\u0661", "9" * 10, {}):
            message = read({"tool_calls": [call(index, "a", "f", "{}")]}, finish="tool_calls")
            assert ([item.index for item in message.tool_calls], codes(message)) == ([None], ["missing_tool_index"])

    def test_ids_and_names_may_be_numbers(self):
        message = read({"tool_calls": [call(0, 17, 5, "{}")]}, finish="tool_calls")
        assert [(item.id, item.name) for item in message.tool_calls] == [("17", "5")]

    def test_one_call_may_come_without_a_list(self):
        assert len(read({"tool_calls": call(0, "c", "f", "{}")}, finish="tool_calls").tool_calls) == 1

    def test_entries_that_say_nothing_open_nothing(self):
        entries = [{"index": 0, "function": None}, {"index": 0, "function": {"name": None, "arguments": None}}, {}, None]
        assert read({"tool_calls": entries}, {"tool_calls": None}, {"content": "a"}).parts == (TextPart("a"),)

    def test_entries_that_are_no_objects_are_kept_in_the_metadata(self):
        message = read({"tool_calls": ["f()"], "function_call": "auto"}, {"content": "a"})
        assert message.metadata["provider_fields"] == {"delta.tool_calls": ["f()"], "delta.function_call": "auto"}

    def test_unknown_data_of_a_call_is_kept_with_it(self):
        entry = {"index": 0, "id": "c", "extra": {"s": 1}, "function": {"name": "f", "arguments": "{}", "strict": True, "none": None}}
        (item,) = read({"tool_calls": [entry]}, finish="tool_calls").tool_calls
        assert item.provider_data == {"extra": {"s": 1}, "function": {"strict": True}}
        (item,) = read({"tool_calls": [{"index": 0, "id": "c", "function": "f()"}]}, finish="tool_calls").tool_calls
        assert (item.provider_data, item.runnable) == ({"function": "f()"}, False)


class TestHalvesOfCharacters:
    def test_halves_in_neighbouring_pieces_are_one_character_everywhere(self):
        message = read(
            {"reasoning": "r\ud83d"},
            {"reasoning": "\ude00"},
            {"content": "t\ud83d"},
            {"content": "\ude00"},
            {"refusal": "n\ud83d"},
            {"refusal": "\ude00"},
            {"tool_calls": [call(0, "c", "f", '{"x": "\ud83d')]},
            {"tool_calls": [call(0, arguments='\ude00"}')]},
            finish="tool_calls",
        )
        assert (message.reasoning, message.text, message.refusal) == ("r😀", "t😀", "n😀")
        assert message.tool_calls[0].parsed == {"x": "😀"}
        assert codes(message) == []

    def test_a_half_that_is_left_alone_becomes_the_replacement_character_and_it_is_said(self):
        for pieces, text in (
            (["a\ud83d", "b"], "a\ufffdb"),
            (["\ude00"], "\ufffd"),
            (["a\ud83d"], "a\ufffd"),
            (["\ud83d\ud83d", "\ude00"], "\ufffd😀"),
        ):
            message = read(*({"content": piece} for piece in pieces))
            assert message.text == text
            assert codes(message) == ["invalid_utf8"]

    def test_it_stays_in_its_part(self):
        message = read({"content": "a\ud83d"}, {"tool_calls": [call(0, "c", "f", "{}")]}, {"content": "\ude00b"}, finish="tool_calls")
        assert [getattr(part, "text", "call") for part in message.parts] == ["a\ufffd", "call", "\ufffdb"]
        message = read({"reasoning": "a\ud83d"}, {"content": "b"}, {"content": "\ud83d"}, {"reasoning": "c"})
        assert [part.text for part in message.parts] == ["a\ufffd", "b\ufffd", "c"]

    def test_where_the_stream_was_cut_it_is_left_out(self):
        body = chunk({"content": "a\ud83d"}) + calls(call(0, "c", "f", '{"x": "\ud83d'))
        message = decoded(body)[1].message
        assert (message.text, message.tool_calls[0].arguments) == ("a\ufffd", '{"x": "')
        assert decoded(chunk({"content": "a\ud83d"}))[1].message.text == "a"

    def test_in_the_arguments_of_parallel_calls_each_waits_for_its_own(self):
        message = read(
            {"tool_calls": [call(0, "a", "f", '{"x": "\ud83d'), call(1, "b", "g", '{"y": "\ud83c')]},
            {"tool_calls": [call(1, arguments='\udf0a"}'), call(0, arguments='\ude00"}')]},
            finish="tool_calls",
        )
        assert [item.parsed for item in message.tool_calls] == [{"x": "😀"}, {"y": "🌊"}]

    def test_also_without_an_index_and_at_the_end(self):
        message = read(
            {"tool_calls": [{"id": "a", "function": {"name": "f", "arguments": '{"x": "\ud83d'}}]},
            {"tool_calls": [{"function": {"arguments": '\ude00"} \ud83d'}}]},
            finish="tool_calls",
        )
        (item,) = message.tool_calls
        assert (item.arguments, item.runnable) == ('{"x": "😀"} \ufffd', False)
        message = read({"function_call": {"name": "f", "arguments": "\ud83d"}}, {"content": "a"})
        assert message.tool_calls[0].arguments == "\ufffd"
        message = read({"tool_calls": [call(3, "c", "f", "\ud83d")]}, {"content": "a"})
        assert [item.arguments for item in message.tool_calls] == ["\ufffd"]

    def test_in_names_ids_and_opaque_values_they_become_the_replacement_character(self):
        (item,) = read({"tool_calls": [call(0, "c\ud83d", "f\ud83d", "{}", x="\ud83d")]}, finish="tool_calls").tool_calls
        assert (item.id, item.name, item.provider_data) == ("c\ufffd", "f\ufffd", {"x": "\ufffd"})
        (part,) = read({"audio": {"id": "\ud83d", "transcript": "\ud83d", "data": "AAE="}}).parts
        assert (part.transcript, part.provider_data) == ("\ufffd", {"id": "\ufffd"})
        assert read({"role": "tool", "name": "\ud83d", "content": "x"}).parts == (ProviderToolPart(name="\ufffd", result="x"),)


class TestOptions:
    @pytest.mark.parametrize(
        ("text", "reasoning", "answer"),
        [
            ("<think>ab</think>\n\nc", "ab", "c"),
            ("a<think>b</think>c<think>d</think>e", "bd", "ace"),
            ("<think>abc</thi", "abc</thi", ""),
            ("a < b <th c", "", "a < b <th c"),
            ("<think></think>", "", ""),
            ("<<think>a<</think>", "a<", "<"),
        ],
    )
    def test_think_tags_are_split_out_however_they_are_cut(self, text, reasoning, answer):
        for size in (1, 2, 3, 5, 99):
            deltas = [{"content": text[n : n + size]} for n in range(0, len(text), size)]
            message = read(*deltas, options={"think_tags": True})
            assert (message.reasoning or "", message.text) == (reasoning, answer)
            assert read(*deltas).text == text

    def test_a_template_may_have_opened_the_tag(self):
        options = {"think_tags": True, "think_starts_open": True}
        message = read({"content": "We add.</thi"}, {"content": "nk>4"}, options=options)
        assert (message.reasoning, message.text) == ("We add.", "4")

    def test_a_tail_that_could_be_a_tag_comes_out_before_another_part_begins(self):
        deltas = [{"content": "a <th"}, {"tool_calls": [call(0, "c", "f", "{}")]}, {"content": "ink>b"}]
        message = read(*deltas, finish="tool_calls", options={"think_tags": True})
        assert [getattr(part, "text", "call") for part in message.parts] == ["a <th", "call", "ink>b"]

    def test_cumulative_text_adds_only_what_is_new(self):
        message = read(
            {"content": "One."},
            {"content": "One. Two"},
            {"content": "One. Two\ud83d"},
            {"content": "One. Two😀!"},
            options={"cumulative_text": True},
        )
        assert (message.text, codes(message)) == ("One. Two😀!", ["cumulative_chunks"])
        assert read({"content": "ha"}, {"content": "haha"}).text == "hahaha"

    def test_cumulative_text_and_tags_go_together(self):
        options = {"cumulative_text": True, "think_tags": True}
        message = read({"content": "<think>a"}, {"content": "<think>ab</think>c"}, options=options)
        assert (message.reasoning, message.text) == ("ab", "c")
