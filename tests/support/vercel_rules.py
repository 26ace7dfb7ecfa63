"""What the AI SDK's client does with a stream: each chunk by its schema, and the message that comes of all of them."""

from __future__ import annotations

import copy
from typing import Any

_META = {"providerMetadata": dict}
_TOOL = {"providerExecuted": bool, "dynamic": bool, "title": str, "toolMetadata": dict, **_META}
_SCHEMAS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "text-start": ({"id": str}, _META),
    "text-delta": ({"id": str, "delta": str}, _META),
    "text-end": ({"id": str}, _META),
    "reasoning-start": ({"id": str}, _META),
    "reasoning-delta": ({"id": str, "delta": str}, _META),
    "reasoning-end": ({"id": str}, _META),
    "error": ({"errorText": str}, {}),
    "tool-input-start": ({"toolCallId": str, "toolName": str}, _TOOL),
    "tool-input-delta": ({"toolCallId": str, "inputTextDelta": str}, {}),
    "tool-input-available": ({"toolCallId": str, "toolName": str, "input": object}, _TOOL),
    "tool-input-error": ({"toolCallId": str, "toolName": str, "input": object, "errorText": str}, _TOOL),
    "tool-approval-request": ({"approvalId": str, "toolCallId": str}, {"reason": str, "isAutomatic": bool, "signature": str}),
    "tool-approval-response": ({"approvalId": str, "approved": bool}, {"reason": str}),
    "tool-output-available": ({"toolCallId": str, "output": object}, {**_TOOL, "preliminary": bool}),
    "tool-output-error": ({"toolCallId": str, "errorText": str}, _TOOL),
    "tool-output-denied": ({"toolCallId": str}, {}),
    "source-url": ({"sourceId": str, "url": str}, {"title": str, **_META}),
    "file": ({"url": str, "mediaType": str}, _META),
    "start-step": ({}, {}),
    "finish-step": ({}, {}),
    "reset-step": ({}, {}),
    "start": ({}, {"messageId": str, "messageMetadata": object}),
    "finish": ({}, {"finishReason": str, "messageMetadata": object}),
    "abort": ({}, {"reason": str}),
    "message-metadata": ({"messageMetadata": object}, {}),
}
_ONLY_LATEST = {"reset-step", "tool-approval-response"}
_FINISHES = {"stop", "length", "content-filter", "tool-calls", "error", "other"}


def check_chunk(form: dict[str, Any], *, sdk: int = 7) -> None:
    """Check one chunk by the schema."""
    kind, fields = form["type"], {name: value for name, value in form.items() if name != "type"}
    if kind.startswith("data-"):
        assert set(fields) <= {"id", "data", "transient"}
        return
    required, optional = _SCHEMAS[kind]
    assert sdk >= 7 or kind not in _ONLY_LATEST
    assert set(required) <= set(fields), form
    assert set(fields) <= {*required, *optional}, form
    for name, value in fields.items():
        wanted = {**optional, **required}[name]
        assert isinstance(value, wanted), (name, form)
    assert fields.get("finishReason", "stop") in _FINISHES


class Client:
    """The client's message, as the stream builds it.

    Attributes:
        message: with its `parts`.
    """

    def __init__(self, message: dict[str, Any] | None = None) -> None:
        """Go on with a message, or start a new one."""
        self.message: dict[str, Any] = copy.deepcopy(message) or {"role": "assistant", "parts": []}
        self._open: dict[tuple[str, str], dict[str, Any]] = {}
        self._partial: dict[str, str] = {}

    def feed(self, form: dict[str, Any]) -> None:  # noqa: C901, PLR0912 - a table
        """Take a chunk; one that the real client cannot take is an AssertionError or a KeyError."""
        kind, parts = form["type"], self.message["parts"]
        marked = {"providerMetadata": form["providerMetadata"]} if "providerMetadata" in form else {}
        match kind.split("-"):
            case ["start"]:
                self.message["id"] = form.get("messageId", self.message.get("id"))
            case ["start", "step"]:
                parts.append({"type": "step-start"})
            case ["reset", "step"]:
                at = max((n for n, part in enumerate(parts) if part["type"] == "step-start"), default=-1)
                del parts[at + 1 :]
                self._open, self._partial = {}, {}
            case ["text" | "reasoning" as block, "start"]:
                part = {"type": block, "text": "", **marked}
                self._open[block, form["id"]] = part
                parts.append(part)
            case ["text" | "reasoning" as block, "delta"]:
                self._open[block, form["id"]]["text"] += form["delta"]
            case ["text" | "reasoning" as block, "end"]:
                self._open.pop((block, form["id"])).update(state="done", **marked)
            case ["tool", "input", "start"]:
                self._partial[form["toolCallId"]] = ""
                self._tool(form, "input-streaming")
            case ["tool", "input", "delta"]:
                self._partial[form["toolCallId"]] += form["inputTextDelta"]
            case ["tool", "input", "available"]:
                self._tool(
                    form, "input-available", input=form["input"], **({"callProviderMetadata": form["providerMetadata"]} if marked else {})
                )
            case ["tool", "input", "error"]:
                self._tool(form, "output-error", input=form["input"], errorText=form["errorText"])
            case ["tool", "approval", "request"]:
                self._found(form["toolCallId"]).update(
                    state="approval-requested",
                    approval={"id": form["approvalId"], **({"signature": form["signature"]} if "signature" in form else {})},
                )
            case ["tool", "approval", "response"]:
                (part,) = [part for part in parts if part.get("approval", {}).get("id") == form["approvalId"]]
                part["state"] = "approval-responded"
                part["approval"]["approved"] = form["approved"]
            case ["tool", "output", "denied"]:
                part = self._found(form["toolCallId"])
                assert part["approval"]["approved"] is False
                part["state"] = "output-denied"
            case ["tool", "output", how]:
                part = self._found(form["toolCallId"])
                part.update(
                    state=f"output-{how}", **({"output": form["output"]} if how == "available" else {"errorText": form["errorText"]})
                )
                part["preliminary"] = form.get("preliminary", False)
            case ["file"] | ["source", "url"]:
                parts.append(dict(form))
            case ["data", *_]:
                if not form.get("transient"):
                    parts.append(dict(form))
            case _:
                pass

    def answer(self, *, approved: bool, reason: str | None = None) -> None:
        """Answer every question."""
        for part in self.message["parts"]:
            if part.get("state") == "approval-requested":
                part["state"] = "approval-responded"
                part["approval"] |= {"approved": approved, **({"reason": reason} if reason else {})}

    def _tool(self, form: dict[str, Any], state: str, **fields: Any) -> None:
        found = [part for part in self.message["parts"] if part.get("toolCallId") == form["toolCallId"]]
        if not found:
            self.message["parts"].append({"type": f"tool-{form['toolName']}", "toolCallId": form["toolCallId"]})
        (part,) = found or self.message["parts"][-1:]
        part.update(type=f"tool-{form['toolName']}", state=state, **fields)

    def _found(self, call_id: str) -> dict[str, Any]:
        (part,) = [part for part in self.message["parts"] if part.get("toolCallId") == call_id]
        return part


def check_stream(forms: list[dict[str, Any]], *, sdk: int = 7, client: Client | None = None) -> Client:
    """Check one answer, and return the client that has read it."""
    client = client or Client()
    for form in forms:
        check_chunk(form, sdk=sdk)
        client.feed(form)
    assert forms[0]["type"] == "start"
    assert forms[-1]["type"] in ("finish", "abort", "error")
    assert client._open == {}
    return client
