import pytest

from headrace.wire.decoder import NO_OPTIONS, Output
from headrace.wire.event_data import EventData, EventValue
from headrace.wire.frames import Frame
from headrace.wire.limits import DEFAULT_LIMITS


def read(data, event=None, **fields):
    output = Output(DEFAULT_LIMITS, NO_OPTIONS)
    reader = EventData(output)
    return reader.read(Frame(data, 0, event, **fields)), reader, output


def codes(output):
    return [warning.code for warning in output.fold.message().warnings]


@pytest.mark.parametrize(
    ("data", "event", "values"),
    [
        (b'{"a": 1}', None, [EventValue({"a": 1})]),
        (b" null ", None, [EventValue(None)]),
        (b"{}", "error", [EventValue({}, is_error=True)]),
        (b"busy", "Error", [EventValue("busy", is_error=True)]),
        (b"", "error", [EventValue(None, is_error=True)]),
        (b"", None, []),
        (b"{}", "ping", []),
        (b": ping", None, []),
        (b"[DONE]", None, []),
    ],
)
def test_what_a_frame_says(data, event, values):
    assert read(data, event)[0] == values


def test_what_was_tolerated_is_said():
    for data, value, code in (
        (b'"\xff"', "\ufffd", ["invalid_utf8"]),
        (b'"\t"', "\t", ["lenient_json"]),
        (b'"\\ud800"', "\ud800", []),
        (b": ping", None, ["comment_in_data"]),
    ):
        values, _, output = read(data)
        assert [one.value for one in values] == ([] if value is None else [value])
        assert codes(output) == code


def test_events_that_were_run_together_are_read_apart():
    values, reader, output = read(b'{"a": 1}\n{"b": 2}\n[DONE]')
    assert [one.value for one in values] == [{"a": 1}, {"b": 2}]
    assert (reader.is_done, codes(output)) == (True, ["unterminated_event"])
    assert [one.value for one in read(b'{"a": 1}\n{"b"', is_unterminated=True)[0]] == [{"a": 1}]
    assert read(b'{"a"\n{"b": 2}', is_unterminated=True)[0] == []


def test_a_terminator_is_one():
    assert read(b"[DONE]")[1].is_done


@pytest.mark.parametrize("fields", [{"is_unterminated": True}, {"is_body": True}])
def test_an_event_that_was_cut_off_is_no_fault_of_its_own(fields):
    values, _, output = read(b'{"a": "', **fields)
    assert (values, output.error) == ([], None)


@pytest.mark.parametrize(("fields", "what"), [({}, "event 0"), ({"is_body": True}, "the body")])
def test_what_is_no_json_ends_the_stream(fields, what):
    _, reader, output = read(b"oops", **fields)
    assert (output.error.kind, output.is_dead, reader.is_answer) == ("invalid_event", True, False)
    assert output.error.message.startswith(f"{what} is not JSON")


def test_a_whole_body_is_an_answer():
    assert read(b"{}", is_body=True)[1].is_answer
    assert not read(b"{}")[1].is_answer


def test_an_error_without_data_at_the_very_end_may_have_been_cut_off():
    assert read(b"", "error", is_unterminated=True)[0] == []
