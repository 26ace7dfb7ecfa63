"""Structured output as the type that the caller asks for."""

from __future__ import annotations

from typing import Any, TypeVar, cast

import msgspec

from headrace._json import JSON, thaw
from headrace.errors import InvalidStructuredOutputError, NoStructuredOutputError

T = TypeVar("T")


def convert(value: JSON, target: type[T], *, is_there: bool = False) -> T:
    """Return a JSON value as a type, in a copy: a pydantic model, dataclass, TypedDict, msgspec Struct, dict, list[…] and so on.

    Pydantic validates its own models and dataclasses, also where they lie inside other types; msgspec does the rest, strictly:
    `"5"` is no number. What msgspec cannot describe (a union of two dataclasses) goes to pydantic as a whole.

    Raises:
        NoStructuredOutputError: the value is None, and not said to be there as null.
        InvalidStructuredOutputError: it does not convert; the error says where.
    """
    if value is None and not is_there:
        raise NoStructuredOutputError("this message holds no structured output")
    plain = thaw(value)
    try:
        if _validator(target) is not None:
            return cast("T", _by_pydantic(target, plain))
        try:
            return msgspec.convert(plain, type=target, dec_hook=_by_pydantic)
        except TypeError:
            return _by_adapter(target, plain)
    except (ValueError, TypeError) as error:  # the validation errors of msgspec and of pydantic are ValueErrors
        name = getattr(target, "__name__", str(target))
        raise InvalidStructuredOutputError(f"the structured output is no {name}: {error}", argument=name) from error


def _validator(target: object) -> Any:
    return getattr(target, "__pydantic_validator__", None)


def _by_pydantic(target: type[Any], value: Any) -> Any:
    validator = _validator(target)
    if validator is None:
        raise TypeError(f"{target.__name__} is no type that JSON converts to")
    return validator.validate_python(value)


def _by_adapter(target: type[T], value: JSON) -> T:
    # pydantic costs half of the import budget and is needed only here, so it loads when a caller asks for such a type.
    from pydantic import TypeAdapter  # noqa: PLC0415
    from pydantic.errors import PydanticUserError  # noqa: PLC0415

    try:
        return TypeAdapter(target).validate_python(value)
    except PydanticUserError as error:
        raise TypeError(str(error)) from error
