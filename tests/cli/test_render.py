"""A run's events on a terminal, as values."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from headrace.agent import events
from headrace.agent.agent import Agent
from headrace.agent.approval import Approve, Pending
from headrace.cli.render import Renderer
from headrace.cli.segments import Segment, plain
from headrace.messages.message import AssistantMessage, UserMessage
from headrace.messages.parts import ReasoningPart, RefusalPart, TextPart, ToolCallPart, ToolResultPart
from headrace.messages.usage import Usage
from headrace.messages.warning import Warning  # noqa: A004
from headrace.models.scripted import ScriptedModel

HEAD = (1, "run", 1, datetime(2026, 1, 2, tzinfo=UTC))


def shown(*given, **options):
    """Show events with a new renderer."""
    renderer = Renderer(**options)
    return [segment for event in given for segment in renderer.feed(event)] + renderer.end()


def text(*pieces, part=0):
    return [events.TextStarted(*HEAD, "m", part), *(events.TextDelta(*HEAD, "m", part, piece) for piece in pieces)]


def thought(*pieces, part=0):
    return [events.ReasoningStarted(*HEAD, "m", part), *(events.ReasoningDelta(*HEAD, "m", part, piece) for piece in pieces)]


def call(key, name, *pieces, arguments=None, runnable=True, final_name=None):
    whole = "".join(pieces) if arguments is None else arguments
    return [
        events.ToolCallStarted(*HEAD, key, "id", name),
        *(events.ToolCallArguments(*HEAD, key, piece) for piece in pieces),
        events.ToolCallEnded(*HEAD, key, "id", final_name or name, whole, {} if runnable else None, runnable),
    ]


def result(key, name, words, state="success"):
    return events.ToolEnded(*HEAD, key, ToolResultPart(call_id="id", name=name, parts=[TextPart(words)], state=state))


def output(key, words):
    return events.ToolOutput(*HEAD, key, TextPart(words))


def test_text_is_shown_piece_by_piece_as_it_comes():
    assert shown(*text("Hel", "lo")) == [Segment("Hel", "text"), Segment("lo", "text"), Segment("\n")]


def test_newlines_that_begin_a_text_are_left_out_and_those_inside_stay():
    assert plain(shown(*text("\n\n", "\nHi\n\n", "there"))) == "Hi\n\nthere\n"


def test_reasoning_stands_apart_from_the_text_and_looks_different():
    segments = shown(*thought("hm"), *text("Yes.", part=1))
    assert plain(segments) == "hm\n\nYes.\n"
    assert Segment("hm", "reasoning") in segments


def test_reasoning_may_be_left_out():
    assert plain(shown(*thought("hm"), *text("Yes.", part=1), shows_reasoning=False)) == "Yes.\n"


def test_a_refusal_looks_different():
    given = [events.TextStarted(*HEAD, "m", 0, "refusal"), events.TextDelta(*HEAD, "m", 0, "No.")]
    assert Segment("No.", "refusal") in shown(*given)


def test_the_arguments_of_a_call_are_shown_while_they_come():
    segments = shown(*call("m/0", "clock", '{"ci', 'ty":"Oslo"}'))
    assert segments[:3] == [Segment("→ clock ", "call"), Segment('{"ci', "arguments"), Segment('ty":"Oslo"}', "arguments")]


@pytest.mark.parametrize("cut", range(1, 40))
def test_arguments_over_several_lines_are_shown_on_one_wherever_they_are_cut(cut):
    arguments = '{\n  "city": "Oslo  Bay",\r\n\t"n": [\n 1\n]\n}\n'
    assert plain(shown(*call("m/0", "f", arguments[:cut], arguments[cut:]))).rstrip() == '→ f { "city": "Oslo  Bay", "n": [ 1 ] }'


def test_interleaved_calls_are_told_apart():
    started = [events.ToolCallStarted(*HEAD, f"m/{n}", "id", name) for n, name in enumerate("fg")]
    pieces = [events.ToolCallArguments(*HEAD, f"m/{n}", piece) for n, piece in [(0, '{"a"'), (1, '{"b"'), (0, ":1}"), (1, ":2}")]]
    assert plain(shown(*started, *pieces)) == '→ f \n→ g \n→ f {"a"\n→ g {"b"\n→ f :1}\n→ g :2}\n'


def test_a_call_that_cannot_be_run_is_marked():
    assert plain(shown(*call("m/0", "f", '{"a', runnable=False))) == '→ f {"a  (cannot be run)\n'


def test_the_final_arguments_count_where_the_pieces_were_others():
    assert plain(shown(*call("m/0", "f", '{"a":1}{"a":1}', arguments='{"a":1}'))) == '→ f {"a":1}{"a":1}\n  = {"a":1}\n'


def test_the_final_name_counts():
    assert plain(shown(*call("m/0", "f", "{}", final_name="fetch"))) == "→ f {}\n→ fetch {}\n"


def test_a_result_is_shown_under_its_call():
    assert plain(shown(*call("m/0", "f", "{}"), result("m/0", "f", "three\n"))) == "→ f {}\n← f three\n"


def test_a_result_that_was_shown_while_it_came_is_not_shown_again():
    assert plain(shown(*call("m/0", "f", "{}"), output("m/0", "three"), result("m/0", "f", "three"))) == "→ f {}\n← f three\n"


def test_a_result_that_is_not_what_came_is_shown():
    assert plain(shown(*call("m/0", "f", "{}"), output("m/0", "1"), result("m/0", "f", "2"))) == "→ f {}\n← f 1\n← f 2\n"


@pytest.mark.parametrize("state", ["error", "denied", "timed_out", "interrupted", "not_run", "in_doubt"])
def test_a_result_that_is_no_success_says_its_state(state):
    segments = shown(*call("m/0", "f", "{}"), output("m/0", "1"), result("m/0", "f", "1", state))
    assert segments[-3:] == [Segment(f"← f [{state}] ", "failed"), Segment("1", "failed"), Segment("\n")]


def test_a_long_result_is_shortened():
    assert "more characters" in plain(shown(result("m/0", "f", "x" * 10_000)))


def test_notes_stand_on_lines_of_their_own():
    warned = AssistantMessage(["hi"], warnings=[Warning("lenient_json"), Warning("lenient_json"), Warning("missing_tool_id")])
    given = [
        *text("hi"),
        events.RoundEnded(*HEAD, warned, None, True),
        events.AttemptDiscarded(*HEAD, "m", 1, "reset"),
        events.ReminderAdded(*HEAD, UserMessage("Answer now.", origin="framework", reminder_kind="empty_response")),
        events.LimitReached(*HEAD, "rounds", 3),
    ]
    assert plain(shown(*given)).splitlines() == [
        "hi",
        "· repaired: lenient_json, missing_tool_id",
        "· attempt 1 died (reset); what it gave is void, asking again",
        "· reminder: Answer now.",
        "· limit reached: rounds (3)",
    ]


def test_a_call_that_waits_is_shown_with_its_arguments():
    pending = Pending("approval", "m/0", ToolCallPart(id="c", name="send", arguments={"to": "Ada"}), "d")
    assert "waits for approval: send" in plain(shown(events.ApprovalRequired(*HEAD, pending)))


def test_the_end_says_rounds_usage_and_why():
    ended = events.RunEnded(*HEAD, "interrupted", None, Usage(input_tokens=5, output_tokens=2))
    assert plain(shown(*text("half"), ended)) == "half\n· 1 round · 5 tokens in, 2 out · interrupted; what came is kept\n"


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


async def test_a_whole_run_reads_from_top_to_bottom():
    asked = AssistantMessage([ReasoningPart("A sum."), TextPart("I add."), ToolCallPart(id="c", name="add", arguments={"a": 1, "b": 2})])
    model = ScriptedModel(asked, AssistantMessage(["It is 3."], usage=Usage(input_tokens=9, output_tokens=4)), slice_chars=3)
    renderer, segments = Renderer(), []
    async with Agent(model, tools=[add]).stream("1 + 2?") as run:
        async for event in run:
            segments += renderer.feed(event)
    assert plain(segments) == ('A sum.\n\nI add.\n\n→ add {"a":1,"b":2}\n← add 3\n\nIt is 3.\n· 2 rounds · 9 tokens in, 4 out\n')


async def test_a_refusal_of_a_model_is_shown():
    renderer, segments = Renderer(), []
    async with Agent(ScriptedModel(AssistantMessage([RefusalPart("I will not.")]))).stream("?") as run:
        async for event in run:
            segments += renderer.feed(event)
    assert Segment("I will not.", "refusal") in segments


# ---------------------------------------------------------------------------------------------- waiting, progress, sub-agents


def paused(kind="approval"):
    pending = Pending(kind, "m/0", ToolCallPart(id="id", name="find", arguments='{"a":1}'), "digest")
    waits = events.ExternalRequired if kind == "external" else events.ApprovalRequired
    return [waits(*HEAD, pending), events.RunEnded(*HEAD, "awaiting_approval", None, Usage(), (pending,))]


def test_what_waits_is_not_shown_where_a_person_is_asked_anyway():
    given = [*call("m/0", "find", '{"a":1}'), *paused(), events.ApprovalGiven(*HEAD, Approve("m/0"))]
    assert plain(shown(*given, shows_waiting=False)) == '→ find {"a":1}\n'
    assert plain(shown(*given)) == (
        '→ find {"a":1}\n· waits for approval: find {"a":1}\n· 1 round · the run waits for a person\'s approval\n· approved\n'
    )


def test_a_run_that_goes_on_is_shown_by_the_same_renderer():
    given = [*call("m/0", "find", '{"a":1}'), *paused(), result("m/0", "find", "found"), *text("Here.")]
    assert plain(shown(*given, shows_waiting=False)) == '→ find {"a":1}\n← find found\n\nHere.\n'


def test_a_line_that_was_ended_for_others_goes_on_in_a_new_one_that_says_what_it_is():
    renderer = Renderer()
    start, *rest = call("m/0", "find", '{"a"', ":1}")
    first = plain([segment for event in (start, rest[0]) for segment in renderer.feed(event)] + renderer.end())
    then = plain([segment for event in rest[1:] for segment in renderer.feed(event)] + renderer.end())
    assert (first, then) == ('→ find {"a"\n', "→ find :1}\n")


def test_a_text_that_was_ended_for_others_goes_on_in_a_new_line():
    renderer = Renderer()
    first, *rest = text("one", "two", "three")
    shown_first = [segment for event in (first, rest[0]) for segment in renderer.feed(event)] + renderer.end()
    shown_then = [segment for event in rest[1:] for segment in renderer.feed(event)] + renderer.end()
    assert (plain(shown_first), plain(shown_then)) == ("one\n", "twothree\n")


def test_how_far_a_tool_is_stands_in_a_line_of_its_own():
    at = [events.ToolProgress(*HEAD, "m/0", "load", n, 9) for n in (1, 2)]
    assert plain(shown(*call("m/0", "find", "{}"), *at)) == "→ find {}\n· find: load (1/9)\n"


def test_what_a_sub_agent_does_is_shown_beside_and_its_calls_have_names():
    renderer = Renderer()
    inner = events.ToolCallEnded(*HEAD, "s/0", "id", "fetch", "{}", {}, True)
    given = [*call("m/0", "research", "{}"), events.SubRun(*HEAD, "m/0", inner)]
    lines = plain([segment for event in given for segment in renderer.feed(event)])
    assert lines == "→ research {}\n┊ → fetch {}\n"
    assert (renderer.name_of("m/0"), renderer.name_of("s/0"), renderer.name_of("x/0")) == ("research", "fetch", "")


def test_what_is_wrong_with_a_source_of_tools_is_said_once_also_over_several_runs():
    told = set()
    changed = events.ToolsChanged(*HEAD, ("a",), "files: gone")
    assert plain(shown(changed, changed, told=told)) == "· tools now: a (files: gone)\n"
    assert shown(changed, told=told) == []
    assert plain(shown(events.ToolsChanged(*HEAD, ("a",)), told=told)) == "· tools now: a\n"


def test_an_output_that_was_shown_is_not_shown_again_but_what_was_put_before_it_is():
    parts = [TextPart("The arguments were changed.\n"), TextPart("done")]
    ended = events.ToolEnded(*HEAD, "m/0", ToolResultPart(call_id="id", name="find", parts=parts))
    given = [*call("m/0", "find", "{}"), output("m/0", "done"), ended]
    assert plain(shown(*given)) == "→ find {}\n← find done\n← find The arguments were changed.\n"
