"""The doctor at a real server: what llama.cpp's own does right and wrong, over three protocols.

It judges the server, so what a small model happens to say decides nothing here: where the model's choice matters, each answer is allowed.
"""

from __future__ import annotations

import pytest

from headrace._sync import run
from headrace.inspect.doctor.ask import Examination
from headrace.inspect.doctor.endpoint import Bounds, Endpoint
from headrace.inspect.doctor.probes import chosen
from headrace.inspect.doctor.switches import config_toml
from headrace.models.local import LocalServer
from headrace.providers.secret import Secret
from headrace.server.gateway.config import config_of
from headrace.server.gateway.serve import serving

CHAT = """
    whole_body one_tool no_argument_tool named_tool no_tool json_schema stream_usage two_answers max_tokens cut_arguments
    system_messages tool_history foreign_ids raw_arguments unknown_model bad_request leaving
""".split()
RESPONSES = "max_tokens cut_arguments bad_request".split()
MESSAGES = "one_tool no_tool usage max_tokens".split()


@pytest.fixture(scope="module")
def server(local_weights):
    server = LocalServer.start("smollm2", threads=1)
    yield server
    server.stop()


async def examined(server, protocol, names, folder):
    """The findings by probe, and the examination."""
    endpoint = Endpoint(base_url=server.base_url, model=server.model, protocol=protocol, api_key=Secret(server.api_key))
    examination = Examination(endpoint, chosen(names), folder=folder, bounds=Bounds(side_by_side=1))
    await examination.run()
    found = {}
    for finding in examination.findings:
        found.setdefault(finding.probe, []).append(finding)
    return found, examination


@pytest.fixture(scope="module")
def chat(server, tmp_path_factory):
    return run(examined(server, "openai-chat", CHAT, tmp_path_factory.mktemp("chat")))


def levels(found, name):
    return [finding.level for finding in found[name]]


@pytest.mark.parametrize(
    "name",
    "text no_tool json_schema stream_usage max_tokens system_messages tool_history foreign_ids bad_request leaving stream".split(),
)
def test_what_it_does_right(chat, name):
    found, _ = chat
    assert levels(found, name) == ["right"], found[name]


def test_streamed_or_not_it_gives_the_same_in_form(chat):
    found, _ = chat
    assert set(levels(found, "whole_body")) <= {"right", "unclear"}  # at temperature 0 too it may stop elsewhere


@pytest.mark.parametrize("name", ["one_tool", "no_argument_tool", "cut_arguments"])
def test_what_depends_on_so_small_a_model_is_right_or_unclear_and_never_held_against_the_server(chat, name):
    found, _ = chat
    assert set(levels(found, name)) <= {"right", "unclear"}, found[name]


def test_it_takes_no_notice_of_a_tool_that_is_named(chat):
    found, _ = chat
    [finding] = found["named_tool"]
    assert finding.level == "wrong"
    assert finding.switches == {"tool_choices": ("auto", "none", "required")} or not finding.switches


def test_it_refuses_several_answers(chat):
    found, _ = chat
    [finding] = found["two_answers"]
    assert (finding.level, finding.switches) == ("unsupported", {"unsupported_settings": ("n",)})
    assert "400" in finding.detail


def test_it_fails_on_a_history_whose_arguments_are_no_json(chat):
    found, _ = chat
    [finding] = found["raw_arguments"]
    assert finding.level == "wrong"
    assert "500" in finding.detail


def test_it_answers_for_any_model(chat):
    found, _ = chat
    assert levels(found, "unknown_model") == ["unsupported"]


def test_its_errors_have_numbers_for_codes(chat):
    found, _ = chat
    assert "number" in found["bad_request"][0].detail


def test_the_profile_that_helps_is_one_that_headrace_takes(chat):
    _, examination = chat
    profile = examination.base_profile.replace(**examination.switches)
    assert profile.unsupported_settings == ("n",)
    assert examination.requests <= examination.planned_requests


async def test_over_responses_an_answer_that_was_cut_off_says_that_it_is_whole(server, tmp_path):
    found, _ = await examined(server, "openai-responses", RESPONSES, tmp_path)
    assert levels(found, "max_tokens") == ["wrong"]
    assert set(levels(found, "cut_arguments")) <= {"wrong", "unclear"}
    assert levels(found, "bad_request") == ["right"]
    stream = {finding.what: finding for finding in found["stream"]}
    assert "sequence_number, output_index" in stream["Events lack members that the protocol promises"].detail


async def test_over_messages_it_takes_no_notice_of_a_choice_of_none_and_calls_begin_without_input(server, tmp_path):
    found, _ = await examined(server, "anthropic-messages", MESSAGES, tmp_path)
    assert set(levels(found, "no_tool")) <= {"wrong", "right"}  # the choice is not read; whether the model calls is its own matter
    assert levels(found, "max_tokens") == ["right"]
    assert levels(found, "usage") == ["right"]
    if levels(found, "one_tool") == ["right"]:
        assert any(finding.what == "A block that calls a tool begins without its input" for finding in found["stream"])


async def test_behind_the_gateway_with_the_profile_that_the_doctor_wrote_the_tool_that_is_named_is_called(chat, server, tmp_path):
    _, examination = chat
    endpoint = examination.endpoint
    file = tmp_path / "headrace.toml"
    text = config_toml(
        examination.findings, examination.base_profile, model_id=endpoint.model_id, protocol=endpoint.protocol, base_url=server.base_url
    )
    file.write_text(text, encoding="utf-8")
    upstream = {"name": "up", "base_url": server.base_url, "protocol": "openai-chat", "api_key_env": "UP_KEY"}
    environ = {"UP_KEY": server.api_key, "HEADRACE_CONFIG": str(file)}
    async with serving(config_of({"port": 0, "upstreams": [upstream]}), environ=environ) as gateway:
        behind = Examination(
            Endpoint(base_url=f"{gateway.url}/v1", model=server.model), chosen(["named_tool", "raw_arguments"]), folder=tmp_path / "behind"
        )
        await behind.run()
    found = {finding.probe: finding for finding in behind.findings}
    assert found["named_tool"].level in {"right", "unclear"}, found["named_tool"]  # so small a model may still talk instead
    assert found["raw_arguments"].level == "right"
