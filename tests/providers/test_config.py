"""What users add to the catalogue: read whole or refused with the path, never a key of a provider."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.errors import ConfigError
from headrace.providers import profiles
from headrace.providers.catalogue import BY_NAME, PROVIDERS
from headrace.providers.config import EMPTY_CONFIG, Config
from headrace.wire.profile import DEFAULT

LAB = """
[providers.lab]
name = "The lab"
base_url = "http://lab.test:9000/v1/"
protocol = "openai-chat"
key_variables = ["LAB_TOKEN"]
aliases = ["shed"]
needs_key = false
docs_url = "http://lab.test"
key_header = "x-lab"
key_prefix = ""

[providers.lab.profile]
max_tokens_field = "max_completion_tokens"
unsupported_settings = ["n"]
body = { lab = { floor = 3 } }
"""


def lab(text=LAB):
    return Config.parse(text, "headrace.toml")


def test_a_new_provider_is_read_whole():
    config = lab()
    (provider,) = config.changed
    assert (provider.id, provider.name, provider.base_url) == ("lab", "The lab", "http://lab.test:9000/v1")
    assert (provider.key_variables, provider.aliases, provider.needs_key) == (("LAB_TOKEN",), ("shed",), False)
    assert (provider.key_header, provider.key_prefix, provider.docs_url) == ("x-lab", "", "http://lab.test")
    assert provider.profile == DEFAULT.replace(
        max_tokens_field="max_completion_tokens", unsupported_settings=("n",), body={"lab": {"floor": 3}}
    )
    assert config.by_name["shed"] is config.by_name["lab"] is provider
    assert config.providers == (*PROVIDERS, provider)


def test_a_new_provider_needs_no_more_than_its_name():
    (provider,) = lab("[providers.lab]").changed
    assert (provider.id, provider.name, provider.protocol, provider.base_url, provider.needs_key) == (
        "lab",
        "lab",
        "openai-chat",
        None,
        True,
    )


def test_a_known_provider_keeps_what_is_not_said():
    config = lab(
        '[providers.deepseek]\nbase_url = "http://proxy.test"\naliases = ["ds"]\n[providers.deepseek.profile]\nsupports_audio = true'
    )
    provider = config.by_name["deepseek"]
    assert (provider.base_url, provider.name) == ("http://proxy.test", "DeepSeek")
    assert provider.profile == profiles.DEEPSEEK.replace(supports_audio=True)
    assert config.by_name["ds"] is provider
    assert [one.id for one in config.providers] == [one.id for one in PROVIDERS]


def test_another_name_of_a_provider_means_that_provider():
    config = lab('[providers.qwen]\nbase_url = "http://proxy.test"')
    assert [provider.id for provider in config.changed] == ["alibaba"]
    assert config.by_name["qwen"].base_url == "http://proxy.test"


def test_switches_of_another_protocol_are_not_kept():
    config = lab('[providers.deepseek]\nprotocol = "anthropic-messages"\n[providers.deepseek.profile]\nsupports_audio = true')
    assert config.by_name["deepseek"].profile == DEFAULT.replace(supports_audio=True)


def test_a_model_has_switches_of_its_own():
    config = lab(LAB + '[models."shed:big/one".profile]\nsupports_images = false\n[models."openai-chat:m".profile]\nmax_tool_name = 32')
    own = config.by_name["lab"].profile
    assert config.profile_of(own, "lab", "big/one") == own.replace(supports_images=False)
    assert config.profile_of(own, "lab", "other") == own
    assert config.profile_of(DEFAULT, "openai-chat", "m").max_tool_name == 32


def test_a_mapping_says_the_same_as_a_file():
    of = Config.of({"providers": {"lab": {"base_url": "http://lab.test", "key_variables": ("LAB_TOKEN",)}}})
    parsed = lab('[providers.lab]\nbase_url = "http://lab.test"\nkey_variables = ["LAB_TOKEN"]')
    assert of.changed == parsed.changed
    assert of.source == "config"


def test_nothing_adds_nothing():
    assert lab("").changed == Config.of({}).changed == EMPTY_CONFIG.changed == ()
    assert EMPTY_CONFIG.by_name is BY_NAME
    assert EMPTY_CONFIG.providers == PROVIDERS


@pytest.mark.parametrize(
    ("text", "path", "words"),
    [
        ("x = 1", "x", "no such key; known are providers, models"),
        ("[provider.lab]", "provider", "did you mean 'providers'"),
        ("providers = 1", "providers", "must be a table, not a number"),
        ("[providers]\nlab = 1", "providers.lab", "must be a table"),
        ('[providers.lab]\nbase_ulr = "x"', "providers.lab.base_ulr", "did you mean 'base_url'"),
        ("[providers.lab]\nbase_url = 1", "providers.lab.base_url", "must be a text, not a number"),
        ('[providers.lab]\nbase_url = "lab.test"', "providers.lab.base_url", "no address"),
        ('[providers.lab]\nneeds_key = "no"', "providers.lab.needs_key", "must be true or false, not a text"),
        ('[providers.lab]\nprotocol = "smoke"', "providers.lab.protocol", "openai-chat"),
        ('[providers.lab]\nkey_variables = "LAB"', "providers.lab.key_variables", "must be a list of texts, not a text"),
        ("[providers.lab]\nkey_variables = [1]", "providers.lab.key_variables", "must be a text, not a number"),
        ('[providers.lab]\naliases = ["The Lab"]', "providers.lab.aliases", "lower-case"),
        ('[providers.lab]\naliases = ["deepseek"]', "providers.lab.aliases", "name of the provider 'deepseek'"),
        ('[providers.lab]\naliases = ["openai-chat"]', "providers.lab.aliases", "name of a protocol"),
        ('[providers.a]\naliases = ["x"]\n[providers.b]\naliases = ["x"]', "providers.b.aliases", "name of the provider 'a'"),
        ('[providers.lab]\naliases = ["hut"]\n[providers.hut]', "providers.lab.aliases", "name of the provider 'hut'"),
        ('[providers.lab]\nkey_header = "a b"', "providers.lab.key_header", "header"),
        ("[providers.Lab]", "providers.Lab", "lower-case"),
        ('[providers."a b"]', 'providers."a b"', "lower-case"),
        ("[providers.openai-chat]", "providers.openai-chat", "name of a protocol"),
        ("[providers.qwen]\n[providers.alibaba]", "providers.alibaba", "has a table already"),
        ("[providers.lab.profile]\nsupports_image = true", "providers.lab.profile.supports_image", "did you mean 'supports_images'"),
        ('[providers.lab.profile]\nsupports_images = "yes"', "providers.lab.profile.supports_images", "Expected `bool`"),
        ('[providers.lab.profile]\nunsupported_settings = ["x"]', "providers.lab.profile.unsupported_settings", "no setting"),
        ("[providers.lab.profile]\nbody = { at = 2026-01-01 }", "providers.lab.profile.body", "date"),
        ('[providers.lab.profile]\ncall_id_pattern = "[a-z]{9}"', "providers.lab.profile.call_id_pattern", "does not match"),
        ('[providers.lab.profile]\ncall_id_pattern = "("', "providers.lab.profile.call_id_pattern", "no regular expression"),
        ('[providers.lab.profile]\ntool_name_pattern = "("', "providers.lab.profile.tool_name_pattern", "no regular expression"),
        ('[providers.lab.profile.by_model]\n"(" = {}', "providers.lab.profile.by_model", "no regular expression"),
        ("[providers.lab.profile.by_model]\nx = { supports_image = true }", "providers.lab.profile.by_model", "supports_image"),
        ('[models."lab:x".profile]', 'models."lab:x"', "no provider:model"),
        ('[models."deepseek:".profile]', 'models."deepseek:"', "no provider:model"),
        ("[models.deepseek]", "models.deepseek", "no provider:model"),
        ('[models."deepseek:x"]\nsettings = 1', 'models."deepseek:x".settings', "known are profile"),
        ('[models."deepseek:x".profile]\nsupports_images = 1', 'models."deepseek:x".profile.supports_images', "Expected `bool`"),
    ],
)
def test_what_is_wrong_is_said_with_the_file_and_the_path(text, path, words):
    with pytest.raises(ConfigError) as caught:
        lab(text)
    assert caught.value.argument == path
    assert str(caught.value).startswith(f"headrace.toml: {path}")
    assert words in str(caught.value)


def test_a_text_that_is_no_toml_says_where():
    with pytest.raises(ConfigError, match=r"headrace\.toml is no TOML: .*line 2") as caught:
        lab("[providers.lab]\nbase_url = oops")
    assert caught.value.argument == "headrace.toml"


SECRET = "sk-sesame-sesame-sesame"


@pytest.mark.parametrize(
    "text",
    [
        f'[providers.lab]\napi_key = "{SECRET}"',
        f'[providers.lab]\nkey = "{SECRET}"',
        f'[providers.lab]\nLAB_API_KEY = "{SECRET}"',
        f'[providers.lab]\naccess_token = "{SECRET}"',
        f'[providers.lab]\nAuthorization = "{SECRET}"',
        f'[providers.lab]\nkey_variables = ["{SECRET}"]',
        f'[providers.lab]\nkey_prefix = "Bearer {SECRET}"',
        f'[providers.lab]\nbase_url = "https://user:{SECRET}@lab.test"',
        f'[providers.lab]\nbase_url = "https://lab.test?key={SECRET}"',
        f'[providers.lab]\nneeds_key = "{SECRET}"',
        f'[providers.lab.profile]\nbody = {{ deep = {{ api_key = "{SECRET}" }} }}',
        f'[models."deepseek:x".profile]\nbody = {{ Authorization = "{SECRET}" }}',
        f'[providers.lab.profile]\nsupports_images = "{SECRET}"',
    ],
)
def test_a_key_is_refused_and_no_error_repeats_it(text):
    with pytest.raises(ConfigError) as caught:
        lab(text)
    assert "sesame" not in str(caught.value)
    assert "sesame" not in str(caught.value.argument)


def test_a_refused_key_says_which_variable_to_set():
    with pytest.raises(ConfigError, match="set the variable LAB_API_KEY, or name another one in key_variables"):
        lab('[providers.lab]\napi_key = "x"')
    with pytest.raises(ConfigError, match="DEEPSEEK_API_KEY"):
        lab('[providers.deepseek]\napi_key = "x"')


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.floats(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
names = st.sampled_from(
    ["providers", "models", "lab", "deepseek", "profile", "base_url", "body", "by_model", "efforts", "call_id_pattern", "deepseek:x", "("]
)


@given(st.dictionaries(names, st.dictionaries(names, st.dictionaries(names, values, max_size=3) | values, max_size=3) | values, max_size=2))
def test_whatever_a_mapping_holds_it_is_a_config_or_a_config_error(value):
    try:
        read = Config.of(value)
    except ConfigError as error:
        read = error
    assert isinstance(read, Config) or read.argument
