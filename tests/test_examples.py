"""Every example runs to its end; each holds its own assertions."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = sorted((ROOT / "examples").rglob("*.py"))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.stem)
def test_the_example_runs(example: Path) -> None:
    done = subprocess.run([sys.executable, "-W", "error", str(example)], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout or example.stem.startswith(("h_",)), "an example shows something"


def test_there_is_an_example_for_each_letter_of_the_seeds() -> None:
    assert [example.name[:2] for example in EXAMPLES if example.parent.name == "seeds"] == [f"{letter}_" for letter in "abcdefghijk"]
