"""How much a server takes, as one value that is checked when it is made.

The rule of this file: each bound has a default that a machine of one's own bears, and a name that is an option of the command line or a
member of a key.
"""

from __future__ import annotations

from typing import Final

import msgspec

from headrace.errors import ConfigError

MIB: Final = 1024 * 1024


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """Bounds of a server.

    Attributes:
        max_body_bytes: how large a request's body may be.
        max_upload_bytes: how large one piece of media in an input may be.
        max_parts: how many parts an input may have.
        arrival_s: how long a request may take to come whole, in seconds.
        max_requests: how many requests may be on their way at once, streams included.
        max_streams: how many streams may be open at once.
        max_page: how many runs, sessions or messages a list gives at most.
        keep_alive_s: after how long a silent stream says that it lives, in seconds.
        stall_s: how long a reader may take nothing before it is cut off, in seconds.
        shutdown_s: how long requests may take to end when the server does, in seconds.
    """

    max_body_bytes: int = 16 * MIB
    max_upload_bytes: int = 8 * MIB
    max_parts: int = 64
    arrival_s: float = 30.0
    max_requests: int = 4000
    max_streams: int = 3000
    max_page: int = 200
    keep_alive_s: float = 15.0
    stall_s: float = 30.0
    shutdown_s: float = 5.0

    def __post_init__(self) -> None:
        """Refuse what is no bound.

        Raises:
            ConfigError: a value is not above 0.
        """
        for name in self.__struct_fields__:
            value = getattr(self, name)
            if not value > 0:
                raise ConfigError(f"{name} is {value!r}; it must be above 0", argument=name)
