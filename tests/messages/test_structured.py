"""Structured output as any type that a caller may ask for."""

from __future__ import annotations

import dataclasses
import typing
from datetime import date
from typing import Annotated, Any

import msgspec
import pydantic
import pytest
import typing_extensions

from headrace._json import freeze
from headrace.errors import InvalidStructuredOutputError, NoStructuredOutputError
from headrace.messages.message import AssistantMessage
from headrace.messages.structured import convert

VALUE = {"city": "Oslo", "days": [{"degrees": 3, "when": "2026-05-06"}]}


class DayModel(pydantic.BaseModel):
    degrees: float
    when: date


class ForecastModel(pydantic.BaseModel):
    city: str
    days: list[DayModel]


@dataclasses.dataclass
class DayData:
    degrees: float
    when: date


@dataclasses.dataclass
class ForecastData:
    city: str
    days: list[DayData]


@dataclasses.dataclass
class MixedData:
    city: str
    days: list[DayModel]


@pydantic.dataclasses.dataclass
class PydanticData:
    city: Annotated[str, pydantic.Field(min_length=2)]
    days: list[DayModel]


class DayDict(typing.TypedDict):
    degrees: float
    when: date


class ForecastDict(typing.TypedDict):
    city: str
    days: list[DayDict]


class ExtendedDict(typing_extensions.TypedDict):
    city: str
    days: list[DayModel]


class DayStruct(msgspec.Struct):
    degrees: float
    when: date


class ForecastStruct(msgspec.Struct):
    city: str
    days: list[DayStruct]


@dataclasses.dataclass
class Cat:
    meows: bool


@dataclasses.dataclass
class Dog:
    barks: bool


class PlainClass:
    pass


DAY = date(2026, 5, 6)
EXPECTED = {
    ForecastModel: ForecastModel(city="Oslo", days=[DayModel(degrees=3.0, when=DAY)]),
    ForecastData: ForecastData("Oslo", [DayData(3.0, DAY)]),
    MixedData: MixedData("Oslo", [DayModel(degrees=3.0, when=DAY)]),
    PydanticData: PydanticData("Oslo", [DayModel(degrees=3.0, when=DAY)]),
    ForecastDict: {"city": "Oslo", "days": [{"degrees": 3.0, "when": DAY}]},
    ExtendedDict: {"city": "Oslo", "days": [DayModel(degrees=3.0, when=DAY)]},
    ForecastStruct: ForecastStruct("Oslo", [DayStruct(3.0, DAY)]),
    dict: VALUE,
    dict[str, Any]: VALUE,
    Any: VALUE,
}


@pytest.mark.parametrize(("target", "expected"), EXPECTED.items(), ids=lambda item: getattr(item, "__name__", None))
def test_each_kind_of_type_is_made(target, expected):
    result = AssistantMessage("a", structured_output=VALUE).structured(target)
    assert result == expected
    assert type(result) is type(expected)


@pytest.mark.parametrize("target", [kind for kind in EXPECTED if kind not in {dict, dict[str, Any], Any}], ids=lambda kind: kind.__name__)
def test_what_does_not_fit_is_an_error_that_says_where(target):
    message = AssistantMessage("a", structured_output={"city": "Oslo", "days": [{"degrees": "warm", "when": "2026-05-06"}]})
    with pytest.raises(InvalidStructuredOutputError, match=f"the structured output is no {target.__name__}") as caught:
        message.structured(target)
    assert "degrees" in str(caught.value)
    assert caught.value.argument == target.__name__
    assert isinstance(caught.value, ValueError)


def test_pydantic_rules_of_a_pydantic_dataclass_are_kept():
    with pytest.raises(InvalidStructuredOutputError, match="at least 2 characters"):
        convert({"city": "O", "days": []}, PydanticData)


def test_what_only_pydantic_can_describe_goes_to_pydantic():
    assert convert({"barks": True}, Cat | Dog) == Dog(barks=True)
    with pytest.raises(InvalidStructuredOutputError):
        convert({"moos": True}, Cat | Dog)


def test_a_type_that_no_json_converts_to_is_an_error():
    for value, target in (({}, PlainClass), ([{}], list[PlainClass]), ({}, Cat | PlainClass)):
        with pytest.raises(InvalidStructuredOutputError):
            convert(value, target)


def test_numbers_are_not_read_from_text():
    with pytest.raises(InvalidStructuredOutputError):
        convert({"degrees": "3", "when": "2026-05-06"}, DayStruct)


@pytest.mark.parametrize("value", [0, False, "", [], {}])
def test_what_is_empty_is_still_structured_output(value):
    message = AssistantMessage("a", structured_output=value)
    assert message.has_structured
    assert message.structured(type(value)) == value


def test_none_is_no_structured_output():
    with pytest.raises(NoStructuredOutputError, match="holds no structured output"):
        convert(None, dict)


def test_the_result_is_a_copy_free_to_change():
    frozen = freeze(VALUE)
    convert(frozen, dict)["days"].append(1)
    convert(frozen, ForecastDict)["days"].clear()
    assert frozen == VALUE
