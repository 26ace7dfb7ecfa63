"""A real model in this process: llama.cpp's own HTTP server on the loopback interface, from a wheel (extra `local`).

The rule of this file: it starts and stops the server and says where it listens; whoever wants to talk to the model speaks HTTP to
`base_url`, as with any other endpoint. Nobody else can: the server listens on 127.0.0.1 only and wants a random key.

What llama.cpp does here that a caller may notice: loading holds Python's global lock (half a second to a second for the small model,
longer for big files), so the event loop stands still meanwhile although the load runs in a thread.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import importlib
import os
import secrets
import threading
from importlib import resources
from typing import TYPE_CHECKING, Any

from headrace.errors import ConfigError, MissingExtraError
from headrace.models.local_weights import WEIGHTS, Weights, cache_dir, find, pull, unpack

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

__all__ = ["WEIGHTS", "LocalServer", "Weights", "cache_dir", "find", "pull", "shared_server", "unpack"]

_NAMED = ("tools", "strict", "model")
_QUIET, _TALKATIVE = 0, 3
# llama.cpp looks only this often (seconds) whether it is to stop while a client waits for tokens, and sends a comment line then. With its
# default of 30, ending a program in the middle of an answer took 30 seconds.
_PING_S = 1


class LocalServer:
    """A running llama.cpp server, made by `open` or `start`.

    Attributes:
        base_url: where it listens, with the version: `http://127.0.0.1:PORT/v1`.
        api_key: the random key that it wants as a bearer token.
        model: the name that it gives to its model: the file's name without `.gguf`, or the name it was pulled by.
        context_tokens: how many tokens a conversation may have, the answer included.
        path: the GGUF file.
    """

    def __init__(self, server: Any, *, api_key: str, model: str, context_tokens: int, path: Path) -> None:
        """Hold a server of the extension; users call `open` or `start`."""
        self._server = server
        self.base_url: str = f"{server.listening_address}/v1"
        self.api_key = api_key
        self.model = model
        self.context_tokens = context_tokens
        self.path = path

    def __repr__(self) -> str:
        """Show where it listens, never the key."""
        return f"LocalServer(model={self.model!r}, base_url={self.base_url!r}, {'running' if self.is_running else 'stopped'})"

    @classmethod
    @contextlib.asynccontextmanager
    async def open(
        cls,
        name_or_path: str | os.PathLike[str],
        *,
        template: str | None = None,
        context_tokens: int = 4096,
        threads: int | None = None,
        slots: int = 1,
    ) -> AsyncGenerator[LocalServer, None]:
        """Start a server in a worker thread, and stop it at the end of the block.

            async with LocalServer.open("smollm2") as server:
                ...  # POST to f"{server.base_url}/chat/completions"

        Args:
            name_or_path: a name that was pulled, or the path of a `.gguf` file.
            template: `tools` or `strict` (ours), `model` (the one inside the file), or the text of a Jinja chat template. None: `tools` for
                a model that is known by name, `model` for any other file, since each model was trained on turns of its own.
            context_tokens: the context of each slot.
            threads: threads that compute. None: one in CI, where tests run beside it, else at most two.
            slots: how many requests are answered at the same time; others wait.

        Raises:
            ConfigError: there is no such model, its weights have not been pulled, or llama.cpp cannot load the file or the template.
            MissingExtraError: the extra `local` is not installed.
        """
        server = await asyncio.to_thread(
            cls.start, name_or_path, template=template, context_tokens=context_tokens, threads=threads, slots=slots
        )
        try:
            yield server
        finally:
            # Not in a thread: stopping holds Python's global lock too, and an await here could be cancelled.
            server.stop()

    @classmethod
    def start(
        cls,
        name_or_path: str | os.PathLike[str],
        *,
        template: str | None = None,
        context_tokens: int = 4096,
        threads: int | None = None,
        slots: int = 1,
    ) -> LocalServer:
        """Start a server and wait until it listens; blocks. Arguments and errors as for `open`; `stop` ends it."""
        path = find(name_or_path)
        name = os.fspath(name_or_path)
        for argument, value in (("context_tokens", context_tokens), ("threads", 1 if threads is None else threads), ("slots", slots)):
            if value < 1:
                raise ConfigError(f"{argument} is {value}; it must be at least 1", argument=argument)
        _check_magic(path)
        template = template or ("tools" if name == WEIGHTS.name else "model")
        extension = _extension()
        params = extension.CommonParams()
        params.model.path = str(path)
        params.model_alias = [model := name if name == WEIGHTS.name else path.stem]
        params.api_keys = [api_key := secrets.token_urlsafe(32)]
        params.n_parallel = slots
        params.n_ctx = context_tokens * slots  # llama.cpp divides it among the slots
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads or _default_threads()
        params.chat_template = _template_text(template)
        _set_fixed(params)
        try:
            server = extension.Server(params)
        except RuntimeError as error:
            raise ConfigError(
                f"llama.cpp could not load {path} with {f'the chat template {template!r}' if template in _NAMED else 'the given chat template'}; "
                "with HEADRACE_LOCAL_LOG=1 it says why",
                argument="name_or_path",
            ) from error
        return cls(server, api_key=api_key, model=model, context_tokens=context_tokens, path=path)

    @property
    def is_running(self) -> bool:
        """Whether it has not been stopped."""
        return self._server is not None

    def stop(self) -> None:
        """Stop the server and free the model; does nothing the second time.

        Answers that are still streaming break off. Returns within about a second, in which the event loop stands still.
        """
        self._server = None  # the extension stops the server when its last reference goes; it has no method for it


async def shared_server(name_or_path: str | os.PathLike[str], *, template: str | None = None) -> LocalServer:
    """The one server of this process for a model and template, started at the first call and stopped when the interpreter exits.

    Safe to call from several tasks, threads and event loops at once. Do not stop what it gives, others use it; if it was stopped all the
    same, the next call starts another. Arguments and errors as for `LocalServer.open`.
    """
    return await asyncio.to_thread(_start_shared, os.fspath(name_or_path), template)


_shared: dict[tuple[int, Path, str | None], LocalServer] = {}
_shared_lock = threading.Lock()


def _start_shared(name_or_path: str, template: str | None) -> LocalServer:
    # The process id is in the key because a forked child inherits the table but not the server's threads.
    key = (os.getpid(), find(name_or_path).resolve(), template or ("tools" if name_or_path == WEIGHTS.name else "model"))
    with _shared_lock:
        server = _shared.get(key)
        if server is None or not server.is_running:
            server = _shared[key] = LocalServer.start(name_or_path, template=template)
        return server


@atexit.register
def _stop_shared() -> None:
    """Stop what still runs, while the interpreter is whole; left to the end, the order of destruction is anybody's guess."""
    with _shared_lock:
        for (process, _path, _template), server in _shared.items():
            if process == os.getpid():
                server.stop()


def _extension() -> Any:
    """The extension module, typed `Any` because it carries no types."""
    try:
        return importlib.import_module("xllamacpp")
    except ImportError as error:
        raise MissingExtraError("local", feature="the local model", module="xllamacpp") from error


def _set_fixed(params: Any) -> None:
    """Set what is the same for every server."""
    params.hostnames = ["127.0.0.1"]
    params.port = 0  # the system picks a free one
    params.use_jinja = True
    params.cache_ram_mib = 0  # else it keeps up to 8 GiB of old prompts in memory
    params.sse_ping_interval = _PING_S
    params.verbosity = _TALKATIVE if os.environ.get("HEADRACE_LOCAL_LOG") == "1" else _QUIET


def _default_threads() -> int:
    return 1 if os.environ.get("CI") else min(2, os.cpu_count() or 1)


def _template_text(template: str) -> str:
    """The text of a chat template; empty for the model's own, which is how llama.cpp is told so."""
    if template == "model":
        return ""
    if template in _NAMED:
        return resources.files("headrace.models").joinpath("templates", f"{template}.jinja").read_text(encoding="utf-8")
    if "{" not in template:
        raise ConfigError(
            f"no chat template is called {template!r}; give one of {', '.join(_NAMED)}, or a template's text", argument="template"
        )
    return template


def _check_magic(path: Path) -> None:
    """Refuse what is no GGUF file with a better message than llama.cpp's."""
    with path.open("rb") as stream:
        if stream.read(4) != b"GGUF":
            raise ConfigError(f"{path} is not a GGUF file, whatever its name says", argument="name_or_path")
