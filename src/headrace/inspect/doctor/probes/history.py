"""Histories: which shapes of what was said before are taken. Pure.

A history that is refused is sent again with one switch changed at a time, so that the finding names the switch that helps.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from headrace.inspect.doctor.evidence import Seen
from headrace.inspect.doctor.probe import Ask, Finding, Probe, right, unsupported, wrong
from headrace.inspect.doctor.questions import CITY_TIME, after_a_call, briefly
from headrace.inspect.doctor.trouble import trouble
from headrace.messages.message import AssistantMessage, Message, SystemMessage, UserMessage

_MAX: Final = 24
_CHAT: Final = ("openai-chat",)
_TOOLS: Final = (CITY_TIME,)
_NEXT: Final = (UserMessage("Thank you. Say goodbye."),)

_FIXES: Final[tuple[dict[str, Any], ...]] = (
    {"content_with_calls": "empty"},
    {"content_with_calls": "absent"},
    {"names_tool_results": True},
    {"arguments_as": "object"},
    {"needs_assistant_after_tool": True},
)
_ID_FIXES: Final[tuple[dict[str, Any], ...]] = (
    {"call_id_pattern": "[A-Za-z0-9_-]{1,64}"},
    {"call_id_pattern": "[A-Za-z0-9]{1,40}"},
    {"call_id_pattern": "[A-Za-z0-9]{9}", "call_id_length": 9},
)


def _taken(
    name: str,
    question: str,
    messages: tuple[Message, ...],
    *,
    what: str,
    fixes: tuple[dict[str, Any], ...] = (),
    lacking: dict[str, Any] | None = None,
    has_tools: bool = False,
    protocols: tuple[str, ...] = (),
) -> Probe:
    """Return a probe that asks whether a history is taken.

    Args:
        name: the probe's.
        question: what it finds out.
        messages: the history.
        what: what is taken or refused, for the finding.
        fixes: switches of which one may help, tried one after the other where it is refused.
        lacking: the switches that help for sure, without another try.
        has_tools: whether the request declares the tool.
        protocols: those that have such a thing; empty: all.
    """
    plain = Ask(name="as-it-is", messages=messages, tools=_TOOLS if has_tools else (), settings=briefly(_MAX))
    asks = (plain, *(msgspec.structs.replace(plain, name="-".join(fix).replace("_", "-"), profile=fix) for fix in fixes))

    def then(seen: Seen) -> tuple[Ask, ...]:
        if not seen:
            return asks[:1]
        # A server error counts here: templates that cannot lay out a history fail so.
        failed = seen[-1].failed
        is_refused = failed is not None and failed.kind in {"refused", "server_error"}
        return asks[len(seen) : len(seen) + 1] if is_refused else ()

    def judge(seen: Seen) -> tuple[Finding, ...]:
        first, last = seen[0], seen[-1]
        if first.failed is None:
            return (right(f"{what} is taken"),)
        if first.failed.kind not in {"refused", "server_error"}:
            return (trouble(first) or right(what),)
        say = wrong if first.failed.kind == "server_error" else unsupported
        words = first.failed.words
        if len(seen) > 1 and last.failed is None:
            fix = asks[len(seen) - 1].profile
            return (say(f"{what} is refused; with {_named(fix)} it is taken", words, **fix),)
        return (say(f"{what} is refused", words, **(lacking or {})),)

    return Probe(name=name, question=question, possible=asks, then=then, judge=judge, protocols=protocols)


def _named(fix: dict[str, Any]) -> str:
    return " and ".join(f"{name} = {value!r}" for name, value in fix.items())


def _raw_invalid() -> Probe:
    """Arguments that are no JSON, as they came: Headrace never sends them so, others do."""
    call = {"id": "call_1", "type": "function", "function": {"name": CITY_TIME.name, "arguments": '{"city": "Par'}}
    body = {
        "messages": [
            {"role": "user", "content": "What time is it in Paris?"},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "call_1", "content": "Error: the arguments are no JSON."},
        ]
    }
    ask = Ask(name="cut-off", messages="?", tools=_TOOLS, settings=briefly(_MAX, extra_body=body))

    def judge(seen: Seen) -> tuple[Finding, ...]:
        failed = seen[0].failed
        if failed is None:
            return (right("A history with arguments that are no JSON is taken"),)
        if failed.kind in {"refused", "server_error"}:
            say = wrong if failed.kind == "server_error" else unsupported
            return (
                say(
                    "A history with arguments that are no JSON is refused",
                    f"{failed.words}; Headrace sends an object that holds the text instead, which is asked about in invalid_arguments",
                ),
            )
        return (trouble(seen[0]) or right("taken"),)

    return Probe(
        name="raw_arguments",
        question="Is a history taken whose arguments are no JSON?",
        possible=(ask,),
        then=lambda seen: () if seen else (ask,),
        judge=judge,
        protocols=_CHAT,
    )


HISTORY: Final = (
    _taken(
        "system_messages",
        "Are several system messages taken?",
        (SystemMessage("Be brief."), SystemMessage("Be kind."), UserMessage("Hello!")),
        what="A history with two system messages",
        lacking={"supports_several_system_messages": False},
    ),
    _taken(
        "late_system_message",
        "Is a system message taken in the middle?",
        (UserMessage("Hello!"), AssistantMessage("Hello."), SystemMessage("Be brief."), UserMessage("How are you?")),
        what="A system message in the middle",
        lacking={"supports_several_system_messages": False},
    ),
    _taken(
        "names",
        "May messages carry a speaker's name?",
        (UserMessage("Hello!", name="alice"),),
        what="A speaker's name",
        lacking={"supports_names": False},
        protocols=_CHAT,
    ),
    _taken(
        "tool_history",
        "Is a history with a call and its result taken?",
        after_a_call(),
        what="A history with a call and its result",
        fixes=_FIXES,
        has_tools=True,
    ),
    _taken(
        "user_after_tool",
        "May a user speak right after a tool's result?",
        (*after_a_call(), *_NEXT),
        what="A user's word right after a tool's result",
        fixes=_FIXES[-1:],
        has_tools=True,
    ),
    _taken(
        "text_with_call",
        "Is a history taken in which text stands beside a call?",
        after_a_call(said="I will look it up."),
        what="Text beside a call",
        has_tools=True,
    ),
    _taken(
        "undeclared_tools",
        "Is a history with calls taken in a request without tools?",
        (*after_a_call(), AssistantMessage("It is 09:14."), *_NEXT),
        what="A history with calls, in a request without tools,",
        lacking={"needs_declared_tools": True},
    ),
    _taken(
        "foreign_ids",
        "Are ids of calls taken that another provider made?",
        after_a_call("toolu.01:A/b+c=d_0123456789-0123456789-0123456789"),
        what="An id of a call of another provider's form",
        fixes=_ID_FIXES,
        has_tools=True,
    ),
    _taken(
        "invalid_arguments",
        "Is a history taken in which a call could not be read?",
        after_a_call(arguments='{"city": "Par'),
        what="A history with a call whose arguments could not be read",
        has_tools=True,
    ),
    _raw_invalid(),
)
