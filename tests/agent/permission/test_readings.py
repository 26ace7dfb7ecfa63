"""Globs held against texts: an allow rule is right about the whole, a deny rule about any part."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.agent.permission.globs import compile_glob, escape
from headrace.agent.permission.readings import matches
from headrace.errors import UsageError


def allows(glob, text):
    return matches(compile_glob(glob), text, is_wide=False)


def denies(glob, text):
    return matches(compile_glob(glob), text, is_wide=True)


SAID = [  # both readings agree
    ("git status*", "git status"),
    ("git status*", "git status -s src/a.py"),
    ("git status *", "git status"),
    ("git status *", "git status -s"),
    ("git * *", "git log"),
    ("*", "anything at all"),
    ("*", ""),
    ("", ""),
    ("  git*  ", "git log"),
    ("a?c", "abc"),
    ("*b*d*", "abcd"),
    ("*aa", "aaa"),
    (r"a\*c", "a*c"),
    (r"what\?", "what?"),
    ("*.py", "a.py"),
    ("*.py", "src/a.py"),
    ("src/*", "src/a.py"),
    ("src/*.py", "./src//a.py"),
    ("src/**", "src/a.py"),
    ("src/**", "src/deep/down/a b.py"),
    ("src/**", "src/x/../a.py"),
    ("src/**", "src/..config/a"),
    ("src/**/*.py", "src/a.py"),
    ("src/**/*.py", "src/b/c/a.py"),
    ("**/*.py", "b/a.py"),
    ("**/a/**/b", "x/a/a/y/b"),
    ("src/a/../*", "src/b"),
    ("../*", "../a"),
    ("../../*", "../../a"),
    ("a%2Fb*", "a%2Fbc"),
    ("/etc/*", "/etc/hosts"),
    ("/etc/*", "/usr/../etc/hosts"),
    ("/../etc/*", "/etc/hosts"),
    ("~/notes/*", "~/notes/a"),
    ("https://example.org/**", "https://example.org/a/b"),
    ("cat src/*", "cat src/a.py"),
    ("cat src/** -n", "cat  src/a/b.py -n"),
    ("./run.sh *", "./run.sh"),
    ("./run.sh **", "./run.sh --fast a/b c"),
    (r"my\ docs/**", "my docs/a.txt"),
    ("echo a; *", "echo a; ls"),
    ("a & b > *", "a & b > c"),
]


@pytest.mark.parametrize(("glob", "text"), SAID)
def test_what_a_glob_says_matches_in_both_readings(glob, text):
    assert allows(glob, text)
    assert denies(glob, text)


NOT_SAID = [  # both readings agree
    ("git status*", "git commit"),
    ("git status *", "git statusquo"),
    ("a?c", "ac"),
    (r"a\*c", "abc"),
    ("src/*", "src/deep/a.py"),
    ("src/*", "lib/a.py"),
    ("src/**", "srcs/a.py"),
    ("src/**", "src/../lib/a.py"),
    ("src/*", ""),
    ("/etc/*", "/usr/hosts"),
    ("/etc/*", "/etc/../usr/hosts"),
    ("cat src/*", "cat lib/a.py"),
    ("cat src/*", "cat"),
    (r"my\ docs/**", "my"),
]


@pytest.mark.parametrize(("glob", "text"), NOT_SAID)
def test_what_a_glob_does_not_say_matches_in_no_reading(glob, text):
    assert not allows(glob, text)
    assert not denies(glob, text)


@pytest.mark.parametrize(
    "text",
    [
        "src/../etc/passwd",
        "src/a/../../etc/passwd",
        "src/./../etc/passwd",
        "src//..//etc/passwd",
        "/src/a",
        "../src/a",
        "src/..",
        "src",
        "./",
        "",
        "src/.. /etc/passwd",
        "src/.../x",
        "src/$HOME/../x",
        "src/$(pwd)",
        "src/`pwd`",
        "src/{a/b,../../x}",
        "src/''../etc",
        'src/".."/etc',
        "src/.?/.?/etc/passwd",
        "src/.[.]/x",
        r"src/..\etc",
        r"src\..\..\etc",
        r"src/\../etc",
        "src/%2e%2e/etc",
        "src/..%2Fetc",
        "src/a%00",
        "src/a\x00",
        "src/a\nb",
        "src/a; rm -rf /",
        "src/a|b",
        "src/a\tb",
    ],
)
def test_an_allowed_directory_cannot_be_left(text):
    assert not allows("src/**", text)
    assert not allows("./src/**", text)


@pytest.mark.parametrize("text", ["~/x", "~root/x", "C:/x", "file:/x", "https://example.org/x", "/x", "../x", "../../x"])
def test_wildcards_of_an_allow_rule_start_nowhere_else(text):
    assert not allows("**/x", text)
    assert not allows("./**", text)
    assert not allows("*/x", text)


@pytest.mark.parametrize("text", ["..", "../a.py", "a/../b.py", "a/..", r"..\a.py", 'cat "../x"', "--file=../x"])
def test_no_wildcard_of_an_allow_rule_stands_for_a_climb_in_a_text(text):
    assert not allows("*", text)


@pytest.mark.parametrize(
    ("glob", "text"), [("*", "git diff main..topic"), ("*", "a..b"), ("*", "..."), ("cd .. *", "cd .."), ("ls .. *", "ls .. -l")]
)
def test_dots_that_climb_nowhere_or_are_spelled_out_are_no_matter(glob, text):
    assert allows(glob, text)


@pytest.mark.parametrize(
    "tail",
    [
        "; rm -rf /",
        " && rm x",
        " & rm",
        " | sh",
        "\nrm x",
        "\rrm x",
        " $(rm x)",
        " `rm x`",
        " > /etc/passwd",
        " < secret",
        " ${IFS}rm",
        "\x00",
    ],
)
def test_no_wildcard_of_an_allow_rule_reaches_a_second_command(tail):
    for glob in ("git status*", "git status *", "git *", "*", "git statu?*"):
        assert not allows(glob, "git status" + tail), glob
    assert not allows("git diff src/* *", "git diff src/a" + tail)
    assert not allows("git diff src/*", "git diff src/a" + tail)


def test_a_control_character_that_the_glob_spells_out_is_matched_only_there():
    assert allows("a && b*", "a && b c")
    assert not allows("a && b*", "a && b && c")


@pytest.mark.parametrize(
    "text",
    [
        "cat src/a /etc/passwd",
        "cat src/a\t/etc/passwd",
        "cat src/../etc/passwd",
        "cat src/a src/b",
        "cat 'src/a b'",
        "cat src/''../../etc/passwd",
        "cat\nsrc/a",
        "sudo cat src/a",
        "cat ~/src/a",
    ],
)
def test_a_command_with_a_path_is_matched_word_by_word(text):
    assert not allows("cat src/**", text)


@pytest.mark.parametrize(
    "host", ["evil.org#.good.org", "evil.org?.good.org", "evil.org\\.good.org", "evil.org/.good.org", "evil\u2100.good.org", "a@b.good.org"]
)
def test_a_wildcard_in_a_host_stays_in_the_host(host):
    assert not allows("https://*.good.org/**", f"https://{host}/x")
    assert not allows("https://**/x", f"https://{host}/x") or host == "evil.org/.good.org"
    assert allows("https://*.good.org/**", "https://a-1.b.good.org/x?y=1#z")
    assert allows("https://*:*/**", "https://a.good.org:8000/x")


def test_further_words_do_not_climb_and_a_wildcard_word_is_one_word():
    assert not allows("./run.sh *", "./run.sh ../x")
    assert not allows("cp * src/a", 'cp "a src/a')
    assert not allows("cp * src/a", "cp a b src/a")
    assert allows("cp * src/a", "cp b src/a")


@pytest.mark.parametrize(
    "text",
    [
        "rm x",
        "  rm x",
        "RM x",
        "ls; rm x",
        "ls && rm x",
        "ls || (rm x)",
        "a | rm x",
        "echo $(rm x)",
        "echo `rm x`",
        "ls\nrm x",
        "{ rm x; }",
        "r'm' x",
        'echo "$(r\\m x)"',
        "\uff52\uff4d x",
    ],
)
def test_a_deny_rule_finds_its_command_anywhere_in_a_line(text):
    assert denies("rm *", text)
    assert not allows("rm *", text) or text == "rm x"


@pytest.mark.parametrize(
    "text",
    [
        "secret/x",
        "./secret/x",
        "a/../secret/x",
        "SECRET/x",
        "secret",
        "../secret/x",
        "../here/secret/x",
        "/home/me/here/secret/x",
        "~/here/secret/x",
        "$PWD/secret/x",
        "a$b/../secret/x",
        "a(b)/../secret/x",
        r"secret\x",
        r"a\..\secret\x",
        "%73ecret/x",
        "%2e/secret%2Fx",
        '"secret"/x',
        "x; secret/x",
    ],
)
def test_a_denied_directory_is_found_from_wherever_a_path_starts(text):
    assert denies("secret/**", text)


@pytest.mark.parametrize("text", ["/home/me/secret/x", "secret/x", "../me/secret/x", "~/secret/x", "me/secret", "/home/x/../me/secret/x"])
def test_an_absolute_denied_directory_is_found_by_a_relative_path(text):
    assert denies("/home/me/secret/**", text)


@pytest.mark.parametrize("text", ["a/x", "secrets/x", "/home/you/notes", "../a", "~/a", "", "public"])
def test_a_denied_directory_denies_no_other(text):
    assert not denies("/home/me/secret/**", text)
    assert not denies("secret/**", text)


def test_a_place_that_is_known_is_not_taken_for_another():
    assert not denies("/home/me/secret/**", "/me/secret/x")
    assert not denies("secret/**", "a/secret/x")


def test_quotes_do_not_hide_a_line_of_several_commands():
    assert denies("a; b*", "a; 'b' c")


def test_the_whole_disk_can_be_denied():
    for text in ("/", "/x", "/x/y", "../x", "~/x"):
        assert denies("/**", text), text
    assert not denies("/**", "src/a")


@pytest.mark.parametrize("text", ["cat secret/x", "cat secret/x other", "ls; cat ./secret/x", "CAT /here/secret/x", "cat 'secret/x y'"])
def test_a_denied_command_with_a_path_is_found_with_further_words(text):
    assert denies("cat secret/**", text)


def test_blanks_in_a_denied_path_are_taken_for_words_and_for_one_path():
    for text in ("my docs/a", "./my docs/a b", "/home/my docs/a"):
        assert denies("my docs/**", text), text


@pytest.mark.parametrize(
    ("glob", "words"),
    [
        ("a\\", "backslash"),
        ("a/**b", "stands alone"),
        ("a**/b", "stands alone"),
        ("a/*/../b", "behind a wildcard"),
        ("**/..", "behind a wildcard"),
    ],
)
def test_a_glob_that_cannot_be_meant_is_refused(glob, words):
    with pytest.raises(UsageError, match=words) as caught:
        compile_glob(glob)
    assert caught.value.argument == "pattern"
    assert repr(glob) in str(caught.value)


@given(st.text())
def test_an_escaped_text_matches_itself_in_both_readings(text):
    glob = escape(text)
    if text == text.strip(" "):
        assert denies(glob, text)
        assert allows(glob, text) or "/" in text


@given(st.lists(st.sampled_from(["..", ".", "", "a", "src", "~", "$x", "b c", "..."]), max_size=8).map("/".join))
def test_what_an_allowed_directory_lets_through_lies_in_it(path):
    if allows("src/**", path):
        kept = []
        for segment in path.split("/"):
            if segment == "..":
                kept.pop()
            elif segment not in {"", "."}:
                kept.append(segment)
        assert not path.startswith("/")
        assert kept[0] == "src"
        assert len(kept) > 1


@given(st.text(alphabet="ab/.*? ;~$", max_size=8), st.text(alphabet="ab/. ;~$", max_size=10))
def test_what_a_narrow_reading_matches_a_wide_one_matches_too(glob, text):
    try:
        compiled = compile_glob(glob)
    except UsageError:
        return
    if matches(compiled, text, is_wide=False):
        assert matches(compiled, text, is_wide=True)


@pytest.mark.parametrize("glob", ["*a*a*a*a*b", "**/a/**/a/**/b", "x **/a *a*a*c", "a* *a *a *b"])
@pytest.mark.parametrize("is_wide", [True, False])
def test_no_text_makes_a_glob_slow(glob, is_wide):
    compiled = compile_glob(glob)
    before = time.perf_counter()
    for text in ("a" * 20_000, "a/" * 10_000, "a " * 10_000, "a;" * 2_000):
        assert not matches(compiled, text, is_wide=is_wide)
    assert time.perf_counter() - before < 1.5
