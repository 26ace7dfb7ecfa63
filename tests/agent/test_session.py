"""Conversations in memory."""

from __future__ import annotations

import pytest

from headrace.agent.session import MemorySessions, Session, checked_keep, kept
from headrace.errors import ConflictError, UsageError
from headrace.messages.message import AssistantMessage, ToolMessage, UserMessage
from headrace.messages.parts import ReasoningPart, TextPart, ToolCallPart

ASKED = UserMessage("q")
CALL = ToolCallPart(id="a", name="add")
ROUND = AssistantMessage([TextPart("let me see"), CALL], generate_reason="tool_calls")
RESULTS = ToolMessage("3", call_id="a")
REMINDER = UserMessage("again", origin="framework", reminder_kind="empty_response")
DONE = AssistantMessage("3", generate_reason="completed")


async def test_a_conversation_is_kept_under_its_id():
    sessions = MemorySessions()
    assert await sessions.begin("a", "r") == ()
    await sessions.commit("a", "r", [ASKED, DONE])
    assert await sessions.begin("a", "r") == (ASKED, DONE)
    assert await sessions.begin("b", "r") == ()
    assert sessions.get("a").messages == (ASKED, DONE)
    sessions.forget("a")
    sessions.forget("a")
    assert sessions.get("a").messages == ()


async def test_a_second_run_on_a_conversation_is_refused_until_the_first_has_ended():
    session = Session("talk", messages=[ASKED])
    assert await session.begin("talk", "one") == (ASKED,)
    assert session.holder == "one"
    with pytest.raises(ConflictError, match="another run works on session 'talk': one"):
        await session.begin("talk", "two")
    await session.commit("talk", "one", [DONE])
    assert session.holder is None
    assert await session.begin("talk", "two") == (ASKED, DONE)


async def test_a_run_that_waited_takes_its_conversation_up_again():
    session = Session("talk", messages=[ASKED])
    await session.begin("talk", "one")
    assert await session.begin("talk", "one") == (ASKED,)


def test_a_session_without_a_name_gets_one():
    assert Session().id != Session().id
    assert repr(Session("x", messages=[ASKED])) == "Session('x', 1 messages)"


def test_rounds_keep_everything():
    assert kept([ASKED, ROUND, RESULTS, REMINDER, DONE], "rounds") == (ASKED, ROUND, RESULTS, REMINDER, DONE)


def test_answers_keep_the_user_s_words_and_what_was_answered():
    assert kept([ASKED, ROUND, RESULTS, REMINDER, DONE], "answers") == (ASKED, DONE)


def test_an_answer_that_called_tools_in_vain_is_kept_without_the_calls():
    forced = AssistantMessage([ReasoningPart("hm", signature="s"), TextPart("so far"), CALL], generate_reason="max_rounds")
    assert kept([ASKED, forced, RESULTS], "answers") == (ASKED, forced.replace(parts=[TextPart("so far")]))
    assert kept([ASKED, forced.replace(parts=[CALL]), RESULTS], "answers") == (ASKED,)


def test_an_empty_answer_and_one_that_only_paused_are_no_answers():
    assert kept([ASKED, DONE.replace(parts=[])], "answers") == (ASKED,)
    assert kept([ASKED, DONE.replace(generate_reason=None, run_id="r")], "answers") == (ASKED,)


def test_a_way_to_keep_that_does_not_exist_is_named():
    assert checked_keep("answers") == "answers"
    with pytest.raises(UsageError, match="'rounds' or 'answers'"):
        checked_keep("all")
