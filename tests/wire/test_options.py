from __future__ import annotations

import pytest

from headrace.errors import UsageError
from headrace.wire.inline_families import FAMILY_NAMES
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
        ({"inline_tool_calls": "hermes"}, "options.inline_tool_calls"),
        ({"inline_tool_calls": ["nobodys"]}, "options.inline_tool_calls"),
        ({"inline_tool_calls": {"hermes": {}}}, "options.inline_tool_calls"),
        ({"inline_tool_names": "w"}, "options.inline_tool_names"),
        ({"inline_tool_names": True}, "options.inline_tool_names"),
        ({"inline_tool_names": [5]}, "options.inline_tool_names"),
        ({"inline_tool_names": {"w": 5}}, "options.inline_tool_names"),
    ],
)
def test_wrong_options_are_named(value, argument):
    with pytest.raises(UsageError) as caught:
        DecodeOptions.of(value)
    assert caught.value.argument == argument


def test_ways_to_write_calls_may_be_named():
    assert DecodeOptions().inline_families == ()
    assert DecodeOptions(inline_tool_calls=True).inline_families == FAMILY_NAMES
    assert DecodeOptions.of({"inline_tool_calls": ["hermes", "glm"]}).inline_families == ("hermes", "glm")


def test_tools_may_be_named_with_or_without_their_schemas():
    assert DecodeOptions().offered_tools is None
    assert DecodeOptions.of({"inline_tool_names": ["a", "b"]}).offered_tools == {"a": {}, "b": {}}
    assert DecodeOptions.of({"inline_tool_names": {"a": {"type": "object"}}}).offered_tools == {"a": {"type": "object"}}
    assert DecodeOptions.of({"inline_tool_names": ()}).offered_tools == {}
