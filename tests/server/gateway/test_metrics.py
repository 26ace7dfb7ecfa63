"""The numbers as Prometheus reads them."""

from __future__ import annotations

import re

from headrace.server.gateway.metrics import Metrics

_SAMPLE = re.compile(r'[a-z_]+(?:\{[a-z]+="(?:[^"\\]|\\.)*"(?:,[a-z]+="(?:[^"\\]|\\.)*")*\})? [0-9.e+-]+')


def test_every_line_is_a_sample_or_a_comment():
    metrics = Metrics()
    metrics.requests.add("openai-chat", 'a"b\\c\nd', "200")
    metrics.first_chunk.measure("up", 0.3)
    lines = metrics.text().decode().splitlines()
    assert [line for line in lines if not line.startswith("# ") and not _SAMPLE.fullmatch(line)] == []
    assert r'client="a\"b\\c\nd"' in "\n".join(lines)


def test_buckets_count_everything_below_them():
    metrics = Metrics()
    for seconds in (0.05, 0.2, 0.2, 99):
        metrics.first_chunk.measure("up", seconds)
    samples = dict(line.rsplit(" ", 1) for line in metrics.first_chunk.lines())
    at = 'headrace_gateway_first_chunk_seconds_bucket{upstream="up",le="'
    assert [samples[f'{at}{bound}"}}'] for bound in ("0.05", "0.1", "0.25", "60.0", "+Inf")] == ["1", "1", "3", "3", "4"]
    assert samples['headrace_gateway_first_chunk_seconds_sum{upstream="up"}'] == "99.450000"


def test_a_gauge_goes_down_again():
    metrics = Metrics()
    metrics.open.add("p")
    metrics.open.add("p", by=-1)
    assert metrics.open.value("p") == 0
