import pytest

from headrace.errors import ConfigError
from headrace.wire.profile import DEFAULT, Profile


def test_the_default_sends_no_reasoning_and_the_oldest_words():
    assert DEFAULT.reasoning_style == "none"
    assert (DEFAULT.system_role, DEFAULT.max_tokens_field) == ("system", "max_tokens")


def test_a_mapping_overrides_single_switches_of_a_base():
    base = Profile(seed_field="random_seed", body={"a": 1})
    profile = Profile.of({"supports_names": False, "tool_choices": ["auto"]}, base=base)
    assert profile == Profile(seed_field="random_seed", body={"a": 1}, supports_names=False, tool_choices=("auto",))
    assert Profile.of(None) is DEFAULT
    assert Profile.of(base) is base


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"suports_names": False}, "suports_names"),
        ({"supports_names": "no"}, "supports_names"),
        ({"reasoning_style": "loud"}, "loud"),
        ({"unsupported_settings": ("speed",)}, "speed"),
        ({"call_id_pattern": "[0-9]{9}", "call_id_length": 9}, "call_id_pattern"),
        ({"call_id_pattern": "[A-Za-z0-9]{9}"}, "call_id_length"),
        ({"call_id_length": 3}, "under 8"),
    ],
)
def test_a_switch_that_is_unknown_or_does_not_fit_is_a_config_error_that_names_it(changes, named):
    with pytest.raises(ConfigError, match=named):
        DEFAULT.replace(**changes)


def test_what_a_profile_holds_cannot_be_changed():
    profile = Profile(body={"a": {"b": 1}}, efforts={"low": {"x": 1}})
    with pytest.raises(TypeError):
        profile.body["a"]["b"] = 2
    with pytest.raises(TypeError):
        profile.efforts["low"]["x"] = 2


def test_an_id_fits_where_the_pattern_matches_it_as_a_whole():
    profile = Profile(call_id_pattern="[A-Za-z0-9]{9}", call_id_length=9)
    assert profile.fits_call_id("abc123DEF")
    assert not profile.fits_call_id("abc123DEFG")
    assert not profile.fits_call_id("abc123-EF")
    assert DEFAULT.fits_call_id("anything at all")
    assert not DEFAULT.fits_call_id("")


def test_a_message_is_its_own_providers_or_nobodys():
    profile = Profile(provider="acme")
    assert profile.is_own("acme")
    assert profile.is_own(None)
    assert not profile.is_own("other")
    assert not DEFAULT.is_own("other")


class TestByModel:
    PROFILE = Profile(seed_field="s", by_model={"old-.*": {"seed_field": "o", "efforts": {"high": {}}}, ".*": {"max_tool_name": 9}})

    def test_the_first_pattern_that_matches_the_whole_name_counts(self):
        assert (self.PROFILE.for_model("old-1").seed_field, self.PROFILE.for_model("old-1").max_tool_name) == ("o", 64)
        assert (self.PROFILE.for_model("an old-1").seed_field, self.PROFILE.for_model("an old-1").max_tool_name) == ("s", 9)

    def test_without_a_match_nothing_differs(self):
        assert DEFAULT.for_model("m") is DEFAULT

    def test_a_switch_that_is_none_is_named(self):
        with pytest.raises(ConfigError, match="no switch 'nonsense'"):
            Profile(by_model={"m": {"nonsense": 1}}).for_model("m")
