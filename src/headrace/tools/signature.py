"""A function's parameters, read without pydantic: which ones the model fills in, and which the context.

The rule of this file: what no model can fill in (positional-only parameters, `*args`, `**kwargs`) is refused when the
tool is made; annotations, which may name what is defined later, are read at first need.
"""

from __future__ import annotations

import functools
import inspect
import types
import typing
from collections.abc import Callable
from inspect import Parameter
from typing import Annotated, Any, Final, TypeAlias, Union, cast, get_args, get_origin

from headrace.errors import UsageError
from headrace.tools.context import Context

Function: TypeAlias = Callable[..., Any]

_RECEIVERS: Final = ("self", "cls")
_REFUSED: Final = {
    Parameter.POSITIONAL_ONLY: "is positional-only; models name their arguments",
    Parameter.VAR_POSITIONAL: "takes any number of values; give it a name and a list type instead",
    Parameter.VAR_KEYWORD: "takes any name; name the parameters, or take one dictionary",
}


def bare(function: Function) -> Function:
    """Return the function below partials and callable objects: the one with a name, a docstring and annotations."""
    while isinstance(function, functools.partial):
        function = function.func  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    if not inspect.isroutine(function) and not inspect.isclass(function):
        function = type(function).__call__
    return cast("Function", inspect.unwrap(function))


def name_of(function: Function) -> str:
    """Return the name that a function goes by; for a callable object, its class's."""
    while isinstance(function, functools.partial):
        function = function.func  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    return str(getattr(function, "__name__", type(function).__name__))


def docstring_of(function: Function) -> str:
    """Return a function's docstring, its indentation removed; a callable object may have it at its class."""
    while isinstance(function, functools.partial):
        function = function.func  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    if inspect.isroutine(function):
        return inspect.getdoc(function) or ""
    return inspect.cleandoc(type(function).__call__.__doc__ or type(function).__doc__ or "")


def is_async(function: Function) -> bool:
    """Return whether calling a function gives a coroutine or an async generator, as far as it can be known before."""
    while isinstance(function, functools.partial):
        function = function.func  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    if not inspect.isroutine(function):
        function = type(function).__call__
    return inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function)


def is_method(function: Function) -> bool:
    """Return whether a function still waits for its `self`, as it does in the body of a class."""
    if not inspect.isfunction(function):
        return False
    try:
        first = next(iter(inspect.signature(function).parameters.values()), None)
    except NameError:  # see parameters_of, which says so
        return False
    return first is not None and first.name in _RECEIVERS and first.annotation is Parameter.empty


def parameters_of(function: Function, tool_name: str) -> dict[str, Parameter]:
    """Return the parameters that a call fills in, by name, without `self` and what a partial has filled in.

    Raises:
        UsageError: the signature cannot be read, or a parameter cannot be filled in by name; the error names it.
    """
    try:
        signature = inspect.signature(function)
    except (ValueError, TypeError, NameError) as error:  # NameError: from Python 3.14 on, annotations are worked out here
        message = (
            f"tool {tool_name}: the signature of {function!r} cannot be read ({error}); wrap it in a function that says its parameters"
        )
        raise UsageError(message, argument="function") from error
    parameters = dict(signature.parameters)
    if is_method(function):
        del parameters[next(iter(parameters))]
    for name in _filled_in(function):
        parameters.pop(name, None)
    for name, parameter in parameters.items():
        if parameter.kind in _REFUSED:
            raise UsageError(f"tool {tool_name}: parameter {parameter} {_REFUSED[parameter.kind]}", argument=name)
    return parameters


def _filled_in(function: Function) -> set[str]:
    """Return what partials have filled in by name: to Python only a default, but its author has decided it (it may be a key)."""
    names: set[str] = set()
    while isinstance(function, functools.partial):
        names |= set(function.keywords)  # pyright: ignore[reportUnknownMemberType]
        function = function.func  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    return names


def annotation_of(function: Function, parameter: Parameter, tool_name: str) -> Any:
    """Return a parameter's annotation, `Annotated` kept, names in text resolved; `Any` if there is none.

    Raises:
        UsageError: a name in it means nothing where the function was defined; the error names the parameter.
    """
    annotation = parameter.annotation
    if annotation is Parameter.empty:
        return Any
    return _resolved(function, annotation, f"tool {tool_name}: the annotation {annotation!r} of parameter {parameter.name}", parameter.name)


def return_annotation_of(function: Function, tool_name: str) -> Any:
    """Return what a function says that it returns, names in text resolved; `Any` if it does not say or has no signature.

    Raises:
        UsageError: a name in it means nothing where the function was defined.
    """
    try:
        annotation: Any = inspect.signature(function).return_annotation
    except (ValueError, TypeError):  # some of Python's own functions
        return Any
    if annotation is inspect.Signature.empty:
        return Any
    return _resolved(function, annotation, f"tool {tool_name}: the annotation {annotation!r} of what it returns", "return")


def _resolved(function: Function, annotation: Any, what: str, name: str) -> Any:
    names = getattr(bare(function), "__globals__", {})
    try:
        return typing.get_type_hints(_Annotated({name: annotation}), names, None, include_extras=True)[name]
    except Exception as error:  # an annotation is a stranger's code: what it raises is anything
        help_ = "what annotations name must exist at run time, at the top of the module (not in a function, not under TYPE_CHECKING)"
        raise UsageError(f"{what} cannot be read ({error}); {help_}", argument=name) from error


class _Annotated:
    """Something with annotations, as `typing.get_type_hints` wants it: one alone, so that an error can name it."""

    def __init__(self, annotations: dict[str, Any]) -> None:
        self.__annotations__ = annotations


def is_context(annotation: Any) -> bool:
    """Return whether an annotation asks for the context: `Context`, `Context[Deps]`, also optional or annotated."""
    origin = get_origin(annotation)
    if origin is Annotated or origin is Union or origin is types.UnionType:
        return any(is_context(inner) for inner in get_args(annotation))
    return annotation is Context or origin is Context
