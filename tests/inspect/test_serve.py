"""The page's pure functions: what was posted, and what is answered."""

from __future__ import annotations

import base64
import json
import re

import pytest

from headrace.inspect import serve
from headrace.inspect.serve import form, report
from inspect_samples import SAMPLES

BODY = SAMPLES["parallel-calls"]().body


def test_a_posted_body_gets_its_report():
    answer = report(BODY, {"name": "mill"})
    assert (answer.status, answer.content_type) == (200, "text/html; charset=utf-8")
    assert "<h1>mill</h1>" in answer.body.decode()


def test_a_report_may_be_json_and_the_protocol_may_be_said():
    answer = report(BODY, {"format": "json", "protocol": "openai-chat", "option.think-tags": "true"})
    document = json.loads(answer.body)
    assert (answer.content_type, document["protocol"], document["notes"]) == ("application/json", "openai-chat", [])
    assert [call["name"] for call in document["summary"]["tool_calls"]] == ["read_gauge", "set_gate"]


def test_a_packed_capture_has_times():
    packed = {"headrace_capture": 1, "body": base64.b64encode(BODY).decode(), "response": {"status": 200, "reads": [[0, 50.0]]}}
    assert json.loads(report(json.dumps(packed).encode(), {"format": "json"}).body)["facts"]["duration_ms"] == 50.0


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ({"protocol": "x"}, "there is no protocol 'x'"),
        ({"format": "xml"}, "it is html or json"),
        ({"option.think_tags": "maybe"}, "it is true or false"),
        ({"option.nonsense": "true"}, "nonsense"),
    ],
)
def test_wrong_use_is_a_refusal_that_says_what_was_wrong(query, words):
    answer = report(BODY, query)
    assert (answer.status, answer.content_type) == (400, "application/json")
    assert words in json.loads(answer.body)["error"]["message"]


def test_a_capture_that_is_too_large_is_refused(monkeypatch):
    monkeypatch.setattr(serve, "MAX_BODY", 10)
    assert report(b"x" * 11, {}).status == 413
    assert report(b"x" * 10, {}).status == 200


@pytest.mark.parametrize("page", [form("/here").body.decode(), report(BODY, {}).body.decode()], ids=["form", "report"])
def test_a_page_names_nothing_outside_of_itself(page):
    assert re.findall(r"https?:|//[a-z]|@import|url\(", re.sub(r"<script>.*?</script>", "", page, flags=re.DOTALL)) == []
    assert re.search(r"""\s(?:src|style|on\w+)=""", page) is None
    assert "default-src &#x27;none&#x27;" in page


def test_the_form_posts_to_where_it_was_mounted():
    assert 'data-to="/here"' in form("/here").body.decode()
