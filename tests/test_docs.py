"""Every page's Python runs, in order, in one namespace a page; every link leads somewhere."""

from __future__ import annotations

import re
import sys
import types
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = [*sorted(ROOT.glob("README*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")


def code_of(page: Path) -> str:
    """Join a page's blocks, each at its own line, so that a failure names the page's line."""
    text = page.read_text(encoding="utf-8")
    code = ""
    for block in BLOCK.finditer(text):
        line = text[: block.start(1)].count("\n")
        code += "\n" * (line - code.count("\n")) + block.group(1)
    return code


@pytest.mark.parametrize("page", [pytest.param(page, id=page.name) for page in PAGES])
def test_the_code_of_every_page_runs(page: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    code = code_of(page)
    if "local:smollm2" in code:
        request.getfixturevalue("local_weights")
    module = types.ModuleType("page")
    monkeypatch.setitem(sys.modules, "page", module)  # dataclasses and pydantic look a class's module up
    exec(compile(code, str(page), "exec"), module.__dict__)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_of_every_page_leads_somewhere(page: Path) -> None:
    for target in LINK.findall(page.read_text(encoding="utf-8")):
        if not target.startswith(("http://", "https://")):
            assert (page.parent / target).exists(), target


def test_the_pages_are_there() -> None:
    assert {page.name for page in PAGES} >= {"README.md", "README.zh.md", "seeds.md", "chunks.md", "decoding.md", "agent.md"}
