"""Structured output as the type that the caller asks for."""

from __future__ import annotations

import dataclasses
from typing import Any, TypeVar, cast

import msgspec

from headrace._json import JSON, thaw
from headrace.errors import InvalidStructuredOutputError, NoStructuredOutputError

T = TypeVar("T")


def convert(value: JSON, target: type[T]) -> T:
    """Return a JSON value as a type: a pydantic model, dataclass, TypedDict, msgspec Struct, or a plain type such as dict.

    Raises:
        NoStructuredOutputError: the value is None.
        InvalidStructuredOutputError: it does not convert; the error says where.
    """
    if value is None:
        raise NoStructuredOutputError("this message holds no structured output")
    plain = thaw(value)
    try:
        if hasattr(target, "model_validate"):
            return cast("T", cast("Any", target).model_validate(plain))
        if dataclasses.is_dataclass(target) or _is_typed_dict(target):
            return _by_pydantic(plain, target)
        return msgspec.convert(plain, type=target)
    except (ValueError, TypeError) as error:  # msgspec's and pydantic's errors are ValueErrors
        name = getattr(target, "__name__", str(target))
        raise InvalidStructuredOutputError(f"the structured output is no {name}: {error}", argument=name) from error


def _is_typed_dict(target: type[Any]) -> bool:
    return isinstance(target, type) and issubclass(target, dict) and hasattr(target, "__total__")  # pyright: ignore[reportUnnecessaryIsInstance]


def _by_pydantic(value: JSON, target: type[T]) -> T:
    # pydantic costs half of the import budget and is needed only here, so it loads when a caller asks for such a type.
    from pydantic import TypeAdapter  # noqa: PLC0415

    return TypeAdapter(target).validate_python(value)
