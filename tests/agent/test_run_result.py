"""What a run gave, as a value."""

from __future__ import annotations

import json

import pytest

from headrace.agent.run_result import RunResult
from headrace.messages.codec import decode_messages
from headrace.messages.message import AssistantMessage, UserMessage
from headrace.messages.usage import Usage

ASKED, DONE = UserMessage("q"), AssistantMessage("a", generate_reason="completed")
RESULT = RunResult(
    run_id="r", session_id="s", message=DONE, messages=(ASKED, DONE), generate_reason="completed", usage=Usage(output_tokens=3), rounds=1
)


def test_the_state_is_json_that_holds_the_messages():
    state = json.loads(json.dumps(RESULT.state))
    assert decode_messages(state["messages"]) == (ASKED, DONE)
    assert (state["schema_version"], state["run_id"], state["session_id"], state["rounds"]) == (1, "r", "s", 1)
    assert (state["generate_reason"], state["usage"], state["pending"]) == ("completed", {"output_tokens": 3}, [])


def test_the_output_is_the_answer_s_text_and_nothing_waits():
    assert RESULT.output == "a"
    assert RESULT.pending == RESULT.undelivered == ()
    with pytest.raises(AttributeError):
        RESULT.rounds = 2
