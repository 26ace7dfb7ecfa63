"""What a tool says beside its output."""

from __future__ import annotations

import math

import pytest

from headrace.errors import UsageError
from headrace.tools.notes import ProgressNote


def test_progress_is_a_message_and_how_much_of_how_much():
    note = ProgressNote("copying", 3, 10.0)
    assert (note.message, note.done, note.total) == ("copying", 3, 10.0)
    assert ProgressNote() == ProgressNote("", None, None)
    assert ProgressNote("half \ud800").message == "half \ufffd"


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({"message": 3}, "message"),
        ({"done": "3"}, "done"),
        ({"done": True}, "done"),
        ({"done": math.nan}, "done"),
        ({"total": math.inf}, "total"),
    ],
)
def test_what_json_cannot_hold_is_refused(fields, name):
    with pytest.raises(UsageError, match=rf"progress\.{name} is") as caught:
        ProgressNote(**fields)
    assert caught.value.argument == name
