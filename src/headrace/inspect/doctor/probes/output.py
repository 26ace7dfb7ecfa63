"""Structured output: a schema, any JSON, a schema beside tools. Pure."""

from __future__ import annotations

from typing import Any, Final, cast

import msgspec

from headrace.inspect.doctor.evidence import Evidence
from headrace.inspect.doctor.probe import Ask, Finding, asking, right, unclear, wrong
from headrace.inspect.doctor.questions import CITY_TIME, briefly
from headrace.inspect.doctor.trouble import unless_trouble
from headrace.messages.request import OutputFormat

# No model would hit on these words by itself.
_WORDS: Final = ("teal-7", "ochre-3")
_SCHEMA: Final = OutputFormat(
    name="colour",
    schema={
        "type": "object",
        "properties": {"code": {"type": "string", "enum": list(_WORDS)}, "count": {"type": "integer"}},
        "required": ["code", "count"],
        "additionalProperties": False,
    },
)
_ASKS: Final = (
    "Choose a colour and a number from 1 to 9.",
    "Which colour has the sea, and how many seas are there? Answer in JSON.",
    "Answer with a JSON object that has a code and a count.",
)


def _value(evidence: Evidence) -> Any:
    try:
        return msgspec.json.decode(evidence.text.strip())
    except msgspec.DecodeError:
        return None


def _is_of_schema(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    members = cast("dict[str, Any]", value)
    return set(members) == {"code", "count"} and members["code"] in _WORDS and type(members["count"]) is int


def _judge_schema(evidence: Evidence) -> Finding:
    if _is_of_schema(_value(evidence)):
        return right("json_schema is kept", evidence.text.strip()[:80])
    if evidence.finish == "length":
        return unclear("json_schema: the model was cut off", evidence.text[:80])
    return wrong(
        "json_schema is taken and not kept",
        f"the answer was {evidence.text[:120]!r}; Headrace asks by a tool of that schema instead",
        output_formats=("json_object",),
    )


def _judge_object(evidence: Evidence) -> Finding:
    if isinstance(_value(evidence), dict):
        return right("json_object is kept", evidence.text.strip()[:80])
    if evidence.finish == "length":
        return unclear("json_object: the model was cut off", evidence.text[:80])
    return wrong("json_object is taken and not kept", f"the answer was {evidence.text[:120]!r}", output_formats=("json_schema",))


def _judge_with_tools(evidence: Evidence) -> Finding:
    if evidence.calls or _is_of_schema(_value(evidence)):
        return right("A schema and tools may be asked for together", "it called" if evidence.calls else evidence.text.strip()[:80])
    if evidence.finish == "length":
        return unclear("A schema beside tools: the model was cut off", evidence.text[:80])
    return wrong("Beside tools a schema is taken and not kept", f"the answer was {evidence.text[:120]!r}", supports_output_with_tools=False)


OUTPUT: Final = (
    asking(
        "json_schema",
        "Is an answer of the schema that was asked for?",
        *(Ask(name=f"schema-{n}", messages=words, output=_SCHEMA, settings=briefly(64)) for n, words in enumerate(_ASKS, start=1)),
        judge=unless_trouble(_judge_schema, refused="json_schema is refused", output_formats=("json_object",)),
    ),
    asking(
        "json_object",
        "Is an answer JSON where JSON was asked for?",
        *(
            Ask(name=f"object-{n}", messages=f"{words} Answer in JSON.", output=OutputFormat(), settings=briefly(96))
            for n, words in enumerate(_ASKS, start=1)
        ),
        judge=unless_trouble(_judge_object, refused="json_object is refused", output_formats=("json_schema",)),
    ),
    asking(
        "schema_with_tools",
        "May a schema and tools be asked for together?",
        Ask(name="both", messages=_ASKS[0], output=_SCHEMA, tools=(CITY_TIME,), settings=briefly(64)),
        judge=unless_trouble(
            _judge_with_tools, refused="A schema and tools cannot be asked for together", supports_output_with_tools=False
        ),
    ),
)
