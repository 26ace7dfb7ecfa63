"""Each probe against a server that does the thing right, and against servers that do it wrong on purpose."""

from __future__ import annotations

from pathlib import Path

import pytest

from chat_bytes import DONE, chunk, event, whole_body
from doctor_ground import answer, call, called, evidence, examined, probe, refusal, said, usage, whole
from headrace.inspect.doctor.endpoint import Bounds
from headrace.inspect.doctor.probes import PROBES
from headrace.messages.message import AssistantMessage, Timing
from headrace.messages.parts import TextPart
from servers import Reply, Reset, Stall

ONE_BY_ONE = Bounds(side_by_side=1)  # so that the replies go to the questions that they are for
TEMPERATURE = ("temperature",)
HELLO = said("Hello ", "there.")
LONG = [f"{n}, " for n in range(1, 60)]


def choices(*texts):
    """An answer with several choices."""
    pieces = [
        chunk(choices=[{"index": n, "delta": {"role": "assistant", "content": text}, "finish_reason": None}])
        for n, text in enumerate(texts)
    ]
    ends = [chunk(choices=[{"index": n, "delta": {}, "finish_reason": "stop"}]) for n in range(len(texts))]
    return [*pieces, *ends, usage(), DONE]


RIGHT = {
    "text": [HELLO],
    "long_text": [said(*LONG)],
    "whole_body": [HELLO, whole(whole_body("Hello there."))],
    "one_tool": [called()],
    "parallel_tools": [called(call(), call(1, "call_2", arguments='{"city": "Tokyo"}'))],
    "single_tool": [called()],
    "tool_after_text": [called({"content": "I will look."}, call())],
    "no_argument_tool": [called(call(name="ring", arguments="{}"))],
    "required_tool": [called()],
    "named_tool": [called(call(name="city_weather"))],
    "no_tool": [HELLO],
    "json_schema": [said('{"code": "teal-7", "count": 3}')],
    "json_object": [said('{"a": 1}')],
    "schema_with_tools": [called()],
    "reasoning": [answer({"reasoning_content": "Let me see."}, {"content": "Three."}), HELLO],
    "stream_usage": [HELLO, said("Hello", end=(DONE,))],
    "two_answers": [choices("red", "blue")],
    "stop": [said("1")],
    "sampling": [HELLO],
    "max_tokens": [said("Once upon a", finish="length")],
    "cut_arguments": [called(call(name="write_letter", arguments='{"text": "Dear'), finish="length")],
    "system_messages": [HELLO],
    "late_system_message": [HELLO],
    "names": [HELLO],
    "tool_history": [HELLO],
    "user_after_tool": [HELLO],
    "text_with_call": [HELLO],
    "undeclared_tools": [HELLO],
    "foreign_ids": [HELLO],
    "invalid_arguments": [HELLO],
    "raw_arguments": [HELLO],
    "unknown_model": [refusal(404)],
    "bad_request": [refusal(400)],
    "leaving": [said("1", end=(Stall(),)), HELLO, HELLO],
    "silence": [HELLO],
}


@pytest.mark.parametrize("name", RIGHT)
async def test_a_server_that_does_it_right_is_said_to(tmp_path, name):
    seen = await examined(tmp_path, name, *RIGHT[name], bounds=ONE_BY_ONE)
    assert {found.level for found in seen.findings} == {"right"}, seen.findings
    assert all(found.evidence for found in seen.findings)
    assert {found.level for found in seen.stream} <= {"right"}, seen.stream
    assert {name for found in seen.findings for name in found.switches} <= {"reasoning_style", "reasoning_field"}


WRONG = {
    # the plainest question
    "no usual settings": ("text", [refusal(), HELLO], "unsupported", "usual settings are refused", {"unsupported_settings": TEMPERATURE}),
    "another bound": (
        "text", [refusal(), refusal(), HELLO], "unsupported", "usual settings are refused", {"max_tokens_field": "max_completion_tokens"},
    ),
    "everything refused": ("text", [refusal()] * 5, "wrong", "refuses the plainest question", {}),
    "no text": ("text", [answer()], "unclear", "no text in it", {}),
    "the key": ("text", [refusal(401)], "unclear", "key was not accepted", {}),
    "load": ("text", [refusal(429)], "unclear", "too busy", {}),
    "an internal error": ("text", [refusal(500)], "wrong", "internal error", {}),
    "an error inside 200": ("text", [[chunk({"content": "He"}), event({"error": {"message": "out of memory"}})]], "wrong", "ended in an error", {}),
    "a cut": ("text", [[chunk({"content": "He"})]], "wrong", "before it said that it was whole", {}),
    "a reset": ("text", [[chunk({"content": "He"}), Reset()]], "wrong", "connection broke", {}),
    "a web page": ("text", [Reply([b"<!doctype html><title>Login</title>"])], "wrong", "no stream of this protocol", {}),
    # text
    "one piece": ("long_text", [said("".join(LONG))], "wrong", "in one piece", {}),
    "only streams": ("whole_body", [HELLO, refusal()], "unsupported", "in one body is refused", {}),
    "whole without text": ("whole_body", [HELLO, whole(whole_body(""))], "wrong", "one has text, the other none", {}),
    # calls
    "a call in the text": (
        "one_tool", [said('<tool_call>\n{"name": "city_time", "arguments": {"city": "Paris"}}\n</tool_call>')], "wrong", "stands in the text",
        {"decode_options": {"inline_tool_calls": True}},
    ),
    "broken arguments": ("one_tool", [called(call(arguments='{"city": "Par'))], "wrong", "cannot be run", {}),
    "no tools": ("one_tool", [refusal()], "unsupported", "with tools are refused", {}),
    "two calls where one is allowed": (
        "single_tool", [called(call(), call(1, "call_2"))], "wrong", "parallel_tool_calls: false is not kept",
        {"unsupported_settings": ("parallel_tool_calls",)},
    ),
    "no single calls": (
        "single_tool", [refusal()], "unsupported", "parallel_tool_calls: false is refused", {"unsupported_settings": ("parallel_tool_calls",)},
    ),
    "no tools without parameters": ("no_argument_tool", [refusal()], "unsupported", "without parameters is refused", {}),
    # choices
    "no must": ("required_tool", [HELLO], "wrong", "required is not kept", {"tool_choices": ("auto", "none")}),
    "must is refused": ("required_tool", [refusal()], "unsupported", "required is refused", {"tool_choices": ("auto", "none")}),
    "talk until the bound": ("required_tool", [said("Well", finish="length")] * 2, "wrong", "no guarantee", {}),
    "another tool": ("named_tool", [called()], "wrong", "another one was", {"tool_choices": ("auto", "none", "required")}),
    "no tool": ("named_tool", [HELLO], "wrong", "without a call came", {"tool_choices": ("auto", "none", "required")}),
    "no names": ("named_tool", [refusal()], "unsupported", "cannot be named", {"tool_choices": ("auto", "none", "required")}),
    "a call where none is allowed": ("no_tool", [called()], "wrong", "none is not kept", {"tool_choices": ("auto", "required", "named")}),
    # output
    "no schema": ("json_schema", [HELLO], "wrong", "taken and not kept", {"output_formats": ("json_object",)}),
    "another value": ("json_schema", [said('{"code": "red", "count": 1}')], "wrong", "taken and not kept", {"output_formats": ("json_object",)}),
    "schema refused": ("json_schema", [refusal()], "unsupported", "json_schema is refused", {"output_formats": ("json_object",)}),
    "no JSON": ("json_object", [HELLO], "wrong", "taken and not kept", {"output_formats": ("json_schema",)}),
    "no schema beside tools": ("schema_with_tools", [refusal()], "unsupported", "together", {"supports_output_with_tools": False}),
    # reasoning
    "tags": ("reasoning", [said("<think>Let me ", "see.</think>Three.")], "wrong", "tags in the text", {"decode_options": {"think_tags": True}}),
    "an open tag": (
        "reasoning", [said("Let me see.</think>Three.")], "wrong", "tags in the text",
        {"decode_options": {"think_tags": True, "think_starts_open": True}},
    ),
    "none": ("reasoning", [HELLO], "unsupported", "No reasoning is shown", {}),
    # usage
    "no usage": ("stream_usage", [said("Hi", end=(DONE,))] * 2, "wrong", "no usage comes", {}),
    "usage in every piece": (
        "stream_usage", [[chunk({"content": "Hi"}, usage={"prompt_tokens": 9, "completion_tokens": 1}), *HELLO], said("Hi", end=(DONE,))], "wrong",
        "2 times in one answer", {},
    ),
    "usage too early": ("stream_usage", [[usage(), *said("Hi", end=(DONE,))], said("Hi", end=(DONE,))], "wrong", "not in the last event", {}),
    "usage unasked": ("stream_usage", [HELLO, HELLO], "unsupported", "where it was not asked for", {}),
    "usage of nothing": (
        "stream_usage", [said("Hi", end=(usage(prompt_tokens=0, completion_tokens=0), DONE)), said("Hi", end=(DONE,))], "wrong", "cannot be right", {},
    ),
    "usage refused": ("stream_usage", [refusal(), HELLO], "unsupported", "include_usage is refused", {"supports_stream_usage": False}),
    # settings
    "one answer of two": ("two_answers", [HELLO], "wrong", "one answer comes", {"unsupported_settings": ("n",)}),
    "n is refused": ("two_answers", [refusal()], "unsupported", "n = 2 is refused", {"unsupported_settings": ("n",)}),
    "stop is not kept": ("stop", [said("1, 2, 3")], "wrong", "stop is taken and not kept", {"unsupported_settings": ("stop",)}),
    "no seed": (
        "sampling", [refusal(), HELLO, refusal(message="seed?"), HELLO, HELLO], "unsupported", "seed is refused", {"unsupported_settings": ("seed",)},
    ),
    # lengths
    "no bound": ("max_tokens", [said("word " * 60)], "wrong", "max_tokens is not kept", {}),
    "a cut that is not said": ("max_tokens", [said("Once upon", end=(usage(completion_tokens=8), DONE))], "wrong", "does not say so", {}),
    "a cut call that is not said": (
        "cut_arguments", [called(call(name="write_letter", arguments='{"text": "Dear'))], "wrong", "as if it were whole", {},
    ),
    # histories
    "one system message": ("system_messages", [refusal()], "unsupported", "refused", {"supports_several_system_messages": False}),
    "no late one": ("late_system_message", [refusal(500)], "wrong", "refused", {"supports_several_system_messages": False}),
    "no speakers": ("names", [refusal()], "unsupported", "refused", {"supports_names": False}),
    "content must be text": ("tool_history", [refusal(), HELLO], "unsupported", "content_with_calls = 'empty'", {"content_with_calls": "empty"}),
    "results must have names": (
        "tool_history", [refusal(), refusal(), refusal(), HELLO], "unsupported", "names_tool_results", {"names_tool_results": True},
    ),
    "a bridge": ("user_after_tool", [refusal(500), HELLO], "wrong", "with needs_assistant", {"needs_assistant_after_tool": True}),
    "tools must be declared": ("undeclared_tools", [refusal()], "unsupported", "refused", {"needs_declared_tools": True}),
    "short ids": (
        "foreign_ids", [refusal(), refusal(), refusal(), HELLO], "unsupported", "with call_id_pattern",
        {"call_id_pattern": "[A-Za-z0-9]{9}", "call_id_length": 9},
    ),
    "no broken arguments": ("raw_arguments", [refusal(500)], "wrong", "are no JSON is refused", {}),
    # refusals
    "any model": ("unknown_model", [HELLO], "unsupported", "not looked at", {}),
    "a fault instead of a refusal": ("unknown_model", [refusal(500)], "wrong", "as if the server had failed", {}),
    "a page instead of an error": ("unknown_model", [Reply([b"<html>404"], status=404)], "wrong", "cannot read", {}),
    "an error without words": ("bad_request", [Reply([b'{"detail": []}'], status=422)], "wrong", "cannot read", {}),
    "200 with an error": ("bad_request", [[event({"error": {"message": "bad"}})]], "wrong", "status 200 and an error in the body", {}),
    "nonsense answered": ("bad_request", [HELLO], "wrong", "is answered", {}),
    # leaving
    "others break": ("leaving", [said("1", end=(Stall(),)), [Reset()], HELLO], "wrong", "beside one whose client left", {}),
    "the next breaks": ("leaving", [said("1", end=(Stall(),)), HELLO, refusal(500)], "wrong", "the next request", {}),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
async def test_a_server_that_does_it_wrong_is_found_out(tmp_path, case):
    name, replies, level, words, switches = WRONG[case]
    seen = await examined(tmp_path, name, *replies, bounds=ONE_BY_ONE)
    found = next((found for found in seen.findings if found.level == level and words in found.what), None)
    assert found is not None, seen.findings
    assert found.switches == switches
    assert (tmp_path / name).is_dir()


async def test_reasoning_that_must_not_go_back_is_said_to(tmp_path):
    thought = answer({"reasoning": "Let me see."}, {"content": "Three."})
    seen = await examined(tmp_path, "reasoning", thought, refusal())
    assert [found.switches for found in seen.findings] == [{"reasoning_style": "none", "reasoning_field": "reasoning"}]
    assert seen.bodies[1]["messages"][1]["reasoning"] == "Two and two make four."


async def test_reasoning_details_go_back_as_they_came(tmp_path):
    details = [{"type": "reasoning.text", "text": "Let me see.", "index": 0}]
    seen = await examined(tmp_path, "reasoning", answer({"reasoning_details": details}, {"content": "Three."}))
    assert [found.switches for found in seen.findings] == [{"reasoning_style": "details"}]


async def test_a_model_that_does_not_call_is_asked_again_in_other_words_and_then_left_unclear(tmp_path):
    seen = await examined(tmp_path, "one_tool", *[said("I cannot.")] * 3)
    assert seen.said == [("unclear", "The model did not call the tool")]
    assert len({str(body["messages"]) for body in seen.bodies}) == 3
    assert {body["temperature"] for body in seen.bodies} == {0}


async def test_once_it_is_clear_nothing_more_is_asked(tmp_path):
    seen = await examined(tmp_path, "one_tool", said("I cannot."), called(), called())
    assert [found.level for found in seen.findings] == ["right"]
    assert len(seen.requests) == 2


def test_a_text_that_is_held_back_is_seen_by_its_times():
    text = "1, 2, 3, " * 30
    held = evidence(message=AssistantMessage.assemble((TextPart(text),)), text_chunks=90, reads_ms=(4000.0, 4001.0, 4010.0))
    flowing = evidence(message=AssistantMessage.assemble((TextPart(text),)), text_chunks=90, reads_ms=(500.0, 2000.0, 4010.0))
    judge = probe("long_text").findings
    assert [found.level for found in (*judge([held]), *judge([flowing]))] == ["wrong", "right"]
    assert "all at once" in judge([held])[0].what


def test_a_long_silence_is_wrong_unless_there_are_comments():
    timing = AssistantMessage.assemble((TextPart("The first."),), timing=Timing(first_chunk_s=20.0, total_s=21.0))
    judge = probe("silence").findings
    assert judge([evidence(message=timing, reads_ms=(20_000.0,))])[0].level == "wrong"
    assert judge([evidence(message=timing, reads_ms=(20_000.0,), comments=4)])[0].level == "right"
    assert judge([evidence(message=timing, reads_ms=(100.0, 20_000.0))])[0].level == "wrong"


def test_every_probe_has_a_name_of_its_own_and_says_what_it_asks():
    names = [one.name for one in PROBES]
    assert len(set(zip(names, (one.protocols for one in PROBES), strict=True))) == len(names)
    assert set(RIGHT) == {one.name for one in PROBES if not one.protocols or "openai-chat" in one.protocols}
    assert all(one.question.endswith("?") and one.possible for one in PROBES)
    assert all(ask.settings.max_tokens for one in PROBES[1:] for ask in one.possible)


def test_every_probe_and_every_switch_is_explained():
    page = (Path(__file__).resolve().parents[3] / "docs/doctor.md").read_text(encoding="utf-8")
    assert [one.name for one in PROBES if f"`{one.name}`" not in page] == []
    switches = {name for _, _, _, _, switches in WRONG.values() for name in switches}
    assert [name for name in switches if f"`{name}" not in page] == []
