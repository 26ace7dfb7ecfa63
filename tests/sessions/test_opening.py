"""What a name of a store means."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from headrace.errors import ConfigError, MissingExtraError, UsageError
from headrace.sessions.memory import MemoryStore
from headrace.sessions.opening import default_path, open_store
from headrace.sessions.sqlite import SQLiteStore


def test_memory_is_named_memory():
    assert isinstance(open_store("memory:"), MemoryStore)


@pytest.mark.parametrize(
    ("where", "path"),
    [
        ("talks.db", "talks.db"),
        (Path("a/talks.db"), "a/talks.db"),
        ("sqlite:///a/talks.db", "a/talks.db"),
        ("sqlite:////var/lib/talks.db", "/var/lib/talks.db"),
        ("sqlite:///my%20talks.db", "my talks.db"),
        ("~/talks.db", str(Path.home() / "talks.db")),
    ],
)
def test_a_path_is_a_file(where, path):
    store = open_store(where)
    assert isinstance(store, SQLiteStore)
    assert str(store.path) == path


@pytest.mark.parametrize("scheme", ["postgresql", "postgres"])
def test_a_url_of_postgresql_is_that_and_no_password_is_shown(scheme):
    pytest.importorskip("psycopg_pool", reason="the extra is missing: pip install 'headrace[postgres]'")
    store = open_store(f"{scheme}://me:s3cr3t@db.example:5433/talks")
    assert repr(store) == "PostgresStore(postgresql://me@db.example:5433/talks (schema headrace))"


def test_without_the_extra_it_is_said_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    for name in [name for name in sys.modules if name.startswith("headrace.sessions.postgres")]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(MissingExtraError, match=r"pip install 'headrace\[postgres\]'"):
        open_store("postgresql://localhost/talks")


@pytest.mark.parametrize("where", ["mysql://me:s3cr3t@db/talks", "", "  ", "sqlite:///", "a\0b"])
def test_what_names_no_store_is_wrong_use(where):
    with pytest.raises(ConfigError, match="the name of a store") as caught:
        open_store(where)
    assert "s3cr3t" not in str(caught.value)


def test_a_url_that_cannot_be_read_is_not_repeated_with_its_password():
    pytest.importorskip("psycopg_pool", reason="the extra is missing: pip install 'headrace[postgres]'")
    with pytest.raises(ConfigError, match="cannot be read") as caught:
        open_store("postgresql://me:s3cr3t@db:port/talks?nonsense=1")
    chain = [caught.value, caught.value.__cause__]
    assert not any("s3cr3t" in str(error) for error in chain)
    assert caught.value.__suppress_context__


def test_nothing_named_is_the_environment_else_the_users_own_file(monkeypatch, tmp_path):
    monkeypatch.setenv("HEADRACE_DATABASE", "memory:")
    assert isinstance(open_store(), MemoryStore)
    monkeypatch.delenv("HEADRACE_DATABASE")
    monkeypatch.setattr(default_path, "__defaults__", ({"XDG_DATA_HOME": str(tmp_path)}, "linux"))
    assert open_store().path == tmp_path / "headrace" / "headrace.db"


def test_the_users_own_file_is_where_the_system_wants_it():
    home = Path.home()
    assert default_path({}, "linux") == home / ".local/share/headrace/headrace.db"
    assert default_path({"XDG_DATA_HOME": "/data"}, "linux") == Path("/data/headrace/headrace.db")
    assert default_path({}, "darwin") == home / "Library/Application Support/headrace/headrace.db"
    assert default_path({"LOCALAPPDATA": "/local"}, "win32") == Path("/local/headrace/headrace.db")
    assert default_path({}, "win32") == home / "AppData/Local/headrace/headrace.db"


@pytest.mark.parametrize("schema", ["", "pg_mine", "x" * 64, "a\0b"])
def test_a_schema_has_a_proper_name(schema):
    postgres = pytest.importorskip("headrace.sessions.postgres", exc_type=ImportError)
    with pytest.raises(UsageError, match="schema"):
        postgres.PostgresStore("postgresql://localhost/talks", schema=schema)


def test_how_sqlite_writes_is_full_or_normal():
    with pytest.raises(UsageError, match="'full' or 'normal'"):
        SQLiteStore("x.db", synchronous="off")
