from __future__ import annotations

import pytest

from headrace.errors import UnsupportedError, UsageError
from headrace.wire.options import NO_OPTIONS, DecodeOptions


def test_no_option_is_on_by_itself():
    assert DecodeOptions.of(None) is NO_OPTIONS
    assert not any(getattr(NO_OPTIONS, name) for name in DecodeOptions.__struct_fields__)


def test_a_mapping_holds_the_options():
    assert DecodeOptions.of({"think_tags": True, "incremental_output": None}) == DecodeOptions(think_tags=True)
    assert DecodeOptions.of(DecodeOptions(cumulative_text=True)).cumulative_text


@pytest.mark.parametrize("name", ["incremental_output", "drop_repeated_block_start_text"])
def test_what_is_for_other_protocols_may_be_given(name):
    assert getattr(DecodeOptions.of({name: True}), name) is True


@pytest.mark.parametrize(
    ("value", "argument"),
    [
        ({"thinking": True}, "options.thinking"),
        ({5: True}, "options.5"),
        ({"think_tags": 1}, "options.think_tags"),
        ({"think_tags": None}, "options.think_tags"),
        ({"incremental_output": "yes"}, "options.incremental_output"),
        (["think_tags"], "options"),
        ("think_tags", "options"),
    ],
)
def test_wrong_options_are_named(value, argument):
    with pytest.raises(UsageError) as caught:
        DecodeOptions.of(value)
    assert caught.value.argument == argument
    assert not isinstance(caught.value, UnsupportedError)


def test_calls_in_the_text_can_not_be_read_yet():
    assert DecodeOptions.of({"inline_tool_calls": False}) == NO_OPTIONS
    with pytest.raises(UnsupportedError, match="inline_tool_calls") as caught:
        DecodeOptions(inline_tool_calls=True)
    assert caught.value.argument == "options.inline_tool_calls"
