"""How long a transaction of PostgreSQL may stand still.

A process that was stopped in the middle of a transaction, or whose machine was lost, keeps its locks as long as the server believes in it:
for hours, with the server's own settings. Nobody could take over what it worked on.

The rule of this file: text alone, for every connection to PostgreSQL that changes something.
"""

from __future__ import annotations

from typing import Final

STANDSTILL_S: Final = 10.0
_NAME: Final = "idle_in_transaction_session_timeout"


def bounding_standstill(seconds: float) -> str:
    """Return the statement by which the server bounds how long a transaction of a session may stand still, unless it does so already."""
    return f"SELECT set_config('{_NAME}', '{round(seconds * 1000)}ms', false) WHERE current_setting('{_NAME}') = '0'"
