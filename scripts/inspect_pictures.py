"""Makes the pictures of docs/inspect.md from the streams in tests/support/inspect_samples.py, in the system's Chromium.

python scripts/inspect_pictures.py
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from headrace.inspect.html import html_report
from headrace.inspect.inspecting import inspect_capture

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT / "tests" / "support"))

from inspect_samples import SAMPLES  # noqa: E402 - it is no package

# For each picture: its colours, and the first and the last thing to see.
VIEWS = {
    "parallel-calls": ("light", "header", "#message"),
    "reasoning-and-text": ("dark", "#facts", "#message"),
    "cut-with-error": ("light", "#arrival", "#warnings"),
    "broken-arguments": ("light", "#message", "#w1"),
    "long-with-stalls": ("dark", "#facts", "#arrival"),
}
WIDTH = 860


def main() -> None:
    """Write every picture."""
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for name in VIEWS:
            print(picture(browser, name))
        browser.close()


def picture(browser: Browser, name: str) -> Path:
    """Write one picture; returns its file."""
    colours, first, last = VIEWS[name]
    context = browser.new_context(viewport={"width": WIDTH, "height": 900}, color_scheme=colours)
    page = context.new_page()
    page.set_content(html_report(inspect_capture(SAMPLES[name]())))
    top, bottom = page.locator(first).bounding_box(), page.locator(last).bounding_box()
    assert top is not None
    assert bottom is not None
    begin = max(0, top["y"] - 12)
    file = ROOT / "docs" / "inspect" / f"{name}.png"
    clip = {"x": 0, "y": begin, "width": WIDTH, "height": bottom["y"] + bottom["height"] - begin + 12}
    page.screenshot(path=str(file), full_page=True, clip=clip)
    context.close()
    return file


if __name__ == "__main__":
    main()
