"""Tools as values: made from functions of every kind, or by hand."""

from __future__ import annotations

import functools
import inspect
import subprocess
import sys
import types

import pytest

from headrace.errors import ArgumentsError, UsageError
from headrace.messages.request import ToolSpec
from headrace.tools.context import Context
from headrace.tools.options import ToolOptions
from headrace.tools.tool import Tool, tool

A = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": False}


def double(a: int) -> int:
    """Double a number."""
    return a * 2


class Shop:
    def __init__(self, factor=3):
        self.factor = factor

    @tool(idempotent=True)
    def price(self, a: int) -> int:
        """Say a price."""
        return a * self.factor

    def plain(self, a: int) -> int:
        return a * self.factor

    @classmethod
    @tool
    def of_class(cls, a: int) -> str:
        return f"{cls.__name__}{a}"

    @staticmethod
    @tool
    def static_above(a: int) -> int:
        return a

    @tool
    @staticmethod
    def static_below(a: int) -> int:
        return a

    borrowed = tool(double)


class Triple:
    """Triple a number."""

    def __call__(self, a: int) -> int:
        return a * 3


class TestMaking:
    def test_a_plain_function_becomes_a_tool_with_its_own_name_and_docstring(self):
        made = Tool.of(double)
        assert (made.name, made.description, made.parameters) == ("double", "Double a number.", A)
        assert made.spec == ToolSpec(name="double", description="Double a number.", parameters=A)
        assert made.options == ToolOptions()

    def test_a_tool_is_taken_as_it_is(self):
        made = tool(double)
        assert Tool.of(made) is made

    def test_the_decorated_function_still_can_be_called(self):
        @tool
        def add(a: int, b: int = 1) -> int:
            return a + b

        assert isinstance(add, Tool)
        assert add(2, b=3) == 5
        assert list(inspect.signature(add).parameters) == ["a", "b"]

    def test_name_description_and_options_can_be_given(self):
        made = tool(name="two-x", description="Twice.", needs_approval=True, timeout_s=2, max_output_bytes=9, strict=True)(double)
        assert (made.name, made.description) == ("two-x", "Twice.")
        assert made.options == ToolOptions(needs_approval=True, timeout_s=2, max_output_bytes=9, strict=True)
        assert made.spec.is_strict is True

    def test_a_tool_can_be_decorated_again(self):
        made = tool(name="other", idempotent=True)(tool(needs_approval=True)(double))
        assert (made.name, made.options) == ("other", ToolOptions(idempotent=True, needs_approval=True))

    def test_by_hand_with_a_schema(self):
        made = Tool(name="f", description="Does.", parameters={"properties": {"a": {}}, "required": ["a"]}, function=lambda **given: given)
        assert made.parameters == {"type": "object", "properties": {"a": {}}, "required": ["a"]}
        assert made.keywords({"a": 1, "b": [2]}, Context(deps=None)) == {"a": 1, "b": [2]}
        with pytest.raises(ArgumentsError, match="- a: is required"):
            made.keywords({"b": 1}, Context(deps=None))

    def test_by_hand_the_context_is_injected_too(self):
        def run(context: Context[int], **given): ...

        context = Context(deps=1)
        assert Tool(name="f", parameters={}, function=run).keywords({"a": 1}, context) == {"a": 1, "context": context}
        made = Tool(name="f", parameters={}, function=run)
        assert made.keywords({}, context) == made.keywords({}, context) == {"context": context}

    def test_by_hand_without_a_description_the_docstring_serves(self):
        assert Tool(parameters={}, function=double).description == "Double a number."
        assert Tool(name="f", parameters={}, external=True).description == ""

    def test_an_external_tool_needs_no_function_but_then_cannot_be_called(self):
        made = Tool(name="ask", parameters={"type": "object"}, external=True)
        assert made.function is None
        assert made.spec == ToolSpec(name="ask", parameters={"type": "object", "properties": {}})
        with pytest.raises(UsageError, match="external"):
            made()


class TestCallables:
    def test_a_method_is_bound_when_it_is_taken_from_an_instance(self):
        price = Shop(4).price
        assert (price.name, price.parameters, price.options.idempotent) == ("price", A, True)
        assert price(2) == 8
        assert price.keywords({"a": 2}, Context(deps=None)) == {"a": 2}

    def test_a_method_without_its_object_is_refused(self):
        with pytest.raises(UsageError, match="price is a method without its object"):
            Tool.of(Shop.price)
        with pytest.raises(UsageError, match="plain is a method without its object"):
            Tool.of(Shop.plain)

    def test_a_plain_method_does_as_well(self):
        made = Tool.of(Shop(5).plain)
        assert (made.name, made.parameters, made(2)) == ("plain", A, 10)

    def test_class_methods_and_static_methods(self):
        assert Tool.of(Shop.of_class)(1) == "Shop1"
        assert Tool.of(Shop.of_class).parameters == A
        for made in (Shop.static_above, Shop().static_above, Shop.static_below, Shop().static_below):
            assert (Tool.of(made)(1), Tool.of(made).parameters) == (1, A)

    def test_a_method_object_around_a_tool_is_bound_too(self):
        # This is what a classmethod above a tool gives from Python 3.13 on.
        made = Tool.of(types.MethodType(Shop.price, Shop(4)))
        assert (made(2), made.parameters) == (8, A)

    def test_a_classmethod_below_is_refused_with_a_hint(self):
        with pytest.raises(UsageError, match="@classmethod above"):
            tool(classmethod(lambda cls: None))

    def test_a_tool_as_a_class_attribute_is_not_bound(self):
        assert Shop().borrowed(2) == 4

    def test_a_callable_object(self):
        made = Tool.of(Triple())
        assert (made.name, made.description, made.parameters, made(2)) == ("Triple", "Triple a number.", A, 6)

    def test_a_partial_hides_what_it_has_filled_in(self):
        def search(key: str, query: str, *, limit: int = 10):
            """Search."""

        made = Tool.of(functools.partial(search, "secret", limit=3))
        assert (made.name, made.description, list(made.parameters["properties"])) == ("search", "Search.", ["query"])
        assert "secret" not in str(made.spec)
        made = Tool.of(functools.partial(functools.partial(search, key="secret"), limit=3))
        assert list(made.parameters["properties"]) == ["query"]

    def test_a_wrapped_function_keeps_its_signature(self):
        @functools.wraps(double)
        def wrapper(*args, **kwargs):
            return double(*args, **kwargs) + 1

        made = Tool.of(wrapper)
        assert (made.name, made.parameters, made(a=1)) == ("double", A, 3)


class TestRefused:
    @pytest.mark.parametrize("name", ["", "a b", "ä", "x" * 65, "a.b", "a\n", 3])
    def test_names_that_providers_refuse(self, name):
        with pytest.raises(UsageError, match="no name for a tool") as caught:
            Tool(name=name, function=double)
        assert caught.value.argument == "name"

    def test_a_lambda_needs_a_name(self):
        with pytest.raises(UsageError, match="give name="):
            tool(lambda a: a)
        assert Tool(name="f", function=lambda a: a).name == "f"

    @pytest.mark.parametrize(
        ("function", "parameter", "why"),
        [
            (lambda a, /: a, "a", "positional-only"),
            (lambda *many: many, "many", "any number of values"),
            (lambda **named: named, "named", "takes any name"),
        ],
    )
    def test_parameters_that_no_model_can_fill_in(self, function, parameter, why):
        with pytest.raises(UsageError, match=why) as caught:
            Tool(name="f", function=function)
        assert caught.value.argument == parameter

    @pytest.mark.parametrize("thing", [3, "text", None, Triple, dict])
    def test_what_is_no_function(self, thing):
        with pytest.raises(UsageError):
            Tool.of(thing)

    def test_a_function_whose_signature_python_does_not_know(self):
        with pytest.raises(UsageError, match="signature"):
            Tool.of(min)

    def test_a_name_in_the_place_of_the_function(self):
        with pytest.raises(UsageError, match=r"@tool\(name='search'\)"):
            tool("search")

    @pytest.mark.parametrize("schema", [[], "x", {"type": "array"}])
    def test_a_schema_of_something_else_than_an_object(self, schema):
        with pytest.raises(UsageError, match="JSON Schema of an object"):
            Tool(name="f", parameters=schema, function=double)

    def test_a_thing_that_cannot_be_called(self):
        with pytest.raises(UsageError, match="int is no function") as caught:
            Tool(name="f", parameters={}, function=3)
        assert caught.value.argument == "function"

    def test_neither_function_nor_schema(self):
        with pytest.raises(UsageError, match="has no function"):
            Tool(name="f", parameters={})
        with pytest.raises(UsageError, match="neither function nor parameters"):
            Tool(name="f", external=True)
        with pytest.raises(UsageError, match="needs name"):
            Tool(parameters={}, external=True)


class TestValue:
    def test_it_cannot_be_changed(self):
        made = tool(double)
        for name in ("name", "description", "parameters", "spec", "options", "function", "anything"):
            with pytest.raises(AttributeError):
                setattr(made, name, 1)
        with pytest.raises(TypeError):
            made.parameters["x"] = 1

    def test_two_that_are_made_alike_are_equal(self):
        assert tool(double) == Tool.of(double)
        assert hash(tool(double)) == hash(Tool.of(double))
        assert tool(double) != tool(name="other")(double)
        assert tool(double) != tool(idempotent=True)(double)
        assert tool(double) != double
        assert tool(double) != 3
        shop = Shop()
        assert shop.price == shop.price

    def test_replace_makes_a_changed_copy(self):
        made = tool(double)
        assert made.replace(name="f", retries=1, idempotent=True).options == ToolOptions(retries=1, idempotent=True)
        assert made.replace(name="f").parameters == A
        assert made.name == "double"

    def test_the_schema_is_worked_out_once(self):
        made = tool(double)
        assert made.spec is made.spec

    def test_they_show_their_names(self):
        assert repr(tool(double)) == "<tool double>"
        assert tool(double).__name__ == "double"


def test_making_tools_loads_neither_pydantic_nor_griffe():
    code = """
import sys
import types
from headrace.tools.tool import tool
from headrace.tools.toolset import toolset
@tool(timeout_s=1)
def f(a: int):
    '''Do.

    Args:
        a: Yes.
    '''
toolset(f, print_ := tool(name="g")(lambda: None))
print(sorted({"pydantic", "griffe", "httpx2"} & set(sys.modules)))
f.spec
print(sorted({"pydantic", "griffe", "httpx2"} & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env={"PYTHONPATH": ":".join(sys.path)})
    assert done.stdout.split("\n")[:2] == ["[]", "['griffe', 'pydantic']"]
