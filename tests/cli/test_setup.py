"""From options to a model and an agent."""

from __future__ import annotations

import pytest

from headrace.cli.setup import (
    DEFAULT_MODEL,
    MODEL_VARIABLE,
    Choices,
    make_agent,
    make_limits,
    make_model,
    make_permissions,
    make_sources,
    model_id,
    tools_of,
)
from headrace.errors import ConfigError, UsageError
from headrace.tools.tool import tool


@pytest.fixture(autouse=True)
def _empty_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("HEADRACE_CACHE", str(tmp_path))
    monkeypatch.delenv(MODEL_VARIABLE, raising=False)


def test_the_option_wins_over_the_environment_and_that_over_the_default(monkeypatch):
    assert model_id(Choices()) == DEFAULT_MODEL
    monkeypatch.setenv(MODEL_VARIABLE, "ollama:a")
    assert model_id(Choices()) == "ollama:a"
    assert model_id(Choices(model="ollama:b")) == "ollama:b"


def test_a_default_model_that_is_not_here_says_how_to_fetch_it_and_how_to_choose_another():
    with pytest.raises(ConfigError, match=r"headrace local pull.*-m or HEADRACE_MODEL"):
        make_model(Choices())


def test_a_model_that_was_asked_for_and_is_not_here_says_only_how_to_fetch_it():
    with pytest.raises(ConfigError, match="headrace local pull") as caught:
        make_model(Choices(model=DEFAULT_MODEL))
    assert MODEL_VARIABLE not in str(caught.value)


def test_the_key_comes_from_the_variable_that_was_named_and_is_not_shown(monkeypatch):
    monkeypatch.setenv("MY_KEY", "k-123456")
    model = make_model(Choices(model="openai-chat:m", base_url="http://127.0.0.1:1/v1", api_key_env="MY_KEY"))
    assert model._endpoint.api_key.reveal() == "k-123456"
    assert "k-123456" not in repr(model)


@pytest.mark.parametrize("value", [None, " "])
def test_a_variable_that_is_not_set_is_wrong_use(monkeypatch, value):
    if value is not None:
        monkeypatch.setenv("MY_KEY", value)
    with pytest.raises(ConfigError, match="MY_KEY"):
        make_model(Choices(model="ollama:m", api_key_env="MY_KEY"))


def test_the_agent_has_tools_instructions_and_rounds():
    choices = Choices(model="ollama:m", tools=("time",), system="Be brief.", max_rounds=3)
    agent = make_agent(choices, make_model(choices))
    assert agent.tools.names == ("city_time",)
    assert agent._setup.rules.max_rounds == 3
    assert agent._setup.instructions.text == "Be brief."


def test_rounds_count_from_0():
    choices = Choices(model="ollama:m", max_rounds=-1)
    with pytest.raises(UsageError, match="--max-rounds -1"):
        make_agent(choices, make_model(choices))


# ---------------------------------------------------------------------------------------------- permissions, limits, servers


def test_rules_are_read_with_and_without_their_first_word():
    choices = Choices(mode="accept-edits", rules=(("allow", "find"), ("deny", "deny shell(command=rm *)"), ("ask", "*")))
    permissions = make_permissions(choices)
    assert permissions.mode == "accept_edits"
    assert [str(rule) for rule in permissions.rules] == ["allow find", "deny shell(command=rm *)", "ask *"]


@pytest.mark.parametrize(
    ("choices", "words"),
    [
        ({"mode": "loud"}, "no mode 'loud'; the modes are default"),
        ({"rules": (("allow", ""),)}, "--allow ''"),
        ({"rules": (("deny", "find(path="),)}, "--deny 'find"),
        ({"rules": (("ask", "fi nd"),)}, "--ask 'fi nd'"),
    ],
)
def test_permissions_that_do_not_do_are_wrong_use(choices, words):
    with pytest.raises(UsageError, match=words):
        make_permissions(Choices(**choices))


def test_limits_are_read_by_name():
    limits = make_limits(Choices(limits=("tool_calls=5", "cost-usd=0.5", "time_s=60", "tokens=9")))
    assert (limits.tool_calls, limits.cost_usd, limits.time_s, limits.tokens) == (5, 0.5, 60, 9)


@pytest.mark.parametrize("text", ["rounds=3", "tokens", "tokens=", "tokens=1.5", "tool_calls=0", "cost_usd=-1", "time_s=nan", "=3"])
def test_limits_that_do_not_do_are_wrong_use(text):
    with pytest.raises(UsageError, match=f"--limit '{text}'"):
        make_limits(Choices(limits=(text,)))


def test_a_server_of_tools_is_a_url_or_a_command_with_its_arguments():
    first, second = make_sources(Choices(mcp=("https://host.test/mcp", "some-server --root 'my files'")))
    assert "host.test" in repr(first)
    assert "some-server" in repr(second)


@pytest.mark.parametrize("text", ["", "  ", "server 'open"])
def test_a_server_that_is_neither_is_wrong_use(text):
    with pytest.raises(UsageError, match="--mcp"):
        make_sources(Choices(mcp=(text,)))


def test_groups_that_are_off_are_not_in_the_agent(monkeypatch):
    monkeypatch.setenv("OLLAMA_API_KEY", "k")
    choices = Choices(model="ollama:m", tools=(f"{__name__}:grouped", "time"))
    model = make_model(choices)
    assert make_agent(choices, model).tools.names == ("grouped", "city_time")
    assert make_agent(choices, model, without_groups=["web"]).tools.names == ("city_time",)
    assert tools_of(make_agent(choices, model)).names == ("grouped", "city_time")


@tool(group="web")
def grouped() -> str:
    """Search."""
    return ""
