"""A short run of the fuzzer, each time the same bodies; `make fuzz` runs it for long."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

from headrace.decoding import SUPPORTED

ROOT = Path(__file__).resolve().parents[1]


def load(name):
    spec = importlib.util.spec_from_file_location(f"fuzz_{name}", ROOT / "fuzz" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


decoders = load("decoders")


@pytest.mark.parametrize("protocol", SUPPORTED)
def test_bent_streams_of_every_protocol_break_no_law(protocol):
    assert decoders.run(protocol, seconds=60, seed=11, most=200) == 200


def test_a_broken_law_is_reported_with_the_body(monkeypatch):
    class Liar:
        def __init__(self, **_):
            self.result = None

        def feed(self, _):
            raise RuntimeError("boom")

    monkeypatch.setattr(decoders, "StreamDecoder", Liar)
    with pytest.raises(decoders.BrokenLawError, match="boom"):
        decoders.run("openai-chat", seconds=60, seed=1, most=1)
