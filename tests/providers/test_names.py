"""Model ids and addresses, as people write them."""

from __future__ import annotations

import pytest

from headrace.errors import ConfigError
from headrace.providers.names import normalise_base_url, split_name


@pytest.mark.parametrize(
    ("model_id", "found"),
    [
        ("lab:m", ("lab", "m")),
        ("LAB/a/b:c", ("lab", "a/b:c")),
        ("lab:", ("lab", "")),
        ("openai-chat:m", ("openai-chat", "m")),
        ("a:lab:m", None),
        ("m", None),
        ("", None),
    ],
)
def test_a_name_is_what_stands_before_the_first_separator_if_it_is_known(model_id, found):
    assert split_name(model_id, {"lab"}) == found


@pytest.mark.parametrize(
    ("given", "normal"),
    [
        ("https://h/v1", "https://h/v1"),
        (" https://h/v1// ", "https://h/v1"),
        ("https://h/v1/chat/completions", "https://h/v1"),
        ("https://h/v1/chat/completions/chat/completions/", "https://h/v1"),
        ("http://[::1]:8080/v1", "http://[::1]:8080/v1"),
        ("http://h", "http://h"),
        ("HTTP://h/v1", "HTTP://h/v1"),
    ],
)
def test_an_address_ends_before_the_path_that_is_added(given, normal):
    assert normalise_base_url(given) == normal


@pytest.mark.parametrize(
    "address",
    [
        "",
        "h/v1",
        "ftp://h",
        "https://",
        "https:///v1",
        "http://h:99999",
        "http://h:x",
        "http://[::1",
        "http://h:0",
        "https://h/a b",
        "file:///etc",
    ],
)
def test_what_is_no_address_is_refused(address):
    with pytest.raises(ConfigError) as caught:
        normalise_base_url(address, "X_BASE_URL")
    assert caught.value.argument == "X_BASE_URL"


@pytest.mark.parametrize(
    "address", ["https://user:sesame@h/v1", "https://sesame@h", "https://h/v1?key=sesame", "https://h/v1#sesame", "https://h/v1?"]
)
def test_an_address_with_a_secret_in_it_is_refused_without_being_shown(address):
    with pytest.raises(ConfigError) as caught:
        normalise_base_url(address)
    assert "sesame" not in str(caught.value)
