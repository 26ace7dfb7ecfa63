"""Makes docs/page.png: the web chat of `headrace serve` with the local model, in the system's Chromium.

python scripts/page_picture.py
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parents[1]
FILE = ROOT / "docs" / "page.png"
QUESTION = "What time is it in Berlin?"
HINT = "Call city_time once. Then say the time."  # a model this small needs to be told


def main() -> None:
    """Serve, ask, and write the picture."""
    command = [sys.executable, "-m", "headrace", "serve", "-m", "local:smollm2", "-T", "time", "--temperature", "0", "-s", HINT]
    server = subprocess.Popen(  # noqa: S603 - a command of our own
        [*command, "--store", "memory:", "--port", "0"], stdout=subprocess.PIPE, text=True
    )
    try:
        assert server.stdout is not None
        address = next(line.strip() for line in server.stdout if line.startswith("http"))
        with sync_playwright() as driver:
            browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
            page = browser.new_page(viewport={"width": 1000, "height": 480})
            page.goto(address)
            page.get_by_role("textbox").first.fill(QUESTION)
            page.keyboard.press("Enter")
            page.get_by_text(re.compile(r"\d out")).first.wait_for(timeout=60_000)  # what the answer used: it has ended
            page.screenshot(path=str(FILE))
            browser.close()
    finally:
        server.terminate()
        server.wait()
    print(FILE)


if __name__ == "__main__":
    main()
