"""The inspector as a page: a form that takes a dropped or pasted capture, and the report that answers it. Pure.

The rule of this file: a function from what was posted to what is answered. It stores nothing and opens nothing, so any server can mount it: `form` at
a path, `report` at the same path for what is posted there. The report is shown in a frame without an origin, so nothing in it reaches the server.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from headrace._json import dumps
from headrace.decoding import SUPPORTED
from headrace.errors import UsageError
from headrace.inspect.capture import unpack
from headrace.inspect.document import dumps_document
from headrace.inspect.excerpts import short
from headrace.inspect.html import html_report
from headrace.inspect.inspecting import inspect_capture
from headrace.inspect.markup import asset, element, join, page, void
from headrace.inspect.values import Inspection

MAX_BODY: Final = 32 * 1024 * 1024
"""How large a posted capture may be."""
_HTML: Final = "text/html; charset=utf-8"
_JSON: Final = "application/json"
_FORMATS: Final = ("html", "json")
HEADERS: Final = (
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
    ("referrer-policy", "no-referrer"),
    ("cache-control", "no-store"),
    ("cross-origin-resource-policy", "same-origin"),
)
"""What every answer of the page carries."""


class Answer(msgspec.Struct, frozen=True):
    """What to answer with."""

    status: int
    content_type: str
    body: bytes


def report(body: bytes, query: Mapping[str, str]) -> Answer:
    """Return the report on a posted capture.

    Args:
        body: the capture: a body as it is, or a packed one (see `capture.unpack`).
        query: `protocol` and `provider` as for the decoder, `option.NAME=true|false`, `name` for its title, `format`: `html` or `json`.
    """
    if len(body) > MAX_BODY:
        return _refusal(413, f"a capture may have {MAX_BODY:,} bytes, and this one has {len(body):,}")
    kind = query.get("format") or "html"
    if kind not in _FORMATS:
        return _refusal(400, f"format is {kind!r}; it is html or json")
    try:
        inspection = _inspect(body, query)
    except UsageError as error:
        return _refusal(400, str(error))
    if kind == "json":
        return Answer(200, _JSON, dumps_document(inspection))
    return Answer(200, _HTML, html_report(inspection).encode())


def _inspect(body: bytes, query: Mapping[str, str]) -> Inspection:
    options: dict[str, bool] = {}
    for name, value in query.items():
        if name.startswith("option."):
            if value not in ("true", "false"):
                raise UsageError(f"{name} is {value!r}; it is true or false", argument=name)
            options[name.removeprefix("option.").replace("-", "_")] = value == "true"
    capture = unpack(body, source=short(query.get("name") or "a posted capture", 200))
    return inspect_capture(capture, protocol=query.get("protocol") or None, provider=query.get("provider") or None, options=options)


def _refusal(status: int, message: str) -> Answer:
    return Answer(status, _JSON, dumps({"error": {"message": message, "type": "headrace"}}))


def form(path: str = "/inspect") -> Answer:
    """Return the page with the form.

    Args:
        path: where it posts to, as the browser sees it.
    """
    choices = [element("option", "guess it", value=""), *(element("option", name, value=name) for name in SUPPORTED)]
    fields = [
        element(
            "div",
            element("label", "Files: a body, and its .response.json if there is one", for_="files"),
            void("input", type="file", id="files", multiple=True),
        ),
        element("div", element("label", "or paste a stream", for_="text"), element("textarea", id="text", spellcheck="false")),
        element("div", element("label", "Protocol", for_="protocol"), element("select", *choices, id="protocol")),
        element("button", "Inspect", type="submit", class_="go"),
        element("p", "", id="status", role="status"),
    ]
    body = join(
        element(
            "header",
            element("p", "headrace", class_="soft"),
            element("h1", "Inspect a stream"),
            element("p", "Drop a recorded answer anywhere on this page. It is read by this server, and nothing is kept.", class_="soft"),
        ),
        element(
            "main",
            element("form", *fields, data_to=path),
            element(
                "section",
                element("h2", "Report", id="report-title"),
                element("p", element("a", "Save the report as a file", id="save", href="#report-title")),
                element("iframe", title="The report", sandbox="allow-scripts"),
                id="result",
                aria_labelledby="report-title",
                hidden=True,
            ),
        ),
        element("footer", element("p", "")),
    )
    report_style, report_script = asset("report.css"), asset("report.js")
    text = page(
        title="Inspect a stream · headrace",
        body=body,
        style=f"{report_style}\n{asset('drop.css')}",
        script=asset("drop.js"),
        policy="connect-src 'self'",
        more_styles=(report_style,),
        more_scripts=(report_script,),
    )
    return Answer(200, _HTML, text.encode())
