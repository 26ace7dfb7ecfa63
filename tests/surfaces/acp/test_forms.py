"""Questions and prompts of an editor, as the official package writes and reads them."""

from __future__ import annotations

import pytest
from acp.schema import PromptRequest, RequestPermissionRequest

from headrace.errors import UsageError
from headrace.surfaces.acp.forms import fields_of, is_askable, permission_request, read_permission, read_prompt, title
from surface_runs import with_external, with_question


def test_a_question_is_a_request_with_three_options():
    (pending,) = with_question().result.pending
    form = permission_request(pending)
    read = RequestPermissionRequest.model_validate({"sessionId": "s", **form})
    assert [option.kind for option in read.options] == ["allow_once", "allow_always", "reject_once"]
    assert (read.tool_call.tool_call_id, read.tool_call.raw_input) == (pending.call_key, {"to": "Ada", "euros": 30})
    assert is_askable(pending)
    assert not is_askable(with_external().result.pending[0])


def chosen(option):
    return {"outcome": "selected", "optionId": option}


def test_an_answer():
    (pending,) = with_question().result.pending
    assert read_permission({"outcome": "cancelled"}, pending) is None
    assert read_permission(chosen("allow_once"), pending) == pending.approve()
    assert read_permission(chosen("allow_always"), pending) == pending.approve(rules=pending.suggestions[:1])
    assert read_permission(chosen("reject_once"), pending) == pending.deny()
    for wrong in ({}, chosen("yes"), {"outcome": "selected"}, {"optionId": "allow_once"}):
        with pytest.raises(UsageError):
            read_permission(wrong, pending)


def test_a_prompt():
    blocks = [
        {"type": "text", "text": "Look at "},
        {"type": "image", "data": "eA==", "mimeType": "image/png"},
        {"type": "resource_link", "name": "a.py", "uri": "file:///a.py"},
        {"type": "resource", "resource": {"uri": "file:///b.py", "text": "x = 1"}},
        {"type": "resource", "resource": {"uri": "file:///c.pdf", "blob": "eA==", "mimeType": "application/pdf"}},
    ]
    read = PromptRequest.model_validate({"sessionId": "s", "prompt": blocks})
    parts = read_prompt([fields_of(block) for block in read.prompt])
    assert parts == read_prompt(blocks)
    assert [getattr(part, "text", None) for part in parts] == [
        "Look at ", None, "[a.py](file:///a.py)", '<resource uri="file:///b.py">\nx = 1\n</resource>', None,
    ]  # fmt: skip
    assert (parts[1].kind, parts[1].data, parts[4].kind, parts[4].name) == ("image", b"x", "document", "c.pdf")
    with pytest.raises(UsageError) as caught:
        read_prompt([{"type": "smell"}])
    assert caught.value.argument == "prompt[0].type"


def test_a_title_is_short():
    assert (title("a"), title("a", "{}"), title("a", '{"b":1}')) == ("a", "a", 'a {"b":1}')
    assert len(title("a", "x" * 500)) == 120
