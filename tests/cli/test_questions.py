"""What a person is asked about a call that waits, and what they may type."""

from __future__ import annotations

import pytest

from headrace.agent.approval import Answer, Approve, Deny, Pending, digest_of
from headrace.agent.permission.rules import Rule
from headrace.cli.questions import arguments_from, arguments_text, prompt_of, question_of, read_arguments, read_entry, value_from
from headrace.cli.segments import plain
from headrace.errors import UsageError
from headrace.messages.parts import ToolCallPart

RULES = (Rule.parse('allow delete(path=="a")'), Rule.parse("allow delete"))


def waiting(kind="approval", *, suggestions=RULES, path=(), **options):
    call = ToolCallPart(id="c", name="delete", arguments='{"path": "a", "all": true}', **options)
    return Pending(kind, "m/0", call, digest_of("m/0", call), "delete needs approval", suggestions, path)


def test_a_question_shows_the_tool_the_reason_all_arguments_and_what_always_would_mean():
    assert plain(question_of(waiting())) == (
        "? May delete run?  (delete needs approval)\n"
        '  {\n    "path": "a",\n    "all": true\n  }\n'
        '  a1 always: allow delete(path=="a")\n'
        "  a2 always: allow delete\n"
    )


def test_a_question_names_the_sub_agents_that_the_call_is_made_in():
    assert "\n  inside plan → research\n" in plain(question_of(waiting(path=("o/0", "p/0")), ["plan", "research"]))


def test_long_arguments_are_shown_whole_since_nobody_can_agree_to_what_they_do_not_see():
    text = "x" * 10_000
    call = ToolCallPart(id="c", name="delete", arguments=f'{{"path": "{text}"}}')
    assert text in plain(question_of(Pending("approval", "m/0", call, digest_of("m/0", call))))


def test_arguments_that_are_no_json_are_shown_as_they_are_and_cannot_be_edited():
    call = ToolCallPart(id="c", name="delete", arguments="rm -r", kind="custom")
    pending = Pending("approval", "m/0", call, digest_of("m/0", call))
    assert arguments_text(pending) == "rm -r"
    assert "e(dit)" not in prompt_of(pending)
    with pytest.raises(UsageError, match="no answer"):
        read_entry(pending, "e")


@pytest.mark.parametrize("entry", ["y", "Y", "yes", " yes "])
def test_yes_approves(entry):
    pending = waiting()
    assert read_entry(pending, entry) == Approve("m/0", digest=pending.digest)


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ("n", ""),
        ("no", ""),
        ("n because it is mine", "it is mine"),
        ("no, not now", "not now"),
        ("n: 2 of them", "2 of them"),
        ("n 2 of", "2 of"),
    ],
)
def test_no_denies_with_a_reason(entry, reason):
    pending = waiting()
    assert read_entry(pending, entry) == Deny("m/0", reason, pending.digest)


@pytest.mark.parametrize(("entry", "rule"), [("a1", RULES[0]), ("a 2", RULES[1]), ("always 2", RULES[1])])
def test_always_approves_and_names_one_of_the_rules(entry, rule):
    assert read_entry(waiting(), entry).rules == (rule,)


def test_always_alone_is_clear_where_there_is_one_rule_and_unclear_where_there_are_more():
    assert read_entry(waiting(suggestions=RULES[:1]), "a").rules == RULES[:1]
    with pytest.raises(UsageError, match="a1 to a2"):
        read_entry(waiting(), "a")


def test_edit_is_a_wish_and_no_answer_yet():
    assert read_entry(waiting(), "e") == "edit"


@pytest.mark.parametrize(
    "entry", ["", "maybe", "yes please", "yy", "y n", "a3", "a0", "a1 x", "e x", "ye s", "r", "{}", "y2", "a" + "9" * 5000]
)
def test_whatever_else_is_typed_is_no_answer(entry):
    with pytest.raises(UsageError):
        read_entry(waiting(), entry)


def test_without_suggestions_there_is_no_always():
    pending = waiting(suggestions=())
    assert "a(lways)" not in prompt_of(pending)
    with pytest.raises(UsageError):
        read_entry(pending, "a")


@pytest.mark.parametrize(("entry", "value"), [("21", 21), ('{"a": [1]}', {"a": [1]}), ("warm", "warm"), ('""', ""), ('"!"', "!")])
def test_what_an_external_call_gave_is_json_or_text(entry, value):
    pending = waiting("external")
    assert read_entry(pending, entry) == Answer("m/0", value, pending.digest)


def test_what_an_external_call_gave_may_be_an_error():
    assert read_entry(waiting("external"), "! no sensor") == waiting("external").answer("no sensor", is_error=True)


def test_nothing_is_no_result():
    with pytest.raises(UsageError, match='empty result is ""'):
        read_entry(waiting("external"), "  ")


def test_a_call_in_doubt_runs_again_or_gets_its_result_or_is_given_up():
    pending = waiting("in_doubt")
    assert read_entry(pending, "r") == read_entry(pending, "run again") == pending.approve()
    assert read_entry(pending, "v 3") == read_entry(pending, "result 3") == pending.answer(3)
    assert isinstance(read_entry(pending, "g"), Deny)
    assert isinstance(read_entry(pending, "give up"), Deny)
    for entry in ("y", "n", "v", "r now", ""):
        with pytest.raises(UsageError):
            read_entry(pending, entry)


def test_edited_arguments_are_a_yes_to_these():
    assert read_arguments(waiting(), '{"path": "b"}') == waiting().approve({"path": "b"})


@pytest.mark.parametrize("text", ["", "{", "[1]", "3", '{"a": NaN}'])
def test_arguments_that_are_no_object_are_refused(text):
    with pytest.raises(UsageError, match="the arguments are"):
        arguments_from(text)


def test_a_value_is_json_or_else_text():
    assert (value_from("3"), value_from("three"), value_from("[1,")) == (3, "three", "[1,")
