from __future__ import annotations

import pytest

from headrace.providers.catalogue import BY_NAME
from headrace.providers.messages import MESSAGES
from headrace.providers.resolve import resolve


def found(model_id, **fields):
    return resolve(model_id, environ=fields.pop("environ", {}), **fields)


def test_the_key_goes_as_the_protocol_wants_it():
    endpoint = found("anthropic:claude-opus-4-6", api_key="k")
    assert endpoint.auth_headers() == (("x-api-key", "k"),)
    assert (endpoint.protocol, endpoint.base_url) == ("anthropic-messages", "https://api.anthropic.com/v1")


@pytest.mark.parametrize("address", ["https://proxy.example", "https://proxy.example/", "https://proxy.example/v1"])
def test_the_address_in_the_environment_may_lack_the_version_as_the_vendors_own_tools_want_it(address):
    endpoint = found("anthropic:m", environ={"ANTHROPIC_BASE_URL": address, "ANTHROPIC_API_KEY": "k"})
    assert endpoint.base_url == "https://proxy.example/v1"


def test_a_server_at_any_address_is_asked_with_the_protocols_key_header_and_profile():
    endpoint = found("anthropic-messages:m", base_url="http://localhost:8080/v1", api_key="k")
    assert endpoint.auth_headers() == (("x-api-key", "k"),)
    assert endpoint.provider == endpoint.profile.provider == "localhost:8080"
    assert (endpoint.profile.takes_foreign_reasoning, endpoint.profile.needs_signature) == (False, False)


def test_a_known_host_is_known_by_the_protocol_too():
    assert found("anthropic-messages:m", base_url="https://api.deepseek.com/anthropic/v1", api_key="k").provider == "deepseek-messages"
    assert found("openai-chat:m", base_url="https://api.deepseek.com", api_key="k").provider == "deepseek"
    other = found("openai-chat:m", base_url="https://api.anthropic.com/v1", api_key="k")
    assert other.auth_headers() == (("authorization", "Bearer k"),)


@pytest.mark.parametrize(
    ("model", "thinking", "takes_temperature"),
    [
        ("claude-3-5-haiku-20241022", None, True),
        ("claude-3-7-sonnet-latest", "enabled", True),
        ("claude-sonnet-4-20250514", "enabled", True),
        ("claude-opus-4-5", "enabled", True),
        ("claude-haiku-4-5@20251001", "enabled", True),
        ("claude-opus-4-6", "adaptive", True),
        ("claude-opus-4-8", "adaptive", False),
        ("claude-opus-5", "adaptive", False),
        ("something-new", "adaptive", False),
    ],
)
def test_each_generation_of_models_thinks_in_its_own_way(model, thinking, takes_temperature):
    profile = found(f"anthropic:{model}", api_key="k").profile
    high = profile.efforts.get("high")
    assert (high["thinking"]["type"] if high else None) == thinking
    assert ("temperature" not in profile.unsupported_settings) == takes_temperature


def test_thinking_is_switched_off_by_a_word_only_where_that_is_no_error():
    efforts = {model: found(f"anthropic:{model}", api_key="k").profile.efforts["none"] for model in ("claude-opus-4-8", "claude-opus-5")}
    assert efforts == {"claude-opus-4-8": {}, "claude-opus-5": {"thinking": {"type": "disabled"}}}


def test_what_the_caller_says_wins_over_what_is_known_of_the_model():
    assert found("anthropic:claude-opus-4-8", api_key="k", profile={"unsupported_settings": ()}).profile.unsupported_settings == ()


@pytest.mark.parametrize("provider", MESSAGES, ids=lambda provider: provider.id)
def test_each_second_door_has_the_key_of_the_first_and_an_address_with_its_version(provider):
    first = BY_NAME[provider.id.removesuffix("-messages")]
    assert set(provider.key_variables) & set(first.all_key_variables)
    assert provider.base_url.endswith("/anthropic/v1")
    assert provider.protocol == "anthropic-messages"
