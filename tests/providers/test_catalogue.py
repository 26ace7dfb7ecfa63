import re

import pytest

from headrace.messages.message import AssistantMessage, SystemMessage, ToolMessage, UserMessage
from headrace.messages.parts import ReasoningPart, ToolCallPart
from headrace.messages.request import Request, Settings, ToolSpec
from headrace.providers.catalogue import BY_NAME, PROVIDERS
from headrace.providers.resolve import normalise_base_url
from headrace.wire.openai_chat.request_out import encode_request

each = pytest.mark.parametrize("provider", PROVIDERS, ids=lambda provider: provider.id)


def test_no_name_stands_for_two_providers():
    names = [name for provider in PROVIDERS for name in (provider.id, *provider.aliases)]
    assert len(names) == len(set(names)) == len(BY_NAME)


@each
def test_names_are_what_an_id_can_be_split_at(provider):
    for name in (provider.id, *provider.aliases):
        assert re.fullmatch(r"[a-z0-9.-]+", name)
    assert re.fullmatch(r"[A-Z0-9_]+", provider.variable_stem)


@each
def test_addresses_are_whole_and_stand_in_their_normal_form(provider):
    if provider.base_url is not None:
        assert normalise_base_url(provider.base_url) == provider.base_url
        assert provider.base_url.startswith("https://" if provider.needs_key else "http://localhost:")
    if provider.docs_url is not None:
        assert provider.docs_url.startswith("https://")


@each
def test_a_provider_without_a_usual_address_says_where_to_put_one(provider):
    assert provider.base_url or provider.base_url_variables or provider.is_in_process


@each
@pytest.mark.parametrize("effort", ["none", "minimal", "low", "medium", "high"])
def test_every_profile_writes_a_tool_round_at_every_effort(provider, effort):
    history = (
        SystemMessage("s"),
        UserMessage("u"),
        AssistantMessage([ReasoningPart("t"), ToolCallPart(id="call_1", name="clock")], provider=provider.id),
        ToolMessage("12:00", call_id="call_1"),
    )
    request = Request(
        model="m", messages=history, tools=(ToolSpec(name="clock"),), settings=Settings(reasoning_effort=effort, max_tokens=9)
    )
    profile = provider.profile.replace(provider=provider.id)
    encoded = encode_request(request, profile)
    assert b"12:00" in encoded.body
    assert [warning.detail for warning in encoded.warnings if "reasoning_effort" not in warning.detail] == []
