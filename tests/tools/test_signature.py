"""What can be known of a function before its annotations are read."""

from __future__ import annotations

import functools
from typing import Annotated, Any, Optional

import pytest

from headrace.errors import UsageError
from headrace.tools.context import Context
from headrace.tools.signature import docstring_of, is_async, is_context, is_method, name_of, parameters_of


def sync(a):
    """Do."""


async def not_sync(a): ...


async def generator():
    yield 1


class Base:
    def method(self):
        """Inherited."""

    async def other(self): ...


class Callable(Base):
    """Class."""

    def method(self): ...

    async def __call__(self, a): ...


class Documented:
    """Class."""

    def __call__(self):
        """Call."""


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        *[(function, False) for function in (sync, min, Base().method, Documented(), functools.partial(sync, 1), lambda: not_sync(1))],
        *[(function, True) for function in (not_sync, generator, Base().other, Callable(), functools.partial(not_sync, 1))],
        (functools.partial(functools.partial(Callable(), 1), 2), True),
    ],
)
def test_whether_it_is_async(function, expected):
    assert is_async(function) is expected


def test_its_name():
    assert [name_of(one) for one in (sync, Base().method, Callable(), functools.partial(sync, 1))] == ["sync", "method", "Callable", "sync"]


def test_its_docstring():
    functions = (sync, not_sync, Callable().method, Callable(), Documented(), functools.partial(sync, 1))
    assert [docstring_of(one) for one in functions] == ["Do.", "", "Inherited.", "Class.", "Call.", "Do."]


def test_a_signature_that_names_what_is_not_defined_is_said(monkeypatch):
    def odd(): ...

    def signature(function):
        raise NameError("name 'X' is not defined")  # as Python 3.14 does, which works out annotations here

    monkeypatch.setattr("inspect.signature", signature)
    assert not is_method(odd)
    with pytest.raises(UsageError, match=r"signature of .*odd.* cannot be read \(name 'X' is not defined\)"):
        parameters_of(odd, "t")


def test_whether_it_still_waits_for_its_object():
    assert is_method(Base.method)
    assert not any(is_method(one) for one in (Base().method, sync, generator, min, Callable(), lambda self_: 1))


@pytest.mark.parametrize(
    ("annotation", "expected"),
    [
        *[(one, True) for one in (Context, Context[int], Context | None, Optional[Context[str]], Annotated[Context, "x"])],  # noqa: UP045
        *[(one, False) for one in (int, Any, list[Context], int | None, "Context")],
    ],
)
def test_whether_an_annotation_asks_for_the_context(annotation, expected):
    assert is_context(annotation) is expected
