"""What a strict client of AG-UI insists on: each event by the package's own models, and all of them in a legal order."""

from __future__ import annotations

from typing import Any

from ag_ui.core import Event
from pydantic import TypeAdapter

from headrace._json import dumps

MODELS: TypeAdapter[Any] = TypeAdapter(Event)
_OPENERS = {"TEXT_MESSAGE_START": "text", "REASONING_START": "span", "REASONING_MESSAGE_START": "thought", "TOOL_CALL_START": "call"}
_GROWING = {"TEXT_MESSAGE_CONTENT": "text", "REASONING_MESSAGE_CONTENT": "thought", "TOOL_CALL_ARGS": "call"}
_ENDERS = {"TEXT_MESSAGE_END": "text", "REASONING_END": "span", "REASONING_MESSAGE_END": "thought", "TOOL_CALL_END": "call"}


def check_stream(forms: list[dict[str, Any]]) -> None:  # noqa: C901 - a list of rules
    """Check one run of the protocol."""
    for form in forms:
        again = MODELS.validate_json(dumps(form)).model_dump(mode="json", by_alias=True)
        assert again == form  # no field that the models do not know, none that they change
    assert forms[0]["type"] == "RUN_STARTED"
    assert forms[-1]["type"] in ("RUN_FINISHED", "RUN_ERROR")
    assert [form["type"] for form in forms[1:-1] if form["type"].startswith("RUN_")] == []
    opened: dict[tuple[str, str], Any] = {}
    owners: dict[tuple[str, str], Any] = {}
    agents: dict[str, bool] = {}
    steps: set[tuple[Any, str]] = set()
    for form in forms:
        kind, owner = form["type"], form.get("subagentRunId")
        name = form.get("toolCallId", form.get("messageId", ""))
        if owner is not None and not kind.startswith("SUBAGENT"):
            assert agents.get(owner), form
        if kind in _OPENERS:
            key = (_OPENERS[kind], name)
            assert key not in opened, form
            opened[key] = owners[key] = owner
        elif kind in _GROWING:
            assert opened[_GROWING[kind], name] == owner
        elif kind in _ENDERS:
            assert opened.pop((_ENDERS[kind], name)) == owner
        elif kind == "STEP_STARTED":
            assert (owner, form["stepName"]) not in steps
            steps.add((owner, form["stepName"]))
        elif kind == "STEP_FINISHED":
            steps.remove((owner, form["stepName"]))
        elif kind == "SUBAGENT_STARTED":
            assert owner not in agents
            assert form.get("parentSubagentRunId") is None or agents[form["parentSubagentRunId"]]
            agents[owner] = True
        elif kind in ("SUBAGENT_FINISHED", "SUBAGENT_ERROR"):
            assert agents[owner]
            agents[owner] = False
        elif kind == "REASONING_ENCRYPTED_VALUE":
            what = "call" if form["subtype"] == "tool-call" else "thought"
            assert owners[what, form["entityId"]] == owner
    if forms[-1]["type"] == "RUN_FINISHED":
        assert (opened, steps, [run for run, is_active in agents.items() if is_active]) == ({}, set(), [])
