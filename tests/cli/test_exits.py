"""Exit statuses and what is told."""

from __future__ import annotations

import pytest

from headrace.cli.exits import code_of, complain, guarded, words_of
from headrace.errors import (
    APIError,
    AuthError,
    ConfigError,
    ConnectFailedError,
    ConnectionLostError,
    MissingExtraError,
    RateLimitError,
    StreamTruncatedError,
)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ConfigError("no key"), 2),
        (MissingExtraError("cli", feature="headrace run", module="typer"), 2),
        (AuthError("no"), 1),
        (ConnectionLostError("reset"), 1),
        (StreamTruncatedError("cut"), 1),
    ],
)
def test_wrong_use_is_2_and_everything_else_1(error, code, capsys):
    def command():
        raise error

    assert code_of(error) == guarded(command) == code
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(f"headrace: {error}")
    assert captured.err.count("\n") == 1


def test_an_error_comes_with_its_status_and_advice():
    assert words_of(APIError("no such model", status=404)) == "no such model (HTTP 404)"
    assert words_of(APIError("HTTP 404: no such model", status=404)) == "HTTP 404: no such model"
    assert words_of(RateLimitError("slow down")) == "slow down. Wait a little and try again."
    assert words_of(ConnectFailedError("nobody listens.")).startswith("nobody listens. Check the address")
    assert words_of(ConnectionLostError("")) == "ConnectionLostError"


def test_ctrl_c_is_130_and_says_nothing(capsys):
    def command():
        raise KeyboardInterrupt

    assert guarded(command) == 130
    assert capsys.readouterr() == ("", "")


def test_a_bug_of_ours_is_not_hidden():
    def command():
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        guarded(command)


def test_a_complaint_names_the_program(capsys):
    complain("a.sse: no such file")
    assert capsys.readouterr().err == "headrace: a.sse: no such file\n"
