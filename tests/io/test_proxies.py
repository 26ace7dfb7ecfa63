"""Proxies: which one the environment names."""

from __future__ import annotations

import httpx2
import pytest

from headrace.io.proxies import proxy_of_environment


@pytest.mark.parametrize(
    ("url", "proxy"),
    [
        ("http://model.example/", "http://proxy.example:1"),
        ("https://model.example/", "http://proxy.example:2"),
        ("https://inner.example/", None),
        ("http://127.0.0.1:8080/", None),
        ("http://localhost/", None),
        ("http://[::1]:80/", None),
    ],
)
def test_the_environment_names_proxies_and_loopback_needs_none(monkeypatch, url, proxy):
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("http_proxy", "proxy.example:1")
    monkeypatch.setenv("all_proxy", "http://proxy.example:2")
    monkeypatch.setenv("no_proxy", "inner.example")
    assert proxy_of_environment(httpx2.URL(url)) == proxy
