from headrace.wire.cohere_v2.event_in import EventReader
from headrace.wire.decoder import Output
from headrace.wire.limits import DEFAULT_LIMITS
from headrace.wire.options import NO_OPTIONS


def reader(**options):
    output = Output(DEFAULT_LIMITS, NO_OPTIONS)
    return EventReader(output, "acme", **options), output


def read(reader, event):
    reader.read(event, is_error=False, status=None)


def test_a_block_without_a_start_has_no_place_of_its_own():
    events, output = reader()
    assert events.key_of(0) is None
    read(events, {"type": "content-delta", "index": 0, "delta": {"message": {"content": {"text": "a"}}}})
    assert (output.fold.message().text, events.open_text(0)) == ("a", None)


def test_a_text_is_open_once_it_has_begun_and_until_a_finish_word():
    events, output = reader()
    read(events, {"type": "content-start", "index": 0, "delta": {"message": {"content": {"type": "text", "text": ""}}}})
    assert events.open_text(0) is None
    read(events, {"type": "content-delta", "index": 0, "delta": {"message": {"content": {"text": "a"}}}})
    assert events.open_text(0) == (0, ["a"])
    assert events.open_text(None) is None
    read(events, {"type": "message-end", "delta": {"finish_reason": "COMPLETE"}})
    assert (events.open_text(0), events.has_ended) == (None, True)
    assert output.fold.head.provider is None


def test_an_index_that_is_no_number_is_none():
    events, _ = reader()
    assert events.key_of("0") is None
    read(events, {"type": "tool-call-start", "index": "0", "delta": {"message": {"tool_calls": {"index": 3, "function": {"name": "f"}}}}})
    read(events, {"type": "tool-call-start", "index": "0", "delta": {"message": {"tool_calls": [{"id": "c", "function": "odd"}]}}})
    assert events.is_understood


def test_what_says_nothing_opens_nothing():
    events, output = reader()
    for event in (
        {"type": "tool-call-end", "index": 0},
        {"type": "content-start", "index": 0, "delta": {"message": {"content": [None, "a"]}}},
        {"type": "message-end", "delta": {"finish_reason": None, "usage": {}}, "logprobs": [5]},
    ):
        read(events, event)
    message = output.fold.message()
    assert (message.text, message.finish_reason, message.usage, message.logprobs) == ("a", None, None, None)
