"""Verdicts: which decision beats which, in every mode."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.agent.permission.judging import MODES, Permissions, Verdict, judge
from headrace.agent.permission.rules import BEHAVIORS, Rule
from headrace.errors import ToolError, UsageError
from headrace.messages.parts import ToolCallPart
from headrace.tools.options import Check
from headrace.tools.tool import Tool

RULES = {behavior: Rule(behavior, "shell", "command=git *") for behavior in BEHAVIORS}


def boom(arguments):
    raise ToolError("boom")


def tool(**options):
    return Tool(name="shell", function=lambda command="": command, **options)


def call(**arguments):
    return ToolCallPart(id="c1", name="shell", arguments=arguments or {"command": "git log"})


def verdict(mode="default", *rules, **options):
    return judge(Permissions(mode, tuple(RULES.get(rule, rule) for rule in rules)), tool(**options), call())


# Behavior per mode: default, accept_edits, explore, bypass, dont_ask.
TABLE = [
    ({}, (), "allow allow deny allow allow"),
    ({"read_only": True}, (), "allow allow allow allow allow"),
    ({"edits": True}, (), "allow allow deny allow allow"),
    ({"external": True}, (), "allow allow deny allow allow"),
    ({"needs_approval": True}, (), "ask ask deny allow deny"),
    ({"needs_approval": True, "external": True}, (), "ask ask deny allow deny"),
    ({"needs_approval": True, "read_only": True}, (), "ask ask ask allow deny"),
    ({"needs_approval": True, "edits": True}, (), "ask allow deny allow deny"),
    ({"needs_approval": lambda arguments: "log" in arguments["command"]}, (), "ask ask deny allow deny"),
    ({"needs_approval": lambda arguments: "rm" in arguments["command"]}, (), "allow allow deny allow allow"),
    ({"needs_approval": boom}, (), "ask ask deny allow deny"),
    ({"needs_approval": True}, ("allow",), "allow allow deny allow allow"),
    ({"needs_approval": boom}, ("allow",), "allow allow deny allow allow"),
    ({"needs_approval": True, "read_only": True}, ("allow",), "allow allow allow allow allow"),
    ({}, ("ask",), "ask ask deny allow deny"),
    ({"edits": True}, ("ask",), "ask ask deny allow deny"),
    ({"read_only": True}, ("ask",), "ask ask ask allow deny"),
    ({"needs_approval": True}, ("allow", "ask"), "ask ask deny allow deny"),
    ({}, ("deny",), "deny deny deny deny deny"),
    ({"read_only": True}, ("allow", "ask", "deny"), "deny deny deny deny deny"),
    ({"check": lambda arguments: None}, (), "allow allow deny allow allow"),
    ({"check": lambda arguments: Check("deny")}, ("allow",), "deny deny deny deny deny"),
    ({"check": lambda arguments: Check("ask"), "read_only": True, "edits": True}, ("allow",), "ask ask ask ask deny"),
    ({"check": lambda arguments: Check("ask")}, ("deny",), "deny deny deny deny deny"),
    ({"check": lambda arguments: Check("ask"), "edits": True}, ("allow",), "ask ask deny ask deny"),
    ({"check": boom}, ("allow",), "ask ask deny ask deny"),
    ({"check": boom, "read_only": True}, ("allow",), "ask ask ask ask deny"),
    ({"check": lambda arguments: True}, ("allow",), "ask ask deny ask deny"),
]


@pytest.mark.parametrize(("options", "rules", "wanted"), TABLE)
def test_each_mode_with_each_option_and_each_kind_of_rule(options, rules, wanted):
    for mode, behavior in zip(MODES, wanted.split(), strict=True):
        for order in (rules, rules[::-1]):
            assert verdict(mode, *order, **options).behavior == behavior, mode


@pytest.mark.parametrize(
    ("given", "reason", "is_final"),
    [
        (lambda: verdict("default", "deny"), "denied by rule `deny shell(command=git *)`", True),
        (lambda: verdict("default", Rule("deny", "*", None, "team.toml")), "denied by rule `deny *` (team.toml)", True),
        (lambda: verdict("default", "ask"), "asked for by rule `ask shell(command=git *)`", False),
        (lambda: verdict("default", "allow"), "allowed by rule `allow shell(command=git *)`", False),
        (lambda: verdict("bypass", check=lambda arguments: Check("deny", "no git")), "denied by the check of shell: no git", True),
        (lambda: verdict("bypass", check=lambda arguments: Check("ask", "sure?")), "asked for by the check of shell: sure?", True),
        (lambda: verdict("bypass", check=boom), "the check of shell failed: boom", True),
        (lambda: verdict("bypass", check=lambda arguments: 3), "the check of shell returned int, not Check(ask or deny) or None", True),
        (lambda: verdict(needs_approval=boom), "needs_approval of shell failed: boom", False),
        (lambda: verdict(needs_approval=lambda arguments: {}["x"]), "needs_approval of shell failed: KeyError: 'x'", False),
        (lambda: verdict(needs_approval=True), "shell needs approval", False),
        (lambda: verdict(needs_approval=lambda arguments: 1), "shell needs approval with these arguments", False),
        (verdict, "shell needs no approval", False),
        (lambda: verdict("bypass"), "allowed by the mode bypass", False),
        (lambda: verdict("accept_edits", edits=True), "allowed by the mode accept_edits: shell only makes edits", False),
        (
            lambda: verdict("explore"),
            "denied by the mode explore, which runs only tools that change nothing; shell may. A person can leave it for the mode default",
            False,
        ),
        (
            lambda: verdict("dont_ask", "ask"),
            "denied by the mode dont_ask, since a person would have to say yes: asked for by rule `ask shell(command=git *)`",
            False,
        ),
        (
            lambda: verdict("dont_ask", check=lambda arguments: Check("ask")),
            "denied by the mode dont_ask, since a person would have to say yes: asked for by the check of shell",
            True,
        ),
    ],
)
def test_the_reason_says_who_decided_and_why(given, reason, is_final):
    found = given()
    assert found.reason == reason
    assert found.is_final is is_final


def test_only_an_ask_that_a_rule_can_clear_comes_with_suggestions():
    found = verdict(needs_approval=True)
    assert [str(rule) for rule in found.suggestions] == [
        'allow shell(command=="git log")',
        "allow shell(command=git log *)",
        "allow shell(command=git *)",
        "allow shell",
    ]
    assert verdict("default", "ask", needs_approval=True).suggestions == ()
    assert verdict(check=lambda arguments: Check("ask")).suggestions == ()
    assert verdict("dont_ask", needs_approval=True).suggestions == ()
    assert verdict().suggestions == ()


@pytest.mark.parametrize("option", ["check", "needs_approval"])
def test_an_async_function_of_an_option_is_no_answer_and_leaves_no_warning(option):
    async def later(arguments):
        return None

    found = verdict(**{option: later})
    assert found.behavior == "ask"
    assert "coroutine" in found.reason or "async" in found.reason


def test_a_function_of_an_option_cannot_change_the_arguments():
    def meddle(arguments):
        arguments["command"] = "rm"

    asked = call()
    assert judge(Permissions(), tool(check=meddle), asked).behavior == "ask"
    assert asked.parsed == {"command": "git log"}


def test_a_call_without_an_object_is_judged_by_its_raw_text():
    for part in (
        ToolCallPart(id="c1", name="shell", kind="custom", arguments="git log"),
        ToolCallPart(id="c1", name="shell", arguments="git log"),
    ):
        seen = []
        for rule in ("deny shell(git *)", "deny shell(input=git *)"):
            assert judge(Permissions().with_rules(rule), tool(), part).behavior == "deny"
        assert judge(Permissions().with_rules("deny shell(rm *)"), tool(check=seen.append), part).behavior == "allow"
        assert seen == [{"input": "git log"}]


class TestPermissions:
    def test_rules_are_added_at_the_end_and_equal_ones_once(self):
        first, second = Rule("allow", "a"), Rule("deny", "b", "x=1")
        permissions = Permissions().with_rules(first, "deny b(x=1)", first)
        assert permissions.rules == (first, second)
        assert permissions.with_rules(second, "ask c", Rule("allow", "a", source="me")).rules == (first, second, Rule("ask", "c"))
        assert Permissions().rules == ()

    def test_a_changed_mode_keeps_the_rules(self):
        permissions = Permissions(rules=[Rule("allow", "a")]).with_mode("explore")
        assert permissions == Permissions("explore", (Rule("allow", "a"),))

    def test_json_leads_back_to_it(self):
        permissions = Permissions("dont_ask", (Rule("allow", "a", "x=1", "me"), Rule("deny", "b")))
        assert msgspec.json.decode(msgspec.json.encode(permissions), type=Permissions) == permissions
        found = verdict(needs_approval=True)
        assert msgspec.json.decode(msgspec.json.encode(found), type=Verdict) == found

    @pytest.mark.parametrize(
        ("make", "argument"),
        [
            (lambda: Permissions("yolo"), "mode"),
            (lambda: Permissions().with_mode("yolo"), "mode"),
            (lambda: Permissions(rules="allow a"), "rules"),
            (lambda: Permissions(rules=["allow a"]), "rules"),
            (lambda: Permissions().with_rules("allow"), "rule"),
        ],
    )
    def test_what_is_no_mode_or_no_rule_is_refused(self, make, argument):
        with pytest.raises(UsageError) as caught:
            make()
        assert caught.value.argument == argument


# --- laws --------------------------------------------------------------------------------------------

PATTERNS = st.sampled_from([None, "command=git *", "command=rm *", "path=src/**", "*", 'command=="git log"', "n=3"])
ANY_RULE = st.builds(Rule, st.sampled_from(BEHAVIORS), st.sampled_from(["shell", "*", "sh*", "other"]), PATTERNS)
ANY_PERMISSIONS = st.builds(Permissions, st.sampled_from(MODES), st.lists(ANY_RULE, max_size=5).map(tuple))
CHECKS = st.sampled_from([None, lambda arguments: None, lambda arguments: Check("ask"), lambda arguments: Check("deny"), boom])
ANY_TOOL = st.builds(
    tool,
    needs_approval=st.sampled_from([True, False, boom, lambda arguments: "command" in arguments]),
    read_only=st.booleans(),
    edits=st.booleans(),
    external=st.booleans(),
    check=CHECKS,
)
TEXTS = st.text(max_size=6) | st.sampled_from(
    ["git log", "git log; rm x", "rm x", "src/a", "src/../a", "../a", "a b/c d", "https://x.org/y z"]
)
ARGUMENTS = st.dictionaries(st.sampled_from(["command", "path", "n"]), TEXTS | st.integers() | st.none() | st.lists(TEXTS, max_size=2))
ANY_CALL = ARGUMENTS.map(lambda arguments: ToolCallPart(id="c1", name="shell", arguments=arguments))


@given(ANY_PERMISSIONS, ANY_TOOL, ANY_CALL, ANY_RULE)
def test_a_further_allow_rule_never_turns_a_deny_of_a_rule_a_check_or_explore_into_a_yes(permissions, a_tool, part, rule):
    rule = msgspec.structs.replace(rule, behavior="allow")
    before, after = judge(permissions, a_tool, part), judge(permissions.with_rules(rule), a_tool, part)
    if before.behavior == "deny" and (before.is_final or permissions.mode != "dont_ask"):
        assert after == before


@given(ANY_PERMISSIONS, ANY_TOOL, ANY_CALL, ANY_RULE)
def test_a_further_deny_or_ask_rule_never_makes_a_verdict_milder(permissions, a_tool, part, rule):
    if rule.behavior != "allow":
        before, after = judge(permissions, a_tool, part), judge(permissions.with_rules(rule), a_tool, part)
        severity = ["allow", "ask", "deny"].index
        assert severity(after.behavior) >= severity(before.behavior)


@given(ANY_PERMISSIONS, ANY_TOOL, ANY_CALL)
def test_dont_ask_never_asks_and_runs_nothing_that_default_would_not(permissions, a_tool, part):
    silent = judge(permissions.with_mode("dont_ask"), a_tool, part)
    default = judge(permissions.with_mode("default"), a_tool, part)
    assert silent.behavior == ("allow" if default.behavior == "allow" else "deny")


@given(ANY_PERMISSIONS, ANY_TOOL, ANY_CALL)
def test_explore_denies_whatever_is_not_read_only(permissions, a_tool, part):
    if not a_tool.options.read_only:
        assert judge(permissions.with_mode("explore"), a_tool, part).behavior == "deny"


@given(ANY_PERMISSIONS, ANY_TOOL, ANY_CALL, ANY_RULE, st.sampled_from(MODES))
def test_what_is_final_is_cleared_by_no_rule_and_no_mode(permissions, a_tool, part, rule, mode):
    found = judge(permissions, a_tool, part)
    if found.is_final:
        after = judge(permissions.with_rules(rule).with_mode(mode), a_tool, part)
        assert after.behavior != "allow"
        assert after.is_final
        assert after.suggestions == ()


@given(ANY_PERMISSIONS, ANY_TOOL, ANY_CALL)
def test_each_suggestion_lets_the_call_pass(permissions, a_tool, part):
    found = judge(permissions, a_tool, part)
    assert len(found.suggestions) <= 4
    for rule in found.suggestions:
        assert judge(permissions.with_rules(rule), a_tool, part).behavior == "allow"
        assert judge(permissions.with_rules(rule).with_mode("default"), a_tool, part).behavior == "allow"
