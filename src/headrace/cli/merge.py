"""`headrace merge`: recorded streams to whole messages.

The rule of this file: it needs the core alone. Files are read in pieces and never held. What a stream did wrong is in its report and
no failure of the command; only a file that cannot be read is.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, BinaryIO, Final, cast

from headrace._json import dumps
from headrace.cli.exits import DONE, WRONG_USE, complain
from headrace.cli.report import report
from headrace.cli.screen import Screen, screen_of
from headrace.decoding import PROTOCOLS, SUPPORTED, StreamDecoder, StreamResult
from headrace.errors import UsageError
from headrace.wire.decoder import DecodeOptions

_BLOCK: Final = 256 * 1024
_LARGE: Final = 16 * 1024 * 1024
_STDIN: Final = "-"
_LISTS: Final = ("inline_tool_calls", "inline_tool_names")


def main(arguments: Sequence[str], *, prog: str = "headrace merge") -> int:
    """Merge the files and print a line or a report for each.

    Returns:
        0, also where a stream carried an error; 2 if a file could not be read, after the others were printed.

    Raises:
        UsageError: the protocol, an option or another argument does not fit.
        SystemExit: as argparse does, with 2 for wrong use and 0 after `--help`.
    """
    parser = _parser(prog)
    given = parser.parse_intermixed_args(list(arguments))
    if given.files.count(_STDIN) > 1:
        raise UsageError("- (standard input) can be read once", argument="FILE")
    new_decoder = _maker(given)
    new_decoder()  # wrong use is told before any file is read
    show = _show_json if given.json else _shower(screen_of(sys.stdout), has_titles=len(given.files) > 1)
    code = DONE
    for file in given.files:
        try:
            result = _merge(file, new_decoder())
        except OSError as error:
            complain(f"{file}: {error.strerror or error}")
            code = WRONG_USE
            continue
        show(_name(file), result)
    return code


def _parser(prog: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=prog,
        description="Decode recorded streams into whole messages. With --json one line of JSON per file: the summary and `file`.",
        epilog="Exit status: 0 done, also where a stream carried an error; 2 wrong use, or a file could not be read (the others are printed).",
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("files", nargs="+", metavar="FILE", help="a recorded body; - is standard input")
    add("--protocol", required=True, metavar="P", help=f"which wire: {', '.join(PROTOCOLS)} (today: {', '.join(SUPPORTED)})")
    add("--provider", metavar="X", help="whose stream it is, if known")
    add(
        *("--option", "-o"),
        action="append",
        default=[],
        metavar="K=V",
        help=f"true or false for one of {', '.join(DecodeOptions.__struct_fields__)} (for {' and '.join(_LISTS)} also names, with commas "
        "between); may be repeated",
    )
    add("--content-type", metavar="T", help="the Content-Type header that came with it")
    add("--status", type=int, default=200, metavar="N", help="the HTTP status that came with it (default 200)")
    add("--json", action="store_true", help="one line of JSON per file")
    return parser


def _maker(given: argparse.Namespace) -> Callable[[], StreamDecoder]:
    options = dict(option_of(text) for text in given.option)

    def make() -> StreamDecoder:
        return StreamDecoder(
            protocol=given.protocol, provider=given.provider, options=options, content_type=given.content_type, status=given.status
        )

    return make


def option_of(text: str) -> tuple[str, bool | tuple[str, ...]]:
    """Read `--option name=value`.

    Raises:
        UsageError: it is not of that form.
    """
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise UsageError(f"--option {text!r} is not of the form name=value", argument="option")
    name = name.replace("-", "_")
    if value in ("true", "false"):
        return name, value == "true"
    if name not in _LISTS:
        raise UsageError(f"--option {name}={value}: the value is true or false", argument="option")
    return name, tuple(word.strip() for word in value.split(",") if word.strip())


def _merge(file: str, decoder: StreamDecoder) -> StreamResult:
    if file == _STDIN:
        return _feed(decoder, sys.stdin.buffer, _STDIN, 0)
    with open(file, "rb") as stream:  # noqa: PTH123 - `Path` would normalise what the user wrote
        return _feed(decoder, stream, file, os.fstat(stream.fileno()).st_size)


def _feed(decoder: StreamDecoder, stream: BinaryIO, file: str, size: int) -> StreamResult:
    for block in _with_progress(_blocks(stream), file, size):
        decoder.feed(block)
    decoder.close()
    return decoder.result


def _blocks(stream: BinaryIO) -> Iterator[bytes]:
    read: Any = getattr(stream, "read1", stream.read)  # what is there, so that a slow pipe is followed
    while block := cast("bytes", read(_BLOCK)):
        yield block


def _with_progress(blocks: Iterator[bytes], file: str, size: int) -> Iterator[bytes]:
    """Show how far a large file is, on a terminal, at each percent."""
    if size < _LARGE or not sys.stderr.isatty():
        yield from blocks
        return
    done, shown = 0, -1
    try:
        for block in blocks:
            yield block
            done += len(block)
            percent = min(100, done * 100 // size)
            if percent != shown:
                shown = percent
                sys.stderr.write(f"\r{percent:3} % of {size // 1_000_000:,} MB  {_name(file)}")
                sys.stderr.flush()
    finally:
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()


def _show_json(file: str, result: StreamResult) -> None:
    sys.stdout.flush()
    sys.stdout.buffer.write(dumps({"file": file, **result.summary()}) + b"\n")
    sys.stdout.buffer.flush()


def _shower(screen: Screen, *, has_titles: bool) -> Callable[[str, StreamResult], None]:
    def show(file: str, result: StreamResult) -> None:
        screen.write(report(result, title=file if has_titles else None))

    return show


def _name(file: str) -> str:
    """The name as text; bytes that are no text in it as U+FFFD."""
    return os.fsencode(file).decode("utf-8", "replace")
