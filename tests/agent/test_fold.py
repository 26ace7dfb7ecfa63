"""The fold: a run's events make its messages again (law 8); runs themselves are folded in test_run.py."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from headrace.agent import events
from headrace.agent.blocks import Blocks, Scribe
from headrace.agent.fold import Folder, fold, results_message
from headrace.messages.accumulator import Accumulator
from headrace.messages.deltas import Ended, FinishDelta, MediaDelta, ReasoningDelta, RefusalDelta, TextDelta, ToolCallFragment
from headrace.messages.message import AssistantMessage, UserMessage
from headrace.messages.parts import MediaPart, ReasoningPart, RefusalPart, TextPart, ToolCallPart, ToolResultPart
from headrace.messages.usage import Usage

AT = datetime(2026, 1, 1, tzinfo=UTC)
ASKED = UserMessage("go")
ANSWER = (
    ReasoningDelta("th"),
    ReasoningDelta("ink"),
    TextDelta("let "),
    TextDelta("me see"),
    ToolCallFragment(id="b", name="look", index=1, arguments='{"n":'),
    ToolCallFragment(id="a", name="add", index=0, arguments="{}"),
    ToolCallFragment(index=1, arguments="1}"),
    MediaDelta("audio", b"beep"),
    TextDelta("so"),
    RefusalDelta("but "),
    RefusalDelta("no"),
    FinishDelta("tool_calls"),
    Ended(is_terminated=True),
)


class Log:
    """Writes a run's events by hand."""

    def __init__(self):
        self.scribe = Scribe("r", at=AT)
        self.scribe.add(events.RunStarted, (ASKED,))

    def start(self, message_id):
        self.scribe.round += 1
        self.scribe.add(events.RoundStarted, "model")
        self.blocks = Blocks(message_id, self.scribe)
        self.accumulator = Accumulator(is_from_wire=True)

    def feed(self, *deltas):
        self.blocks.feed(deltas)
        self.accumulator.extend(deltas)

    def end(self, message_id):
        message = AssistantMessage.assemble(self.accumulator.message().parts, id=message_id, run_id="r", usage=Usage(output_tokens=2))
        self.blocks.end(message)
        self.scribe.add(events.RoundEnded, message, message.usage, False)
        return message

    @property
    def made(self):
        return list(self.scribe.made)


def coalesced(made):
    """What a log may make of the events: neighbouring deltas of one part joined, under the last one's number."""
    joined = []
    for event in made:
        last = joined[-1] if joined else None
        is_same = type(last) is type(event) and (
            (isinstance(event, events.TextDelta | events.ReasoningDelta) and last.part == event.part)
            or (isinstance(event, events.ToolCallArguments) and last.call_key == event.call_key)
        )
        if is_same:
            joined[-1] = type(event)(
                *(getattr(event, name) if name != "text" else last.text + event.text for name in event.__struct_fields__)
            )
        else:
            joined.append(event)
    return joined


def result(call_id, text="ok"):
    return ToolResultPart(call_id=call_id, parts=text)


def whole_run():
    log = Log()
    log.start("m1")
    log.feed(*ANSWER)
    message = log.end("m1")
    keys = log.blocks.call_keys
    log.scribe.add(events.ToolStarted, keys[0])
    log.scribe.add(events.ToolStarted, keys[1])
    log.scribe.add(events.ToolOutput, keys[0], TextPart("piece"))
    log.scribe.add(events.ToolEnded, keys[1], result("b"))
    log.scribe.at = AT + timedelta(seconds=5)
    log.scribe.add(events.ToolEnded, keys[0], result("a"))
    log.scribe.at = AT + timedelta(seconds=6)
    steered = UserMessage("hurry")
    log.scribe.add(events.ReminderAdded, steered)
    log.start("m2")
    log.feed(TextDelta("done"), FinishDelta("stop"), Ended())
    final = log.end("m2")
    log.scribe.add(events.RunEnded, "completed", final, Usage())
    tools = results_message("m1", [result("a"), result("b")], AT + timedelta(seconds=5))
    return log.made, (ASKED, message, tools, steered, final)


def test_a_run_is_rebuilt_message_by_message_with_results_in_the_order_of_the_calls():
    made, messages = whole_run()
    assert fold(made) == messages
    assert messages[2].id == "m1/results"


def test_joined_deltas_make_the_same():
    made, messages = whole_run()
    short = coalesced(made)
    assert len(short) < len(made)
    assert fold(short) == messages


def test_text_is_built_from_its_deltas_and_not_taken_from_the_end():
    made, messages = whole_run()
    at = next(n for n, event in enumerate(made) if isinstance(event, events.RoundEnded))
    lie = messages[1].replace(
        parts=[
            ReasoningPart(""),
            TextPart("a lie"),
            ToolCallPart(id="x", name="y"),
            ToolCallPart(id="z", name="y"),
            MediaPart(kind="audio", data=b"beep"),
            TextPart(""),
            RefusalPart(""),
        ]
    )
    made[at] = events.RoundEnded(made[at].seq, "r", 1, AT, lie, None, False)
    rebuilt = fold(made)[1]
    assert (rebuilt.text, rebuilt.reasoning, rebuilt.refusal) == ("let me seeso", "think", "but no")
    assert [(call.id, call.name, call.parsed) for call in rebuilt.tool_calls] == [("a", "add", {}), ("b", "look", {"n": 1})]


def test_a_call_s_end_overrides_its_pieces():
    log = Log()
    log.start("m")
    log.feed(ToolCallFragment(id="a", name="ad", index=0), ToolCallFragment(name="add", index=0, arguments='{"x"'))
    log.scribe.add(events.ToolCallEnded, "m/0", "late", "add", '{"x":1}', {"x": 1}, True)
    (call,) = fold(log.made)[1].tool_calls
    assert (call.id, call.name, call.arguments, call.runnable) == ("late", "add", '{"x":1}', True)


def test_a_log_that_breaks_off_gives_the_answer_as_far_as_it_came():
    log = Log()
    log.start("m1")
    log.feed(*ANSWER[:6], RefusalDelta("no"))
    rebuilt = fold(log.made)[1]
    assert rebuilt.id == "m1"
    assert rebuilt.run_id == "r"
    assert rebuilt.parts == (
        ReasoningPart("think"),
        TextPart("let me see"),
        *(
            ToolCallPart(id="b", name="look", arguments='{"n":', runnable=False),
            ToolCallPart(id="a", name="add", arguments="{}", parsed=None, runnable=False),
        ),
        RefusalPart("no"),
    )
    log.scribe.add(events.ReasoningEnded, "m1", 0, "sig")
    assert fold(log.made)[1].parts[0] == ReasoningPart("think", signature="sig")


def test_results_count_once_their_round_is_over_and_before_that_as_they_are():
    made, messages = whole_run()
    first = next(n for n, event in enumerate(made) if isinstance(event, events.ToolEnded))
    folder = Folder()
    for event in made[: first + 1]:
        folder.feed(event)
    assert folder.messages == (ASKED, messages[1], results_message("m1", [result("b")], AT))
    for event in made[first + 1 :]:
        folder.feed(event)
    assert folder.messages == messages


def test_a_discarded_attempt_leaves_nothing_and_an_answer_of_nothing_is_no_message():
    log = Log()
    log.start("m1")
    log.feed(TextDelta("void"))
    log.scribe.add(events.AttemptDiscarded, "m1", 1, "died")
    log.scribe.add(events.RoundEnded, None, None, True)
    log.scribe.add(events.LimitReached, "time", 1)
    assert fold(log.made) == (ASKED,)
    assert fold([]) == ()
