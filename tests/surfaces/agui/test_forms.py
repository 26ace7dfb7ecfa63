"""The objects of AG-UI, by the package's own models."""

from __future__ import annotations

import pytest
from ag_ui.core import TokenUsage, ToolMessage

from headrace.messages.parts import JsonPart, MediaPart, TextPart, ToolResultPart
from headrace.messages.usage import Usage
from headrace.surfaces.agui.forms import content, result_form, usage_forms


@pytest.mark.parametrize(
    ("parts", "form"),
    [
        ([TextPart("a"), JsonPart(1)], "a1"),
        (
            [TextPart("a"), MediaPart(kind="image", url="https://e.example/x"), TextPart("")],
            [{"type": "text", "text": "a"}, {"type": "image", "source": {"type": "url", "value": "https://e.example/x"}}],
        ),
        (
            [MediaPart(kind="document", file_id="f1", media_type="application/pdf")],
            [{"type": "document", "source": {"type": "file", "value": "f1", "mimeType": "application/pdf"}}],
        ),
        ([MediaPart(kind="audio", data=b"x")], [{"type": "audio", "source": {"type": "data", "value": "eA==", "mimeType": "audio/wav"}}]),
    ],
)
def test_contents(parts, form):
    assert content(parts) == form
    read = ToolMessage.model_validate({"id": "m", "role": "tool", "toolCallId": "c", "content": form})
    assert read.model_dump(mode="json", by_alias=True)["content"] == form


def test_a_result_that_is_an_error_says_so():
    form = result_form(ToolResultPart(call_id="c", parts=[TextPart("no")], state="timed_out"), "m/0")
    assert (form["error"], form["toolCallId"], form["id"]) == ("no", "m/0", "m/0/result")
    assert result_form(ToolResultPart(call_id="c", state="error"), "m/0")["error"] == "error"


def test_usage_is_what_was_said_and_no_more():
    used = {
        ("p", "m"): Usage(input_tokens=3, output_tokens=2, cache_read_tokens=1),
        (None, None): Usage(),
        ("q", None): Usage(output_tokens=2**60),
    }
    (form,) = usage_forms(used)
    assert form == {"provider": "p", "model": "m", "inputTokens": 3, "outputTokens": 2, "totalTokens": 5, "cachedInputTokens": 1}
    TokenUsage.model_validate(form)
