import pytest

from headrace.errors import ConfigError, UnsupportedError
from headrace.providers import profiles
from headrace.providers.config import Config
from headrace.providers.record import Provider
from headrace.providers.resolve import resolve, split_id
from headrace.providers.secret import Secret
from headrace.wire.profile import DEFAULT, Profile

KEY = "sesame-sesame-sesame"


def found(model_id, environ=None, **arguments):
    return resolve(model_id, environ=environ or {}, **arguments)


@pytest.mark.parametrize(
    ("model_id", "expected"),
    [
        ("deepseek:deepseek-chat", ("deepseek", "deepseek-chat")),
        ("deepseek/deepseek-chat", ("deepseek", "deepseek-chat")),
        ("openrouter/anthropic/some-model:free", ("openrouter", "anthropic/some-model:free")),
        ("openrouter:deepseek/x", ("openrouter", "deepseek/x")),
        ("ollama:llama3:8b", ("ollama", "llama3:8b")),
        ("hf:org/model", ("hf", "org/model")),
        ("llama.cpp:any", ("llama.cpp", "any")),
        ("DeepSeek:X", ("deepseek", "X")),
        ("openai-chat:deepseek:x", ("openai-chat", "deepseek:x")),
        ("local:/models/a:b.gguf", ("local", "/models/a:b.gguf")),
    ],
)
def test_an_id_is_split_at_the_first_separator_after_a_known_name(model_id, expected):
    assert split_id(model_id) == expected


@pytest.mark.parametrize("model_id", ["gpt-x", "", ":x", "nobody:x", "deepseek:", "deepseek: ", "xdeepseek:y", "deep/seek:y"])
def test_an_id_that_names_no_known_provider_or_no_model_is_a_config_error(model_id):
    with pytest.raises(ConfigError) as caught:
        split_id(model_id)
    assert caught.value.argument == "model"
    assert repr(model_id) in str(caught.value)


def test_an_unknown_provider_brings_the_known_ones_and_the_close_ones():
    with pytest.raises(ConfigError) as caught:
        found("deepsek:x")
    assert "Did you mean deepseek?" in str(caught.value)
    assert "groq" in str(caught.value)
    with pytest.raises(ConfigError) as caught:
        found("zzzzzz:x")
    assert "Did you mean" not in str(caught.value)


def test_a_provider_resolves_to_its_address_profile_and_key():
    endpoint = found("deepseek:deepseek-chat", {"DEEPSEEK_API_KEY": f" {KEY}\n"})
    assert (endpoint.provider, endpoint.protocol, endpoint.model) == ("deepseek", "openai-chat", "deepseek-chat")
    assert endpoint.base_url == "https://api.deepseek.com"
    assert endpoint.api_key == Secret(KEY)
    assert endpoint.profile == profiles.DEEPSEEK.replace(provider="deepseek")
    assert KEY not in repr(endpoint)


def test_an_alias_resolves_to_the_providers_own_id():
    assert found("kimi:k2", api_key=KEY).provider == "moonshot"


@pytest.mark.parametrize(
    ("arguments", "environ", "expected"),
    [
        ({"api_key": "arg"}, {"ALIBABA_API_KEY": "own", "DASHSCOPE_API_KEY": "other"}, "arg"),
        ({"api_key": Secret("arg")}, {}, "arg"),
        ({}, {"ALIBABA_API_KEY": "own", "DASHSCOPE_API_KEY": "other"}, "own"),
        ({}, {"ALIBABA_API_KEY": " ", "DASHSCOPE_API_KEY": "other"}, "other"),
    ],
)
def test_a_key_is_the_argument_then_the_own_variable_then_the_others(arguments, environ, expected):
    assert found("qwen:x", environ, **arguments).api_key.reveal() == expected


def test_a_missing_key_names_the_variables():
    with pytest.raises(ConfigError, match="ALIBABA_API_KEY or DASHSCOPE_API_KEY") as caught:
        found("qwen:x")
    assert caught.value.argument == "api_key"


@pytest.mark.parametrize("key", [f"{KEY}\r\nx: y", f"{KEY} {KEY}", f"{KEY}\u00e9"])
def test_a_key_that_no_header_can_carry_is_refused_without_being_shown(key):
    for arguments, environ, named in (({"api_key": key}, {}, "api_key"), ({}, {"GROQ_API_KEY": key}, "GROQ_API_KEY")):
        with pytest.raises(ConfigError, match=named) as caught:
            found("groq:x", environ, **arguments)
        assert "sesame" not in str(caught.value)


@pytest.mark.parametrize("name", ["ollama", "vllm", "sglang", "llamacpp", "lmstudio"])
def test_a_server_of_ones_own_needs_no_key_but_takes_one(name):
    assert found(f"{name}:x").api_key is None
    assert found(f"{name}:x", {f"{name.upper()}_API_KEY": "k"}).api_key == Secret("k")


def test_an_address_is_the_argument_then_the_variable_then_the_catalogues():
    environ = {"OLLAMA_BASE_URL": "http://box:1/v1/"}
    assert found("ollama:x", environ, base_url="http://arg/v1").base_url == "http://arg/v1"
    assert found("ollama:x", environ).base_url == "http://box:1/v1"
    assert found("ollama:x", {"OLLAMA_BASE_URL": " "}).base_url == "http://localhost:11434/v1"


@pytest.mark.parametrize(
    "address", ["https://res.openai.azure.com", "https://res.openai.azure.com/", "https://res.openai.azure.com/openai/v1/"]
)
def test_an_endpoint_variable_is_completed_to_the_address(address):
    endpoint = found("azure:x", {"AZURE_OPENAI_ENDPOINT": address, "AZURE_OPENAI_API_KEY": "k"})
    assert endpoint.base_url == "https://res.openai.azure.com/openai/v1"
    assert endpoint.auth_headers() == (("api-key", "k"),)


def test_a_provider_without_a_usual_address_says_what_to_set():
    with pytest.raises(ConfigError, match="AZURE_BASE_URL or AZURE_OPENAI_ENDPOINT") as caught:
        found("azure:x", api_key="k")
    assert caught.value.argument == "base_url"


def test_a_model_in_this_process_looks_for_nothing():
    endpoint = found("local:smollm2", {"LOCAL_API_KEY": "k", "LOCAL_BASE_URL": "http://elsewhere/v1"})
    assert (endpoint.provider, endpoint.protocol, endpoint.model) == ("local", "openai-chat", "smollm2")
    assert endpoint.base_url is None
    assert endpoint.api_key is None


# ------------------------------------------------------------------------------------------ protocol ids


def test_a_protocol_takes_the_arguments_only():
    environ = {"OPENAI_CHAT_API_KEY": "k", "OPENAI_API_KEY": "k", "OPENAI_CHAT_BASE_URL": "http://x/v1"}
    endpoint = found("openai-chat:m", environ, base_url="http://localhost:9/v1")
    assert (endpoint.provider, endpoint.model, endpoint.api_key) == ("localhost:9", "m", None)
    assert endpoint.profile == DEFAULT.replace(provider="localhost:9")
    with pytest.raises(ConfigError, match="base_url") as caught:
        found("openai-chat:m", environ)
    assert caught.value.argument == "base_url"
    assert found("openai-chat:m", base_url="http://h/v1", api_key=KEY).auth_headers() == (("authorization", f"Bearer {KEY}"),)


def test_a_known_address_brings_its_providers_profile():
    endpoint = found("openai-chat:m", base_url="https://api.openai.com/v1", api_key="k")
    assert endpoint.provider == "openai"
    assert endpoint.profile == profiles.OPENAI.replace(provider="openai")


def test_a_local_port_may_be_anybodys():
    assert found("openai-chat:m", base_url="http://localhost:11434/v1").profile == DEFAULT.replace(provider="localhost:11434")


@pytest.mark.parametrize("protocol", ["ollama", "gemini", "gemini-interactions", "dashscope"])
def test_a_protocol_that_is_said_to_be_one_is_meant_also_where_a_provider_is_called_the_same(protocol):
    environ = {f"{name}_API_KEY": "not-for-strangers" for name in ("OLLAMA", "GEMINI", "GOOGLE", "DASHSCOPE")}
    endpoint = found(f"{protocol}:m:1", environ, base_url="http://lab.test:9", protocol=protocol)
    assert (endpoint.protocol, endpoint.model, endpoint.provider, endpoint.api_key) == (protocol, "m:1", "lab.test:9", None)
    with pytest.raises(ConfigError, match="does not begin with") as caught:
        found("openai-chat:m", base_url="http://lab.test:9", protocol=protocol)
    assert caught.value.argument == "protocol"


def test_a_server_that_speaks_geminis_protocol_gets_its_key_as_that_vendor_does():
    endpoint = found("gemini:m", base_url="http://lab.test:9", api_key=KEY, protocol="gemini")
    assert endpoint.auth_headers() == (("x-goog-api-key", KEY),)


def test_a_protocol_that_is_not_there_yet_says_what_works_instead():
    config = Config(changed=(Provider(id="lab", name="The lab", protocol="smoke-signals", base_url="https://lab.test/v1"),))
    with pytest.raises(UnsupportedError) as caught:
        found("lab:m", api_key="k", config=config)
    assert "openai-chat:m with base_url='https://lab.test/v1'" in str(caught.value)


# --------------------------------------------------------------------------------------------- profiles


def test_the_caller_may_change_single_switches_or_the_whole_profile():
    changed = found("groq:m", api_key="k", profile={"supports_files": True})
    assert changed.profile == profiles.GROQ.replace(provider="groq", supports_files=True)
    whole = Profile(seed_field="random_seed")
    assert found("groq:m", api_key="k", profile=whole).profile == whole.replace(provider="groq")
    named = Profile(provider="mine")
    assert found("groq:m", api_key="k", profile=named).profile is named
    with pytest.raises(ConfigError, match="supports_fils"):
        found("groq:m", api_key="k", profile={"supports_fils": True})


# ------------------------------------------------------------------------------------------- the user's own

LAB = Config.of(
    {
        "providers": {
            "lab": {"base_url": "https://lab.test/v1", "aliases": ["shed"], "profile": {"max_tool_name": 32}},
            "deepseek": {"base_url": "https://proxy.test/v1"},
        },
        "models": {
            "lab:m": {"profile": {"supports_audio": False}},
            "openai-chat:m": {"profile": {"supports_video": True}},
        },
    }
)


def test_a_provider_of_the_users_own_resolves_like_any_other():
    endpoint = found("shed/a:b", {"LAB_API_KEY": "k"}, config=LAB)
    assert (endpoint.provider, endpoint.model, endpoint.base_url, endpoint.api_key) == ("lab", "a:b", "https://lab.test/v1", Secret("k"))
    assert endpoint.profile == DEFAULT.replace(provider="lab", max_tool_name=32)
    with pytest.raises(ConfigError, match="set LAB_API_KEY"):
        found("lab:m", config=LAB)
    with pytest.raises(ConfigError, match="Did you mean shed"):
        found("shd:m", config=LAB)


def test_the_arguments_and_the_environment_win_over_the_config_and_it_over_the_catalogue():
    assert found("deepseek:m", api_key="k", config=LAB).base_url == "https://proxy.test/v1"
    assert found("deepseek:m", {"DEEPSEEK_BASE_URL": "https://env.test"}, api_key="k", config=LAB).base_url == "https://env.test"
    assert found("deepseek:m", api_key="k", base_url="https://arg.test", config=LAB).base_url == "https://arg.test"
    assert found("deepseek:m", api_key="k", config=LAB).profile == profiles.DEEPSEEK.replace(provider="deepseek")


def test_switches_of_one_model_lie_over_those_of_its_provider_and_under_those_of_the_call():
    assert found("shed:m", api_key="k", config=LAB).profile == DEFAULT.replace(provider="lab", max_tool_name=32, supports_audio=False)
    assert found("lab:other", api_key="k", config=LAB).profile.supports_audio
    assert found("lab:m", api_key="k", config=LAB, profile={"supports_audio": True}).profile.supports_audio
    assert found("openai-chat:m", base_url="http://h/v1", config=LAB).profile.supports_video


def test_the_address_of_a_provider_of_the_users_own_brings_its_profile():
    endpoint = found("openai-chat:x", base_url="https://lab.test/v1", api_key="k", config=LAB)
    assert (endpoint.provider, endpoint.profile.max_tool_name) == ("lab", 32)


@pytest.mark.parametrize(
    ("model_id", "provider", "protocol", "address"),
    [
        ("cohere:command", "cohere", "cohere-v2", "https://api.cohere.com/v2"),
        ("dashscope:qwen-plus", "dashscope", "dashscope", "https://dashscope.aliyuncs.com/api/v1"),
        ("dashscope-intl:qwen-plus", "dashscope-intl", "dashscope", "https://dashscope-intl.aliyuncs.com/api/v1"),
        ("ollama-native:qwen3:4b", "ollama-native", "ollama", "http://localhost:11434"),
        ("ollama:qwen3:4b", "ollama", "openai-chat", "http://localhost:11434/v1"),
    ],
)
def test_a_provider_that_is_called_as_a_protocol_is_the_provider(model_id, provider, protocol, address):
    endpoint = found(model_id, api_key=KEY)
    assert (endpoint.provider, endpoint.protocol, endpoint.base_url) == (provider, protocol, address)


def test_a_server_of_a_known_protocol_at_any_address_gets_that_protocols_switches():
    endpoint = found("cohere-v2:command", base_url="http://lab:8000/cohere/v2")
    assert (endpoint.protocol, endpoint.provider, endpoint.profile.takes_foreign_reasoning) == ("cohere-v2", "lab:8000", False)
