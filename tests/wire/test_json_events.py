import pytest

from headrace._json import EMPTY
from headrace.errors import UsageError
from headrace.wire.decoder import Output
from headrace.wire.frames import Frame
from headrace.wire.json_events import JsonEvents, count_of, kept, word_of
from headrace.wire.limits import DEFAULT_LIMITS
from headrace.wire.options import NO_OPTIONS


class Notes:
    """A reader that notes what it is given."""

    def __init__(self):
        self.seen = []

    def read(self, event, *, is_error, status):
        self.seen.append((event, is_error, status))
        if "odd" in event:
            kept(event["odd"])


def events(*frames):
    output, notes, chunks = Output(DEFAULT_LIMITS, NO_OPTIONS), Notes(), []
    machine = JsonEvents(output, notes)
    for frame in frames:
        machine.read(frame, chunks)
    return machine, output, notes.seen


def test_each_object_of_a_frame_is_read_with_its_name_and_status():
    machine, output, seen = events(Frame(b'{"a":1}', 0), Frame(b'[{"b":2},null,{"c":3}]', 9, "error", status=429), Frame(b"[DONE]", 30))
    assert seen == [({"a": 1}, False, None), ({"b": 2}, True, 429), ({"c": 3}, True, 429)]
    assert (machine.has_event, machine.is_done, output.events) == (True, True, 3)
    assert output.error.message == "the provider sent an error without a message"  # for the null


def test_words_of_an_error_are_an_error_and_other_values_are_a_fault():
    _, output, _ = events(Frame(b'"slow down"', 0, "error", status=503))
    assert (output.error.kind, output.error.message, output.error.retryable) == ("provider_error", "slow down", True)
    _, output, seen = events(Frame(b"[5]", 0), Frame(b'[6,{"a":1}]', 9))
    assert (output.error.kind, output.is_dead, seen) == ("invalid_event", True, [])


def test_what_a_message_cannot_keep_is_a_fault():
    deep = b"[" * 250 + b"]" * 250
    machine, output, _ = events(Frame(b'{"odd":' + deep + b"}", 0))
    assert (output.error.kind, machine.has_event) == ("invalid_event", True)


@pytest.mark.parametrize(
    ("frames", "body_kind", "is_over", "is_understood", "kind"),
    [
        ([], "other", True, True, "not_event_stream"),
        ([], "events", True, True, "stream_truncated"),
        ([Frame(b"{}", 0, is_body=True)], "json", True, False, "invalid_event"),
        ([Frame(b"{}", 0)], "lines", True, False, "invalid_event"),
        ([Frame(b"{}", 0)], "events", False, True, "stream_truncated"),
        ([Frame(b"{}", 0)], "events", True, True, None),
    ],
)
def test_how_a_stream_failed_that_said_no_error(frames, body_kind, is_over, is_understood, kind):
    machine, _, _ = events(*frames)
    error = machine.end_error(body_kind, is_over=is_over, is_understood=is_understood)
    assert (error and error.kind) == kind


def test_values_are_kept_frozen_and_writable():
    assert kept({"a": ["\ud83d\ude00", "\ud83d"]}) == {"a": ["\U0001f600", "\ufffd"]}
    assert kept({}) is EMPTY
    with pytest.raises(UsageError):
        kept(10**5000)


@pytest.mark.parametrize(("value", "word"), [("a", "a"), ("\ud83d", "\ufffd"), (5, ""), (None, ""), ([], "")])
def test_a_word_is_a_text(value, word):
    assert word_of(value) == word


@pytest.mark.parametrize(("value", "count"), [(0, 0), (3.0, 3), (3.5, None), (-1, None), (True, None), ("3", None), (None, None)])
def test_a_count_is_a_whole_number_from_zero(value, count):
    assert count_of(value) == count
