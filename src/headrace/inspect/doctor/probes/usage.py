"""Usage: whether it is reported, once, at the end, and only where it was asked for. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast

from headrace.inspect.doctor.evidence import Evidence, Seen, of
from headrace.inspect.doctor.probe import Ask, Finding, Probe, right, unsupported, wrong
from headrace.inspect.doctor.questions import briefly
from headrace.inspect.doctor.trouble import trouble
from headrace.wire.protocols import WIRES

_QUESTION: Final = "Say good morning in one short sentence."
_ASKED: Final = Ask(name="asked", messages=_QUESTION, settings=briefly(32))
_UNASKED: Final = Ask(name="not-asked", messages=_QUESTION, settings=briefly(32), profile={"supports_stream_usage": False})
_CHAT: Final = ("openai-chat",)


def _reports(evidence: Evidence) -> list[int]:
    """The numbers of the events that carry a usage."""
    return [
        n
        for n, event in enumerate(evidence.events)
        if isinstance(event, Mapping) and isinstance(cast("Mapping[str, Any]", event).get("usage"), Mapping)
    ]


def _plausible(evidence: Evidence) -> Finding:
    usage = evidence.message.usage
    if usage is None or (usage.input_tokens is None and usage.output_tokens is None):
        return wrong("No usage is reported", "costs and limits cannot be kept")
    if not usage.input_tokens or (not usage.output_tokens and evidence.text):
        return wrong("The usage that is reported cannot be right", f"{usage.input_tokens} tokens in, {usage.output_tokens} out")
    return right("Usage is reported", f"{usage.input_tokens} tokens in, {usage.output_tokens} out")


def _judge_streamed(seen: Seen) -> tuple[Finding, ...]:
    asked, unasked = of(seen, _ASKED.name), of(seen, _UNASKED.name)
    assert asked is not None
    assert unasked is not None
    if found := trouble(asked, refused="stream_options.include_usage is refused", supports_stream_usage=False):
        return (found,)
    if (usage := asked.message.usage) is None or usage.output_tokens is None:
        always = unasked.message.usage is not None
        words = "it comes where it was not asked for" if always else "costs and limits cannot be kept"
        return (wrong("include_usage is taken, and no usage comes", words),)
    findings = [_plausible(asked)]
    reports = _reports(asked)
    if len(reports) > 1:
        findings.append(
            wrong(
                f"Usage is reported {len(reports)} times in one answer",
                "once, at the end, is the rule; who adds them up counts too much (Headrace takes the last one)",
            )
        )
    elif reports and reports[0] != len(asked.events) - 1:
        findings.append(wrong("Usage is not in the last event", f"it is in event {reports[0] + 1} of {len(asked.events)}"))
    if unasked.is_answered and _reports(unasked):
        findings.append(
            unsupported("Usage comes also where it was not asked for", "clients that index choices[0] of every event may break")
        )
    return tuple(findings)


def _judge_plain(seen: Seen) -> tuple[Finding, ...]:
    return (trouble(seen[-1]) or _plausible(seen[-1]),)


def _judge(seen: Seen) -> tuple[Finding, ...]:
    return _judge_streamed(seen) if of(seen, _UNASKED.name) is not None else _judge_plain(seen)


USAGE: Final = (
    Probe(
        name="stream_usage",
        question="Is usage reported once, at the end, where it was asked for?",
        possible=(_ASKED, _UNASKED),
        then=lambda seen: () if seen else (_ASKED, _UNASKED),
        judge=_judge,
        protocols=_CHAT,
    ),
    Probe(
        name="usage",
        question="Is usage reported?",
        possible=(_ASKED,),
        then=lambda seen: () if seen else (_ASKED,),
        judge=_judge,
        protocols=tuple(name for name in WIRES if name not in _CHAT),
    ),
)
