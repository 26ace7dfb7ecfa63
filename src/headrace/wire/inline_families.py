"""How models write tool calls into their text: a row for each way, with what opens a block, what ends it, and how it is read.

The rule of this file: a block is calls only as a whole. Every call in it has a name and arguments that are one JSON object, or nothing of it
is a call. The rows come from the chat templates of the models that write so; two rows with one opener differ in what follows it.
"""

# JSON of a model and schemas of callers are read here: what `isinstance` finds in it holds unknown types.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, Literal, TypeAlias, cast

import msgspec

from headrace._json import JSON, JSONError, dumps_text, loads, loads_lenient

Offered: TypeAlias = Mapping[str, Mapping[str, Any]]
"""The tools' names, each with the JSON Schema of its parameters; {} says nothing of them."""


class InlineCall(msgspec.Struct, frozen=True, gc=False):
    """A call that stood in the text: its name, and its arguments as JSON text."""

    name: str
    arguments: str


class NoCallError(Exception):
    """A block that looked like calls is none."""


Read: TypeAlias = Callable[[str, Offered], Iterator[InlineCall]]


class Family(msgspec.Struct, frozen=True, kw_only=True):
    """One way to write calls.

    Attributes:
        name: what the option `inline_tool_calls` calls it.
        opener: what begins a block.
        closer: what ends it; "" where the JSON's own end does.
        head: what has to follow the opener; matched once that is certain.
        maybe: what the text behind the opener looks like (as a whole) while that is not certain yet.
        ends: whether the end is that of the JSON value in it (`json`), with the closer behind it if it comes, or the first `closer`.
        read: reads a block, from behind the opener to before the closer.

    Raises (`read`):
        NoCallError: it is no call.
        JSONError: what has to be JSON is none.
    """

    name: str
    opener: str
    closer: str = ""
    head: re.Pattern[str]
    maybe: re.Pattern[str]
    ends: Literal["json", "closer"] = "closer"
    read: Read


# ---------------------------------------------------------------------------------------------- reading


def _json_calls(body: str, _offered: Offered) -> Iterator[InlineCall]:
    """One object or a list of them, several behind one another; `name` and `arguments`, under any of the names that templates use."""
    for value in _values(body):
        items: list[Any] = value if isinstance(value, list) else [value]
        for item in items:
            if not isinstance(item, dict):
                raise NoCallError
            fields = cast("dict[str, Any]", item)
            inner = fields.get("function")
            yield _json_call(cast("dict[str, Any]", inner) if isinstance(inner, dict) else fields)


def _json_call(item: Mapping[str, Any]) -> InlineCall:
    name = item.get("name") or item.get("tool_name") or item.get("function")
    arguments: Any = next((item[key] for key in ("arguments", "parameters", "args") if item.get(key) is not None), {})
    return _call(name, arguments)


def _call(name: object, arguments: object) -> InlineCall:
    if isinstance(arguments, str):
        arguments = _parsed(arguments) if arguments.strip() else {}
    if not isinstance(name, str) or not name or not isinstance(arguments, dict):
        raise NoCallError
    return InlineCall(name, dumps_text(cast("JSON", arguments)))


def _values(body: str) -> Iterator[JSON]:
    """JSON values behind one another, with `;` or `,` between; brackets too many at the end of one are passed over."""
    at = 0
    while (found := _BEFORE_VALUE.match(body, at)) is not None:
        end = JsonEnd().find(body, found.end())
        if end is None:
            raise NoCallError
        yield _parsed(body[found.end() : end])
        at = end
    if at == 0 or body[at:].strip(" \t\r\n;}]"):
        raise NoCallError


def _parsed(text: str) -> JSON:
    try:
        return loads(text)
    except JSONError:
        return loads_lenient(text, is_strict_about_controls=False)[0]  # models write line breaks into strings as they are


_BEFORE_VALUE: Final = re.compile(r"[\s;,}\]]*+(?=[{\[])")
_NAMED: Final = re.compile(r"\s*([\w.-]+)(?:\[CALL_ID\][\w-]*)?(?:\[ARGS\])?\s*(?=\{)")


def _named_or_json(body: str, offered: Offered) -> Iterator[InlineCall]:
    """A name and an object, or as `_json_calls`."""
    named = _NAMED.match(body)
    if named is None:
        yield from _json_calls(body, offered)
    else:
        values = list(_values(body[named.end() :]))
        if len(values) != 1:
            raise NoCallError
        yield _call(named[1], values[0])


_FENCE: Final = "```json"
_SOLID: Final = re.compile(r"\S")


def _each(pattern: str) -> Read:
    """Calls that each match a pattern, one behind the other; `functions.` before a name and `:0` behind it are not part of it."""
    call = re.compile(pattern, re.DOTALL)

    def read(body: str, _offered: Offered) -> Iterator[InlineCall]:
        for found in _matches(call, body):
            arguments = found["arguments"].strip()
            if arguments.startswith(_FENCE):
                arguments = arguments.removeprefix(_FENCE).removesuffix("```")
            yield _call(re.sub(r"^functions\.|:\d+$", "", found["name"].strip()), arguments)

    return read


def _matches(pattern: re.Pattern[str], body: str) -> Iterator[re.Match[str]]:
    """What matches, one behind the other, with nothing but white space round each; one at least."""
    solid = _SOLID.search(body)
    while True:
        found = None if solid is None else pattern.match(body, solid.start())
        if found is None:
            raise NoCallError
        yield found
        solid = _SOLID.search(body, found.end())
        if solid is None:
            return


def _elements(call: str, parameter: str, trim: str = "") -> Read:
    """Calls as elements whose children are the parameters, their values written as text; `trim` is taken off both ends of a value, once."""
    calls, parameters = re.compile(call, re.DOTALL), re.compile(parameter, re.DOTALL)

    def read(body: str, offered: Offered) -> Iterator[InlineCall]:
        for found in _matches(calls, body):
            name, inner = found["name"].strip(), found["inner"].strip()
            if inner.startswith("{"):
                yield _call(name, inner)
                continue
            arguments: dict[str, Any] = {}
            for one in _matches(parameters, inner) if inner else ():
                value = one["value"].removeprefix(trim).removesuffix(trim)
                arguments[one["key"].strip()] = _typed(one, value, offered.get(name, {}))
            yield _call(name, arguments)

    return read


def _typed(found: re.Match[str], text: str, schema: Mapping[str, Any]) -> JSON:
    """A value that was written as text: by the word beside it, else by the schema; where neither says, JSON that is no string counts as such."""
    is_string = found.groupdict().get("is_string")
    properties = schema.get("properties")
    kinds = _kinds(properties.get(found["key"].strip())) if is_string is None and isinstance(properties, Mapping) else set[str]()
    if is_string == "true" or ("string" in kinds and not ("null" in kinds and text.strip() == "null")):
        return text
    plain = text.strip()
    try:
        return loads({"True": "true", "False": "false", "None": "null"}.get(plain, plain))
    except JSONError:
        return text


def _kinds(schema: Any) -> set[str]:
    """The types that a property may have, as far as its schema says so plainly."""
    if not isinstance(schema, Mapping):
        return set()
    said = schema.get("type", ())
    kinds = {said} if isinstance(said, str) else set(said)
    for key in ("anyOf", "oneOf"):
        for one in schema.get(key, ()):
            kinds |= _kinds(one)
    return kinds | {"string" for value in schema.get("enum", ()) if isinstance(value, str)}


_TOKEN: Final = re.compile(r'["\\{}\[\]<]')


class JsonEnd:
    """Finds where a JSON value ends that comes in pieces and begins with a bracket; each character is read once.

    Attributes:
        is_broken: a `<` stands outside of strings, which no JSON has.
    """

    __slots__ = ("_depth", "_is_escaped", "_is_in_string", "is_broken")

    def __init__(self) -> None:
        """Start before the first bracket."""
        self._depth = 0
        self._is_in_string = False
        self._is_escaped = False
        self.is_broken = False

    def find(self, text: str, at: int = 0) -> int | None:
        """Return where in this piece the value ends (or broke), or None if it goes on; `at` is where to begin."""
        skip = at if self._is_escaped else -1
        self._is_escaped = False
        for found in _TOKEN.finditer(text, at):
            token = found[0]
            if found.start() == skip:
                continue
            if token == '"':
                self._is_in_string = not self._is_in_string
            elif token == "\\":
                skip = found.end()
            elif self._is_in_string:
                continue
            elif token == "<":
                self.is_broken = True
                return found.start()
            else:
                self._depth += 1 if token in "{[" else -1
                if self._depth <= 0:
                    return found.end()
        self._is_escaped = skip == len(text)
        return None


# ---------------------------------------------------------------------------------------------- the table

_NAME: Final = r"[\w.-]{1,128}"


def _begins(word: str) -> str:
    """A pattern for any beginning of a word, none and all of it included."""
    pattern = ""
    for character in reversed(word):
        pattern = f"(?:{re.escape(character)}{pattern})?"
    return pattern


def _with_json(name: str, opener: str, closer: str = "") -> Family:
    """Blocks that hold the JSON of `_json_calls`."""
    head, maybe = re.compile(r"\s*(?=[{\[])"), re.compile(r"\s*")
    return Family(name=name, opener=opener, closer=closer, head=head, maybe=maybe, ends="json", read=_json_calls)


def _with_word(name: str, opener: str, closer: str, word: str, read: Read) -> Family:
    """Blocks in which a word comes first."""
    head, maybe = re.compile(rf"\s*{re.escape(word)}"), re.compile(rf"\s*{_begins(word)}")
    return Family(name=name, opener=opener, closer=closer, head=head, maybe=maybe, read=read)


def _invoke(prefix: str) -> Read:
    return _elements(
        rf'<{prefix}invoke name="(?P<name>[^"]+)">(?P<inner>.*?)</{prefix}invoke>',
        rf'<{prefix}parameter name="(?P<key>[^"]+)"(?: string="(?P<is_string>true|false)")?>(?P<value>.*?)</{prefix}parameter>',
        trim="\n",
    )


_FUNCTION: Final = _elements(
    r"<function=(?P<name>[^<>\s]+)>(?P<inner>.*?)</function>", r"<parameter=(?P<key>[^<>]+)>(?P<value>.*?)</parameter>", trim="\n"
)


def _function(body: str, offered: Offered) -> Iterator[InlineCall]:
    return _FUNCTION(f"<function={body}</function>", offered)


# The vertical bars and low lines of this vendor's marks are characters of their own.
_BAR: Final = "\uff5c"
_LOW: Final = "\u2581"


def _mark(words: str) -> str:
    return f"<{_BAR}{words.replace(' ', _LOW)}{_BAR}>"


_DEEPSEEK: Final = _each(
    rf"{_mark('tool call begin')}(?:function{_mark('tool sep')})?(?P<name>[^\n<]+)(?:{_mark('tool sep')}|\n)"
    rf"(?P<arguments>.*?){_mark('tool call end')}"
)
_KIMI: Final = _each(
    r"<\|tool_call_begin\|>(?P<name>[^<]+)<\|tool_call_argument_begin\|>(?P<arguments>.*?)<\|tool_call_end\|>",
)
_GLM: Final = _elements(r"(?P<name>[^<]+)(?P<inner>.*)", r"<arg_key>(?P<key>[^<]+)</arg_key>\s*<arg_value>(?P<value>.*?)</arg_value>")
_DSML: Final = f"{_BAR}DSML{_BAR}"

FAMILIES: Final = (
    _with_json("hermes", "<tool_call>", "</tool_call>"),
    _with_word("qwen-coder", "<tool_call>", "</tool_call>", "<function=", _FUNCTION),
    Family(
        name="glm",
        opener="<tool_call>",
        closer="</tool_call>",
        head=re.compile(rf"\s*{_NAME}\s*(?=<arg_key>|</tool_call>)"),
        maybe=re.compile(rf"\s*(?:{_NAME}\s*(?:{_begins('<arg_key>')}|{_begins('</tool_call>')}))?"),
        read=_GLM,
    ),
    Family(
        name="function-tag",
        opener="<function=",
        closer="</function>",
        head=re.compile(rf"{_NAME}>"),
        maybe=re.compile(rf"(?:{_NAME})?"),
        read=_function,
    ),
    _with_json("llama", "<|python_tag|>"),
    Family(
        name="mistral",
        opener="[TOOL_CALLS]",
        head=re.compile(rf"\s*(?:(?=[{{\[])|{_NAME}(?:\[CALL_ID\][\w-]*)?(?:\[ARGS\])?\s*(?=\{{))"),
        maybe=re.compile(rf"\s*(?:{_NAME}(?:{_begins('[CALL_ID]')}|\[CALL_ID\][\w-]*)?(?:{_begins('[ARGS]')})\s*)?"),
        ends="json",
        read=_named_or_json,
    ),
    _with_word("deepseek", _mark("tool calls begin"), _mark("tool calls end"), _mark("tool call begin"), _DEEPSEEK),
    *(
        _with_word("dsml", f"<{_DSML}{word}>", f"</{_DSML}{word}>", f"<{_DSML}invoke name=", _invoke(_DSML))
        for word in ("function_calls", "tool_calls")
    ),
    _with_word("invoke", "<function_calls>", "</function_calls>", "<invoke name=", _invoke("")),
    _with_word("minimax", "<minimax:tool_call>", "</minimax:tool_call>", "<invoke name=", _invoke("")),
    _with_word("kimi", "<|tool_calls_section_begin|>", "<|tool_calls_section_end|>", "<|tool_call_begin|>", _KIMI),
    _with_json("granite", "<|tool_call|>", "<|/tool_call|>"),
    _with_json("jamba", "<tool_calls>", "</tool_calls>"),
    _with_json("command", "<|START_ACTION|>", "<|END_ACTION|>"),
)
"""Every way that is known; no opener begins with another one."""

FAMILY_NAMES: Final = tuple(dict.fromkeys(family.name for family in FAMILIES))
"""What the option `inline_tool_calls` may name."""
