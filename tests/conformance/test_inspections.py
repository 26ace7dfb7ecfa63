"""The inspector on recorded streams: it says what the decoder says, guesses the protocol, and every warning has its bytes. One test a protocol."""

from __future__ import annotations

import importlib.util
import sys

import pytest

import headrace
from conformance_folder import CONFORMANCE
from headrace.decoding import SUPPORTED
from headrace.inspect.guess import guess_protocol
from headrace.inspect.timeline import inspect_stream

LOADERS = (("cases", "load_cases"), ("corpus", "load_corpus"), ("captures", "load_captures"))


def load_items():
    spec = importlib.util.spec_from_file_location("conformance_runner_of_inspections", CONFORMANCE / "conformance.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return [item for folder, load in LOADERS for item in getattr(module, load)(CONFORMANCE / folder)]


@pytest.fixture(scope="module")
def items():
    return load_items()


@pytest.mark.parametrize("protocol", SUPPORTED)
def test_what_is_seen_of_recorded_streams_holds(items, protocol):
    some = [item for item in items if item.protocol == protocol]
    assert some
    for item in some:
        body = b"".join(item.segments)
        reading = {"protocol": protocol, "provider": item.provider, "options": item.options or {}, "content_type": item.content_type}
        seen = inspect_stream(body, **reading)
        assert seen.summary == headrace.decode_stream(body, **reading).summary(), item.name
        for cause in seen.warnings:
            assert 0 < cause.bytes.length <= len(body) - cause.bytes.offset, (item.name, cause.code)
        for part in seen.parts:
            if part.kind in {"text", "reasoning"} and not part.fragments_cut:
                assert "".join(fragment.text for fragment in part.fragments) == part.text, item.name


@pytest.mark.parametrize("protocol", SUPPORTED)
def test_the_protocol_of_recorded_streams_is_guessed(items, protocol):
    guesses = {item.name: guess_protocol(b"".join(item.segments)) for item in items if item.protocol == protocol}
    assert {name: guess for name, guess in guesses.items() if guess.is_certain and guess.protocol != protocol} == {}
    assert any(guess.is_certain for guess in guesses.values())
