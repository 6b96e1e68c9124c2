"""A tool for arithmetic, because small models calculate badly.

`calculate` evaluates a syntax tree with a fixed set of operations. Every intermediate value is an
integer of at most `MAX_INTEGER_BITS` bits or a finite float, so each operation takes microseconds.
`**` and `round` can create much larger values, so they check their arguments first.
"""

from __future__ import annotations

import ast
import math
import operator
import warnings
from collections.abc import Callable, Mapping
from types import MappingProxyType

from kefu.errors import ToolFailed

Number = int | float

MAX_EXPRESSION_CHARS = 500
"""Maximum characters of an expression, which also bounds its depth and number of operations."""
MAX_INTEGER_BITS = 4096
"""Maximum bits of an integer, to limit the use of memory and time."""
MAX_ROUND_DIGITS = 1300
"""Maximum digits for `round`. No number here has more digits before or after its point."""

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


def _round(number: Number, digits: Number = 0, /) -> Number:
    # For -n digits, Python computes 10**n, which takes too long for a large n.
    if not isinstance(digits, int):
        raise TypeError
    if abs(digits) > MAX_ROUND_DIGITS:
        raise ToolFailed(f"round takes at most {MAX_ROUND_DIGITS} digits")
    return round(number, digits) if digits else round(number)


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
        "round": _round,
        "sin": math.sin,
        "sqrt": math.sqrt,
        "tan": math.tan,
    }
)
_CONSTANTS: Mapping[str, Number] = MappingProxyType({"pi": math.pi, "e": math.e})


def calculate(expression: str) -> str:
    """Work out an expression such as (2 + 3) * 4 / sqrt(2) or 2**10."""
    text = expression.strip()
    if len(text) > MAX_EXPRESSION_CHARS:
        raise ToolFailed(f"an expression has at most {MAX_EXPRESSION_CHARS} characters")
    try:
        value = _value(_parsed(text))
        return str(value) if isinstance(value, int) else f"{value:.15g}"
    except ZeroDivisionError:
        raise ToolFailed("division by zero") from None
    except OverflowError:
        raise ToolFailed("the number is too large") from None
    except RecursionError:
        raise ToolFailed("the expression has too many levels") from None
    except ValueError as error:
        raise ToolFailed(str(error)) from error


def _parsed(text: str) -> ast.expr:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # `1if 2else 3` causes a warning; it is refused below
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
            return _called(name, [_value(arg) for arg in args])
        case _:
            pass
    names = ", ".join([*_CONSTANTS, *_FUNCTIONS])
    raise ToolFailed(f"only numbers, + - * / // % ** and {names} are known here")


def _called(name: str, numbers: list[Number]) -> Number:
    try:
        return _bounded(_FUNCTIONS[name](*numbers))
    except TypeError:
        raise ToolFailed(f"{name} does not take {len(numbers)} such numbers") from None


def _power(base: Number, exponent: Number) -> Number:
    if isinstance(base, int) and isinstance(exponent, int):
        # This product is the minimum of the result's bits; the maximum is about twice as many.
        if (base.bit_length() - 1) * abs(exponent) > MAX_INTEGER_BITS:
            raise OverflowError
    elif base < 0 and exponent != int(exponent):
        raise ToolFailed("the power is not a real number")
    result: Number = base**exponent
    return _bounded(result)


def _bounded(value: Number) -> Number:
    """The value. Raises OverflowError if an integer has too many bits or a float is not finite."""
    if (
        value.bit_length() > MAX_INTEGER_BITS
        if isinstance(value, int)
        else not math.isfinite(value)
    ):
        raise OverflowError
    return value
