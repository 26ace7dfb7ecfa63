"""The keyboard of a terminal."""

from __future__ import annotations

import os

import pytest

from headrace.cli.keyboard import IS_KNOWN, forget_keys, without_echo

termios = pytest.importorskip("termios", reason="needs a POSIX terminal")


@pytest.fixture
def terminal():
    import pty

    master, slave = pty.openpty()
    yield master, slave
    os.close(master)
    os.close(slave)


def test_keys_come_one_by_one_and_unseen_and_the_terminal_is_left_as_it_was(terminal):
    master, slave = terminal
    before = termios.tcgetattr(slave)
    with without_echo(slave):
        os.write(master, b"a")
        assert os.read(slave, 10) == b"a"
        assert termios.tcgetattr(slave)[3] & termios.ISIG
    assert termios.tcgetattr(slave) == before
    os.write(master, b"b\n")
    assert os.read(slave, 10) == b"b\n"
    assert os.read(master, 10) == b"b\r\n"  # the echo of the second key alone


def test_the_terminal_is_left_as_it_was_also_after_an_error(terminal):
    _, slave = terminal
    before = termios.tcgetattr(slave)
    with pytest.raises(RuntimeError), without_echo(slave):
        raise RuntimeError
    assert termios.tcgetattr(slave) == before


def test_what_was_typed_is_forgotten(terminal):
    master, slave = terminal
    os.write(master, b"yes\n")
    os.read(master, 10)
    forget_keys(slave)
    os.write(master, b"no\n")
    assert os.read(slave, 10) == b"no\n"


def test_what_is_no_terminal_is_left_alone(tmp_path):
    with (tmp_path / "file").open("w") as file, without_echo(file.fileno()):
        forget_keys(file.fileno())
    assert IS_KNOWN
