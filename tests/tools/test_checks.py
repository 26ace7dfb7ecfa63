"""What people and outside programs give for a call, checked."""

from __future__ import annotations

import dataclasses
from collections.abc import AsyncIterator, Iterator
from typing import Annotated, Any, Literal

import pydantic
import pytest

from headrace.errors import UsageError
from headrace.messages.parts import MediaPart
from headrace.tools.checks import check_answer, check_arguments
from headrace.tools.context import Context
from headrace.tools.tool import Tool, tool


class Order(pydantic.BaseModel):
    id: int
    tags: list[str] = []


@dataclasses.dataclass
class Place:
    name: str


def odd(value):
    raise KeyError("odd")


def returning(annotation):
    def f(): ...

    f.__annotations__["return"] = annotation
    return Tool(name="f", function=f, external=True)


class TestArguments:
    def test_those_that_fit_pass_without_running_the_tool(self):
        ran = []

        @tool
        def f(city: str, context: Context):
            ran.append(city)

        assert check_arguments(f, {"city": "Bern"}) is None
        assert ran == []

    def test_those_that_do_not_are_listed(self):
        @tool
        def f(city: str, days: int = 1): ...

        with pytest.raises(UsageError) as caught:
            check_arguments(f, {"days": "soon", "when": 1})
        text = str(caught.value)
        assert text.startswith("f: The arguments do not fit:\n- city: is required")
        assert "- days: Input should be a valid integer" in text
        assert "- when: there is no such parameter; the parameters are: city, days" in text
        assert caught.value.argument == "arguments"

    def test_a_schema_by_hand_is_checked_as_far_as_what_it_requires(self):
        made = Tool(name="f", external=True, parameters={"required": ["a"]})
        check_arguments(made, {"a": object})
        with pytest.raises(UsageError, match="- a: is required"):
            check_arguments(made, {})

    def test_a_validator_that_raises_something_odd_is_the_callers_affair_too(self):
        @tool
        def f(a: Annotated[int, pydantic.AfterValidator(odd)]): ...

        with pytest.raises(UsageError, match="KeyError: 'odd'"):
            check_arguments(f, {"a": 1})


class TestAnswer:
    @pytest.mark.parametrize(
        ("annotation", "value"),
        [
            (str, "sunny"),
            (int, 3),
            (list[Order], [{"id": 1}, {"id": 2, "tags": ["a"]}]),
            ("Order", {"id": 1, "more": True}),
            (Place, {"name": "Bern"}),
            (str | None, None),
            (Annotated[int, pydantic.Field(ge=0)], 0),
            (Literal["yes", "no"], "no"),
        ],
    )
    def test_one_that_fits_comes_back_as_it_is(self, annotation, value):
        assert check_answer(returning(annotation), value) == value

    @pytest.mark.parametrize(
        ("annotation", "value", "line"),
        [
            (str, 3, "- answer: Input should be a valid string (got 3)"),
            (list[Order], [{"id": 1}, {"id": "x"}], "- [1].id: Input should be a valid integer"),
            ("Order", {}, "- id: is required, but missing"),
            (Place, {"name": 3}, "- name: Input should be a valid string (got 3)"),
            (int, None, "- answer: Input should be a valid integer (got None)"),
            (Annotated[int, pydantic.Field(ge=0)], -1, "- answer: Input should be greater than or equal to 0 (got -1)"),
        ],
    )
    def test_one_that_does_not_fit_is_refused_with_the_place(self, annotation, value, line):
        with pytest.raises(UsageError) as caught:
            check_answer(returning(annotation), value)
        assert str(caught.value).startswith("The answer does not fit what f returns:\n")
        assert line in str(caught.value)
        assert caught.value.argument == "answer"

    @pytest.mark.parametrize("annotation", [Any, None, Iterator[str], AsyncIterator[str], Iterator, MediaPart, "MediaPart | str"])
    def test_where_nothing_can_be_said_any_json_does(self, annotation):
        assert check_answer(returning(annotation), {"a": [1]}) == {"a": [1]}

    def test_without_a_function_or_an_annotation_or_a_signature_too(self):
        def f(): ...

        assert check_answer(Tool(name="f", external=True, parameters={}), 3) == 3
        assert check_answer(Tool.of(f), "x") == "x"
        assert check_answer(Tool(name="f", function=dict.fromkeys, parameters={}), "x") == "x"

    def test_what_an_async_function_returns_is_what_it_gives_in_the_end(self):
        async def f() -> int: ...

        assert check_answer(Tool.of(f), 3) == 3
        with pytest.raises(UsageError, match="valid integer"):
            check_answer(Tool.of(f), "x")

    def test_no_json_is_refused(self):
        with pytest.raises(UsageError, match="no JSON"):
            check_answer(returning(Any), {"a": object()})

    def test_an_annotation_that_cannot_be_read_is_said(self):
        with pytest.raises(UsageError, match="the annotation 'Nowhere' of what it returns cannot be read"):
            check_answer(returning("Nowhere"), 1)

    def test_a_validator_that_raises_something_odd_is_said(self):
        with pytest.raises(UsageError, match="KeyError: 'odd'"):
            check_answer(returning(Annotated[int, pydantic.AfterValidator(odd)]), 1)
