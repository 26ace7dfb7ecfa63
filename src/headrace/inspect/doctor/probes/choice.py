"""Choosing among tools: must, must this one, must not. Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from headrace.inspect.doctor.evidence import Evidence, Seen
from headrace.inspect.doctor.probe import Ask, Finding, JudgeOne, Probe, asking, in_other_words, right, unclear, wrong
from headrace.inspect.doctor.probes.tools import broken_call, no_call
from headrace.inspect.doctor.questions import CITY_TIME, CITY_WEATHER, briefly
from headrace.inspect.doctor.trouble import unless_trouble
from headrace.messages.request import NamedTool

_TOOLS: Final = (CITY_TIME, CITY_WEATHER)
_WITHOUT_REQUIRED: Final = ("auto", "none")
_WITHOUT_NAMED: Final = ("auto", "none", "required")
_WITHOUT_NONE: Final = ("auto", "required", "named")


def _judge_required(evidence: Evidence) -> Finding:
    if evidence.calls:
        return broken_call(evidence) or right(
            "tool_choice: required makes the model call", f"{evidence.calls[0].name} {evidence.calls[0].arguments}"
        )
    if evidence.finish == "length":
        return unclear("tool_choice: required: the model talked until it was cut off", f"it said {evidence.text[:80]!r}")
    found = no_call(evidence, "")
    if found.level == "wrong":
        return found
    return wrong(
        "tool_choice: required is not kept: an answer without a call came",
        f"it said {evidence.text[:80]!r}, and ended with {evidence.finish!r}",
        tool_choices=_WITHOUT_REQUIRED,
    )


def _stubborn(judge: JudgeOne, what: str) -> Callable[[Seen], tuple[Finding, ...]]:
    """Return a judge of all wordings: a model that talks on in each of them shows that nothing made it call."""

    def judged(seen: Seen) -> tuple[Finding, ...]:
        found = judge(seen[-1])
        if found.level == "unclear" and len(seen) > 1 and all(one.is_answered and one.text and not one.calls for one in seen):
            return (wrong(f"{what}: in {len(seen)} wordings the model talked, and called nothing", found.detail),)
        return (found,)

    return judged


def _forced(name: str, question: str, *asks: Ask, judge: JudgeOne, what: str) -> Probe:
    then, _ = in_other_words(*asks, judge=judge)
    return Probe(name=name, question=question, possible=asks, then=then, judge=_stubborn(judge, what))


def _judge_named(evidence: Evidence) -> Finding:
    if not evidence.calls:
        if evidence.finish == "length":
            return unclear("A tool that is named: the model talked until it was cut off", f"it said {evidence.text[:80]!r}")
        return wrong(
            "A tool that is named in tool_choice is not called: an answer without a call came",
            f"it said {evidence.text[:80]!r}; Headrace offers that tool alone instead",
            tool_choices=_WITHOUT_NAMED,
        )
    called = evidence.calls[0].name
    if called != CITY_WEATHER.name:
        return wrong(
            "A tool that is named in tool_choice is not called: another one was",
            f"{CITY_WEATHER.name} was named, {called} was called; Headrace offers that tool alone instead",
            tool_choices=_WITHOUT_NAMED,
        )
    return broken_call(evidence) or right("A tool that is named in tool_choice is called")


def _judge_none(evidence: Evidence) -> Finding:
    if evidence.calls:
        return wrong(
            "tool_choice: none is not kept: a call came",
            f"{evidence.calls[0].name} was called; Headrace leaves the tools out instead",
            tool_choices=_WITHOUT_NONE,
        )
    return right("tool_choice: none is kept")


CHOICE: Final = (
    _forced(
        "required_tool",
        "Does tool_choice: required make the model call?",
        Ask(name="small-talk", messages="Hello! How are you?", tools=_TOOLS, tool_choice="required", settings=briefly(96)),
        Ask(name="a-joke", messages="Tell me a joke about Rome.", tools=_TOOLS, tool_choice="required", settings=briefly(96)),
        judge=unless_trouble(_judge_required, refused="tool_choice: required is refused", tool_choices=_WITHOUT_REQUIRED),
        what="tool_choice: required is no guarantee",
    ),
    _forced(
        "named_tool",
        "Is the tool called that tool_choice names?",
        Ask(
            name="against-the-question",
            messages="What time is it in Paris?",
            tools=_TOOLS,
            tool_choice=NamedTool(CITY_WEATHER.name),
            settings=briefly(96),
        ),
        Ask(
            name="with-the-question",
            messages="Tell me the time in London.",
            tools=_TOOLS,
            tool_choice=NamedTool(CITY_WEATHER.name),
            settings=briefly(96),
        ),
        judge=unless_trouble(_judge_named, refused="A tool cannot be named in tool_choice", tool_choices=_WITHOUT_NAMED),
        what="A tool that is named in tool_choice is not called",
    ),
    asking(
        "no_tool",
        "Does tool_choice: none keep the model from calling?",
        Ask(name="time", messages="What time is it in Paris?", tools=_TOOLS, tool_choice="none", settings=briefly(48)),
        judge=unless_trouble(_judge_none, refused="tool_choice: none is refused", tool_choices=_WITHOUT_NONE),
    ),
)
