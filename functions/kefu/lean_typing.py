"""Names of `typing` as type checkers know them, and what stands in for them in a running program.

To import `typing` takes about as long as to import all of `kefu.context`, which does without. And
its named tuples and protocols take their time to make: they look at every annotation, and compile
those that are strings. The service has more than a hundred of them, and a start waits for all.
"""

from __future__ import annotations

from collections import namedtuple

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import ClassVar, Literal, NamedTuple, Protocol, overload
else:

    class ClassVar:
        def __class_getitem__(cls, kind):
            return kind

    class Literal:
        """`Literal["a", "b"]` is `str`: which strings is what type checkers look after."""

        def __class_getitem__(cls, values):
            return str

    class Protocol:
        """Whatever has the methods fits; nothing asks for that when the code runs."""

    def overload(function):
        return function

    class _Fields(type):
        """Makes a named tuple of a class, from its annotated fields."""

        def __new__(cls, name, bases, body):
            if not bases:
                return super().__new__(cls, name, bases, body)
            fields = body["__annotations__"]
            defaults = [body.pop(field) for field in fields if field in body]
            made = namedtuple(name, fields, defaults=defaults)  # noqa: PYI024 -- typed above
            made.__new__.__annotations__ = fields
            for attribute, value in body.items():
                setattr(made, attribute, value)
            return made

    class NamedTuple(metaclass=_Fields):
        """A tuple whose places have names, the same as `typing.NamedTuple` makes."""


__all__ = ["ClassVar", "Literal", "NamedTuple", "Protocol", "overload"]
