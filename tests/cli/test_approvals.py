"""A person is asked about the calls that wait."""

from __future__ import annotations

from headrace.agent.agent import Agent
from headrace.cli.approvals import Asker
from headrace.cli.segments import plain
from headrace.messages.message import AssistantMessage
from headrace.messages.parts import ToolCallPart
from headrace.models.scripted import ScriptedModel
from headrace.tools.tool import tool
from headrace.tools.toolset import Toolset


@tool(needs_approval=True)
def delete(path: str, all: bool = False) -> str:  # noqa: A002 - an argument's name
    """Delete."""
    return path


@tool(external=True)
def sense(room: str) -> int:
    """Sense."""


TOOLS = [delete, sense]


class Typist:
    """A reader that types what it was given; None is Ctrl-D, an exception is raised."""

    is_prompt = True
    edit_words = "Enter sends them"

    def __init__(self, *entries):
        self.entries = list(entries)
        self.prompts = []
        self.forgotten = 0

    async def read(self):
        raise AssertionError("nobody asks for the next entry here")

    async def ask(self, prompt, *, default=""):
        self.prompts.append((prompt, default))
        entry = self.entries.pop(0)
        if isinstance(entry, BaseException):
            raise entry
        return entry

    def forget(self):
        self.forgotten += 1


class Sheet:
    """A screen that keeps what was written."""

    def __init__(self):
        self.text = ""

    def write(self, segments):
        self.text += plain(list(segments))


def call(n, name="delete", **arguments):
    return ToolCallPart(id=f"c{n}", name=name, arguments=arguments or {"path": f"{n}"})


ONE = (call(0),)


async def ask(*entries, calls=ONE, tools=TOOLS):
    """Let an agent make calls, ask about them, and return (answers, what was shown, the typist)."""
    result = await Agent(ScriptedModel(AssistantMessage(list(calls))), tools=tools).run("?")
    typist, sheet = Typist(*entries), Sheet()
    replies = await Asker(typist, sheet, tool_of=Toolset(tools).get, name_of={"o/0": "research"}.get).ask(result)
    assert not typist.entries
    return replies, sheet.text, typist, result.pending


async def test_each_call_is_asked_about_in_order():
    replies, shown, typist, pending = await ask("y", "n no", calls=(call(0), call(1)))
    assert replies == [pending[0].approve(), pending[1].deny("no")]
    assert shown.count("May delete run?") == 2
    assert typist.forgotten == 2


async def test_what_is_no_answer_is_said_and_asked_again():
    replies, shown, _, pending = await ask("perhaps", "", "y")
    assert replies == [pending[0].approve()]
    assert "'perhaps' is no answer" in shown


async def test_edited_arguments_are_checked_and_what_was_typed_is_not_lost():
    replies, shown, typist, pending = await ask("e", '{"path": 3}', '{"path": "b"', '{"path": "b"}')
    assert replies == [pending[0].approve({"path": "b"})]
    assert "delete: The arguments do not fit" in shown
    assert "the arguments are no JSON" in shown
    assert "answers[0]" not in shown
    assert [default for _, default in typist.prompts] == ["", '{\n  "path": "0"\n}', '{"path": 3}', '{"path": "b"']


async def test_what_an_external_call_gave_is_checked():
    replies, shown, _, pending = await ask("warm", "21", calls=(call(0, "sense", room="attic"),))
    assert replies == [pending[0].answer(21)]
    assert "The answer does not fit what sense returns" in shown


async def test_what_always_allows_is_not_asked_again_in_the_same_round():
    replies, shown, _, pending = await ask("a3", "21", calls=(call(0), call(1), call(2, "sense", room="attic")))
    assert replies == [pending[0].approve(rules=pending[0].suggestions[2:]), pending[1].approve(), pending[2].answer(21)]
    assert "· delete: allowed by `allow delete`" in shown


async def test_what_always_does_not_allow_is_asked():
    replies, _, _, pending = await ask("a1", "n", calls=(call(0), call(1)))
    assert replies == [pending[0].approve(rules=pending[0].suggestions[:1]), pending[1].deny()]


async def test_ctrl_c_and_ctrl_d_give_all_of_it_up():
    for entry in (KeyboardInterrupt(), None):
        replies, _, _, _ = await ask("y", entry, calls=(call(0), call(1)))
        assert replies is None
    for entry in (KeyboardInterrupt(), None):
        replies, _, _, _ = await ask("e", entry)
        assert replies is None


async def test_a_call_inside_a_sub_agent_names_it_and_its_rules_count_there_alone():
    inner = Agent(ScriptedModel(AssistantMessage([call(0), call(1)])), tools=TOOLS)
    outer = [inner.as_tool("research", "Researches."), *TOOLS]
    replies, shown, _, pending = await ask("a3", "y", calls=(call(9, "research", task="?"),), tools=outer)
    assert [reply.call_key for reply in replies] == [question.call_key for question in pending]
    assert f"inside {pending[0].path[0]}" in shown
