"""How many examples Hypothesis tries where a law is also held over many parameters: the parameters are what is many."""

from __future__ import annotations

from hypothesis import settings

few = settings(max_examples=max(10, settings.default.max_examples // 10))
"""A tenth of what the profile says, and at least ten: for a hundred parameters and more."""
some = settings(max_examples=max(20, settings.default.max_examples // 4))
"""A quarter of it, and at least twenty: for a dozen parameters and more, or where one example is a whole history."""
