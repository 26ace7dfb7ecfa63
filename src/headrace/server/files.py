"""How many files, connections among them, this process may open.

The rule of this file: a system that has no such bound, or does not tell, is one that bounds nothing.
"""

from __future__ import annotations

import contextlib
from typing import Final

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

_ENOUGH: Final = 65_536


def max_files() -> int | None:
    """Return how many files may be open at once; None: no bound is known."""
    if resource is None:
        return None
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return None if soft == resource.RLIM_INFINITY else soft


def allow_many_files() -> None:
    """Let this process open as many files as the system allows it without asking anybody, which often is a multiple of what it may at first."""
    if resource is None:
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    enough = _ENOUGH if hard == resource.RLIM_INFINITY else min(hard, _ENOUGH)
    if soft != resource.RLIM_INFINITY and soft < enough:
        with contextlib.suppress(ValueError, OSError):  # a system may allow less than it says
            resource.setrlimit(resource.RLIMIT_NOFILE, (enough, hard))
