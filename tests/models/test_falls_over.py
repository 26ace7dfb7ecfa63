"""The words for which errors lead to the next model."""

from __future__ import annotations

from typing import get_args

import pytest

from headrace.errors import (
    APIError,
    AuthError,
    ConnectionLostError,
    ContextLengthError,
    InvalidRequestError,
    ModelOutputError,
    OverloadedError,
    RateLimitError,
    StreamTruncatedError,
)
from headrace.models.falls_over import DEFAULT_FALLS_OVER, FallsOver, word_of

ERRORS = [
    (ConnectionLostError("x"), "transport", True),
    (OverloadedError("x"), "overloaded", True),
    (RateLimitError("x"), "rate_limit", True),
    (APIError("x", status=500, retryable=True), "retryable", True),
    (StreamTruncatedError("x"), "broken", True),
    (AuthError("x"), "auth", False),
    (ContextLengthError("x"), "context_length", False),
    (InvalidRequestError("x"), "request", False),
    (APIError("x", status=402), "other", False),
    (ModelOutputError("x"), None, False),
]


@pytest.mark.parametrize(("error", "word", "is_default"), ERRORS)
def test_each_error_has_one_word_and_what_another_server_may_do_better_falls_over(error, word, is_default):
    assert word_of(error) == word
    assert (word in DEFAULT_FALLS_OVER) == is_default


def test_every_word_can_be_had_from_an_error():
    assert {word for _, word, _ in ERRORS if word} == set(get_args(FallsOver))
