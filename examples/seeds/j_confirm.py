"""(j) A person is asked before a tool runs.

From AgentScope: a call that needs confirmation pauses the agent, and a `ConfirmResult` (yes, no, or the call as the person changed it,
with rules to remember) lets it go on. Here the pause is a JSON state that any process can go on with, each answer is bound to the call
that was shown, and the model's own call stays in the history as it made it.
"""

from __future__ import annotations

import asyncio
import json

from headrace import (
    Agent,
    Answer,
    AssistantMessage,
    Request,
    RunResult,
    ScriptedModel,
    StateError,
    TextPart,
    ToolCallPart,
    ToolMessage,
    tool,
)

ran: list[str] = []


@tool(needs_approval=True)
def shell(command: str) -> str:
    """Run a command."""
    ran.append(command)
    return f"ran {command}"


def agent() -> Agent:
    """Make the agent anew, as another process would."""

    def answer(request: Request) -> AssistantMessage | str:
        asked = sum(message.role == "assistant" for message in request.messages)
        commands = [["git status", "git push", "rm -rf build"], ["git status -s"]]
        if asked == len(commands):
            return "All done."
        return AssistantMessage([ToolCallPart(id=f"c{n}", name="shell", arguments={"command": c}) for n, c in enumerate(commands[asked])])

    return Agent(ScriptedModel(*[answer] * 3), tools=[shell])


async def main() -> None:
    """Ask, answer in two parts, and go on elsewhere each time."""
    result = await agent().run("Tidy up.")
    assert result.generate_reason == "awaiting_approval"
    status, push, remove = result.pending
    print([f"{pending.call.name} {pending.call.arguments}" for pending in result.pending])

    stored = json.dumps(result.state)  # a file, a row, a queue

    # No, with a reason for the model; and yes, but to something else.
    result = await agent().resume(stored, [remove.deny("build is needed"), push.approve({"command": "git push --dry-run"})])
    assert ran == ["git push --dry-run"]
    assert result.pending == (status,)

    # Each answer is accepted once, and fits one question.
    for wrong in (push.approve(), Answer(status.call_key, "clean")):
        try:
            await agent().resume(result.state, [wrong])
        except StateError as error:
            print(error)
        else:
            raise AssertionError("it was accepted")

    # Yes, and always: the next round's `git status -s` is not asked about any more.
    always = next(rule for rule in status.suggestions if rule.pattern == "command=git status *")
    result = await agent().resume(json.dumps(result.state), [status.approve(rules=(always,))])
    assert ran == ["git push --dry-run", "git status", "git status -s"]
    assert result.generate_reason == "completed"
    assert result.permissions.rules == (always,)

    question, results = result.messages[1:3]
    assert isinstance(question, AssistantMessage)
    assert isinstance(results, ToolMessage)
    texts = ["".join(part.text for part in one.parts if isinstance(part, TextPart)) for one in results.results]
    print(texts)
    assert texts[1:] == [
        'The arguments were changed to {"command":"git push --dry-run"}.\nran git push --dry-run',
        "A person denied this call. Reason: build is needed",
    ]
    assert question.tool_calls[1].parsed == {"command": "git push"}
    assert RunResult.from_state(result.state).messages == result.messages


if __name__ == "__main__":
    asyncio.run(main())
