"""`make demo`: the recorded streams, and the real model where it is installed."""

from __future__ import annotations

import io
import os

import pytest

from headrace.agent.run_result import RunResult
from headrace.cli import demo
from headrace.cli.demo_streams import CUT, STREAMS, TEXT_FIRST
from headrace.cli.screen import PlainScreen
from headrace.errors import ConfigError
from headrace.messages.message import AssistantMessage, ToolMessage
from headrace.messages.usage import Usage
from headrace.models.local_weights import cache_dir, find


async def replayed(stream):
    out = io.StringIO()
    await demo._replay(PlainScreen(out), stream)
    return out.getvalue()


async def test_text_first_is_shown_beside_what_the_first_chunk_decides():
    lines = (await replayed(TEXT_FIRST)).splitlines()
    assert lines[1] == "(f) A ReAct prompt: the model thinks aloud first, the call comes late"
    assert lines[2].startswith("on the wire          I need  | the clock  | for that. | city_time(")
    assert "the call of city_time is lost" in lines[3]
    assert any(line.startswith("← city_time In Tokyo it is") for line in lines)
    assert "The clock has told you." in lines


async def test_arguments_that_were_cut_are_not_run():
    said = await replayed(CUT)
    assert "calculate runs with {}, made up" in said
    assert "(cannot be run)" in said
    assert "← calculate [error]" in said


@pytest.mark.parametrize("stream", STREAMS)
async def test_every_recorded_stream_ends_with_an_answer(stream):
    assert "· 2 rounds" in await replayed(stream)


def result_of(*messages):
    return RunResult(
        run_id="r",
        session_id=None,
        message=AssistantMessage(["x"]),
        messages=messages,
        generate_reason="completed",
        usage=Usage(),
        rounds=1,
    )


def test_only_a_tool_that_ran_counts():
    assert demo._has_called(result_of(ToolMessage("3", call_id="c", name="f")))
    assert not demo._has_called(result_of(ToolMessage("no", call_id="c", name="f", state="error")))
    assert not demo._has_called(result_of(AssistantMessage(["3"])))


async def test_without_the_extra_it_says_what_to_install(program):
    code = "import sys\nsys.modules['xllamacpp'] = None\nfrom headrace.cli.demo import main\nsys.exit(main())"
    _need_the_weights()
    done = await program(python=("-c", code), environ={"HEADRACE_CACHE": str(cache_dir())})
    assert done.code == 2
    assert "pip install 'headrace[local]'" in done.err


async def test_a_real_model_calls_a_real_tool_and_answers(program, local_weights):
    kept = {name: os.environ[name] for name in ("CI",) if name in os.environ}
    done = await program(python=("-m", "headrace.cli.demo"), environ={"HEADRACE_CACHE": str(cache_dir()), **kept})
    assert done.code == 0, done.text + done.err
    assert "its prose" in done.text
    _, live = done.text.split("2  A real model", 1)
    assert live.index("→ ") < live.index("← ") < live.index("The final message, as it is kept:")
    assert "\x1b" not in done.text


def _need_the_weights():
    try:
        find("smollm2")
    except ConfigError:
        pytest.skip("needs: headrace local pull")
