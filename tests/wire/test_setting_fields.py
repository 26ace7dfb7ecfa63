import pytest

from headrace.errors import UnsupportedError
from headrace.messages.request import Settings
from headrace.wire.profile import DEFAULT, Profile
from headrace.wire.setting_fields import effort_fields, setting_fields

NAMES = {"max_tokens": "num_predict", "temperature": "temperature"}


def fields(settings, profile=DEFAULT):
    warnings = []
    return setting_fields(settings, profile, NAMES, warnings), [warning.detail for warning in warnings]


def test_settings_go_by_their_names_on_the_wire():
    settings = Settings(max_tokens=5, temperature=0.0, reasoning_effort="low", parallel_tool_calls=False, extra_body={"x": 1})
    assert fields(settings) == ({"num_predict": 5, "temperature": 0.0}, [])


def test_what_shapes_an_answer_is_left_out_and_said():
    assert fields(Settings(seed=1)) == ({}, ["settings.seed: this provider has no such setting"])
    assert fields(Settings(temperature=1.0), Profile(unsupported_settings=("temperature",)))[0] == {}


@pytest.mark.parametrize(
    "settings", [Settings(n=2), Settings(stop=("x",)), Settings(logprobs=True), Settings(modalities=("text", "audio"))]
)
def test_what_the_caller_cannot_do_without_is_refused(settings):
    with pytest.raises(UnsupportedError):
        fields(settings)
    with pytest.raises(UnsupportedError):
        fields(Settings(max_tokens=1), Profile(unsupported_settings=("max_tokens",)))


def test_what_asks_for_nothing_is_no_loss():
    assert fields(Settings(n=1, stop=(), logprobs=False, top_logprobs=0, modalities=("text",))) == ({}, [])


def test_an_effort_is_the_profiles_own_else_the_wires_usual_one():
    usual = {"low": {"think": True}}
    low = Settings(reasoning_effort="low")
    assert effort_fields(Settings(), DEFAULT, usual) == {}
    assert effort_fields(low, DEFAULT, usual) == {"think": True}
    assert effort_fields(low, Profile(efforts={"low": {"budget": 1}}), usual) == {"budget": 1}
    with pytest.raises(UnsupportedError, match="high"):
        effort_fields(Settings(reasoning_effort="high"), DEFAULT, usual)
