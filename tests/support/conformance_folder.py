"""Where the recorded streams are: outside of the repository, and not on every machine."""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def find_conformance(environ, root: Path) -> Path | None:
    """Return the folder that `HEADRACE_CONFORMANCE` names, else the one beside the repository, else None.

    A named folder that does not exist is an error: whoever named it wants those tests.
    """
    if named := environ.get("HEADRACE_CONFORMANCE"):
        folder = Path(named).expanduser().resolve()
        if not folder.is_dir():
            raise NotADirectoryError(f"HEADRACE_CONFORMANCE names {named!r}, which is no folder")
        return folder
    beside = root.parent / "shared" / "conformance"
    return beside if beside.is_dir() else None


CONFORMANCE = find_conformance(os.environ, ROOT)
