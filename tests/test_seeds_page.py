"""The page on the seeds answers every row, and no row dangles."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
ROW = re.compile(r"^\| ([ABC]\d+) \| (.+?) \| (.+?) \| `([^`]+)` \|$", re.MULTILINE)
ROWS = {row[0]: row for row in ROW.findall((ROOT / "docs" / "seeds.md").read_text(encoding="utf-8"))}
WANTED = [*(f"A{n}" for n in range(1, 23)), *(f"B{n}" for n in range(1, 13)), *(f"C{n}" for n in range(1, 11))]


def test_every_row_of_the_descriptions_is_answered() -> None:
    assert list(ROWS) == WANTED


@pytest.mark.parametrize("number", WANTED)
def test_the_row_says_same_or_better_and_names_a_test_that_exists(number: str) -> None:
    _, ours, verdict, test = ROWS[number]
    assert ours
    assert verdict == "same" or verdict.startswith("better because ")
    file, _, name = test.partition("::")
    assert (ROOT / file).is_file(), file
    text = (ROOT / file).read_text(encoding="utf-8")
    if file.startswith("tests/"):
        assert re.search(rf"def {name}\b" if name else r"def test_", text), test
