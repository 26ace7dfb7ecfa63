"""Who judges the peers judges by the rule of docs/peers.md, and the cases mean what their titles say; no client is run here."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT / "peers"))

import page  # noqa: E402 - found by the line above
from cases import all_cases, conformance_cases, meaning, meanings, why_not_carried  # noqa: E402
from desk import recorded  # noqa: E402
from judging import differences, inabilities_of, judge, judge_all  # noqa: E402
from own_cases import CONTROLS, FAULTS, Case, begun, call, event  # noqa: E402

NOTHING = {"text": "", "reasoning": "", "refusal": "", "tool_calls": [], "finish": None, "usage": None, "error": None}


def case(name):
    return next(case for case in (*CONTROLS, *FAULTS) if case.name == name)


def truth(name):
    return meaning(case(name))


def got(finish=None, **fields):
    return {**NOTHING, "finish": finish, **fields}


def made(arguments, name="get_weather", call_id="call_a", raw=None):
    return {"id": call_id, "name": name, "arguments": arguments, "raw": raw}


def raised(kind):
    return got(error={"type": kind, "message": "no"})


OSLO = made({"city": "Oslo"})
COUNTED = {"input": 11, "output": 7}
TWO = [OSLO, made({"zone": "CET"}, "get_time", "call_b")]

# --- whole answers -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "answer", "verdict"),
    [
        ("control-text", got("stop", text="Hello there.", usage=COUNTED), ("right", [])),
        ("control-text", got("end_turn", text="Hello there.", usage=COUNTED), ("right", [])),
        ("control-text", got("stop", text="Hello", usage=COUNTED), ("wrong", ["text"])),
        ("control-text", got(text="Hello there.", usage=COUNTED), ("wrong", ["finish: done"])),
        ("control-text", got("length", text="Hello there.", usage=COUNTED), ("wrong", ["finish: done"])),
        ("control-text", got("stop", text="Hello there."), ("wrong", ["usage"])),
        ("control-no-usage", got("stop", text="Hello.", usage={"input": 0, "output": 0}), ("right", [])),
        ("control-no-usage", got("stop", text="Hello.", usage=COUNTED), ("wrong", ["usage made up"])),
        ("control-reasoning", got("stop", text="Hello.", usage=COUNTED), ("wrong", ["reasoning"])),
        ("control-refusal", got("content_filter", text="I cannot do that.", usage=COUNTED), ("wrong", ["refusal"])),
        ("control-length", got("length", text="Once upon a", usage=COUNTED), ("right", [])),
        ("control-length", got("stop", text="Once upon a", usage=COUNTED), ("wrong", ["finish: length"])),
        ("control-length", raised("LengthError"), ("right", [])),
        ("control-text", raised("KeyError"), ("error", ["KeyError"])),
        ("control-text", {"error": {"type": "hang", "message": ""}}, ("hang", [])),
        ("control-error", {"error": {"type": "crash", "message": ""}}, ("crash", [])),
    ],
)
def test_a_whole_answer_is_understood_if_it_is_what_the_stream_means(name, answer, verdict):
    assert judge(truth(name), answer) == verdict


@pytest.mark.parametrize(
    ("calls", "found"),
    [
        (TWO, []),
        (TWO[::-1], []),
        (TWO[:1], ["calls"]),
        ([*TWO, made({}, "get_time", "call_c")], ["calls"]),
        ([made({"city": "Oslo"}, call_id="x"), TWO[1]], ["ids"]),
        ([made({"city": "Lima"}), TWO[1]], ["calls"]),
        ([made({"city": "Oslo"}, "get_weatherget_weather"), TWO[1]], ["calls"]),
        ([made(None, raw='{"city":"Oslo"}{"zone":"CET"}')], ["arguments unread", "calls"]),
        ([made(None, raw="?"), TWO[1]], ["arguments unread"]),
    ],
)
def test_calls_may_stand_in_any_order_and_nothing_else_may_differ(calls, found):
    assert differences(truth("control-calls"), got("stop", tool_calls=calls, usage=COUNTED)) == found


def test_where_no_id_came_any_one_will_do_that_is_one():
    meant = truth("own-id-never")
    assert judge(meant, got("tool_calls", tool_calls=[made({"city": "Oslo"}, call_id="made-1")])) == ("right", [])
    assert judge(meant, got("tool_calls", tool_calls=[made({"city": "Oslo"}, call_id=None)])) == ("wrong", ["ids"])


# --- what must not run, and what failed ----------------------------------------------------------------


@pytest.mark.parametrize("name", ["own-arguments-cut", "control-length-in-call"])
def test_a_cut_call_must_not_be_given_as_whole(name):
    meant = truth(name)
    finish = meant["finish_reason"]
    usage = COUNTED if meant["usage"] else None
    assert judge(meant, raised("ValueError")) == ("right", [])
    assert judge(meant, got(finish, tool_calls=[made(None, raw='{"city":"Os')], usage=usage)) == ("right", [])
    assert judge(meant, got("length", usage=usage)) == ("right", [])
    for arguments in ({}, {"city": "Os"}):
        assert judge(meant, got(finish, tool_calls=[made(arguments)], usage=usage)) == ("wrong", ["broken call as whole"])
    assert judge(meant, got("content_filter", tool_calls=[made(None)], usage=usage))[0] == "wrong"


def test_a_cut_call_that_is_left_out_has_to_be_seen_by_the_finish_reason():
    assert judge(truth("own-arguments-cut"), got("tool_calls")) == ("wrong", ["broken call left out"])


def test_a_cut_call_beside_a_whole_one_of_the_same_name_is_judged_by_itself():
    events = (
        begun(None),
        event(call(0, "call_a", "get_weather", '{"city":"Oslo"}')),
        event(call(1, "call_b", "get_weather", '{"ci')),
        event({}, "length"),
    )
    meant = meaning(Case("x", "", events))
    assert differences(meant, got("length", tool_calls=[OSLO, made(None, call_id="call_b")])) == []
    assert differences(meant, got("length", tool_calls=[OSLO, made({}, call_id="call_b")])) == ["broken call as whole"]


@pytest.mark.parametrize("name", ["control-error", "control-broken-off", "own-end-missing", "own-empty", "own-web-page", "own-error-chunk"])
def test_a_failed_stream_is_understood_if_the_client_says_so(name):
    meant = truth(name)
    assert meant["error"] is not None
    assert judge(meant, raised("AnyError")) == ("right", [])
    assert judge(meant, got("error")) == ("right", [])
    assert judge(meant, got()) == ("right", [])
    assert judge(meant, got("stop")) == ("wrong", ["failure not said"])
    assert judge(meant, got(), ["finish: done"]) == ("wrong", ["failure not said"])


def test_arguments_that_were_cut_by_a_failure_are_no_call_either():
    assert judge(truth("own-end-missing"), got(tool_calls=[made({"city": "Os"})])) == ("wrong", ["broken call as whole"])
    assert judge(truth("own-end-after-whole-call"), got(tool_calls=[OSLO])) == ("right", [])


# --- what is not held against a client -----------------------------------------------------------------


def test_what_a_client_does_not_make_of_clean_streams_is_not_held_against_it():
    clean = [
        (truth("control-reasoning"), got("stop", text="Hello.", usage=COUNTED)),
        (truth("control-length-in-call"), got("length", tool_calls=[made({})], usage=COUNTED)),
        (truth("control-text"), got("stop", text="Hell", usage=COUNTED)),
        (truth("control-error"), raised("APIError")),
    ]
    unable = inabilities_of(clean)
    assert unable == ["broken call as whole", "reasoning"]  # a text that is not whole is never forgiven
    assert judge(*clean[0], unable) == ("right", [])
    assert judge(*clean[1], unable) == ("own", ["broken call as whole"])
    assert judge(*clean[2], unable) == ("wrong", ["text"])


def test_a_client_that_never_says_why_an_answer_ended_cannot_say_by_that_that_one_failed():
    unable = inabilities_of([(truth("control-text"), got(text="Hello there.", usage=COUNTED))])
    assert unable == ["finish: done"]
    assert judge(truth("own-empty"), got(), unable) == ("wrong", ["failure not said"])


# --- the cases -----------------------------------------------------------------------------------------


def test_names_of_cases_are_their_own():
    names = [case.name for case in all_cases()]
    assert len(set(names)) == len(names)
    assert all(name.isascii() and " " not in name for name in names)  # a name is a model's name on its way


@pytest.mark.parametrize("name", [case.name for case in CONTROLS])
def test_controls_are_clean(name):
    meant = truth(name)
    assert set(meant["warnings"]) <= {"truncated_tool_arguments", "invalid_tool_arguments"}  # the model's own
    assert (meant["error"] is None) == (name not in {"control-error", "control-broken-off"})


def test_faults_mean_what_a_reader_would_say():
    calls = {name: [(one["name"], one.get("arguments")) for one in truth(name)["tool_calls"]] for name in (case.name for case in FAULTS)}
    oslo, cet = ("get_weather", {"city": "Oslo"}), ("get_time", {"zone": "CET"})
    assert calls["own-index-always-0"] == calls["own-index-missing"] == [oslo, cet]
    for name in (
        "index-from-1",
        "id-on-every-chunk",
        "id-changes",
        "id-never",
        "id-empty",
        "arguments-object",
        "arguments-twice",
        "stop-with-calls",
    ):
        assert calls[f"own-{name}"] == [oslo]
    assert calls["own-arguments-empty"] == [("get_time", {})]
    assert calls["own-arguments-cut"] == [("get_weather", None)]
    assert [truth(name)["usage"]["output_tokens"] for name in ("own-usage-every-chunk", "own-usage-then-null")] == [3, 7]
    for name in ("choices-null", "done-glued", "no-end-line", "whole-answer"):
        assert (truth(f"own-{name}")["text"], truth(f"own-{name}")["finish_reason"]) == ("Hello.", "stop")


def test_a_folder_of_cases_that_is_not_there_gives_none():
    assert list(conformance_cases(None)) == []


def test_a_call_without_a_name_cannot_be_carried():
    nameless = meaning(Case("x", "", (begun(None), event(call(0, "call_a", None, "{}")), event({}, "tool_calls"))))
    assert why_not_carried(nameless) == "a call without a name"
    assert why_not_carried(truth("control-calls")) is None


def test_a_case_is_replayed_in_its_own_pieces():
    answer = recorded(case("control-broken-off"))
    assert [start for start, _ in answer.reads] == [0, len(begun())]
    assert answer.error is not None


# --- the page ------------------------------------------------------------------------------------------


def results(word="wrong", differs=("calls",), behind="right"):
    line = got("stop")
    facts = {"group": "own", "title": "odd", "is_control": False, "needs_telling": False, "not_carried": None, "meaning": {}}
    verdicts = {
        "direct": {"a": {"word": word, "differs": list(differs), "line": line}},
        "gateway": {"a": {"word": behind, "differs": [], "line": line}},
    }
    fine = {
        "direct": {"a": {"word": "right", "differs": [], "line": line}},
        "gateway": {"a": {"word": "right", "differs": [], "line": line}},
    }
    cases = {"own-x": facts | verdicts, "own-y": facts | fine, "control-z": facts | fine | {"is_control": True}}
    return {
        "date": "2026-01-01",
        "headrace": "0",
        "python": "3",
        "clients": {"a": {"version": "1", "inabilities": ["refusal"]}},
        "cases": cases,
    }


def test_the_page_counts_what_breaks_and_leaves_what_people_wrote(tmp_path):
    file = tmp_path / "peers.md"
    file.write_text(f"# Peers\n\n{page.BEGIN}\nwhat stood here before\n{page.END}\n\nNotes.\n", encoding="utf-8")
    page.write(file, results())
    text = file.read_text(encoding="utf-8")
    assert text.startswith(f"# Peers\n\n{page.BEGIN}\n")
    assert text.endswith(f"\n{page.END}\n\nNotes.\n")
    assert "what stood here before" not in text
    assert "| a | 1 | 1 of 2 | 0 | 0 of 2 | 0 |" in text
    assert "| `own-x`: odd | **wrong**: calls | all hold |" in text
    assert "On the other 1 all clients understand everything" in text
    page.write(file, results())
    assert file.read_text(encoding="utf-8") == text


def test_a_page_without_markers_is_refused(tmp_path):
    file = tmp_path / "peers.md"
    file.write_text("# Peers\n", encoding="utf-8")
    with pytest.raises(ValueError, match="lacks the markers"):
        page.write(file, results())


def test_who_breaks_behind_the_gateway_is_named():
    found = results(behind="hang")
    assert page.broken_by(found, "gateway") == {"own-x": {"a": found["cases"]["own-x"]["gateway"]["a"]}}
    assert "a **hang**" in page.tables(found)
    assert page.broken_by(results("own", behind="not carried"), "gateway") == {}
    assert "all others hold; a: (own)" in page.tables(results("right", behind="own"))


def test_a_stream_that_can_be_taken_in_two_ways_is_judged_by_the_one_that_the_client_took():
    events = (
        begun(None),
        event(call(0, "call_a", "get_weather", '{"city":"Oslo"}</tool_call>')),
        event({}, "tool_calls"),
        b"data: [DONE]\n\n",
    )
    strict = {"why": "strict", "tool_calls": [{"id": "call_a", "name": "get_weather", "raw": '{"city":"Oslo"}</tool_call>'}]}
    several = meanings(Case("x", "", events, also_right=(strict,)))
    assert judge_all(several, got("tool_calls", tool_calls=[OSLO])) == ("right", [])
    assert judge_all(several, got("tool_calls", tool_calls=[made(None, raw="?")])) == ("right", [])
    assert judge_all(several, got("tool_calls", tool_calls=[made({"city": "Lima"})])) == ("wrong", ["calls"])
    assert judge_all(several[:1], got("tool_calls", tool_calls=[made(None, raw="?")])) == ("wrong", ["arguments unread"])
