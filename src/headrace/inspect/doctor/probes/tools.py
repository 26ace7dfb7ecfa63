"""Calls: one, several, after text, without arguments. Pure."""

from __future__ import annotations

from typing import Final

from headrace.inspect.doctor.evidence import Evidence
from headrace.inspect.doctor.probe import Ask, Finding, asking, right, unclear, unsupported, wrong
from headrace.inspect.doctor.questions import CITY_TIME, CITY_WEATHER, RING, briefly
from headrace.inspect.doctor.trouble import unless_trouble

_INLINE: Final = "possible_inline_tool_call"
_NO_TOOLS: Final = "Requests with tools are refused"
_TOOLS: Final = (CITY_TIME, CITY_WEATHER)


def no_call(evidence: Evidence, otherwise: str) -> Finding:
    """Return what an answer without a call shows: the call stands in the text, or the model did not make one."""
    if any(warning.code == _INLINE for warning in evidence.warnings):
        return wrong(
            "The call stands in the text, instead of being a call",
            f"the server does not read the model's own way to call: {evidence.text[:120]!r}",
            decode_options={"inline_tool_calls": True},
        )
    return unclear(otherwise, f"it answered {evidence.text[:80]!r}, and ended with {evidence.finish!r}")


def broken_call(evidence: Evidence) -> Finding | None:
    """Return what is wrong with the first call that could not be run, if there is one; a cut by the bound is the model's matter."""
    call = next((call for call in evidence.calls if not call.runnable), None)
    if call is None:
        return None
    if evidence.finish == "length":
        return unclear("The model was cut off in the middle of a call", f"the arguments so far: {call.arguments[:80]!r}")
    return wrong(
        "A call comes that cannot be run", f"name {call.name!r}, arguments {call.arguments[:120]!r}, finish reason {evidence.finish!r}"
    )


def _judge_one(evidence: Evidence) -> Finding:
    if not evidence.calls:
        return no_call(evidence, "The model did not call the tool")
    if found := broken_call(evidence):
        return found
    call = evidence.calls[0]
    if call.name not in {tool.name for tool in _TOOLS}:
        return unclear("The model called a tool that was not offered", repr(call.name))
    return right("A call comes whole", f"{call.name} {call.arguments}")


def _judge_parallel(evidence: Evidence) -> Finding:
    if not evidence.calls:
        return no_call(evidence, "The model did not call the tools")
    if found := broken_call(evidence):
        return found
    if len(evidence.calls) == 1:
        return unclear("The model made one call where two were asked for")
    ids = {call.id for call in evidence.calls}
    if len(ids) < len(evidence.calls):
        return wrong("Two calls of one answer have the same id", ", ".join(sorted(ids)))
    return right(
        f"{len(evidence.calls)} calls in one answer come whole", ", ".join(f"{call.name} {call.arguments}" for call in evidence.calls)
    )


def _judge_single(evidence: Evidence) -> Finding:
    if not evidence.was_told("parallel_tool_calls"):
        return unsupported("There is no way to ask for one call at a time here", "the protocol has no word for it")
    if not evidence.calls:
        return no_call(evidence, "The model did not call a tool")
    if len(evidence.calls) > 1:
        return wrong(
            "parallel_tool_calls: false is not kept",
            f"{len(evidence.calls)} calls came; whoever cannot run several must take the first alone",
            unsupported_settings=("parallel_tool_calls",),
        )
    return broken_call(evidence) or right("parallel_tool_calls: false is kept: one call came")


def _judge_after_text(evidence: Evidence) -> Finding:
    if not evidence.calls:
        return no_call(evidence, "The model did not call the tool")
    if found := broken_call(evidence):
        return found
    if not evidence.text.strip():
        return unclear("The model called without a word before it")
    return right("Text and then a call come in one answer", f"after {len(evidence.text)} characters of text: {evidence.calls[0].name}")


def _judge_no_arguments(evidence: Evidence) -> Finding:
    if not evidence.calls:
        return no_call(evidence, "The model did not call the tool")
    call = evidence.calls[0]
    if call.runnable and not call.parsed:
        return right("A call without arguments comes whole", f"its arguments are {call.arguments!r}")
    return broken_call(evidence) or unclear("The model gave arguments to a tool that has none", call.arguments[:80])


_BOTH: Final = (
    "What time is it in Paris, and what time is it in Tokyo? Call the tool once for each city.",
    "Call city_time for London and city_time for Berlin, both at once.",
    "I need two tool calls now: the time in New York and the weather in New York.",
)

TOOLS: Final = (
    asking(
        "one_tool",
        "Does a call come whole?",
        *(
            Ask(
                name=f"time-in-{city.lower().replace(' ', '-')}",
                messages=f"What time is it in {city}?",
                tools=(CITY_TIME,),
                settings=briefly(64),
            )
            for city in ("Paris", "London", "New York")
        ),
        judge=unless_trouble(_judge_one, refused=_NO_TOOLS),
    ),
    asking(
        "parallel_tools",
        "Do several calls of one answer come whole and apart?",
        *(
            Ask(name=f"two-{n}", messages=words, tools=_TOOLS, settings=briefly(120, parallel_tool_calls=True))
            for n, words in enumerate(_BOTH, start=1)
        ),
        judge=unless_trouble(_judge_parallel, refused=_NO_TOOLS),
    ),
    asking(
        "single_tool",
        "Is parallel_tool_calls: false kept?",
        *(
            Ask(name=f"single-{n}", messages=words, tools=_TOOLS, settings=briefly(120, parallel_tool_calls=False))
            for n, words in enumerate(_BOTH[:2], start=1)
        ),
        judge=unless_trouble(_judge_single, refused="parallel_tool_calls: false is refused", unsupported_settings=("parallel_tool_calls",)),
    ),
    asking(
        "tool_after_text",
        "Does a call that comes after text come whole?",
        Ask(
            name="say-first",
            messages="First write one sentence that says what you will do, then call the tool: what time is it in Paris?",
            tools=(CITY_TIME,),
            settings=briefly(120),
        ),
        Ask(
            name="think-aloud",
            messages='Write "I will look it up." and then, in the same answer, call city_time for London.',
            tools=(CITY_TIME,),
            settings=briefly(120),
        ),
        judge=unless_trouble(_judge_after_text, refused=_NO_TOOLS),
    ),
    asking(
        "no_argument_tool",
        "Does a call without arguments come whole?",
        Ask(name="ring", messages="Ring the bell.", tools=(RING,), settings=briefly(48)),
        Ask(name="ring-required", messages="Please ring the bell now.", tools=(RING,), tool_choice="required", settings=briefly(48)),
        judge=unless_trouble(_judge_no_arguments, refused="A tool without parameters is refused"),
    ),
)
