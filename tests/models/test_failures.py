"""The table of refusals: which class, what is kept, and that no secret leaves."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from headrace.errors import (
    APIError,
    AuthError,
    ConnectFailedError,
    ContextLengthError,
    InvalidEventError,
    InvalidRequestError,
    OverloadedError,
    RateLimitError,
    StreamTimeoutError,
    StreamTruncatedError,
)
from headrace.io.retry import Failure
from headrace.messages.deltas import StreamError
from headrace.models.failures import Where, class_of, failure_of, mid_stream_failure_of, refusal, request_id_of, stream_failure

NOW = datetime(2026, 5, 4, 12, tzinfo=UTC)
KEY = "sk-abcdefghijklmnop1234"


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, InvalidRequestError),
        (401, AuthError),
        (402, APIError),
        (403, AuthError),
        (404, InvalidRequestError),
        (408, APIError),
        (409, APIError),
        (413, InvalidRequestError),
        (422, InvalidRequestError),
        (429, RateLimitError),
        (500, APIError),
        (502, APIError),
        (503, OverloadedError),
        (529, OverloadedError),
        (302, APIError),
    ],
)
def test_a_status_has_one_class(status, kind):
    assert class_of(status, None, "") is kind


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("rate_limit_exceeded", RateLimitError),
        ("rate_limit_error", RateLimitError),
        ("RateLimitError", RateLimitError),
        ("ThrottlingException", RateLimitError),
        ("RESOURCE_EXHAUSTED", RateLimitError),
        ("insufficient_quota", RateLimitError),
        ("Throttling.RateQuota", RateLimitError),
        ("429", RateLimitError),
        ("overloaded_error", OverloadedError),
        ("UNAVAILABLE", OverloadedError),
        ("serviceUnavailableException", OverloadedError),
        ("503", OverloadedError),
        ("529", OverloadedError),
        ("authentication_error", AuthError),
        ("invalid_api_key", AuthError),
        ("PERMISSION_DENIED", AuthError),
        ("401", AuthError),
        ("invalid_request_error", InvalidRequestError),
        ("BadRequestError", InvalidRequestError),
        ("validationException", InvalidRequestError),
        ("NOT_FOUND", InvalidRequestError),
        ("400", InvalidRequestError),
        ("context_length_exceeded", ContextLengthError),
        ("exceed_context_size_error", ContextLengthError),
        ("ContextWindowExceededError", ContextLengthError),
        ("tool_use_failed", APIError),
        ("server_error", APIError),
        ("error", APIError),
        ("", APIError),
        (None, APIError),
        ("4290", APIError),
    ],
)
def test_a_code_inside_a_stream_has_the_class_of_its_http_form(code, kind):
    assert class_of(None, code, "") is kind


@pytest.mark.parametrize(
    "message",
    [
        "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens.",
        "prompt is too long: 210000 tokens > 200000 maximum",
        "the request exceeds the available context size, try increasing it",
        "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
        "Input is too long for requested model.",
        "Requested token count exceeds the model's maximum context length of 4096",
        "The context window has been exceeded",
    ],
)
@pytest.mark.parametrize("status", [None, 400, 413, 500])
def test_a_context_that_is_too_long_is_recognised_by_its_words(status, message):
    assert class_of(status, None, message) is ContextLengthError


# Who says it, with which status (None: inside a stream) and code, in which words.
TOO_LONG = [
    (
        "OpenAI",
        400,
        "context_length_exceeded",
        "This model's maximum context length is 128000 tokens. However, your messages resulted in 9.",
    ),
    ("OpenAI Responses", None, "context_length_exceeded", "Your input exceeds the context window of this model."),
    ("OpenAI Responses, no code", 400, None, "Your input exceeds the context window of this model. Please adjust your input."),
    ("Azure", 400, None, "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 300000 tokens."),
    ("Anthropic", 400, "invalid_request_error", "prompt is too long: 214315 tokens > 200000 maximum"),
    ("Anthropic, with output", 400, "invalid_request_error", "input length and `max_tokens` exceed context limit: 195000 + 8192 > 200000"),
    ("Gemini", 400, "INVALID_ARGUMENT", "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."),
    ("Gemini, no count", 400, "400", "The input token count exceeds the maximum number of tokens allowed 1048576."),
    ("Bedrock", 400, "ValidationException", "Input is too long for requested model."),
    (
        "Bedrock, in a stream",
        None,
        "validationException",
        "The model returned the following errors: Input is too long for requested model.",
    ),
    ("Bedrock, Titan", 400, "ValidationException", "400 Bad Request: Too many input tokens. Max input tokens: 8192, request input: 9000"),
    (
        "Bedrock, Llama",
        400,
        "ValidationException",
        "This model's maximum context length is 8192 tokens. Please reduce the length of the prompt",
    ),
    ("Cohere", 400, None, "too many tokens: size limit exceeded by 9500 tokens. Try using shorter or fewer inputs."),
    ("Cohere, older", 400, None, "too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 5000."),
    ("Mistral", 400, "3051", "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length"),
    (
        "vLLM",
        400,
        "BadRequestError",
        "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens (4000 in the ...",
    ),
    ("vLLM, prompt", 400, "400", "The decoder prompt (length 5000) is longer than the maximum model length of 4096."),
    ("vLLM, input", 400, "400", "Input length (265330) exceeds model's maximum context length (262144)."),
    ("SGLang", 400, None, "The input (263000 tokens) is longer than the model's context length (262144 tokens)."),
    ("SGLang, with output", 400, None, "Requested token count exceeds the model's maximum context length of 262144 tokens."),
    ("llama.cpp", 400, "exceed_context_size_error", "request (5000 tokens) exceeds the available context size (4096 tokens)"),
    ("llama.cpp, older", 400, "400", "the request exceeds the available context size, try increasing it"),
    ("llama.cpp, in a stream", None, "500", "Context size has been exceeded."),
    ("Ollama", 400, None, "the input length exceeds the context length"),
    ("Ollama, cloud", 400, None, "prompt too long; exceeded max context length by 4 tokens"),
    ("DashScope", 400, "InvalidParameter", "Range of input length should be [1, 30720]"),
    (
        "DashScope, compatible",
        400,
        "invalid_parameter_error",
        "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 9]",
    ),
    ("DeepSeek", 400, "invalid_request_error", "This model's maximum context length is 65536 tokens. However, you requested 69648 tokens"),
    ("OpenRouter", 400, "400", "This endpoint's maximum context length is 163840 tokens. However, you requested about 300000 tokens"),
    ("OpenRouter, upstream", 400, "400", "Input length 131393 exceeds the maximum allowed input length of 131040 tokens."),
    ("xAI", 400, None, "This model's maximum prompt length is 131072 but the request contains 537812 tokens."),
    ("Groq", 400, "context_length_exceeded", "Please reduce the length of the messages or completion."),
    ("Cerebras", 400, None, "Please reduce the length of the messages or completion. Current length is 9000 while limit is 8192"),
    ("Moonshot", 400, "invalid_request_error", "Invalid request: Your request exceeded model token limit: 8192 (requested: 9000)"),
    ("Zhipu", 400, "1261", "Prompt \u8d85\u957f"),
    ("Z.ai", 400, None, "Prompt exceeds max length"),
    ("MiniMax", 400, "2013", "invalid params, context window exceeds limit"),
    ("SiliconFlow", 400, "20015", "length of prompt_tokens (33000) must be less than max_seq_len (32768)."),
    ("Volcengine", 400, "InvalidParameter", "Total tokens of image and text exceed max message tokens"),
    ("Fireworks", 400, None, "The prompt is too long: 132000, model maximum context length: 131071"),
    ("GitHub", 413, "tokens_limit_reached", "Request body too large for the model. Max size: 8000 tokens."),
    ("TGI", 422, "validation", "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8193. Given: 9000 and 200"),
    ("LM Studio", 400, None, "The number of tokens to keep from the initial prompt is greater than the context length."),
    ("LM Studio, while it answers", None, None, "Reached context length of 4096 tokens with the current model"),
    ("LiteLLM", 400, "400", "litellm.ContextWindowExceededError: the context window has been exceeded"),
]


@pytest.mark.parametrize(("status", "code", "message"), [row[1:] for row in TOO_LONG], ids=[row[0] for row in TOO_LONG])
def test_each_provider_s_words_for_a_context_that_is_too_long_are_known(status, code, message):
    assert class_of(status, code, message) is ContextLengthError
    assert class_of(status, code, message.upper()) is ContextLengthError


NOT_TOO_LONG = [
    ("Bedrock, throttled", 429, "ThrottlingException", "Too many tokens, please wait before trying again.", RateLimitError),
    ("Bedrock, throttled in a stream", None, "throttlingException", "Too many tokens, please wait before trying again.", RateLimitError),
    ("a code alone, in a stream", None, "throttlingException", "Too many tokens", RateLimitError),
    ("no code, in a stream", None, None, "Too many tokens, please wait before trying again.", APIError),
    ("tokens a minute", 400, None, "Too many tokens per minute: limit 6000", InvalidRequestError),
    (
        "a bound on the output",
        400,
        None,
        "max_tokens is too large: 50000. This model supports at most 16384 completion tokens",
        InvalidRequestError,
    ),
    ("one string", 400, "string_above_max_length", "Invalid 'messages[0].name': string too long.", InvalidRequestError),
    ("a tool's name", 400, None, "the name is too long", InvalidRequestError),
    ("a body in bytes", 413, "request_too_large", "Request exceeds the maximum size", InvalidRequestError),
    ("an overload", 503, "overloaded_error", "the request queue is too long", OverloadedError),
]


@pytest.mark.parametrize(("status", "code", "message", "kind"), [row[1:] for row in NOT_TOO_LONG], ids=[row[0] for row in NOT_TOO_LONG])
def test_what_is_too_fast_too_large_or_another_length_is_not_about_the_context(status, code, message, kind):
    assert class_of(status, code, message) is kind


@pytest.mark.parametrize(
    "message", ["max_tokens is too large", "the name is too long", "Request too large for the tier: 9000 tokens a minute", ""]
)
def test_other_words_are_not_about_the_context(message):
    assert class_of(400, None, message) is InvalidRequestError


@pytest.mark.parametrize(("status", "kind"), [(401, AuthError), (429, RateLimitError)])
def test_a_refused_key_is_never_about_the_context(status, kind):
    assert class_of(status, "context_length_exceeded", "prompt is too long") is kind


def test_the_status_wins_over_the_word_and_the_word_over_a_5xx_without_meaning():
    assert class_of(401, "invalid_request_error", "") is AuthError
    assert class_of(500, "overloaded_error", "") is OverloadedError


def test_a_refusal_keeps_its_facts():
    where = Where("lab:m", 429, {"retry-after": "7", "x-request-id": "req-1"})
    error = refusal(where, code="rate_limit_exceeded", message="slow down", body='{"error": "slow down"}', now=NOW)
    assert type(error) is RateLimitError
    facts = (error.status, error.code, error.request_id, error.retry_after_s, error.body, error.retryable, error.partial)
    assert facts == (429, "rate_limit_exceeded", "req-1", 7.0, '{"error": "slow down"}', True, None)
    assert str(error) == "lab:m: status 429 (rate_limit_exceeded): slow down; it asks to wait 7 s"


def test_a_refusal_says_what_helps():
    assert "check the key" in str(refusal(Where("m", 401, {}), code=None, message="no", body="", now=NOW))


def test_a_date_in_retry_after_is_counted_from_now():
    where = Where("m", 503, {"retry-after": "Mon, 04 May 2026 12:00:30 GMT"})
    assert refusal(where, code=None, message="", body="", now=NOW).retry_after_s == 30


def test_the_server_may_say_that_a_retry_is_in_vain():
    assert not refusal(Where("m", 500, {"x-should-retry": "false"}), code=None, message="", body="", now=NOW).retryable


def test_no_secret_stands_in_a_refusal():
    where = Where("m", 401, {"x-request-id": f"r-{KEY}"}, (KEY,))
    error = refusal(where, code=f"code-{KEY}", message=f"the key {KEY} is wrong", body=f'{{"key": "{KEY}"}}', now=NOW)
    for shown in (str(error), repr(error), error.body, error.code, error.request_id, repr(vars(error)), repr(where)):
        assert KEY not in shown
    assert "abcdefghij" not in repr(vars(error))


def test_a_long_body_is_cut_after_it_was_redacted():
    body = "x" * 4090 + KEY + "y" * 5000
    error = refusal(Where("m", 500, {}, (KEY,)), code=None, message="", body=body, now=NOW)
    assert len(error.body) <= 4096
    assert "sk-" not in error.body
    assert len(str(error)) < 1000


@pytest.mark.parametrize(
    ("headers", "found"),
    [
        ({"x-request-id": "a"}, "a"),
        ({"request-id": "b"}, "b"),
        ({"cf-ray": "c", "x-request-id": "a"}, "a"),
        ({"x-request-id": ""}, None),
        ({}, None),
    ],
)
def test_the_request_id_is_found_under_its_names(headers, found):
    assert request_id_of(headers) == found


def test_an_error_inside_a_stream_carries_the_partial_message():
    partial = object()
    said = StreamError("provider_error", "too busy", "overloaded_error", retryable=True)
    error = stream_failure(said, Where("m", 200, {"request-id": "r"}), partial=partial)
    assert type(error) is OverloadedError
    assert (error.status, error.code, error.request_id, error.retryable, error.partial) == (None, "overloaded_error", "r", True, partial)


@pytest.mark.parametrize("kind", ["invalid_event", "not_event_stream", "limit_exceeded", "malformed_function_call"])
def test_a_broken_format_says_its_kind(kind):
    error = stream_failure(StreamError(kind, "what was seen", which="parts"), Where("m", 200, {}), partial="so far")
    assert type(error) is InvalidEventError
    assert (error.kind, error.partial) == (kind, "so far")
    assert "what was seen" in str(error)


def test_a_truncated_stream_has_a_class_of_its_own():
    error = stream_failure(StreamError("stream_truncated"), Where("m", 200, {}), partial="so far")
    assert type(error) is StreamTruncatedError
    assert (error.kind, error.partial) == ("stream_truncated", "so far")


@pytest.mark.parametrize(
    ("error", "failure"),
    [
        (ConnectFailedError("x"), Failure(kind="connection")),
        (StreamTimeoutError("x", stage="first_chunk", timeout_s=1), Failure(kind="timeout")),
        (APIError("x", status=500), Failure(status=500, headers={"a": "b"})),
        (OverloadedError("x", retryable=True), Failure(status=503)),
        (RateLimitError("x", retryable=True), Failure(status=429)),
        (APIError("x", retryable=True), Failure(status=500)),
        (APIError("x"), None),
        (StreamTruncatedError("x"), Failure(kind="connection")),
        (InvalidEventError("x"), None),
    ],
)
def test_each_error_is_one_failure_for_the_retry_policy(error, failure):
    assert failure_of(error, {"a": "b"}) == failure


def test_a_stall_after_chunks_counts_as_a_broken_connection_and_the_total_limit_does_not():
    assert mid_stream_failure_of(StreamTimeoutError("x", stage="idle", timeout_s=1), {}) == Failure(kind="connection")
    assert mid_stream_failure_of(StreamTimeoutError("x", stage="total", timeout_s=1), {}) == Failure(kind="timeout")
