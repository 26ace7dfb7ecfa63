"""Merging of open values: what two pieces of a value mean together, decided by their types.

The rule of this file: a left fold, the same at every depth; nothing that goes in is changed or shared with what comes
out, but for models and other objects that stand alone, which are handed on. `merge_all` folds any number of values in linear time; `merge_values` is the fold of two.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from numbers import Number
from typing import Any, Final, cast

import msgspec

IDENTITY_FIELDS: Final = frozenset({"id", "type", "kind", "name", "index", "role"})
"""Fields of models and structs that name a thing: first non-empty, never joined."""


def merge_values(left: Any, right: Any) -> Any:
    """Return what two values mean together.

    None gives the other; texts and lists are joined; mappings merge by key; two models, dataclasses or structs of one class
    merge field by field, where `IDENTITY_FIELDS` are not joined but the first non-empty; two values of one class that can be
    added (not numbers) are added, and an exception there gives the right one; anything else gives the right one.
    """
    return merge_all((left, right))


def merge_all(values: Iterable[Any]) -> Any:
    """Return the left fold of `merge_values`; an empty iterable gives None."""
    run: list[Any] = []
    kind: object = None
    for value in values:
        if value is None:
            continue
        kind_of_value = _kind(value)
        if not run or kind_of_value != kind:
            run, kind = [value], kind_of_value
        elif kind_of_value is str or kind_of_value is list or kind_of_value is dict:
            run.append(value)
        else:
            run = [_merge_same(run[0], value)]
    if not run:
        return None
    if kind is str:
        return "".join(run)
    if kind is list:
        return [_copy(item) for values in run for item in values]
    if kind is dict:
        return _merge_mappings(run)
    return _copy(run[0])


def as_json(value: Any) -> Any:
    """Return a value with the models, structs, dataclasses and times in it written as JSON; what cannot be stays as it is."""
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    try:
        return msgspec.to_builtins(value, str_keys=True, enc_hook=_pydantic_as_json)
    except (TypeError, ValueError, RecursionError):
        return value


def _pydantic_as_json(value: Any) -> Any:
    if _field_names(value) is None:
        raise TypeError(type(value).__name__)
    return value.model_dump(mode="json")


def _kind(value: object) -> object:
    if isinstance(value, str):
        return str
    if isinstance(value, list):
        return list
    if isinstance(value, Mapping):
        return dict
    return type(value)


def _merge_mappings(mappings: list[Mapping[Any, Any]]) -> dict[Any, Any]:
    by_key: dict[Any, list[Any]] = {}
    for mapping in mappings:
        for key, value in mapping.items():
            by_key.setdefault(key, []).append(value)
    return {key: merge_all(values) for key, values in by_key.items()}


def _merge_same(left: Any, right: Any) -> Any:
    if isinstance(left, Number):
        return right
    kind: type[Any] = type(left)  # pyright: ignore[reportUnknownVariableType]
    if hasattr(kind, "__add__"):
        try:
            total = left + right
        except Exception:  # noqa: BLE001 - a stranger's __add__ may raise anything; then the right value stands
            return right
        return right if total is NotImplemented else total
    mine, theirs = _field_names(left), _field_names(right)
    if mine is None or theirs is None:
        return right
    try:
        names = dict.fromkeys((*mine, *theirs))
        fields = {name: _merge_field(name, getattr(left, name, None), getattr(right, name, None)) for name in names}
        return _rebuild(left, fields)
    except Exception:  # noqa: BLE001 - a stranger's validation may raise anything; then the right value stands
        return right


def _merge_field(name: str, left: Any, right: Any) -> Any:
    if name in IDENTITY_FIELDS:
        return left if left is not None and left != "" else right
    return merge_all((left, right))


def _field_names(value: Any) -> tuple[str, ...] | None:
    if isinstance(value, msgspec.Struct):
        return value.__struct_fields__
    if dataclasses.is_dataclass(value):
        return tuple(field.name for field in dataclasses.fields(value) if field.init)
    kind: type[Any] = type(value)  # pyright: ignore[reportUnknownVariableType]
    fields = getattr(kind, "model_fields", None)  # pydantic, without importing it
    if not isinstance(fields, Mapping):
        return None
    return (*cast("Mapping[str, Any]", fields), *(getattr(value, "model_extra", None) or ()))


def _rebuild(left: Any, fields: dict[str, Any]) -> Any:
    if isinstance(left, msgspec.Struct):
        return msgspec.structs.replace(left, **fields)
    if dataclasses.is_dataclass(left):
        return dataclasses.replace(cast("Any", left), **fields)
    return left.model_copy(update=fields)


def _copy(value: Any) -> Any:
    """Copy plain containers, so that a change to what comes out cannot reach what went in."""
    if isinstance(value, Mapping):
        return {key: _copy(item) for key, item in value.items()}  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, list):
        return [_copy(item) for item in value]  # pyright: ignore[reportUnknownVariableType]
    return value
