import pytest

from headrace.wire.openai_chat.request_names import legal_tool_name, speaker
from headrace.wire.profile import DEFAULT, Profile

STRICT = Profile(tool_name_pattern="[A-Za-z0-9_-]", max_tool_name=8)


@pytest.mark.parametrize(("name", "legal"), [("get_time", "get_time"), ("a.b c/é", "a_b_c__"), ("x" * 9, "x" * 8), ("", "unnamed_tool")])
def test_a_tools_name_is_spelled_with_legal_characters(name, legal):
    assert legal_tool_name(name, STRICT) == legal


def test_without_a_pattern_only_an_empty_name_is_filled_in():
    assert legal_tool_name("a.b c", DEFAULT) == "a.b c"
    assert legal_tool_name("", DEFAULT) == "unnamed_tool"


def test_a_speakers_name_goes_where_the_server_takes_it():
    notes = []
    assert speaker("ann", DEFAULT, notes) == {"name": "ann"}
    assert speaker(None, DEFAULT, notes) == {}
    assert speaker("", DEFAULT, notes) == {}
    assert notes == []


@pytest.mark.parametrize(
    ("name", "profile"), [("Dr. Who", DEFAULT), ("a|b", DEFAULT), ("x" * 65, DEFAULT), ("ann", Profile(supports_names=False))]
)
def test_a_speakers_name_that_would_be_refused_is_left_out_and_said(name, profile):
    notes = []
    assert speaker(name, profile, notes) == {}
    assert repr(name) in notes[0].text
