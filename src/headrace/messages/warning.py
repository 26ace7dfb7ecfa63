"""What was repaired or looked wrong in a stream, and where."""

from __future__ import annotations

from typing import Final

import msgspec

from headrace._json import has_lone_surrogate, replace_surrogates

CODES: Final = frozenset(
    """
    missing_tool_index reused_tool_index duplicate_tool_id changing_tool_id missing_tool_id missing_tool_name repeated_tool_name
    arguments_not_string arguments_not_object invalid_tool_arguments truncated_tool_arguments lenient_json
    placeholder_arguments_dropped duplicate_arguments_dropped trailing_garbage cumulative_chunks finish_reason_mismatch
    finish_reason_missing finish_without_tool_calls multiple_finish_reasons early_finish_reason possible_inline_tool_call
    leaked_special_tokens missing_terminal_event missing_block_start missing_item_id comment_in_data unterminated_event
    restarted_message invalid_utf8 dropped_for_provider
    """.split()
)
"""Every code there is (DESIGN 6.4)."""


class Warning(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):  # noqa: A001 - the field's word
    """One repair or oddity.

    Attributes:
        code: one of `CODES`.
        event: which event of the stream, counted from 0; None for chunks made by hand.
        offset: where that event begins in the body, in bytes; None for chunks made by hand.
        choice: which choice it concerns.
        part: the key of the part it concerns, or None.
        detail: what was seen and what was done, for a person.
    """

    code: str
    event: int | None = None
    offset: int | None = None
    choice: int = 0
    part: int | None = None
    detail: str = ""

    def __post_init__(self) -> None:
        """Make the detail writable: it may quote the very text that was broken."""
        if has_lone_surrogate(self.detail):
            msgspec.structs.force_setattr(self, "detail", replace_surrogates(self.detail))
