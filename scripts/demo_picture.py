"""Draw what `make demo` shows on a terminal, as docs/demo.svg.

    python scripts/demo_picture.py [TITLE_OF_A_SECTION …]

Runs the demo in a pseudo-terminal, keeps the lines of the sections named (default: the first replay and the real model), and lets rich
draw them. No font is fetched by the picture.
"""

from __future__ import annotations

import io
import os
import pty
import re
import sys
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

ROOT = Path(__file__).resolve().parents[1]
FONT_FACES = re.compile(r"@font-face \{\{.*?\}\}\n?", re.DOTALL)
WIDTH = 110


def recorded() -> str:
    """Run the demo and return what it wrote."""
    output = bytearray()

    def read(descriptor: int) -> bytes:
        data = os.read(descriptor, 65536)
        output.extend(data)
        return data

    os.environ.update(COLUMNS=str(WIDTH), LINES="50", TERM="xterm-256color")
    status = pty.spawn([sys.executable, "-m", "headrace.cli.demo"], read)
    if status:
        sys.exit(f"the demo ended with {os.waitstatus_to_exitcode(status)}")
    return output.decode("utf-8", "replace").replace("\r\n", "\n")


def chosen(text: str) -> str:
    """Return the lines of the picture: up to the second replay, and from the real model on."""
    lines = text.split("\n")
    plain = [re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", line) for line in lines]
    second = next(n for n, line in enumerate(plain) if line.startswith("Arguments in many chunks"))
    real = next(n for n, line in enumerate(plain) if line.startswith("2  "))
    kept = [*range(second), *range(real, len(lines))]
    return "\n".join(lines[n] for n in kept if "is here already" not in plain[n]).strip("\n")  # where the weights lie is no part of it


def main() -> None:
    """Draw."""
    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True)
    console.print(Text.from_ansi(chosen(recorded())))
    from rich._export_format import CONSOLE_SVG_FORMAT  # noqa: PLC0415 - only the drawing needs it

    svg = console.export_svg(title="make demo", theme=MONOKAI, code_format=FONT_FACES.sub("", CONSOLE_SVG_FORMAT))
    (ROOT / "docs" / "demo.svg").write_text(svg, encoding="utf-8")


if __name__ == "__main__":
    main()
