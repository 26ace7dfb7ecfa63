"""What a client gives back in many messages is one conversation."""

from __future__ import annotations

from headrace.messages.message import AssistantMessage, UserMessage
from headrace.messages.parts import ReasoningPart, TextPart, ToolCallPart
from headrace.surfaces.content import result
from headrace.surfaces.history import Conversation, split_input


def test_an_answer_goes_on_until_something_else_comes():
    talk = Conversation()
    talk.system("Be brief.")
    talk.user([TextPart("go")], "u", "Ada")
    talk.answer([ReasoningPart("hm")], "m", "p")
    talk.answer([TextPart("a"), ToolCallPart(id="1", name="look")], "other")
    talk.answer([ToolCallPart(id="2", name="look")])
    for identifier in ("1", "2"):
        talk.result(result(identifier, talk.names[identifier], [TextPart("ok")]))
    talk.answer([TextPart("b")])
    talk.cut()
    talk.answer([TextPart("c")])
    messages = talk.messages
    assert [message.role for message in messages] == ["system", "user", "assistant", "tool", "assistant", "assistant"]
    answer = messages[2]
    assert isinstance(answer, AssistantMessage)
    assert (answer.id, answer.provider, answer.finish_reason, len(answer.parts)) == ("m", "p", "tool_calls", 4)
    assert [one.call_id for one in messages[3].results] == ["1", "2"]
    assert messages[1].name == "Ada"
    assert talk.messages == messages


def test_what_is_new_are_the_persons_words_at_the_end():
    talk = Conversation()
    talk.user([TextPart("a")])
    talk.answer([TextPart("b")])
    assert split_input(talk.messages) == (talk.messages, ())
    talk.user([TextPart("c")])
    talk.user([TextPart("d")])
    history, new = split_input(talk.messages)
    assert ([message.text for message in history], [message.text for message in new]) == (["a", "b"], ["c", "d"])
    assert split_input(()) == ((), ())
    assert all(isinstance(message, UserMessage) for message in new)
