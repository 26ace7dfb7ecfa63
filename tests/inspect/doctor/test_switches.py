"""From findings to a profile: only switches that exist, in a file that Headrace reads."""

from __future__ import annotations

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor_ground import called, examined, refusal
from headrace.errors import UnsupportedError
from headrace.inspect.doctor.probe import Finding
from headrace.inspect.doctor.probes import PROBES
from headrace.inspect.doctor.switches import config_toml, joined
from headrace.models.model import Model
from headrace.providers.config import Config
from headrace.wire.profile import DEFAULT, Profile

URL = "http://127.0.0.1:9000/v1"


def found(probe="x", what="It is so.", **switches):
    return Finding(level="wrong", what=what, probe=probe, switches=switches)


def toml(*findings, base=DEFAULT, **options):
    return config_toml(findings, base, **{"model_id": "openai-chat:org/m-1", "protocol": "openai-chat", "base_url": URL, **options})


def test_what_two_findings_say_of_one_switch_is_joined():
    switches = joined(
        [
            found(tool_choices=("auto", "none", "required")),
            found(tool_choices=("auto", "required", "named")),
            found(unsupported_settings=("n",)),
            found(unsupported_settings=("stop", "n")),
            found(decode_options={"think_tags": True}),
            found(decode_options={"inline_tool_calls": True}),
            found(supports_names=False),
            found(call_id_length=9),
            found(call_id_length=12),
        ],
        DEFAULT,
    )
    assert switches == {
        "tool_choices": ("auto", "required"),
        "unsupported_settings": ("n", "stop"),
        "decode_options": {"think_tags": True, "inline_tool_calls": True},
        "supports_names": False,
        "call_id_length": 9,
    }


def test_what_the_profile_has_is_not_lost_and_what_changes_nothing_is_left_out():
    base = Profile(output_formats=("json_schema",), unsupported_settings=("seed",), tool_choices=("auto", "required"), supports_names=False)
    switches = joined(
        [
            found(output_formats=("json_object",)),
            found(unsupported_settings=("n",)),
            found(tool_choices=("auto", "none", "required"), supports_names=False),
        ],
        base,
    )
    assert switches == {"output_formats": (), "unsupported_settings": ("seed", "n")}


def test_the_file_is_a_config_with_the_reasons_beside_the_switches():
    text = toml(
        found("two_answers", "n = 2 is refused", unsupported_settings=("n",)),
        found("reasoning", "Reasoning comes as tags", decode_options={"think_tags": True, "think_starts_open": True}),
    )
    lines = text.splitlines()
    assert lines[lines.index('unsupported_settings = ["n"]') - 1] == "# two_answers: n = 2 is refused"
    config = Config.parse(text, "profile.toml")
    for name, model in (("openai-chat", "org/m-1"), ("127-0-0-1-9000-v1", "org/m-1")):
        provider = config.by_name.get(name)
        profile = config.profile_of(provider.profile if provider else DEFAULT, name, model)
        assert profile.unsupported_settings == ("n",)
        assert profile.decode_options == {"think_tags": True, "think_starts_open": True}


def test_the_key_is_named_by_its_variable():
    config = Config.parse(toml(found(supports_names=False), key_variable="LAB_KEY"), "profile.toml")
    [provider] = config.changed
    assert (provider.base_url, provider.needs_key, provider.key_variables) == (URL, True, ("LAB_KEY",))


def test_a_protocol_with_a_profile_of_its_own_has_no_provider_beside_it():
    base = Profile(provider="h", needs_signature=True)
    text = toml(found(supports_names=False), base=base, model_id="anthropic-messages:m", protocol="anthropic-messages")
    config = Config.parse(text, "profile.toml")
    assert config.changed == ()
    assert config.profile_of(base, "anthropic-messages", "m") == base.replace(supports_names=False)


def test_nothing_found_is_a_config_too():
    config = Config.parse(toml(), "profile.toml")
    assert config.changed[0].profile == DEFAULT


@given(st.text(), st.text())
def test_no_word_of_a_server_or_model_can_break_the_file(what, model):
    model = f"m{model}"
    config = Config.parse(toml(found("p", what, supports_names=False), model_id=f"openai-chat:{model}"), "profile.toml")
    assert config.profile_of(DEFAULT, "openai-chat", model).supports_names is False


async def test_the_file_makes_headrace_cope(tmp_path):
    """What the endpoint does not keep is not asked of it any more."""
    seen = await examined(tmp_path / "a", "named_tool", called())
    file = tmp_path / "headrace.toml"
    file.write_text(toml(*seen.examination.findings, model_id="openai-chat:m"), encoding="utf-8")
    other = await examined(tmp_path / "b", "two_answers", refusal())
    file_2 = tmp_path / "other.toml"
    file_2.write_text(toml(*other.examination.findings, model_id="openai-chat:m"), encoding="utf-8")
    async with Model("openai-chat:m", base_url=URL, config=file, environ={}) as model:
        assert "named" not in model.profile.tool_choices
    async with Model("openai-chat:m", base_url=URL, config=file_2, environ={}) as model:
        with pytest.raises(UnsupportedError, match=r"settings\.n"):
            model.stream("?", settings={"n": 2})
    assert tomllib.loads(file.read_text(encoding="utf-8"))["models"]["openai-chat:m"]["profile"] == {
        "tool_choices": ["auto", "none", "required"]
    }


def test_every_question_asks_with_switches_that_exist():
    for probe in PROBES:
        for ask in probe.possible:
            DEFAULT.replace(**ask.profile)
