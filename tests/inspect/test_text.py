"""The report as text."""

from __future__ import annotations

import pytest

from headrace.inspect.inspecting import inspect_capture
from headrace.inspect.text import sparkline, text_report
from headrace.inspect.timeline import inspect_stream
from inspect_samples import SAMPLES, chat


def text_of(inspection):
    return "".join(word.text for word in text_report(inspection))


def test_calls_show_their_fragments_and_whether_they_may_run():
    text = text_of(inspect_capture(SAMPLES["parallel-calls"]()))
    assert 'read_gauge {"river": "Iller", "at": "upper weir"}\n            runnable  call_gauge' in text
    assert '6 fragments, event 5 to event 15: ⟨{"gate"⟩ ⟨: 3, ⟩ ⟨"open⟩ ⟨_cm": ⟩ ⟨40}⟩' in text
    assert "protocol guessed: openai-chat (choices)" in text


def test_warnings_show_their_bytes():
    text = text_of(inspect_capture(SAMPLES["broken-arguments"]()))
    assert 'invalid_tool_arguments  event 1, bytes 246 to 467 · log_level\n    data: {"id": "chatcmpl-mill"' in text
    assert "not runnable: its arguments are no JSON object" in text


def test_an_error_is_said_and_so_is_what_broke():
    text = text_of(inspect_capture(SAMPLES["cut-with-error"]()))
    assert "error       provider_error (503): the worker ran out of memory" in text
    assert "the answer broke off: the connection was reset" in text


def test_the_sparkline_shows_silences():
    line = sparkline(inspect_capture(SAMPLES["long-with-stalls"]()))
    assert len(line) == 60
    assert "   " in line.strip()


def test_a_long_stream_shows_its_beginning_and_its_end():
    text = text_of(inspect_capture(SAMPLES["long-with-stalls"]()))
    assert "more rows; --html and --json have them" in text
    assert text.rstrip().endswith("ended whole, as the wire said")


@pytest.mark.parametrize("control", ["\x1b[2J", "\x07", "\u202e", "\u2028"])
def test_no_control_character_of_a_stream_reaches_the_terminal(control):
    body = (
        chat({"content": control, "reasoning_content": control}, finish=control) + f": {control}\n\n".encode() + f"data: {control}".encode()
    )
    assert control not in text_of(inspect_stream(body, protocol="openai-chat", source=control))
