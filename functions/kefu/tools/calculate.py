"""Does arithmetic, which small models do badly. Nothing is evaluated: numbers in a tree are."""

from __future__ import annotations

import ast
import math
import operator
import warnings
from collections.abc import Callable, Mapping
from types import MappingProxyType

from kefu.errors import ToolFailed

Number = int | float

LONGEST = 500
"""Characters of an expression: so is its depth bounded, too."""
BITS = 4096
"""Of a whole number, on the way as in the end: a billion would take all the memory there is."""

_BINARY: Mapping[type[ast.operator], Callable[[Number, Number], Number]] = MappingProxyType(
    {
        ast.Add: operator.add,
        ast.Sub: operator.sub,
        ast.Mult: operator.mul,
        ast.Div: operator.truediv,
        ast.FloorDiv: operator.floordiv,
        ast.Mod: operator.mod,
    }
)
_FUNCTIONS: Mapping[str, Callable[..., Number]] = MappingProxyType(
    {
        "abs": abs,
        "ceil": math.ceil,
        "cos": math.cos,
        "exp": math.exp,
        "floor": math.floor,
        "log": math.log,
        "log10": math.log10,
        "max": max,
        "min": min,
        "round": round,
        "sin": math.sin,
        "sqrt": math.sqrt,
        "tan": math.tan,
    }
)
_CONSTANTS: Mapping[str, Number] = MappingProxyType({"pi": math.pi, "e": math.e})


async def calculate(expression: str) -> str:
    """Work out an expression such as (2 + 3) * 4 / sqrt(2) or 2**10."""
    text = expression.strip()
    if len(text) > LONGEST:
        raise ToolFailed(f"an expression has at most {LONGEST} characters")
    try:
        value = _value(_parsed(text))
    except ZeroDivisionError:
        raise ToolFailed("division by zero") from None
    except (OverflowError, RecursionError):
        raise ToolFailed("the number is too large") from None
    except (TypeError, ValueError) as error:
        raise ToolFailed(str(error)) from error
    return str(value) if isinstance(value, int) else f"{value:.15g}"


def _parsed(text: str) -> ast.expr:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # `1if 2else 3` is warned of, and refused below
            return ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        raise ToolFailed("this is not an expression") from None


def _value(node: ast.expr) -> Number:
    match node:
        case ast.Constant(value=bool()):
            pass
        case ast.Constant(value=int() | float() as value):
            return _bounded(value)
        case ast.Name(id=name) if name in _CONSTANTS:
            return _CONSTANTS[name]
        case ast.UnaryOp(op=ast.USub() | ast.UAdd() as op, operand=operand):
            return -_value(operand) if isinstance(op, ast.USub) else _value(operand)
        case ast.BinOp(left=left, op=ast.Pow() | ast.BitXor(), right=right):
            return _power(_value(left), _value(right))
        case ast.BinOp(left=left, op=op, right=right) if work := _BINARY.get(type(op)):
            return _bounded(work(_value(left), _value(right)))
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in _FUNCTIONS:
            return _bounded(_FUNCTIONS[name](*map(_value, args)))
        case _:
            pass
    names = ", ".join([*_CONSTANTS, *_FUNCTIONS])
    raise ToolFailed(f"only numbers, + - * / // % ** and {names} are known here")


def _power(base: Number, exponent: Number) -> Number:
    if isinstance(base, int) and isinstance(exponent, int):
        # Before it is done: 9**9**9 would take all the memory there is.
        if (base.bit_length() - 1) * abs(exponent) > BITS:
            raise OverflowError
    elif base < 0 and exponent != int(exponent):
        raise ToolFailed("the power is not a real number")
    result: Number = base**exponent
    return _bounded(result)


def _bounded(value: Number) -> Number:
    if isinstance(value, int) and value.bit_length() > BITS:
        raise OverflowError
    return value
