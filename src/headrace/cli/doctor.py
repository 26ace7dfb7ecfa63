"""`headrace doctor`: asks an endpoint small questions and says what it does right, wrong, or does not support.

The rule of this file: it reads options, shows and writes; what is asked and how it is judged is `headrace.inspect.doctor`. The key comes from
the environment alone and is shown nowhere. Ctrl-C keeps and shows what was found by then.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from pathlib import Path
from typing import Final

import msgspec

from headrace import _sync
from headrace._json import dumps
from headrace.cli.exits import DONE, FAILED, INTERRUPTED
from headrace.cli.interrupts import interrupting
from headrace.cli.screen import Screen, screen_of
from headrace.cli.segments import Segment, Style
from headrace.errors import ConfigError
from headrace.inspect.doctor.ask import DEFAULT_TIMEOUTS, Examination, Progress
from headrace.inspect.doctor.endpoint import Bounds, Endpoint
from headrace.inspect.doctor.probes import chosen
from headrace.inspect.doctor.report import Look, Word, document_of, finding_line, text_report
from headrace.inspect.doctor.switches import config_toml
from headrace.io.transport import Timeouts
from headrace.providers.secret import Secret

FOLDER: Final = "doctor"
_STYLES: Final[dict[Look, Style]] = {
    "text": "text",
    "label": "label",
    "note": "note",
    "title": "title",
    "right": "good",
    "wrong": "error",
    "unsupported": "warning",
    "unclear": "reasoning",
}


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """What the options say.

    Attributes:
        base_url, model, protocol: the endpoint.
        key_variable: the environment variable with the key, or None for none.
        only: the probes, or none for all.
        folder: where the recordings go.
        profile: the file for the profile, or None.
        is_json: whether the report is one JSON document.
        bounds: what it may cost.
        timeout_s: how long to wait for the first bytes of an answer.
    """

    base_url: str
    model: str
    protocol: str = "openai-chat"
    key_variable: str | None = None
    only: tuple[str, ...] = ()
    folder: Path = Path(FOLDER)
    profile: Path | None = None
    is_json: bool = False
    bounds: Bounds = Bounds()
    timeout_s: float = 60.0


def doctor_command(wanted: Wanted) -> int:
    """Examine an endpoint; returns the exit status: 0 nothing wrong, 1 something wrong or nobody there, 130 interrupted.

    Raises:
        UsageError: an option does not do.
    """
    if wanted.profile is not None and wanted.profile.exists():
        raise ConfigError(f"{str(wanted.profile)!r} exists already; a profile is not written over another", argument="profile")
    examination = _examination(wanted)
    screen = screen_of(sys.stderr)
    if not wanted.is_json:
        at_most = f"at most {examination.planned_requests} requests and {examination.planned_tokens:,} tokens of answers"
        screen.write([Segment(f"{len(examination.probes)} probes, {at_most}; recordings go to {wanted.folder}\n", "note")])
    is_interrupted = _sync.run(_run(examination))
    _show(examination, wanted)
    if wanted.profile is not None and not examination.is_nobody_there:
        _write_profile(examination, wanted, wanted.profile)
    if is_interrupted:
        return INTERRUPTED
    return FAILED if any(finding.level == "wrong" for finding in examination.findings) or examination.is_nobody_there else DONE


def _examination(wanted: Wanted) -> Examination:
    key: Secret | None = None
    if wanted.key_variable is not None:
        text = os.environ.get(wanted.key_variable, "").strip()
        if not text:
            raise ConfigError(f"the environment variable {wanted.key_variable} is not set", argument="api-key-env")
        key = Secret(text)
    screen = screen_of(sys.stderr)
    return Examination(
        Endpoint(base_url=wanted.base_url, model=wanted.model, protocol=wanted.protocol, api_key=key),
        chosen(wanted.only),
        folder=wanted.folder,
        bounds=wanted.bounds,
        timeouts=_timeouts(wanted.timeout_s),
        on_progress=None if wanted.is_json or not sys.stderr.isatty() else lambda progress: _progress(screen, progress),
    )


def _timeouts(first_chunk_s: float) -> Timeouts:
    usual = DEFAULT_TIMEOUTS
    return msgspec.structs.replace(usual, first_chunk_s=first_chunk_s, total_s=max(usual.total_s or 0.0, 3 * first_chunk_s))


async def _run(examination: Examination) -> bool:
    """Run it; returns whether it was interrupted."""
    task = asyncio.create_task(examination.run())
    with interrupting(lambda: _cancel(task)) as interrupts:
        try:
            await task
        except asyncio.CancelledError:
            if not interrupts.count:
                raise
            return True
        finally:
            if not task.done():
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await task
    return False


def _cancel(task: asyncio.Task[None]) -> None:
    task.cancel()


def _progress(screen: Screen, progress: Progress) -> None:
    for finding in progress.findings:
        screen.write([Segment(f"{progress.done:>3}/{progress.total} ", "note"), *_segments(finding_line(finding))])


def _segments(words: list[Word]) -> list[Segment]:
    return [Segment(word.text, _STYLES[word.look]) for word in words]


def _show(examination: Examination, wanted: Wanted) -> None:
    if wanted.is_json:
        sys.stdout.flush()
        sys.stdout.buffer.write(dumps(document_of(examination)) + b"\n")
        sys.stdout.buffer.flush()
        return
    screen_of(sys.stdout).write(_segments(text_report(examination, profile_goes_to=str(wanted.profile or ""))))


def _write_profile(examination: Examination, wanted: Wanted, file: Path) -> None:
    text = config_toml(
        examination.findings,
        examination.base_profile,
        model_id=examination.endpoint.model_id,
        protocol=wanted.protocol,
        base_url=examination.endpoint.base_url,
        key_variable=wanted.key_variable,
    )
    try:
        with file.open("x", encoding="utf-8") as stream:
            stream.write(text)
    except OSError as error:
        raise ConfigError(f"the profile cannot be written: {error.strerror or error}: {file}", argument="profile") from error
