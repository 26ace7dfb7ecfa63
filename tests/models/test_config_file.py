"""Where the user's config is looked for, and what happens when it is not there."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from headrace.errors import ConfigError
from headrace.models.config_file import config_of, load_config, user_config_path
from headrace.models.model import Model
from headrace.providers.config import EMPTY_CONFIG, Config

LAB = '[providers.lab]\nbase_url = "http://lab.test/v1"\nneeds_key = false\n'
posix = pytest.mark.skipif(sys.platform == "win32", reason="Windows keeps it below %APPDATA%")


def write(path, text=LAB):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_a_path_wins_over_the_variable_and_that_over_the_users_folder(tmp_path):
    argument = write(tmp_path / "a.toml", LAB.replace("lab]", "argument]"))
    named = write(tmp_path / "b.toml", LAB.replace("lab]", "named]"))
    write(tmp_path / "xdg" / "headrace" / "headrace.toml", LAB.replace("lab]", "usual]"))
    environ = {"XDG_CONFIG_HOME": str(tmp_path / "xdg"), "HEADRACE_CONFIG": str(named)}
    assert load_config(argument, environ=environ).changed[0].id == "argument"
    assert load_config(environ=environ).changed[0].id == "named"
    assert load_config(environ=environ | {"HEADRACE_CONFIG": " "}).changed[0].id == "usual"
    assert load_config(environ=environ).source == str(named)


@posix
def test_the_users_folder_is_xdgs_else_below_home():
    assert user_config_path({"XDG_CONFIG_HOME": "/x", "HOME": "/h"}) == Path("/x/headrace/headrace.toml")
    assert user_config_path({"XDG_CONFIG_HOME": "relative", "HOME": "/h"}) == Path("/h/.config/headrace/headrace.toml")
    assert user_config_path({"HOME": "/h"}) == Path("/h/.config/headrace/headrace.toml")
    assert user_config_path({}) is None


def test_without_a_file_nothing_is_added(tmp_path):
    assert load_config(environ={}) is EMPTY_CONFIG
    assert load_config(environ={"HOME": str(tmp_path)}) is EMPTY_CONFIG


@pytest.mark.parametrize(
    ("path", "environ", "argument"), [("no.toml", {}, "config"), (None, {"HEADRACE_CONFIG": "no.toml"}, "HEADRACE_CONFIG")]
)
def test_a_file_that_was_named_must_be_there(path, environ, argument):
    with pytest.raises(ConfigError, match=r"no\.toml") as caught:
        load_config(path, environ=environ)
    assert caught.value.argument == argument


def test_a_file_that_cannot_be_read_is_a_config_error_with_its_path(tmp_path):
    for path, words in (
        (tmp_path, "cannot be read"),
        (tmp_path / "latin.toml", "no UTF-8"),
        (tmp_path / "large.toml", "at most"),
        (tmp_path / "odd.toml", "no TOML"),
    ):
        if path.name == "latin.toml":
            path.write_bytes(b"# \xe9\n")
        elif path.name == "large.toml":
            path.write_bytes(b"#" * (2 << 20))
        elif path.name == "odd.toml":
            path.write_bytes(b"[")
        with pytest.raises(ConfigError, match=words) as caught:
            load_config(path)
        assert str(path) in str(caught.value)


def test_a_byte_order_mark_does_not_matter(tmp_path):
    path = tmp_path / "a.toml"
    path.write_bytes(b"\xef\xbb\xbf" + LAB.encode())
    assert load_config(path).changed[0].id == "lab"


def test_a_file_that_was_changed_is_read_again(tmp_path):
    path = write(tmp_path / "a.toml")
    assert load_config(path) is load_config(path)
    write(path, LAB.replace("lab]", "hut]"))
    os.utime(path, ns=(1, 1))
    assert load_config(path).changed[0].id == "hut"


def test_a_config_is_a_value_a_mapping_or_a_path(tmp_path):
    path = write(tmp_path / "a.toml")
    assert config_of(path, {}).changed == config_of(str(path), {}).changed
    assert config_of({"providers": {"lab": {}}}, {}).changed[0].id == "lab"
    assert config_of(kept := Config(), {"HEADRACE_CONFIG": "no.toml"}) is kept
    assert config_of(None, {}) is EMPTY_CONFIG


def test_a_model_of_a_provider_of_the_users_own(tmp_path):
    path = write(tmp_path / "a.toml", LAB + '[models."lab:m".profile]\nmax_tool_name = 32\n')
    for fields in ({"config": path, "environ": {}}, {"environ": {"HEADRACE_CONFIG": str(path)}}):
        model = Model("lab:m", **fields)
        assert (model.provider, model.protocol, model.profile.max_tool_name) == ("lab", "openai-chat", 32)
        assert repr(model) == "Model('lab:m', base_url='http://lab.test/v1')"
    with pytest.raises(ConfigError, match="unknown"):
        Model("lab:m", environ={})


def test_what_code_says_of_a_profile_wins_over_the_file(tmp_path):
    path = write(tmp_path / "a.toml", LAB + "[providers.lab.profile]\nmax_tool_name = 32\nsupports_audio = false\n")
    model = Model("lab:m", config=path, environ={}, profile={"max_tool_name": 16})
    assert (model.profile.max_tool_name, model.profile.supports_audio) == (16, False)


def test_a_broken_file_is_said_by_whoever_reads_it(tmp_path):
    path = write(tmp_path / "a.toml", "[providers.lab]\nbase = 1\n")
    with pytest.raises(ConfigError, match=r"a\.toml: providers\.lab\.base"):
        Model("deepseek:m", api_key="k", environ={"HEADRACE_CONFIG": str(path)})
