"""Arithmetic on text, without `eval`: a small, bounded evaluator for the demonstration tool.

The rule of this file: it walks a syntax tree of numbers and operators and knows nothing else; whatever it is given, it ends quickly and
raises nothing but `ToolError`.
"""

from __future__ import annotations

import ast
import math
from typing import Final, TypeAlias

from headrace.errors import ToolError

Number: TypeAlias = int | float

_MAX_CHARS: Final = 200
_MAX_EXPONENT: Final = 1000
_MAX_BITS: Final = 4096
# The signs for times, divided by and minus that people and models write beside the plain ones.
_SIGNS: Final = str.maketrans({"\u00d7": "*", "\u00b7": "*", "\u00f7": "/", "\u2212": "-", "^": "**", ",": "", "=": ""})


def evaluate(expression: str) -> Number:
    """Return the value of an arithmetic expression: numbers, `+ - * / // % **` (`^` too), brackets.

    Raises:
        ToolError: it is no such expression, too long, too big, or has no value.
    """
    if len(expression) > _MAX_CHARS:
        raise ToolError(f"the expression is longer than {_MAX_CHARS} characters")
    try:
        tree = ast.parse(expression.translate(_SIGNS).strip(), mode="eval")
        value = _value(tree.body)
    except ZeroDivisionError as error:
        raise ToolError("division by zero") from error
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ToolError(f"{expression!r} is no arithmetic expression") from error
    except OverflowError as error:
        raise ToolError("the result is too big") from error
    if isinstance(value, float) and not math.isfinite(value):
        raise ToolError("the result is too big")
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 2**53 else value


def _value(node: ast.expr) -> Number:
    match node:
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            return _bounded(value)
        case ast.UnaryOp(op=ast.USub()):
            return -_value(node.operand)
        case ast.UnaryOp(op=ast.UAdd()):
            return _value(node.operand)
        case ast.BinOp(op=ast.Pow()):
            return _power(_value(node.left), _value(node.right))
        case ast.BinOp():
            return _bounded(_applied(node.op, _value(node.left), _value(node.right)))
        case _:
            raise _unknown(node)


def _applied(sign: ast.operator, left: Number, right: Number) -> Number:
    match sign:
        case ast.Add():
            return left + right
        case ast.Sub():
            return left - right
        case ast.Mult():
            return left * right
        case ast.Div():
            return left / right
        case ast.FloorDiv():
            return left // right
        case ast.Mod():
            return left % right
        case _:
            raise _unknown(sign)


def _unknown(node: ast.AST) -> ToolError:
    return ToolError(f"only numbers, + - * / // % ** and brackets are understood, not {type(node).__name__}")


def _power(base: Number, exponent: Number) -> Number:
    if abs(exponent) > _MAX_EXPONENT or (isinstance(base, int) and base.bit_length() * abs(exponent) > _MAX_BITS):
        raise ToolError("the result is too big")
    value: object = base**exponent
    if not isinstance(value, int | float):  # a root of a negative number
        raise ToolError("the result is no real number")
    return _bounded(value)


def _bounded(value: Number) -> Number:
    if isinstance(value, int) and value.bit_length() > _MAX_BITS:
        raise ToolError("the result is too big")
    return value
