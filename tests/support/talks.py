"""Talks of an agent: legal histories of users' turns and tool rounds, of chosen or random sizes, and what must hold of what is sent."""

from __future__ import annotations

from hypothesis import strategies as st

from headrace.messages.message import AssistantMessage, Message, SystemMessage, ToolMessage, UserMessage
from headrace.messages.parts import JsonPart, MediaPart, TextPart, ToolCallPart, ToolResultPart
from legal_history import problems


def text(tokens):
    """A text of about so many tokens by the estimate."""
    return "word" * tokens


def user(n, tokens=10, **fields):
    return UserMessage(f"Question {n}. {text(tokens)}", id=f"u{n}", **fields)


def answer(n, tokens=10):
    return AssistantMessage(f"Answer {n}. {text(tokens)}", id=f"a{n}", finish_reason="stop")


def tool_round(n, *sizes, call_tokens=3):
    """A round: an answer with a call for each size, and its results of about so many tokens."""
    calls = [ToolCallPart(id=f"c{i}", name="look", arguments={"q": text(call_tokens)}) for i in range(len(sizes))]
    results = [ToolResultPart(call_id=f"c{i}", name="look", parts=text(size)) for i, size in enumerate(sizes)]
    return [AssistantMessage(calls, id=f"r{n}", finish_reason="tool_calls"), ToolMessage(results, id=f"r{n}/results")]


def not_sendable(messages: tuple[Message, ...]) -> list[str]:
    """What a provider would refuse: see `problems`; and it must begin with a user message, after the system messages."""
    said = [message for message in messages if not isinstance(message, SystemMessage)]
    found = [] if not said or isinstance(said[0], UserMessage) else [f"begins with a {said[0].role} message"]
    return found + problems(messages)


_SIZES = st.sampled_from([0, 1, 5, 40, 80])
_PLAIN_RESULTS = st.one_of(
    st.sampled_from([1, 10, 100, 700, 3000]).map(lambda size: (TextPart(text(size)),)),
    st.sampled_from(["", "文" * 300, {"rows": list(range(400))}]).map(lambda value: (JsonPart(value),)),
    st.just(()),
)
_RESULTS = _PLAIN_RESULTS | st.just((MediaPart(kind="image", url="https://example.org/a.png"), TextPart("an image")))


@st.composite
def talks(draw, *, with_media=True):
    """A legal history of up to five turns of up to four rounds, the instructions first if there are any."""
    parts = _RESULTS if with_media else _PLAIN_RESULTS
    history = [SystemMessage("Be brief.", id="s")] if draw(st.booleans()) else []
    count = 0
    for _ in range(draw(st.integers(1, 5))):
        count += 1
        history.append(user(count, draw(_SIZES)))
        for _ in range(draw(st.integers(0, 4))):
            count += 1
            if draw(st.integers(0, 5)) == 0:
                history.append(UserMessage("Go on.", id=f"f{count}", origin="framework", reminder_kind="empty_response"))
            results = draw(st.lists(parts, min_size=1, max_size=3))
            round_ = tool_round(count, *([0] * len(results)), call_tokens=draw(_SIZES))
            filled = [ToolResultPart(call_id=f"c{i}", name="look", parts=made) for i, made in enumerate(results)]
            history += [round_[0], ToolMessage(filled, id=f"r{count}/results")]
        if draw(st.booleans()):
            count += 1
            history.append(answer(count, draw(_SIZES)))
    return history
