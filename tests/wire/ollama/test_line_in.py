from headrace.wire.decoder import Output
from headrace.wire.limits import DEFAULT_LIMITS
from headrace.wire.ollama.line_in import LineReader
from headrace.wire.options import NO_OPTIONS


def test_a_reader_knows_whether_it_understood_anything_and_whether_it_ended():
    lines = LineReader(Output(DEFAULT_LIMITS, NO_OPTIONS), None)
    lines.read({"status": "pulling"}, is_error=False, status=None)
    assert (lines.is_understood, lines.is_done) == (False, False)
    lines.read({"message": {"content": "a"}, "done": False}, is_error=False, status=None)
    assert (lines.is_understood, lines.is_done) == (True, False)
    lines.read({"done": True}, is_error=False, status=None)
    assert (lines.is_understood, lines.is_done) == (True, True)
    assert [delta.values["provider_fields"] for delta in lines.rest()] == [{"status": "pulling"}]
