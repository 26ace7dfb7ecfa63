"""What a gateway's file may say."""

from __future__ import annotations

import pytest

from headrace.errors import ConfigError
from headrace.server.gateway.config import config_of, load
from headrace.server.keys import hash_of

UP = {"name": "up", "base_url": "http://localhost:8000/v1", "protocol": "openai-chat"}
CLIENT = {"name": "web", "key_sha256": hash_of("k")}

FILE = """
port = 9000
strict = true
allowed_hosts = ["gate.example"]

[limits]
max_open = 50

[timeouts]
idle_s = 20.0

[[upstreams]]
name = "main"
base_url = "http://localhost:8000/v1"
protocol = "openai-chat"
weight = 3
models = { small = "qwen", "team/*" = "*" }
options = { think_tags = true }

[[upstreams]]
name = "spare"
provider = "deepseek"
weight = 0

[[clients]]
name = "web"
key_sha256 = "%s"
max_open = 5
"""


def test_a_file_is_read_whole(tmp_path):
    file = tmp_path / "gateway.toml"
    file.write_text(FILE % hash_of("k"))
    config = config_of(load(file))
    assert (config.port, config.strict, config.host, config.limits.max_open, config.timeouts.idle_s) == (9000, True, "127.0.0.1", 50, 20.0)
    main, spare = config.upstreams
    assert (main.weight, dict(main.models), main.options["think_tags"]) == (3.0, {"small": "qwen", "team/*": "*"}, True)
    assert (spare.provider, spare.weight, spare.protocol) == ("deepseek", 0.0, None)
    assert config.clients[0].max_open == 5


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"upstreams": []}, "needs an upstream"),
        ({"upstreams": [UP, UP]}, "two upstreams have one name"),
        ({"upstreams": [{**UP, "name": "a b"}]}, "name of an upstream"),
        ({"upstreams": [{**UP, "weight": -1}]}, "weight is -1"),
        ({"upstreams": [{**UP, "provider": "deepseek"}]}, "either a protocol"),
        ({"upstreams": [{"name": "x"}]}, "either a protocol"),
        ({"upstreams": [{**UP, "protocol": "morse"}]}, "'morse' is no protocol"),
        ({"upstreams": [{"name": "x", "protocol": "openai-chat"}]}, "needs base_url"),
        ({"upstreams": [{**UP, "base_url": "http://u:p@host/v1"}]}, "user or password"),
        ({"upstreams": [{**UP, "models": {"a**": "b"}}]}, "one *"),
        ({"upstreams": [{**UP, "models": {"a": "b*"}}]}, "at most that one"),
        ({"upstreams": [{**UP, "api_key": "sk-secret-value"}]}, "api_key"),
        ({"upstreams": [UP], "clients": [{"name": "w", "key_sha256": "hr-a-key-in-the-clear"}]}, "gateway key"),
        ({"upstreams": [UP], "clients": [CLIENT, CLIENT]}, "two clients"),
        ({"upstreams": [UP], "port": 70000}, "70000"),
        ({"upstreams": [UP], "port": "x"}, "port"),
        ({"upstreams": [UP], "limits": {"max_open": 0}}, "limits.max_open is 0"),
        ({"upstreams": [UP], "limits": {"max_opem": 1}}, "max_opem"),
        ({"upstreams": [UP], "timeouts": {"idle_s": 0.0}}, "idle_s"),
    ],
)
def test_what_does_not_do_is_named(values, words):
    with pytest.raises(ConfigError, match=words.replace("*", r"\*").replace("[", r"\[")) as caught:
        config_of(values)
    assert "secret" not in str(caught.value)
    assert "in-the-clear" not in str(caught.value)


@pytest.mark.parametrize(("content", "words"), [(b"port =", "no TOML"), (b"\xff", "no TOML"), (None, "cannot be read")])
def test_a_file_that_cannot_be_read_is_said(tmp_path, content, words):
    file = tmp_path / "gateway.toml"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(ConfigError, match=words):
        load(file)
