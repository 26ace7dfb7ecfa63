"""The version of this package."""

from __future__ import annotations

import sys


def version() -> str:
    """Return the version of this package."""
    return str(sys.modules["headrace"].__version__)
