"""The models that are served, as clients ask for them.

The rule of this file: one body serves the clients of every protocol that lists models at `/v1/models`: their members differ in name and do
not contradict.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from headrace._json import dumps


def list_body(names: tuple[str, ...], created_s: int) -> bytes:
    """Return the list as `/v1/models` gives it."""
    created_at = datetime.fromtimestamp(created_s, UTC).isoformat().replace("+00:00", "Z")
    data = [_entry(name, created_s, created_at) for name in names]
    ends = {"first_id": names[0] if names else None, "last_id": names[-1] if names else None}
    return dumps({"object": "list", "data": data, "has_more": False, **ends})


def model_body(name: str, created_s: int) -> bytes:
    """Return one model as `/v1/models/NAME` gives it."""
    return dumps(_entry(name, created_s, datetime.fromtimestamp(created_s, UTC).isoformat().replace("+00:00", "Z")))


def _entry(name: str, created_s: int, created_at: str) -> dict[str, Any]:
    return {
        "id": name,
        "object": "model",
        "type": "model",
        "created": created_s,
        "created_at": created_at,
        "owned_by": "headrace",
        "display_name": name,
    }
