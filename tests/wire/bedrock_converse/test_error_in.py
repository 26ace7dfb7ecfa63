"""Exceptions of Bedrock as errors."""

from __future__ import annotations

import pytest

from headrace.wire.bedrock_converse.error_in import error_of, exception_in, is_error_body


@pytest.mark.parametrize(
    ("name", "retryable"),
    [
        ("internalServerException", True),
        ("modelStreamErrorException", True),
        ("modelTimeoutException", True),
        ("ModelNotReadyException", True),
        ("throttlingException", True),
        ("serviceUnavailableException", True),
        ("validationException", False),
        ("accessDeniedException", False),
        ("someOtherException", False),
        ("serverErrorException", True),
    ],
)
def test_the_name_says_whether_a_try_again_may_help(name, retryable):
    error = exception_in(name, {"message": "why"})
    assert (error.kind, error.code, error.message, error.retryable) == ("provider_error", name, "why", retryable)


@pytest.mark.parametrize(("status", "retryable"), [(400, False), (404, False), (424, True), (429, True), (500, True)])
def test_the_models_own_refusal_is_not_tried_again(status, retryable):
    body = {"message": "it broke", "originalStatusCode": status, "originalMessage": "inner"}
    assert exception_in("modelStreamErrorException", body).retryable is retryable


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"originalMessage": "inner"}, "inner"),
        ("plain", "plain"),
        ({}, "throttlingException"),
        ({"a": 1}, '{"a":1}'),
        ([1], "[1]"),
        ("half \ud83d", "half \ufffd"),
    ],
)
def test_what_was_said_is_the_message(body, message):
    assert exception_in("throttlingException", body).message == message


def test_without_a_name_the_body_alone_speaks():
    assert exception_in(None, '{"message":"slow","code":"429"}').code == "429"
    assert exception_in(None, {"message": "no"}).message == "no"
    assert exception_in(None, {"__type": "a.b#ValidationException", "Message": "no"}).code == "ValidationException"


@pytest.mark.parametrize(
    ("body", "is_error"),
    [
        ({"message": "x"}, True),
        ({"Message": "x"}, True),
        ({"__type": "x"}, True),
        ({"Output": {}}, True),
        ({"message": {}}, False),
        ({"a": 1}, False),
    ],
)
def test_an_error_is_told_by_its_members(body, is_error):
    assert is_error_body(body) is is_error


def test_the_error_may_stand_inside_of_an_output():
    assert error_of({"Output": {"__type": "x"}, "Version": "1"}) == {"__type": "x"}
    assert error_of({"message": "x"}) == {"message": "x"}
