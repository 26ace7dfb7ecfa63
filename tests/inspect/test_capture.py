"""Where captures come from: files, recordings, pipes, the network, one packed document."""

from __future__ import annotations

import base64
import io
import json
import os

import pytest

from headrace.errors import ConnectFailedError, UsageError
from headrace.inspect.capture import Capture, body_of_recorded, fetch, read_path, read_stream, request_of, unpack
from headrace.io.httpx_transport import HttpTransport
from headrace.io.record import RecordedError, RecordTransport
from headrace.io.replay import Recorded, ReplayTransport
from inspect_samples import SAMPLES

BODY = SAMPLES["parallel-calls"]().body
SECRET = "sk-0123456789abcdef0123"


class Ticking:
    """A clock that goes on a second each time it is read."""

    def __init__(self):
        self.now = -1.0

    def __call__(self):
        self.now += 1
        return self.now


async def recorded(folder, *answers):
    """Record requests with a key in them to these answers."""
    transport = RecordTransport(ReplayTransport(list(answers), slicing=900), folder, clock=Ticking())
    for _ in answers:
        request = request_of(
            "http://127.0.0.1:1/v1/chat/completions?api_key=" + SECRET,
            body=b'{"model": "m"}',
            headers=(("authorization", f"Bearer {SECRET}"),),
        )
        async with transport.stream(request) as response:
            [_ async for _ in response.chunks()]
    return folder


async def test_a_recording_is_read_with_its_times_by_any_of_its_names(tmp_path):
    await recorded(tmp_path / "r", BODY)
    found = [read_path(tmp_path / "r" / name) for name in ("", "0001", "0001.body", "0001.request.json", "0001.response.json")]
    assert all(one == found[0] for one in found)
    assert found[0].body == BODY
    assert (found[0].status, found[0].content_type, found[0].is_complete) == (200, "text/event-stream", True)
    assert [start for start, _ in found[0].reads] == list(range(0, len(BODY), 900))
    assert found[0].reads[1][1] - found[0].reads[0][1] == 1000.0
    assert "POST http://127.0.0.1:1/v1/chat/completions" in found[0].source
    assert SECRET not in found[0].source


async def test_of_a_folder_with_several_recordings_the_first_is_read_and_that_is_said(tmp_path):
    await recorded(tmp_path, BODY, b"data: 2\n\n")
    capture = read_path(tmp_path)
    assert capture.body == BODY
    assert "the first of 2 recordings" in capture.notes[0]
    assert read_path(tmp_path / "0002").body == b"data: 2\n\n"


def test_a_recording_that_was_never_finished_says_so(tmp_path):
    (tmp_path / "0001.request.json").write_text('{"method": "POST", "url": "http://a/"}')
    (tmp_path / "0001.body").write_bytes(BODY[:100])
    capture = read_path(tmp_path)
    assert (capture.is_complete, capture.notes) == (False, ("the recording was never finished",))


def test_a_plain_file_has_no_times_and_its_headers_count_if_they_are_there(tmp_path):
    (tmp_path / "a.sse").write_bytes(BODY)
    assert read_path(tmp_path / "a.sse") == Capture(source=str(tmp_path / "a.sse"), body=BODY)
    (tmp_path / "a.headers").write_text("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 503 Busy\r\nContent-Type: text/plain\r\n\r\n")
    capture = read_path(tmp_path / "a.sse")
    assert (capture.status, capture.content_type, capture.reads) == (503, "text/plain", ())


def test_a_plain_file_with_the_facts_of_a_recording_has_its_times(tmp_path):
    (tmp_path / "a.sse").write_bytes(BODY)
    facts = {"status": 200, "reads": [[0, 5.0]], "is_complete": False, "error": {"type": "ConnectionLostError", "message": "reset by peer"}}
    (tmp_path / "a.response.json").write_text(json.dumps(facts))
    capture = read_path(tmp_path / "a.sse")
    assert (capture.reads, capture.is_complete, capture.notes) == (((0, 5.0),), False, ("the answer broke off: reset by peer",))


@pytest.mark.parametrize("name", ["missing", "folder", "bad.sse"])
def test_what_cannot_be_read_is_wrong_use(tmp_path, name):
    (tmp_path / "folder").mkdir()
    (tmp_path / "bad.sse").write_bytes(BODY)
    (tmp_path / "bad.response.json").write_text("[]")
    with pytest.raises(UsageError):
        read_path(tmp_path / name)


def test_a_packed_capture_carries_its_times():
    packed = {
        "headrace_capture": 1,
        "body": base64.b64encode(BODY).decode(),
        "source": "s",
        "response": {"status": 200, "reads": [[0, 7.5]], "is_complete": True},
    }
    capture = unpack(json.dumps(packed).encode(), source="posted")
    assert capture == Capture(source="s", body=BODY, status=200, reads=((0, 7.5),))
    assert unpack(BODY, source="posted") == Capture(source="posted", body=BODY)


@pytest.mark.parametrize("packed", [b'{"headrace_capture": 1}', b'{"headrace_capture": 1, "body": "?"}', b'{"headrace_capture"'])
def test_a_broken_packed_capture_is_wrong_use(packed):
    with pytest.raises(UsageError, match="cannot be read"):
        unpack(packed, source="posted")


def test_a_pipe_has_the_times_at_which_it_came():
    reader, writer = os.pipe()
    with os.fdopen(reader, "rb") as stream:
        os.write(writer, b"data: 1\n\n")
        os.close(writer)
        capture = read_stream(stream, source="standard input", clock=Ticking())
    assert (capture.body, capture.reads) == (b"data: 1\n\n", ((0, 1000.0),))


def test_a_file_at_standard_input_has_no_times(tmp_path):
    (tmp_path / "a").write_bytes(BODY)
    with (tmp_path / "a").open("rb") as stream:
        assert read_stream(stream, source="-", clock=Ticking()).reads == ()
    assert read_stream(io.BytesIO(BODY), source="-", clock=Ticking()) == Capture(source="-", body=BODY)


async def test_an_answer_from_the_network_is_kept_with_its_times_and_without_secrets():
    body = b'data: {"echo": "' + SECRET.encode() + b'"}\n\n'
    request = request_of(f"http://user:pass-word-1@127.0.0.1/v1?key={SECRET}", body=b"{}", headers=(("authorization", f"Bearer {SECRET}"),))
    capture = await fetch(ReplayTransport(Recorded(body=body, status=201), slicing=10), request, clock=Ticking())
    assert len(capture.body) == len(body)
    assert [start for start, _ in capture.reads] == list(range(0, len(body), 10))
    assert (capture.status, capture.content_type) == (201, "text/event-stream")
    assert all(word not in str(capture) for word in (SECRET, "pass-word-1"))


async def test_an_answer_that_breaks_off_is_a_capture_that_says_so():
    broken = Recorded(body=b"data: 1\n\n", error=RecordedError(type="ConnectionLostError", message="reset"))
    capture = await fetch(ReplayTransport(broken), request_of("http://127.0.0.1/", body=None), clock=Ticking())
    assert (capture.body, capture.is_complete, capture.notes) == (b"data: 1\n\n", False, ("the answer broke off: reset",))


async def test_no_answer_at_all_raises():
    async with HttpTransport() as transport:
        with pytest.raises(ConnectFailedError):
            await fetch(transport, request_of("http://127.0.0.1:1/", body=None), clock=Ticking())
        with pytest.raises(UsageError):
            await fetch(transport, request_of("http://127.0.0.1:1/", body=None, headers=(("a b", "c"),)), clock=Ticking())


def test_a_url_alone_is_a_get_and_with_a_body_a_post_of_json():
    assert (request_of("http://a/", body=None).method, request_of("http://a/", body=b"{}").method) == ("GET", "POST")
    assert request_of("http://a/", body=b"{}").headers == (("content-type", "application/json"),)
    own = (("Content-Type", "text/plain"),)
    assert request_of("http://a/", body=b"{}", headers=own).headers == own


def test_a_recorded_request_can_be_sent_again():
    assert body_of_recorded(b'{"method": "POST", "url": "u", "json": {"model": "m"}}') == b'{"model":"m"}'
    assert body_of_recorded(b'{"method": "POST", "url": "u", "text": "x=1"}') == b"x=1"
    with pytest.raises(UsageError, match="no recorded request"):
        body_of_recorded(b"[]")
