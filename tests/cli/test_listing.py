"""`headrace models` and `headrace local`."""

from __future__ import annotations

import json

from headrace.cli.listing import provider_row
from headrace.models.local_weights import WEIGHTS
from headrace.providers.catalogue import BY_NAME, PROTOCOLS, PROVIDERS
from headrace.providers.record import Provider


async def test_models_lists_every_provider_and_the_local_model(program):
    done = await program("models")
    assert done.code == 0
    for provider in PROVIDERS:
        assert provider.is_in_process or f"\n{provider.id} " in done.text
    assert f"local:{WEIGHTS.name}" in done.text
    assert "not here yet: headrace local pull" in done.text
    assert "\x1b" not in done.text


async def test_a_key_is_said_to_be_set_and_never_shown(program):
    for arguments in (["models"], ["models", "--json"]):
        done = await program(*arguments, environ={"DEEPSEEK_API_KEY": "k-secret"})
        assert "DEEPSEEK_API_KEY" in done.text
        assert "k-secret" not in done.text
    rows = {row["id"]: row for row in map(json.loads, done.out.splitlines())}
    assert rows["deepseek"]["key_set_in"] == "DEEPSEEK_API_KEY"
    assert rows["groq"]["key_set_in"] is None
    assert rows[f"local:{WEIGHTS.name}"]["is_pulled"] is False


async def test_a_part_of_a_name_finds_a_provider_also_by_another_name(program):
    assert [json.loads(line)["id"] for line in (await program("models", "qwen", "--json")).out.splitlines()] == ["alibaba", "alibaba-intl"]
    done = await program("models", "nobody")
    assert (done.code, done.out) == (2, b"")
    assert "nobody" in done.err


def test_an_empty_key_is_not_set():
    assert provider_row(BY_NAME["deepseek"], {"DEEPSEEK_API_KEY": " "})["key_set_in"] is None


def test_a_protocol_of_a_later_version_is_marked():
    assert all(provider_row(provider, {})["is_supported"] == (provider.protocol in PROTOCOLS) for provider in PROVIDERS)
    assert not provider_row(Provider(id="lab", name="The lab", protocol="smoke-signals"), {})["is_supported"]


async def test_what_the_users_config_adds_is_listed_and_said_to_be_from_there(program):
    path = program.folder / "mine.toml"
    path.write_text('[providers.lab]\nbase_url = "http://lab.test/v1"\n[providers.deepseek]\nbase_url = "http://proxy.test"\n')
    environ = {"HEADRACE_CONFIG": str(path)}
    rows = {row["id"]: row for row in map(json.loads, (await program("models", "--json", environ=environ)).out.splitlines())}
    assert (rows["lab"]["base_url"], rows["lab"]["configured_in"]) == ("http://lab.test/v1", str(path))
    assert (rows["deepseek"]["base_url"], rows["deepseek"]["configured_in"]) == ("http://proxy.test", str(path))
    assert rows["groq"]["configured_in"] is None
    assert f"LAB_API_KEY is not set; from {path}" in (await program("models", "lab", environ=environ)).text


async def test_a_broken_config_is_wrong_use_and_names_the_place(program):
    usual = program.folder / ".config" / "headrace" / "headrace.toml"
    usual.parent.mkdir(parents=True)
    usual.write_text('[providers.lab]\napi_key = "k-secret"\n')
    done = await program("models")
    assert (done.code, done.out) == (2, b"")
    assert f"{usual}: providers.lab.api_key: keys do not belong into a file; set the variable LAB_API_KEY" in done.err
    assert "k-secret" not in done.err


async def test_a_model_that_was_pulled_is_listed_with_its_path(program):
    models = program.folder / "cache" / "models"
    models.mkdir(parents=True)
    path = models / f"{WEIGHTS.name}-{WEIGHTS.version}.gguf"
    with path.open("wb") as stream:
        stream.truncate(WEIGHTS.size)  # a file of the right size, without its blocks
    environ = {"HEADRACE_CACHE": str(program.folder / "cache")}
    (row,) = [json.loads(line) for line in (await program("local", "list", "--json", environ=environ)).out.splitlines()]
    assert (row["id"], row["is_pulled"], row["path"]) == (f"local:{WEIGHTS.name}", True, str(path))
    assert str(path) in (await program("local", "list", environ=environ)).text
    done = await program("local", "path", environ=environ)
    assert (done.code, done.text) == (0, f"{path}\n")


async def test_a_model_that_was_not_pulled_has_no_path(program):
    done = await program("local", "path")
    assert (done.code, done.out) == (2, b"")
    assert "headrace local pull" in done.err


async def test_an_unknown_name_cannot_be_pulled(program):
    done = await program("local", "pull", "nobody")
    assert (done.code, done.out) == (2, b"")
    assert "nobody" in done.err
