"""From options to a model and an agent."""

from __future__ import annotations

import pytest

from headrace.cli.setup import DEFAULT_MODEL, MODEL_VARIABLE, Choices, make_agent, make_model, model_id
from headrace.errors import ConfigError, UsageError


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
