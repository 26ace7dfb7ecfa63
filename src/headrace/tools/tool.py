"""Tools: functions that a model may call, as values.

The rule of this file: making a tool reads no annotations and loads no pydantic; `description`, `parameters` and `spec`
are worked out at first need and kept. A tool never changes after it is made.
"""

from __future__ import annotations

import inspect
import re
import types
from collections.abc import Callable, Collection, Mapping
from typing import Any, Final, Generic, NoReturn, ParamSpec, TypeVar, cast, overload

from headrace._json import JSON, FrozenDict, freeze, thaw
from headrace.errors import UsageError
from headrace.messages.request import ToolSpec
from headrace.tools import docstring
from headrace.tools.context import Context
from headrace.tools.options import DEFAULT_MAX_OUTPUT_BYTES, Check, ToolOptions, changed
from headrace.tools.schema import Arguments, check_required
from headrace.tools.signature import Function, annotation_of, docstring_of, is_async, is_context, is_method, name_of, parameters_of
from headrace.tools.template import names_in

P = ParamSpec("P")
R = TypeVar("R")
Q = ParamSpec("Q")
S = TypeVar("S")

_NAME: Final = re.compile(r"[a-zA-Z0-9_-]{1,64}")


class Tool(Generic[P, R]):
    """A function that a model may call. It still is that function: calling the tool calls it.

    Made by `@tool` or `Tool.of` from a function; or by hand with `parameters=`, a JSON Schema (arguments are then
    checked only as far as its `required`), and with or, if `external`, without a function. Two tools are equal if they
    were made alike.

    Attributes are read-only; `replace` makes a changed copy.
    """

    __slots__ = (
        *("_name", "_description", "_parameters", "_function", "_options", "_receives"),  # as it was made
        *("_arguments", "_context_names", "_is_async", "_spec", "__weakref__"),  # worked out at first need
    )

    def __init__(
        self,
        *,
        name: str | None = None,
        description: str | None = None,
        parameters: Mapping[str, JSON] | None = None,
        function: Callable[P, R] | None = None,
        options: ToolOptions | None = None,
        **option_fields: Any,
    ) -> None:
        """Make a tool; options may stand beside the other arguments, as with `@tool`.

        Raises:
            UsageError: a name that providers refuse, a parameter that no model can fill in, options that contradict
                each other, neither function nor schema; the error names the argument.
        """
        self._name = _checked_name(name, function)
        self._options = changed(options or ToolOptions(), option_fields)
        self._function = function
        self._description = description
        self._parameters: dict[str, Any] | None = None
        self._arguments: Arguments | None = None
        self._context_names: tuple[str, ...] | None = None
        self._spec: ToolSpec | None = None
        self._is_async = function is not None and is_async(function)
        if function is None and not self._options.external:
            raise UsageError(f"tool {self._name} has no function; only an external tool goes without", argument="function")
        if function is None and parameters is None:
            raise UsageError(f"tool {self._name} has neither function nor parameters: give a JSON Schema", argument="parameters")
        if function is not None and (not callable(function) or inspect.isclass(function)):
            what = function.__name__ if inspect.isclass(function) else type(function).__name__
            raise UsageError(f"tool {self._name}: {what} is no function (for a class, give an instance or a method)", argument="function")
        self._receives = function is not None and is_method(function)
        if parameters is not None:
            self._parameters = _checked_schema(parameters, self._name)
            names = self._parameters["properties"]
        else:
            assert function is not None
            names = parameters_of(function, self._name)
        _check_resource(self._options.resource, names, self._name)

    @staticmethod
    def of(function: Callable[Q, S]) -> Tool[Q, S]:
        """Return a tool as it is, and a function as a tool with its own name, docstring and signature.

        Raises:
            UsageError: it is neither, or a method without its object, or the function does not do for a tool.
        """
        inner: Any = function.__func__ if isinstance(function, types.MethodType) else None
        if isinstance(inner, Tool):  # a classmethod above @tool, from Python 3.13 on
            return cast("Tool[Q, S]", inner.__get__(cast("types.MethodType", function).__self__))
        made: Tool[Q, S] = cast("Tool[Q, S]", function) if isinstance(function, Tool) else Tool(function=function)
        if made._receives:
            raise UsageError(f"tool {made.name} is a method without its object: take it from an instance", argument="function")
        return made

    @property
    def name(self) -> str:
        """The name by which the model calls it."""
        return self._name

    @property
    def description(self) -> str:
        """What it does, for the model: as given, else from the docstring."""
        if self._description is not None:
            return self._description
        if self._parameters is None:
            return self._compiled().description
        return "" if self._function is None else docstring.read(docstring_of(self._function)).description

    @property
    def parameters(self) -> dict[str, Any]:
        """The JSON Schema of its arguments, frozen."""
        return self.spec.parameters

    @property
    def spec(self) -> ToolSpec:
        """The tool as requests carry it."""
        if self._spec is None:
            schema = self._compiled().schema if self._parameters is None else self._parameters
            self._spec = ToolSpec(name=self.name, description=self.description, parameters=schema, is_strict=self._options.strict)
        return self._spec

    @property
    def options(self) -> ToolOptions:
        """How it is run."""
        return self._options

    @property
    def function(self) -> Callable[P, R] | None:
        """What runs, or None for an external tool without one."""
        return self._function

    @property
    def is_async(self) -> bool:
        """Whether calling the function gives a coroutine or an async generator, as far as it can be known before."""
        return self._is_async

    def keywords(self, arguments: Mapping[str, JSON], context: Context[Any]) -> dict[str, Any]:
        """Return what the function is called with: the arguments, checked and converted, and the context where it is asked for.

        Raises:
            ArgumentsError: the arguments do not fit; the error lists what is wrong and where.
            UsageError: the function's annotations do not do for a tool.
        """
        if self._parameters is None:
            compiled = self._compiled()
            return compiled.validate(arguments) | dict.fromkeys(compiled.context_names, context)
        check_required(arguments, self._parameters)
        return {name: thaw(value) for name, value in arguments.items()} | dict.fromkeys(self._contexts(), context)

    def replace(self, **changes: Any) -> Tool[P, R]:
        """Return a copy with another name, description, parameters, function or options."""
        made: dict[str, Any] = {
            "name": self._name,
            "description": self._description,
            "parameters": self._parameters,
            "function": self._function,
            "options": self._options,
        }
        return Tool(**(made | changes))

    def _compiled(self) -> Arguments:
        if self._arguments is None:
            assert self._function is not None
            self._arguments = Arguments(self._function, self._name)
        return self._arguments

    def _contexts(self) -> tuple[str, ...]:
        """Return the parameters that take the context, of a function beside a schema made by hand: anything else is its own affair."""
        if self._context_names is None:
            function, found = self._function, list[str]()
            for name, parameter in inspect.signature(function).parameters.items() if function is not None else ():
                is_annotated = parameter.annotation is not parameter.empty
                if is_annotated and is_context(annotation_of(cast("Function", function), parameter, self._name)):
                    found.append(name)
            self._context_names = tuple(found)
        return self._context_names

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the function, without checks and without a run."""
        if self._function is None:
            raise UsageError(f"tool {self._name} is external and has no function to call", argument="function")
        return self._function(*args, **kwargs)

    def __get__(self, instance: object, owner: type | None = None) -> Tool[..., R]:
        """Bind a tool that was made in the body of a class to an instance, as a method is bound."""
        if instance is None or not self._receives:
            return self
        return self.replace(function=types.MethodType(cast("Any", self._function), instance))

    @property
    def __wrapped__(self) -> Callable[P, R] | None:
        return self._function

    @property
    def __name__(self) -> str:
        return self._name

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tool):
            return NotImplemented
        return self._identity() == cast("Tool[..., Any]", other)._identity()

    def __hash__(self) -> int:
        return hash((self._name, self._function))

    def _identity(self) -> tuple[object, ...]:
        return (self._name, self._description, self._parameters, self._function, self._options)

    def __repr__(self) -> str:
        return f"<tool {self._name}>"


def _checked_name(name: object, function: Any) -> str:
    if name is None:
        if function is None:
            raise UsageError("a tool without a function needs name=…", argument="name")
        name = name_of(function)
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        help_ = "a tool's name has 1 to 64 letters, digits, _ or - (ASCII), since providers refuse others: give name=…"
        raise UsageError(f"{name!r} is no name for a tool; {help_}", argument="name")
    return name


def _checked_schema(parameters: object, tool_name: str) -> dict[str, Any]:
    schema: JSON = freeze(parameters, "parameters")
    if not isinstance(schema, dict) or schema.get("type", "object") != "object":  # pyright: ignore[reportUnknownMemberType]
        raise UsageError(f"tool {tool_name}: parameters must be the JSON Schema of an object", argument="parameters")
    return FrozenDict({"type": "object", "properties": FrozenDict()} | cast("dict[str, Any]", schema))


def _check_resource(resource: object, names: Collection[str], tool_name: str) -> None:
    """Refuse a name that no call can fill in: a slip of the pen, and calls would not keep their order."""
    for name in names_in(resource) if isinstance(resource, str) else ():
        if name not in names:
            listed = ", ".join(names) or "none"
            raise UsageError(
                f"tool {tool_name}: resource {resource!r} names no parameter {name!r}; there are: {listed}", argument="resource"
            )


@overload
def tool(function: Callable[P, R], /) -> Tool[P, R]: ...
@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    needs_approval: bool | Callable[[Mapping[str, Any]], bool] = False,
    external: bool = False,
    idempotent: bool = False,
    timeout_s: float | None = None,
    parallel: bool = True,
    max_output_bytes: int = DEFAULT_MAX_OUTPUT_BYTES,
    retries: int = 0,
    strict: bool | None = None,
    read_only: bool = False,
    edits: bool = False,
    check: Callable[[Mapping[str, Any]], Check | None] | None = None,
    resource: str | Callable[[Mapping[str, Any]], str | None] | None = None,
    group: str | None = None,
) -> Callable[[Callable[P, R]], Tool[P, R]]: ...
def tool(function: Any = None, /, *, name: str | None = None, description: str | None = None, **options: Any) -> Any:
    """Make a tool of a function: its name, its docstring, its signature, and the options of `ToolOptions`.

        @tool
        def add(a: float, b: float) -> float:
            '''Add two numbers.'''
            return a + b

        @tool(needs_approval=True, timeout_s=30)
        async def send(to: str, text: str) -> str: ...

    Sync and async functions, methods, callable objects, partials, and generators (of both kinds) whose pieces are output.

    Raises:
        UsageError: the function does not do for a tool; see `Tool`.
    """

    def make(function: Any) -> Tool[..., Any]:
        if isinstance(function, Tool):
            return _again(cast("Tool[..., Any]", function), name, description, options)
        if isinstance(function, classmethod):
            raise UsageError("put @classmethod above @tool, not below", argument="function")
        if isinstance(function, staticmethod):
            function = function.__func__  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
        return Tool(name=name, description=description, function=cast("Function", function), **options)

    if function is None:
        changed(ToolOptions(), options)  # wrong options are told where they stand, before a function comes
        return make
    if isinstance(function, str):
        _refuse_text(function)
    return make(function)


def _again(made: Tool[..., Any], name: str | None, description: str | None, options: dict[str, Any]) -> Tool[..., Any]:
    changes: dict[str, Any] = options | {key: value for key, value in (("name", name), ("description", description)) if value is not None}
    return made.replace(**changes)


def _refuse_text(text: str) -> NoReturn:
    raise UsageError(f"@tool takes a name by keyword: @tool(name={text!r})", argument="name")
