"""Text: whether it comes, whether it comes in pieces, whether it is the same when it is not streamed. Pure."""

from __future__ import annotations

from typing import Final

from headrace.inspect.doctor.evidence import Evidence, Seen, of
from headrace.inspect.doctor.probe import Ask, Finding, Probe, asking, right, unclear, wrong
from headrace.inspect.doctor.questions import briefly
from headrace.inspect.doctor.trouble import trouble, unless_trouble
from headrace.messages.request import Settings

_HELLO: Final = "Say hello in one short sentence."
_COUNT: Final = "Count from 1 to 60, with commas between the numbers. Write every number."
_MANY_TOKENS: Final = 40
_AT_ONCE: Final = 0.1
_WORTH_NOTICING_MS: Final = 1000.0

# The first question decides how all others are asked: some servers take no temperature, some call the bound otherwise.
_OTHER_FIELD: Final = {"max_tokens_field": "max_completion_tokens"}
_NO_TEMPERATURE: Final = {"unsupported_settings": ("temperature",)}
_FIRST: Final = (
    Ask(name="hello", messages=_HELLO, settings=briefly(48)),
    Ask(name="no-temperature", messages=_HELLO, settings=briefly(48), profile=_NO_TEMPERATURE),
    Ask(name="max-completion-tokens", messages=_HELLO, settings=briefly(48), profile=_OTHER_FIELD),
    Ask(name="neither", messages=_HELLO, settings=briefly(48), profile={**_OTHER_FIELD, **_NO_TEMPERATURE}),
    Ask(name="no-usage", messages=_HELLO, settings=Settings(), profile={"supports_stream_usage": False}),
)


def _then_first(seen: Seen) -> tuple[Ask, ...]:
    if not seen:
        return _FIRST[:1]
    last = seen[-1]
    # A 404 is about the address or the model; no other wording helps.
    is_worth_another_try = last.is_refused and not last.says_that_nobody_is_there
    return _FIRST[len(seen) : len(seen) + 1] if is_worth_another_try else ()


def _judge_first(seen: Seen) -> tuple[Finding, ...]:
    last = seen[-1]
    if found := trouble(last, refused="The server refuses the plainest question"):
        return (found if found.level != "unsupported" else wrong(found.what, found.detail),)
    switches = dict(_FIRST[len(seen) - 1].profile)
    if not last.text:
        kind = "reasoning" if last.message.reasoning else "nothing"
        return (unclear("An answer came, and no text in it", f"it held {kind}; it ended with {last.finish!r}"),)
    found = right("Text comes, and the answer ends as it should", f"finish reason {last.finish!r}")
    if len(seen) == 1:
        return (found,)
    words = seen[0].failed.words if seen[0].failed is not None else ""
    differs = Finding(level="unsupported", what="The usual settings are refused; without them it answers", detail=words, switches=switches)
    return (found, differs)


def _judge_long(evidence: Evidence) -> Finding:
    reads, tokens = evidence.reads_ms, evidence.output_tokens or evidence.text_chunks
    characters = len(evidence.text)
    if characters < 2 * _MANY_TOKENS:
        return unclear("The model did not write a long text", f"{characters} characters came")
    if evidence.text_chunks <= 1:
        return wrong("A long text comes in one piece, although it was asked to be streamed", f"{characters} characters in one chunk")
    spread_ms = reads[-1] - reads[0] if reads else 0.0
    if reads and reads[-1] > _WORTH_NOTICING_MS and spread_ms < _AT_ONCE * reads[-1]:
        return wrong(
            "A long text is held back and comes all at once",
            f"{tokens} tokens: nothing for {reads[0] / 1000:.1f} s, then everything within {spread_ms / 1000:.1f} s; "
            "something between here and the model collects the stream",
        )
    return right("A long text comes piece by piece", f"{evidence.text_chunks} pieces in {spread_ms / 1000:.1f} s")


_SAME: Final = (
    Ask(name="streamed", messages=_HELLO, settings=briefly(32)),
    Ask(name="whole", messages=_HELLO, settings=briefly(32), is_streamed=False),
)


def _judge_same(seen: Seen) -> tuple[Finding, ...]:
    streamed, whole = of(seen, "streamed"), of(seen, "whole")
    assert streamed is not None
    assert whole is not None
    if found := trouble(whole, refused="Only streams are answered: an answer in one body is refused") or trouble(streamed):
        return (found,)
    if bool(whole.text) != bool(streamed.text):
        return (wrong("With and without streaming the answers differ: one has text, the other none", _both(streamed, whole)),)
    if whole.finish != streamed.finish:
        return (unclear("With and without streaming the answers end differently", _both(streamed, whole)),)
    if whole.output_tokens is None:
        return (wrong("An answer that is not streamed comes without usage"),)
    return (
        right(
            "Streamed and not streamed give the same",
            "the same words" if whole.text == streamed.text else "the same shape; the words differ, as they may even at temperature 0",
        ),
    )


def _both(streamed: Evidence, whole: Evidence) -> str:
    return f"streamed: {len(streamed.text)} characters, {streamed.finish!r}; whole: {len(whole.text)} characters, {whole.finish!r}"


TEXT: Final = (
    Probe(name="text", question="Does an answer in text come?", possible=_FIRST, then=_then_first, judge=_judge_first),
    asking(
        "long_text",
        "Does a long text come piece by piece?",
        Ask(name="count", messages=_COUNT, settings=briefly(160)),
        Ask(name="story", messages="Tell a story about a river and a mill, in ten sentences.", settings=briefly(160)),
        judge=unless_trouble(_judge_long),
    ),
    Probe(
        name="whole_body",
        question="Is an answer that is not streamed the same?",
        possible=_SAME,
        then=lambda seen: () if seen else _SAME,
        judge=_judge_same,
    ),
)
