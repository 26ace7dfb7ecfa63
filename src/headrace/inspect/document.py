"""An inspection as JSON. The keys are those of `values.py`, `docs/inspect.md` lists them.

The rule of this file: what is written can be read by anybody without this package; the whole message is under `summary`, as `headrace merge --json`
gives it.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from headrace._json import dumps
from headrace.inspect.values import Inspection

FORMAT_VERSION: Final = 1
_KEYS: Final = ("source", "protocol", "status", "notes", "facts", "warnings", "parts", "rows", "plot")


def document_of(inspection: Inspection) -> dict[str, Any]:
    """Return an inspection as a JSON-ready dictionary."""
    values = {key: msgspec.to_builtins(getattr(inspection, key)) for key in _KEYS}
    return {"format_version": FORMAT_VERSION, **values, "summary": inspection.summary}


def dumps_document(inspection: Inspection) -> bytes:
    """Return an inspection as one line of JSON."""
    return dumps(document_of(inspection))
