"""Names as Chat Completions takes them: those of speakers and those of tools.

The rule of this file: a name that the server would refuse does not fail the request. A speaker's name is left out with a
note; a called tool's name, which a call cannot be without, is spelled with legal characters.
"""

from __future__ import annotations

import re
from typing import Final

from headrace.wire.encoding_cache import Note
from headrace.wire.profile import Profile

NAMELESS: Final = "unnamed_tool"
"""What a call goes by whose name the model never said; its result says that it was not run."""

_SPEAKER: Final = re.compile(r"[^\s<|\\/>]{1,64}")  # what OpenAI's API accepts as `name` of a message


def speaker(name: str | None, profile: Profile, notes: list[Note]) -> dict[str, str]:
    """Return the `name` member of a message, or nothing."""
    if not name:
        return {}
    if profile.supports_names and _SPEAKER.fullmatch(name):
        return {"name": name}
    notes.append(Note(None, f"the speaker's name {name!r}"))
    return {}


def legal_tool_name(name: str, profile: Profile) -> str:
    """Return the name that a call goes by: its own where the server takes it."""
    if profile.tool_name_pattern is not None:
        pattern = profile.tool_name_pattern
        name = "".join(letter if re.fullmatch(pattern, letter) else "_" for letter in name)[: profile.max_tool_name]
    return name or NAMELESS
