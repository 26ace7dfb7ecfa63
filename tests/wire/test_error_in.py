from __future__ import annotations

import json

import pytest

from headrace.messages.deltas import StreamError
from headrace.wire.error_in import MAX_ERROR_BODY, http_error, stream_error


def error(message, code=None, *, retryable=False):
    return StreamError("provider_error", message, code, retryable=retryable)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"message": "m", "code": "c", "type": "t"}, error("m", "c")),
        ({"message": "m", "type": "t", "code": None}, error("m", "t")),
        ({"message": "m", "code": 41}, error("m", "41")),
        ({"message": {"a": 1}, "status": "X"}, error('{"a":1}', "X")),
        ({"msg": "m", "error_code": 7}, error("m", "7")),
        ({"detail": [{"loc": ["body"]}]}, error('[{"loc":["body"]}]')),
        ({"error_message": "m"}, error("m")),
        ({"status_code": 1004, "status_msg": "m"}, error("m", "1004")),
        ({"error": {"message": "m", "code": "c"}, "type": "error"}, error("m", "c")),
        ({"error": "m", "code": "c"}, error("m", "c")),
        ({"error": {"message": "inner"}, "message": "outer"}, error("outer")),
        ({"type": "t"}, error('{"type":"t"}', "t")),
        ([{"error": {"message": "m"}}], error("m")),
        ([], error("[]")),
        ("m", error("m")),
        ('{"error": {"message": "m", "code": "c"}}', error("m", "c")),
        ("{broken", error("{broken")),
        (7, error("7")),
        (None, error("the provider sent an error without a message")),
        ("", error("the provider sent an error without a message")),
        ({"message": "", "type": "t"}, error('{"message":"","type":"t"}', "t")),
    ],
)
def test_every_form_has_a_message_and_a_code(value, expected):
    assert stream_error(value) == expected


@pytest.mark.parametrize(
    ("value", "is_retryable"),
    [
        ({"message": "m", "code": 429}, True),
        ({"message": "m", "code": "529"}, True),
        ({"message": "m", "type": "overloaded_error"}, True),
        ({"message": "m", "code": "rate_limit_exceeded"}, True),
        ({"message": "m", "code": "server_error"}, True),
        ("upstream timed out", True),
        ("capacity reached, try again", True),
        ({"message": "m", "code": 400}, False),
        ({"message": "m", "code": 15_000}, False),
        ({"message": "the timeout argument is wrong", "code": "invalid_request_error"}, False),
        ("no such model", False),
    ],
)
def test_whether_a_try_again_may_help_is_read_from_the_code_else_from_the_words(value, is_retryable):
    assert stream_error(value).retryable is is_retryable


def test_a_message_is_bounded():
    assert len(stream_error("x" * 10_000).message) == 4096


@pytest.mark.parametrize(
    ("status", "body", "expected"),
    [
        (401, b'{"error": {"message": "m", "code": "no_key"}}', error("m", "no_key")),
        (503, b'{"error": {"message": "m"}}', error("m", "503", retryable=True)),
        (500, b"", error("HTTP status 500", "500", retryable=True)),
        (404, b"  Not found\n", error("Not found", "404")),
        (400, b'data: {"error": {"message": "m", "code": "c"}}\n\ndata: [DONE]\n\n', error("m", "c")),
        (400, b'id: 1\nevent: error\n:HTTP_STATUS/400\ndata:{"code":"c","message":"m"}\n\n', error("m", "c")),
        (400, b'error: {"code": 9, "message": "m"}', error("m", "9")),
        (400, b'{"error": {"message": "m\\ud800"}}', error("m\ufffd", "400")),
        (400, b"caf\xe9", error("caf\ufffd", "400")),
        (429, b"[]", error("HTTP status 429", "429", retryable=True)),
    ],
)
def test_the_body_of_a_refused_request_is_read_however_it_is_framed(status, body, expected):
    assert http_error(status, body) == expected


def test_a_body_that_was_cut_is_words():
    body = json.dumps({"error": {"message": "x" * MAX_ERROR_BODY}}).encode()[:MAX_ERROR_BODY]
    found = http_error(500, body)
    assert found.message.startswith('{"error"')
