"""The stream of the Responses protocol that leaves is what the vendor would send: items with dense places, each told once more whole, the response at the end."""

from __future__ import annotations

import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from answers_out import HEAD, chunk, ended, events, passed_on, pieces, written
from chat_bytes import call_stream
from decoding_runs import decoded
from headrace.decoding import decode_stream
from headrace.messages.deltas import (
    CitationDelta,
    FinishDelta,
    LogprobsDelta,
    MediaDelta,
    MessageStart,
    PartDelta,
    ProviderToolFragment,
    ReasoningDelta,
    RefusalDelta,
    Restarted,
    StreamError,
    TextDelta,
    ToolCallFragment,
    ToolCallSettled,
    UsageDelta,
)
from headrace.messages.message import AssistantMessage
from headrace.messages.parts import (
    JsonPart,
    MediaPart,
    ProviderItem,
    ProviderToolPart,
    ReasoningPart,
    RefusalPart,
    TextPart,
    ToolCallPart,
    make,
)
from headrace.messages.usage import Usage
from headrace.wire.openai_responses.sealed_reasoning import seal, unseal
from headrace.wire.openai_responses.stream_out import StreamOut, refuse
from headrace.wire.server_side import AnswerOptions, Head
from messages_bytes import SAMPLES as MESSAGES
from responses_bytes import SAMPLES

PROTOCOL = "openai-responses"
URL = {"type": "url_citation", "url": "https://x", "title": "X", "start_index": 0, "end_index": 1}


def checked(body):
    """The events of a stream that keeps the grammar: numbers dense, items and parts announced, told and done, the end the same as the pieces."""
    found = events(body)
    assert [event["sequence_number"] for event in found] == list(range(len(found)))
    names = [line[7:] for line in body.decode().splitlines() if line.startswith("event: ")]
    assert names == [event["type"] for event in found]
    added = [event for event in found if event["type"] == "response.output_item.added"]
    assert [event["output_index"] for event in added] == list(range(len(added)))
    assert len({event["item"].get("id") for event in added}) == len(added)
    open_items = set()
    for event in found:
        place = event.get("output_index")
        if event["type"] == "response.output_item.added":
            open_items.add(place)
        elif place is not None:
            assert place in open_items, "an item is announced, and nothing follows its end"
        if event["type"] == "response.output_item.done":
            open_items.discard(place)
    if found[-1]["type"] in ("response.completed", "response.incomplete"):
        done = {event["output_index"]: event["item"] for event in found if event["type"] == "response.output_item.done"}
        assert [done[place] for place in sorted(done)] == found[-1]["response"]["output"]
        assert not open_items
    return found


def inner(*chunks, word="stop", **options):
    """What stands between the beginning and the end: kinds and what is said there."""
    found = checked(written(PROTOCOL, [*chunks, ended(word)], **options))[2:-1]
    return [(event["type"].removeprefix("response."), said(event)) for event in found]


def said(event):
    for name in ("delta", "text", "refusal", "arguments", "input", "annotation"):
        if name in event:
            return event[name]
    return event.get("item", event.get("part"))


def output(*chunks, word="stop", **options):
    """The items of the whole response at the end."""
    return checked(written(PROTOCOL, [*chunks, ended(word)], **options))[-1]["response"]["output"]


PIECES = st.one_of(
    st.builds(TextDelta, st.sampled_from(["a", "b "]), st.sampled_from([None, 0, 1])),
    st.builds(ReasoningDelta, st.sampled_from(["h", ""]), st.sampled_from([None, 2, 3]), st.just(0), st.sampled_from([None, "s"]), st.sampled_from([None, "e"])),
    st.builds(RefusalDelta, st.just("no"), st.sampled_from([None, 4])),
    st.builds(
        ToolCallFragment,
        st.sampled_from([None, "a", "b"]),
        st.sampled_from([None, "f", "g"]),
        st.sampled_from([None, '{"x":', "1}", "{}"]),
        st.sampled_from([0, 1]),
        st.sampled_from([None, "custom"]),
    ),
    st.builds(CitationDelta, st.just(URL), st.sampled_from([None, 0])),
    st.just(ProviderToolFragment("w", "s", "{}", [1], "x", 9, 0, {"item": {"type": "web_search_call", "id": "ws"}})),
)  # fmt: skip


@given(st.lists(st.lists(PIECES, min_size=1, max_size=3), max_size=8), st.sampled_from(["stop", "tool_calls", "length", None]))
def test_whatever_comes_the_stream_keeps_its_grammar_and_what_is_told_whole_is_what_was_told_in_pieces(deltas, word):
    told = {}
    for event in checked(written(PROTOCOL, [*(chunk(*some) for some in deltas), ended(word)])):
        kind, _, what = event["type"].rpartition(".")
        place = (kind, event.get("output_index"), event.get("content_index"), event.get("summary_index"))
        if what == "delta":
            told[place] = told.get(place, "") + event["delta"]
        elif what == "done" and (whole := [event[name] for name in ("text", "refusal", "arguments", "input") if name in event]):
            assert whole == [told.get(place, "")]


# --- the frame -----------------------------------------------------------------------------------------


def test_a_response_begins_has_its_items_and_is_told_whole():
    usage = Usage(input_tokens=30, output_tokens=20, cache_read_tokens=9, reasoning_tokens=11)
    body = written(PROTOCOL, [chunk(MessageStart("up-1", "m-1")), chunk(TextDelta("Hi ")), chunk(TextDelta("you.")), chunk(UsageDelta(usage)), ended()])  # fmt: skip
    found = checked(body)
    assert [event["type"].removeprefix("response.") for event in found] == [
        "created", "in_progress", "output_item.added", "content_part.added", "output_text.delta", "output_text.delta",
        "output_text.done", "content_part.done", "output_item.done", "completed",
    ]  # fmt: skip
    created, last = found[0]["response"], found[-1]["response"]
    assert (created["id"], created["status"], created["model"], created["created_at"], created["output"], created["usage"]) == (
        "resp_7", "in_progress", "m-1", 1_770_000_000, [], None,
    )  # fmt: skip
    assert found[4] == {
        "type": "response.output_text.delta", "sequence_number": 4, "item_id": "msg_7_0", "output_index": 0, "content_index": 0,
        "delta": "Hi ", "logprobs": [],
    }  # fmt: skip
    part = {"type": "output_text", "annotations": [], "logprobs": [], "text": "Hi you."}
    item = {"id": "msg_7_0", "type": "message", "status": "completed", "role": "assistant", "content": [part]}
    assert (found[6]["text"], found[7]["part"], found[8]["item"]) == ("Hi you.", part, item)
    assert (last["status"], last["error"], last["incomplete_details"], last["output"]) == ("completed", None, None, [item])
    assert last["usage"] == {
        "input_tokens": 30, "input_tokens_details": {"cached_tokens": 9}, "output_tokens": 20,
        "output_tokens_details": {"reasoning_tokens": 11}, "total_tokens": 50,
    }  # fmt: skip


def test_what_was_asked_is_repeated_in_the_response():
    tools = [{"type": "custom", "name": "sql"}]
    out = StreamOut(HEAD, AnswerOptions(echoed={"tools": tools, "temperature": 0.5}))
    (created, _) = events(out.feed(chunk()))
    assert (created["response"]["tools"], created["response"]["temperature"], created["response"]["tool_choice"]) == (tools, 0.5, "auto")


def test_a_piece_leaves_when_it_came():
    sent = passed_on(SAMPLES["tool round"], source=PROTOCOL, target=PROTOCOL)
    kinds = [[event["type"].removeprefix("response.") for event in events(piece) if "delta" in event] for piece in sent]
    text, call = "reasoning_summary_text.delta", "function_call_arguments.delta"
    assert [kind for kind in kinds if kind] == [[text]] * 4 + [[call]] * 3


@pytest.mark.parametrize("name", [name for name in SAMPLES if name not in ("failed", "error")])
def test_its_own_streams_leave_as_they_came(name):
    chunks, result = decoded(SAMPLES[name], protocol=PROTOCOL)
    body = written(PROTOCOL, chunks)
    checked(body)
    again = decode_stream(body, protocol=PROTOCOL)
    for kind in (TextPart, ReasoningPart, ProviderItem):
        assert [told(part) for part in again.message.parts_of(kind)] == [told(part) for part in result.message.parts_of(kind)]
    items = [[part.provider_data["item"] for part in message.parts_of(ProviderToolPart)] for message in (again.message, result.message)]
    assert items[0] == items[1]
    calls = [[(one.id, one.name, one.kind, one.parsed, one.runnable) for one in message.tool_calls] for message in (again.message, result.message)]  # fmt: skip
    assert calls[0] == calls[1]


def told(part):
    """A part without its id, where the wire that it came from had none."""
    if isinstance(part, ProviderItem):
        return part.raw
    return part.text, part.provider_data.get("phase"), part.provider_data.get("field"), getattr(part, "encrypted", None)


def test_ids_of_the_provider_stay_and_others_are_made_by_the_caller():
    named = [item["id"] for item in decoded_items(SAMPLES["tool round"])]
    assert named == ["rs_1", "fc_1", "fc_2"]
    numbers = itertools.count(1)
    made = output(chunk(ReasoningDelta("Hm.", 0)), chunk(TextDelta("a", 1)), new_id=lambda: f"n{next(numbers)}")
    assert [item["id"] for item in made] == ["rs_n1", "msg_n2"]


def decoded_items(body):
    return checked(written(PROTOCOL, decoded(body, protocol=PROTOCOL)[0]))[-1]["response"]["output"]


@pytest.mark.parametrize(
    ("word", "status", "reason"),
    [("stop", "completed", None), ("length", "incomplete", "max_output_tokens"), ("SAFETY", "incomplete", "content_filter"), ("pause_turn", "completed", None)],
)  # fmt: skip
def test_a_response_is_complete_or_says_what_stopped_it(word, status, reason):
    last = checked(written(PROTOCOL, [chunk(TextDelta("a")), ended(word)]))[-1]
    details = last["response"]["incomplete_details"]
    assert (last["type"], last["response"]["status"], details and details["reason"]) == (f"response.{status}", status, reason)
    assert last["response"]["output"][0]["status"] == "completed" if reason is None else "incomplete"


# --- words and thinking --------------------------------------------------------------------------------


def test_texts_next_to_each_other_are_parts_of_one_message_and_a_refusal_is_one():
    items = output(chunk(TextDelta("a", 0)), chunk(TextDelta("b", 1)), chunk(RefusalDelta("No.", 2)))
    assert [[(part["type"], part.get("text", part.get("refusal"))) for part in item["content"]] for item in items] == [
        [("output_text", "a"), ("output_text", "b"), ("refusal", "No.")]
    ]


def test_texts_that_something_stood_between_are_messages_in_turn():
    items = output(chunk(TextDelta("a", 0)), chunk(ReasoningDelta("Hm.", 1)), chunk(TextDelta("b", 0)))
    assert [item["type"] for item in items] == ["message", "reasoning", "message"]


def test_thinking_is_a_summary_and_what_seals_it_goes_with_it():
    some = [chunk(ReasoningDelta("Hm", 0)), chunk(ReasoningDelta(".", 0, encrypted="g")), chunk(ReasoningDelta("", 0, encrypted="A"))]
    assert inner(*some, chunk(TextDelta("Yes.", 1)))[:6] == [
        ("output_item.added", {"id": "rs_7_0", "type": "reasoning", "summary": []}),
        ("reasoning_summary_part.added", {"type": "summary_text", "text": ""}),
        ("reasoning_summary_text.delta", "Hm"),
        ("reasoning_summary_text.delta", "."),
        ("reasoning_summary_text.done", "Hm."),
        ("reasoning_summary_part.done", {"type": "summary_text", "text": "Hm."}),
    ]
    thought, _ = output(*some, chunk(TextDelta("Yes.", 1)))
    assert thought == {"id": "rs_7_0", "type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm."}], "encrypted_content": "gA"}


def test_thinking_that_is_signed_elsewhere_goes_there_and_back():
    chunks, result = decoded(MESSAGES["thinking, text and a call"], protocol="anthropic-messages")
    thought = next(item for item in checked(written(PROTOCOL, chunks))[-1]["response"]["output"] if item["type"] == "reasoning")
    (part,) = result.message.parts_of(ReasoningPart)
    assert unseal(thought["encrypted_content"]) == {"signature": part.signature}


@pytest.mark.parametrize(
    "fields",
    [{"signature": "s"}, {"encrypted": "e"}, {"signature": "s", "encrypted": "e"}, {"details": ({"type": "x"},)}, {"signature": "s", "details": (1,)}],
)  # fmt: skip
def test_what_is_sealed_is_unsealed(fields):
    assert unseal(seal(fields.get("signature"), fields.get("encrypted"), fields.get("details", ()))) == fields
    assert (unseal(None), unseal(""), seal(None, None)) == ({}, {}, None)
    assert unseal("headrace-1:{") == {"encrypted": "headrace-1:{"}
    assert unseal("headrace-1:[]") == {"encrypted": "headrace-1:[]"}


def test_thinking_of_two_parts_is_two_items_and_a_seal_without_text_is_one():
    items = output(chunk(ReasoningDelta("a", 0)), chunk(ReasoningDelta("b", 1)), chunk(ReasoningDelta("", 2, encrypted="z")))
    assert [(len(item["summary"]), item.get("encrypted_content")) for item in items] == [(1, None), (1, None), (0, "z")]


def test_a_signature_that_comes_too_late_is_left_out_and_said():
    sent, out = pieces(PROTOCOL, [chunk(ReasoningDelta("Hm.")), chunk(TextDelta("a")), chunk(ReasoningDelta(signature="s")), ended()])
    assert b"headrace-1" not in b"".join(sent)
    assert [warning.detail for warning in out.repairs] == ["a signature that came after its thinking had ended"]


def test_citations_and_log_probabilities_stand_with_their_text():
    probability = {"token": "Rye", "logprob": -0.1, "top_logprobs": []}
    some = [
        chunk(TextDelta("Rye", 0), LogprobsDelta({"content": [probability]})),
        chunk(CitationDelta(URL, 0)),
        chunk(CitationDelta({"type": "url_citation", "url_citation": {"url": "https://y"}}, 0)),
        chunk(TextDelta(".", 0)),
    ]
    (item,) = output(*some)
    assert item["content"][0] == {
        "type": "output_text", "annotations": [URL, {"type": "url_citation", "url": "https://y"}], "logprobs": [probability], "text": "Rye.",
    }  # fmt: skip
    deltas = [event for event in checked(written(PROTOCOL, [*some, ended()])) if event["type"] == "response.output_text.delta"]
    assert [event["logprobs"] for event in deltas] == [[probability], []]


# --- calls ---------------------------------------------------------------------------------------------


def test_a_call_streams_its_arguments_and_is_told_whole():
    assert inner(chunk(ToolCallFragment("a", "f", '{"x"', 0)), chunk(ToolCallFragment(None, None, ":1}", 0)), word="tool_calls") == [
        ("output_item.added", {"id": "fc_7_0", "type": "function_call", "status": "in_progress", "call_id": "a", "name": "f", "arguments": ""}),
        ("function_call_arguments.delta", '{"x"'),
        ("function_call_arguments.delta", ":1}"),
        ("function_call_arguments.done", '{"x":1}'),
        ("output_item.done", {"id": "fc_7_0", "type": "function_call", "status": "completed", "call_id": "a", "name": "f", "arguments": '{"x":1}'}),
    ]  # fmt: skip


def test_calls_that_interleave_leave_one_after_the_other_the_first_one_live():
    some = [
        chunk(ToolCallFragment("a", "f", '{"x"', 0)),
        chunk(ToolCallFragment("b", "g", '{"y"', 1)),
        chunk(TextDelta("So.")),
        chunk(ToolCallFragment(None, None, ":2}", 1)),
        chunk(ToolCallFragment(None, None, ":1}", 0)),
        chunk(TextDelta("!")),
    ]
    sent, out = pieces(PROTOCOL, [*some, ended("tool_calls")])
    found = [[(event["output_index"], event["delta"]) for event in events(piece) if "delta" in event] for piece in sent]
    assert found == [[(0, '{"x"')], [], [], [], [(0, ":1}"), (1, '{"y"'), (1, ":2}"), (2, "So.")], [(2, "!")], [], []]
    kinds = [event["type"] for event in checked(b"".join(sent))]
    places = [n for n, kind in enumerate(kinds) if kind in ("response.output_item.added", "response.output_item.done")]
    assert [kinds[n].rpartition(".")[2] for n in places] == ["added", "done"] * 3
    assert [(warning.code, warning.part) for warning in out.repairs] == [("held_block", 1), ("held_block", 2)]


def test_a_call_without_arguments_keeps_nobody_waiting():
    some = [chunk(ToolCallFragment("a", "now", None, 0, None, 0)), chunk(ToolCallFragment("b", "g", '{"y"', 1, None, 1))]
    sent, _ = pieces(PROTOCOL, some)
    assert [event["type"].rpartition(".")[2] for event in events(sent[1])] == ["added", "delta"]
    late = [chunk(ToolCallFragment(None, None, '{"x":1}', 0, None, 0)), chunk(ToolCallFragment(None, None, ":2}", 1, None, 1))]
    assert [item["arguments"] for item in output(*some, *late, word="tool_calls")] == ['{"x":1}', '{"y":2}']


def test_a_call_without_arguments_has_an_empty_object():
    assert output(chunk(ToolCallFragment("a", "now", "", 0)), word="tool_calls")[0]["arguments"] == "{}"
    settled = [chunk(ToolCallFragment("a", "now", None, 0, None, 0)), chunk(ToolCallSettled(0))]
    assert output(*settled, word="tool_calls")[0]["arguments"] == "{}"


def test_free_text_is_the_input_of_a_custom_call():
    some = [chunk(ToolCallFragment("a", "sql", "select", 0, "custom")), chunk(ToolCallFragment(None, None, " 1", 0))]
    kinds = [kind for kind, _ in inner(*some, word="tool_calls")]
    assert kinds == ["output_item.added", *["custom_tool_call_input.delta"] * 2, "custom_tool_call_input.done", "output_item.done"]
    assert output(*some, word="tool_calls")[0]["input"] == "select 1"


def test_an_id_is_made_where_none_came_and_data_of_the_provider_go_along():
    fragment = ToolCallFragment(None, "f", {"x": 1}, is_id_optional=True, provider_data={"thoughtSignature": "s"})
    sent, out = pieces(PROTOCOL, [chunk(fragment), ended("tool_calls")])
    (item,) = checked(b"".join(sent))[-1]["response"]["output"]
    assert (item["call_id"], item["thoughtSignature"], item["arguments"]) == ("call_1", "s", '{"x":1}')
    assert [warning.code for warning in out.repairs] == ["made_tool_id"]


def test_tools_that_the_client_runs_for_the_provider_are_items_of_their_own():
    patch, custom = decoded_items(SAMPLES["tools of the client"])
    assert (patch["type"], patch["call_id"], patch["operation"]) == (
        "apply_patch_call", "call_p", {"type": "update_file", "path": "a", "diff": "-a\n+b\n"},
    )  # fmt: skip
    assert (custom["type"], custom["input"]) == ("custom_tool_call", "select 1")


# --- everything else -----------------------------------------------------------------------------------


def test_what_a_provider_ran_itself_and_what_nobody_knows_is_there_as_it_came():
    search, code, compaction, message = decoded_items(SAMPLES["hosted tools"])
    assert search == {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "q"}}
    assert (code["outputs"], compaction["encrypted_content"], message["phase"]) == (
        [{"type": "logs", "logs": "hé"}],
        "gBBB",
        "final_answer",
    )


def test_what_a_call_of_the_providers_gave_may_come_later_and_the_call_is_told_once():
    call, result = {"type": "shell_call", "id": "sh_1"}, {"type": "shell_call_output", "id": "so_1"}
    some = [
        chunk(ProviderToolFragment("sh_1", "shell", "{}", None, None, 0, 0, {"item": call})),
        chunk(TextDelta("a", 1)),
        chunk(ProviderToolFragment(result=[1], part=0, provider_data={"output_item": result})),
    ]
    assert [item["type"] for item in output(*some)] == ["shell_call", "message", "shell_call_output"]


def test_an_image_is_the_result_of_the_call_that_made_it():
    (item,) = output(chunk(PartDelta(MediaPart(kind="image", data=b"icon", media_type="image/webp"), 0)))
    assert (item["type"], item["result"], item["output_format"]) == ("image_generation_call", "aWNvbg==", "webp")
    made = {"item": {"type": "image_generation_call", "id": "ig_1", "status": "completed"}}
    image = MediaPart(kind="image", data=b"icon", provider_data={"id": "ig_1"})
    some = [chunk(PartDelta(image, 1)), chunk(ProviderToolFragment("ig_1", "image_generation", "", None, None, 0, 0, made))]
    assert output(*some) == [{**made["item"], "result": "aWNvbg=="}]
    assert [item["id"] for item in output(chunk(PartDelta(image, 1)))] == ["ig_1"]


def test_sound_has_events_and_no_place_in_the_response():
    assert inner(chunk(MediaDelta("audio", b"hi", "Hi"))) == [("audio.delta", "aGk="), ("audio.transcript.delta", "Hi")]


def test_what_has_no_place_here_is_left_out_and_said():
    some = [
        chunk(ProviderToolFragment("s1", "web_search", "{}", [1], "mill", 0)),
        chunk(PartDelta(make(ProviderItem, provider="mill", protocol="anthropic-messages", raw=b"{}"), 1)),
        chunk(PartDelta(MediaPart(kind="video", url="https://x"), 2)),
        chunk(TextDelta("a", 3), LogprobsDelta([1]), CitationDelta({"type": "char_location"}, 3)),
        chunk(TextDelta("b", 0, choice=1), ToolCallFragment("x", "f", "{}", 0, choice=1)),
        chunk(MediaDelta("image", b"x")),
    ]
    sent, out = pieces(PROTOCOL, [*some, chunk(FinishDelta("stop", choice=1)), ended()])
    assert [item["type"] for item in checked(b"".join(sent))[-1]["response"]["output"]] == ["message"]
    assert {warning.detail for warning in out.repairs if warning.code == "dropped_for_client"} == {
        "the call of 'web_search', which its provider ran", "a ProviderItem", "a video of the model's", "log-probabilities of another form",
        "citations of another form", "a further choice", "a piece of image",
    }  # fmt: skip


def test_parts_that_came_whole_are_items():
    parts = [TextPart("a", citations=(URL,)), make(JsonPart, value={"n": 1}), ReasoningPart("Hm.", signature="s"), RefusalPart("No.")]
    first, thought, last = output(*(chunk(PartDelta(part, n)) for n, part in enumerate(parts)))
    assert [(part["text"], len(part["annotations"])) for part in first["content"]] == [("a", 1), ('{"n":1}', 0)]
    assert (unseal(thought["encrypted_content"]), last["content"]) == ({"signature": "s"}, [{"type": "refusal", "refusal": "No."}])


# --- what is broken ------------------------------------------------------------------------------------


def test_a_call_that_was_cut_off_is_not_complete_whatever_the_word():
    last = checked(written(PROTOCOL, [chunk(ToolCallFragment("a", "f", '{"x": "on', 0)), ended("tool_calls")]))[-1]
    assert (last["type"], last["response"]["incomplete_details"]) == ("response.incomplete", {"reason": "max_output_tokens"})
    assert last["response"]["output"][0]["status"] == "incomplete"


@pytest.mark.parametrize("arguments", ['{"x": oops}', "[1]", "seven"])
def test_a_call_that_cannot_be_run_is_an_error(arguments):
    body = written(PROTOCOL, [chunk(ToolCallFragment("a", "f", arguments, 0)), ended("tool_calls")])
    error, failed = events(body)[-2:]
    assert (error["type"], failed["type"], failed["response"]["error"]["code"]) == ("error", "response.failed", "malformed_function_call")
    assert "'f'" in error["error"]["message"]
    assert all(item["status"] == "incomplete" for item in failed["response"]["output"])


@pytest.mark.parametrize(
    ("code", "word"),
    [("529", "server_is_overloaded"), ("429", "rate_limit_exceeded"), ("insufficient_quota", "insufficient_quota"), (None, "provider_error"), ("401", "invalid_api_key")],
)  # fmt: skip
def test_an_error_of_the_stream_is_an_event_and_a_response_that_failed(code, word):
    sent, out = pieces(PROTOCOL, [chunk(TextDelta("a")), ended(None, StreamError("provider_error", "gone", code)), chunk(TextDelta("b"))])
    *_, error, failed = checked(b"".join(sent))
    assert (error["type"], error["error"]["code"], error["error"]["message"]) == ("error", word, "gone")
    assert (failed["response"]["status"], failed["response"]["error"]) == ("failed", {"code": word, "message": "gone"})
    assert failed["response"]["output"][0]["status"] == "incomplete"
    assert (out.is_over, out.close()) == (True, b"")


def test_a_stream_that_just_stops_is_an_error_and_one_that_never_began_nothing_else():
    assert events(written(PROTOCOL, [chunk(TextDelta("a"))]))[-1]["type"] == "response.failed"
    assert [event["type"] for event in events(written(PROTOCOL, []))] == ["error"]


def test_an_answer_that_begins_anew_is_an_error_once_something_was_passed_on():
    sent, out = pieces(PROTOCOL, [chunk(TextDelta("a")), chunk(Restarted(), TextDelta("b"))])
    assert "began anew" in events(sent[1])[-1]["response"]["error"]["message"]
    assert out.is_over


def test_a_call_that_an_error_cut_is_not_complete():
    sent, _ = pieces(PROTOCOL, [chunk(TextDelta("a")), chunk(ToolCallFragment("a", "f", '{"x', 0)), chunk(Restarted(), TextDelta("b"))])
    (call,) = (item for item in events(b"".join(sent))[-1]["response"]["output"] if item["type"] == "function_call")
    assert (call["status"], call["arguments"]) == ("incomplete", '{"x')


def test_a_stream_of_another_wire_is_one_of_this():
    sent = passed_on(b"".join(call_stream("clock", '{"zone"', ':"CET"}')), source="openai-chat", target=PROTOCOL)
    (item,) = checked(b"".join(sent))[-1]["response"]["output"]
    assert (item["type"], item["name"], item["arguments"]) == ("function_call", "clock", '{"zone":"CET"}')


# --- whole answers and refusals ------------------------------------------------------------------------


def test_a_whole_answer_is_one_response():
    parts = [
        ReasoningPart("Hm.", signature="s"),
        TextPart("I look.", citations=(URL, {"type": "char_location"}), provider_data={"id": "msg_up", "phase": "commentary"}),
        ToolCallPart(id="a", name="f", arguments='{"x" : 1.0}', provider_data={"id": "fc_up"}),
        make(ToolCallPart, id="b", name="now", arguments="", parsed={}, runnable=True),
        make(ToolCallPart, id="c", name="sql", kind="custom", arguments="ls", runnable=True),
        make(ToolCallPart, id="d", name="cut", arguments='{"x', runnable=False),
        make(ProviderItem, provider="", protocol=PROTOCOL, raw=b'{"type":"compaction"}'),
        make(ProviderToolPart, id="s2", name="other"),
        MediaPart(kind="image", data=b"icon", provider_data={"id": "ig_1"}),
        RefusalPart("No."),
    ]
    message = AssistantMessage.assemble(parts, finish_reason="tool_calls", usage=Usage(input_tokens=3, output_tokens=2), model="m-1")
    out = StreamOut(Head(id="resp_7", model="m"))
    body = json.loads(out.whole(message))
    assert (body["id"], body["model"], body["status"], body["object"], body["usage"]["total_tokens"]) == (
        "resp_7", "m-1", "completed", "response", 5,
    )  # fmt: skip
    assert [(item["type"], item.get("status"), item.get("arguments", item.get("input"))) for item in body["output"]] == [
        ("reasoning", None, None), ("message", "completed", None), ("function_call", "completed", '{"x" : 1.0}'),
        ("function_call", "completed", "{}"), ("custom_tool_call", "completed", "ls"), ("function_call", "incomplete", '{"x'),
        ("compaction", None, None), ("message", "completed", None), ("image_generation_call", "completed", None),
    ]  # fmt: skip
    assert (body["output"][1]["id"], body["output"][1]["phase"], body["output"][2]["id"]) == ("msg_up", "commentary", "fc_up")
    assert [warning.detail for warning in out.repairs] == ["citations of another form", "the call of 'other', which its provider ran"]


def test_further_choices_of_a_whole_answer_are_left_out_and_said():
    out = StreamOut(Head(id="9", model="m"))
    one = AssistantMessage.assemble([TextPart("a")], finish_reason="length")
    assert json.loads(out.whole(one, one))["incomplete_details"] == {"reason": "max_output_tokens"}
    assert [warning.detail for warning in out.repairs] == ["a further choice"]


def test_a_refusal_is_an_error_object_that_names_the_place():
    assert refuse(400, "invalid_request", "It is missing.", argument="input") == (
        400,
        b'{"error":{"message":"It is missing.","type":"invalid_request_error","param":"input","code":null}}',
    )
