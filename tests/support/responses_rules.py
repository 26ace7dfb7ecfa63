"""What the vendor's client insists on: each event by its own model, dense numbers, items that begin and end once."""

from __future__ import annotations

import json
import typing
from typing import Any

from openai.types.responses import Response, ResponseStreamEvent
from pydantic import TypeAdapter

_MODELS = {model.model_fields["type"].annotation: model for model in typing.get_args(typing.get_args(ResponseStreamEvent)[0])}
MODELS = {typing.get_args(literal)[0]: TypeAdapter(model) for literal, model in _MODELS.items()}
WHOLE = TypeAdapter(Response)


def forms_of(items: list[bytes]) -> list[dict[str, Any]]:
    """Read the events; each is one."""
    forms = []
    for item in items:
        head, _, data = item.partition(b"\n")
        form = json.loads(data.removeprefix(b"data: "))
        assert item.endswith(b"\n\n")
        assert head == b"event: " + form["type"].encode()
        forms.append(form)
    return forms


def check_stream(items: list[bytes]) -> list[dict[str, Any]]:
    """Check one response, and return its events."""
    forms = forms_of(items)
    opened: set[int] = set()
    done: dict[int, Any] = {}
    for number, form in enumerate(forms):
        MODELS[form["type"]].validate_python(form, strict=False)
        assert form["sequence_number"] == number
        if form["type"] == "response.output_item.added":
            assert form["output_index"] == len(opened)
            opened.add(form["output_index"])
        elif form["type"] == "response.output_item.done":
            assert form["output_index"] in opened
            assert form["output_index"] not in done
            done[form["output_index"]] = form["item"]
        elif "output_index" in form:
            assert form["output_index"] in opened - set(done)
    assert opened == set(done)
    assert forms[0]["type"] in ("response.created", "error")
    assert forms[-1]["type"] in ("response.completed", "response.incomplete", "response.failed", "error")
    if "response" in forms[-1]:
        output = forms[-1]["response"]["output"]
        assert all(item in done.values() for item in output)  # what is told whole is what was told in pieces
        WHOLE.validate_python(forms[-1]["response"])
    return forms
