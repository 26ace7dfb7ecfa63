"""What is odd about the streams themselves, by servers that send it so."""

from __future__ import annotations

import json

import pytest

import gemini_bytes
import messages_bytes
import responses_bytes
import wire_bytes
from chat_bytes import DONE, chunk, event
from doctor_ground import answer, call, called, evidence, examined, said, usage
from headrace.inspect.doctor.faults import faults_in
from headrace.inspect.doctor.forms import odd_forms
from headrace.messages.message import AssistantMessage
from headrace.messages.warning import CODES, Warning  # noqa: A004 - the field's word
from headrace.providers.secret import Secret
from servers import Reply


def fragment(text, **fields):
    """A delta that goes on with the first call."""
    return {"tool_calls": [{"index": 0, "function": {"arguments": text}, **fields}]}


def without(name, reply):
    """The events without a member."""
    events = [json.loads(one[6:]) for one in reply if one != DONE]
    return [*(event({key: value for key, value in one.items() if key != name}) for one in events), DONE]


CITY = '{"city": "Paris"}'
TOKYO = '{"city": "Tokyo"}'
ODD = {
    "ids missing": ("one_tool", called(call(id=None)), "without an id", {}),
    "one index for all": ("parallel_tools", called(call(), call(0, "call_2", arguments=TOKYO)), "the same index", {}),
    "no index": ("one_tool", called({"tool_calls": [{"id": "a", "type": "function", "function": {"name": "city_time", "arguments": CITY}}]}), "without an index", {}),
    "one id for all": ("parallel_tools", called(call(), call(1, "call_1", arguments=TOKYO)), "have the same id", {}),
    "a changing id": ("one_tool", called(call(arguments='{"city": '), fragment('"Paris"}', id="call_9")), "changes from fragment", {}),
    "the name again": (
        "one_tool", called(call(arguments='{"city": '), {"tool_calls": [{"index": 0, "function": {"name": "city_time", "arguments": '"Paris"}'}}]}),
        "comes again", {},
    ),
    "stop with calls": ("one_tool", called(finish="stop"), "ends as if it had none", {}),
    "calls without calls": ("text", said("Hello", finish="tool_calls"), "says that it ended in calls", {}),
    "no finish reason": ("text", answer({"content": "Hello"}, finish=None), "without a finish reason", {}),
    "text after the end": ("text", [*said("Hel", end=()), chunk({"content": "lo"}), usage(), DONE], "after the finish reason", {}),
    "arguments as an object": ("one_tool", called(call(arguments={"city": "Paris"})), "as an object", {}),
    "arguments twice": ("one_tool", called(call(arguments=CITY), fragment(CITY)), "come twice", {}),
    "no DONE": ("text", said("Hello", end=(usage(),)), "terminator of the stream", {}),
    "cumulative text": (
        "long_text", said("Count: one", "Count: one, two", "Count: one, two, three", "Count: one, two, three, four"), "repeats all before it",
        {"decode_options": {"cumulative_text": True}},
    ),
    "a comment as data": ("text", [b"data: : keep-alive\n\n", *said("Hello")], "wrapped into an event", {}),
    "no blank line": ("text", [*said("Hello", end=()), usage().rstrip(b"\n") + b"\n" + DONE], "blank line", {}),
    "no event stream": ("text", Reply(said("Hello"), headers=[("content-type", "text/plain")]), "Content-Type", {}),
    "an id for each event": ("text", said("Hello", end=(chunk(id="chatcmpl-8"), usage(), DONE)), "id of an answer changes", {}),
    "no id": ("text", without("id", said("Hello")), "lack members", {}),
    "no role": ("text", [chunk({"content": "Hello"}), chunk(finish="stop"), usage(), DONE], "does not say its role", {}),
}  # fmt: skip


@pytest.mark.parametrize("case", ODD)
async def test_an_odd_stream_is_found_out_whatever_was_asked(tmp_path, case):
    name, reply, words, switches = ODD[case]
    seen = await examined(tmp_path, name, *[reply] * 3)
    found = next((found for found in seen.stream if words in found.what), None)
    assert found is not None, seen.stream
    assert (found.level, found.switches) == ("wrong", switches)
    assert found.evidence
    assert all((tmp_path / path).is_file() for path in found.evidence)


async def test_a_fault_that_comes_often_is_one_finding_that_says_how_often(tmp_path):
    seen = await examined(tmp_path, "one_tool", *[said("No.", end=(usage(),))] * 3)
    [found] = seen.stream
    assert "in 3 answers" in found.detail
    assert len(found.evidence) == 3


def test_what_a_model_may_have_done_by_itself_is_unclear():
    warned = AssistantMessage.assemble((), warnings=(Warning("leaked_special_tokens", detail="<|x|>"),), finish_reason="stop")
    assert [found.level for found in faults_in([("text", evidence(message=warned))], "openai-chat")] == ["unclear"]


@pytest.mark.parametrize("code", sorted(CODES - {"dropped_for_provider", "truncated_tool_arguments", "possible_inline_tool_call"}))
def test_every_repair_has_words(code):
    warned = AssistantMessage.assemble((), warnings=(Warning(code),), finish_reason="stop")
    [found] = faults_in([("text", evidence(message=warned))], "openai-chat")
    assert code in found.detail
    assert found.what


@pytest.mark.parametrize(
    ("protocol", "events", "codes"),
    [
        ("anthropic-messages", [{"type": "content_block_start", "index": n, "content_block": {"type": "text"}} for n in (0, 1)], ["overlapping_blocks"]),
        ("anthropic-messages", [{"type": "content_block_start", "index": 0, "content_block": {"type": "tool_use", "name": "a"}}], ["block_members"]),
        ("openai-responses", [{"type": "response.output_text.delta", "delta": "a", "sequence_number": 1}], ["event_members"]),
        (
            "openai-responses",
            [{"type": "response.function_call_arguments.delta", "delta": "{", "sequence_number": 1, "output_index": 0}],
            ["no_done_events"],
        ),
        ("openai-chat", [], []),
        ("openai-chat", [{"choices": 5}, {"choices": [5]}, {"choices": [{"delta": "x"}]}, {"id": 7}, 5, None], ["event_members"]),
        ("anthropic-messages", [{"type": "content_block_start", "index": [], "content_block": 7}], []),
        ("openai-responses", [{"type": []}], ["event_members"]),
        ("ollama", [{"done": True}], []),
    ],
)  # fmt: skip
def test_the_form_of_events_is_looked_at_and_nothing_that_a_peer_sends_breaks_it(protocol, events, codes):
    assert [code for code, _ in odd_forms(events, protocol)] == codes


async def test_streams_as_the_vendors_send_them_are_right(tmp_path):
    chat = await examined(tmp_path / "c", "text", said("Hello"))
    texts = messages_bytes.body(messages_bytes.text(0, "Hel", "lo"), messages_bytes.text(1, "!"))
    messages = await examined(tmp_path / "m", "text", [texts], protocol="anthropic-messages")
    assert [found.level for found in (*chat.stream, *messages.stream)] == ["right"] * 2
    assert [found.level for found in (*chat.findings, *messages.findings)] == ["right"] * 2


SPOKEN = {
    "gemini": (gemini_bytes.stream((gemini_bytes.text("Hel"),), gemini_bytes.stop(gemini_bytes.text("lo"))), "text/event-stream"),
    "ollama": (wire_bytes.line({"content": "Hel"}) + wire_bytes.last_line("stop", {"content": "lo"}), "application/x-ndjson"),
}


@pytest.mark.parametrize("protocol", SPOKEN)
async def test_other_protocols_are_examined_by_the_same_probes(tmp_path, protocol):
    body, kind = SPOKEN[protocol]
    seen = await examined(tmp_path, "text", Reply([body], headers=[("content-type", kind)]), protocol=protocol, api_key=Secret("k"))
    assert [found.level for found in (*seen.findings, *seen.stream)] == ["right", "right"], seen.examination.findings
    assert seen.examination.endpoint.model_id.endswith(":m")


async def test_the_responses_protocol_is_examined_by_the_same_probes(tmp_path):
    body = responses_bytes.started() + responses_bytes.message(0, "Hel", "lo") + responses_bytes.ended()
    seen = await examined(tmp_path, "text", [body], protocol="openai-responses")
    assert [found.level for found in seen.findings] == ["right"]
