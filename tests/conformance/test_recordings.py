"""Holds the decoders against recorded streams and fault cases, one test an item, by the runner's own check.

What is not held stands in `disagreements.md`: such an item must fail exactly as it says there, any other must hold.
"""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path

import pytest

import headrace
from conformance_folder import CONFORMANCE
from decoding_runs import check_result, decoded

PROTOCOLS = {
    "openai-chat",
    "openai-responses",
    "anthropic-messages",
    "cohere-v2",
    "ollama",
    "dashscope",
    "gemini",
    "gemini-interactions",
    "bedrock-converse",
    "bedrock-invoke",
}
LOADERS = (("cases", "load_cases"), ("corpus", "load_corpus"), ("captures", "load_captures"))
SEED, CUTS = 1, 5


def load_runner():
    spec = importlib.util.spec_from_file_location("conformance_runner", CONFORMANCE / "conformance.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def load_disagreements():
    """Each heading `## name` with the lines of its first block of code."""
    text = (Path(__file__).parent / "disagreements.md").read_text(encoding="utf-8")
    return {
        name.strip(): block.strip().splitlines()
        for name, block in re.findall(r"^## (.+?)\n.*?```\n(.*?)```", text, re.DOTALL | re.MULTILINE)
    }


RUNNER = load_runner()
DISAGREEMENTS = load_disagreements()
ITEMS = [
    item
    for folder, loader in LOADERS
    if (CONFORMANCE / folder).is_dir()
    for item in getattr(RUNNER, loader)(CONFORMANCE / folder)
    if item.protocol in PROTOCOLS
]


@pytest.fixture(params=ITEMS, ids=[f"{item.kind}: {item.name}" for item in ITEMS])
def item(request):
    return request.param


def test_an_item_is_held_or_fails_as_the_list_of_disagreements_says(item):
    assert RUNNER.check(item, headrace.decode_stream, SEED, CUTS) == DISAGREEMENTS.get(item.name, [])


def test_both_ways_of_reading_say_the_same(item):
    body = b"".join(item.segments)
    options = {"protocol": item.protocol, "options": item.options, "provider": item.provider}
    chunks, result = decoded(body, **options)
    check_result(chunks, result)
    assert decoded(body, is_short_way_off=True, **options) == (chunks, result)


def test_a_disagreement_is_about_an_item_that_exists():
    assert set(DISAGREEMENTS) <= {item.name for item in ITEMS}


def test_there_are_items_of_each_kind():
    assert {item.kind for item in ITEMS} == {"case", "corpus", "capture"}
