import pytest

from headrace.errors import UnsupportedError, UsageError
from headrace.messages.message import UserMessage
from headrace.messages.request import NamedTool, Request, Settings, ToolSpec
from headrace.wire.encoding_cache import EncodingCache, Fragment, Note
from headrace.wire.profile import DEFAULT, Profile
from headrace.wire.tool_choice import ToolForm, choose_in_words, encode_tools, tool_members

F, G = ToolSpec(name="f"), ToolSpec(name="g")
ALL = ("auto", "none", "required", "named")


def encode(tool, profile):
    return Fragment(b'"%s"' % tool.name.encode(), (Note(None, f"lost {tool.name}"),))


FORM = ToolForm(key="k", encode=encode, none="never", required="must", named=lambda tool: {"only": tool.name})


def request(choice="auto", tools=(F, G), **settings):
    return Request(model="m", messages=(UserMessage("u"),), tools=tools, tool_choice=choice, settings=Settings(**settings))


@pytest.mark.parametrize(
    ("choice", "words", "expected"),
    [
        ("auto", ALL, ((F, G), None)),
        ("none", ALL, ((F, G), "never")),
        ("none", ("auto",), ((), None)),
        ("required", ALL, ((F, G), "must")),
        (NamedTool("g"), ALL, ((F, G), {"only": "g"})),
        (NamedTool("g"), ("auto", "required"), ((G,), "must")),
    ],
)
def test_a_choice_is_said_in_the_wires_own_words(choice, words, expected):
    assert choose_in_words(request(choice), Profile(tool_choices=words), FORM) == expected


@pytest.mark.parametrize(
    ("asked", "words", "error"),
    [
        (request("required", ()), ALL, UsageError),
        (request(NamedTool("x")), ALL, UsageError),
        (request("required"), ("auto", "none"), UnsupportedError),
        (request(NamedTool("f")), ("auto", "none"), UnsupportedError),
    ],
)
def test_a_choice_is_never_weakened(asked, words, error):
    with pytest.raises(error) as caught:
        choose_in_words(asked, Profile(tool_choices=words), FORM)
    assert caught.value.argument == "tool_choice"


def test_a_tool_is_encoded_once_and_what_is_lost_is_said_each_time():
    cache, warnings = EncodingCache(), []
    for _ in range(2):
        assert encode_tools((F, G), DEFAULT, cache, warnings, FORM) == b'["f","g"]'
    assert cache.misses == 2
    assert [warning.detail for warning in warnings] == ["lost f", "lost g"] * 2


def test_without_tools_nothing_is_said():
    assert tool_members(request("none", (), parallel_tool_calls=True), DEFAULT, EncodingCache(), [], FORM) == {}


@pytest.mark.parametrize(
    ("is_parallel", "unsupported", "member", "warns"),
    [
        (None, (), None, False),
        (True, (), b"true", False),
        (False, (), b"false", False),
        (True, ("parallel_tool_calls",), None, False),
        (False, ("parallel_tool_calls",), None, True),
    ],
)
def test_parallel_calls_are_forbidden_where_the_server_can_be_told(is_parallel, unsupported, member, warns):
    warnings = []
    profile = Profile(unsupported_settings=frozenset(unsupported))
    members = tool_members(request("required", (F,), parallel_tool_calls=is_parallel), profile, EncodingCache(), warnings, FORM)
    assert members.pop("parallel_tool_calls", None) == member
    assert members == {"tools": b'["f"]', "tool_choice": b'"must"'}
    assert any("parallel_tool_calls" in warning.detail for warning in warnings) is warns
