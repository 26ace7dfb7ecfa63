"""The page on the seeds answers every row, no row dangles, and nothing that ours can say is missing from it."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import get_args

import pytest

from headrace.agent.approval import Reply
from headrace.agent.events import Event
from headrace.agent.permission.judging import MODES
from headrace.messages.fields import GenerateReason
from headrace.messages.parts import ResultState

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "seeds.md").read_text(encoding="utf-8")
CELL = re.compile(r"(?<!\\)\|")
NUMBER = re.compile(r"[A-E][A-Z]?\d+")
WANTED = [*(f"A{n}" for n in range(1, 23)), *(f"B{n}" for n in range(1, 13)), *(f"C{n}" for n in range(1, 11))]
"""The statements of the three descriptions; what their real code can do beyond is counted from 1 in each section."""


def rows():
    """The rows of the tables, by their numbers: what stands in the other cells."""
    found = []
    for line in PAGE.splitlines():
        cells = [cell.strip() for cell in CELL.split(line)[1:-1]]
        if cells and NUMBER.fullmatch(cells[0]):
            found.append((cells[0], cells[1:]))
    return found


ROWS = dict(rows())


def test_every_row_of_the_descriptions_is_answered() -> None:
    assert [number for number in ROWS if number in WANTED] == WANTED


def test_rows_are_numbered_without_gaps_and_once() -> None:
    numbers = [number for number, _ in rows()]
    assert len(set(numbers)) == len(numbers)
    letters = Counter(number.rstrip("0123456789") for number in numbers)
    assert set(letters) == {"A", "B", "C", "D", "E", *(f"B{letter}" for letter in "FMKGBCEOPLX")}
    assert sorted(numbers) == sorted(f"{letter}{n}" for letter, count in letters.items() for n in range(1, count + 1))


@pytest.mark.parametrize("number", ROWS)
def test_the_row_says_same_or_better_and_names_a_test_that_exists(number: str) -> None:
    *said, verdict, test = ROWS[number]
    assert len(said) == (1 if number in WANTED else 2)
    assert all(said)
    assert verdict == "same" or verdict.startswith("better because ")
    assert re.fullmatch(r"`[^`]+`", test), test
    file, _, name = test.strip("`").partition("::")
    assert (ROOT / file).is_file(), file
    text = (ROOT / file).read_text(encoding="utf-8")
    if file.startswith("tests/"):
        assert re.search(rf"def {name}\b" if name else r"def test_", text), test


def words():
    """Everything of ours that runs can say, by its name."""
    yield from get_args(GenerateReason)
    yield from (event.__struct_config__.tag for event in get_args(Event))
    yield from get_args(ResultState)
    yield from MODES
    yield from (reply.__name__ for reply in get_args(Reply))


@pytest.mark.parametrize("word", sorted(set(words())))
def test_what_ours_can_say_is_on_the_page(word: str) -> None:
    ours = " ".join(said[-1] for *said, _, _ in ROWS.values())
    assert re.search(rf"`{word}\b", ours), word
