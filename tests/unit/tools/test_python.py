"""Tools that are Python functions: their schema, their arguments, and what their end means."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal, Optional

import pytest

from kefu.tools.python import BadFunction, FunctionFailed, function_run, site_function
from kefu.tools.schema import problems, unknown
from kefu.tools.tool import Effect, Outcome, Visitor


async def called(function: Callable[[], object]) -> object:
    return function()


async def outcome(
    function: Callable[..., object], effect: Effect = "read", **given: object
) -> Outcome:
    run = function_run(site_function(function), called, effect)
    return await run(given, Visitor(user="ann"), "key-1")


def stock(
    sku: str,
    size: Literal["S", "M"] | None,
    count: int = 1,
    price: float | None = None,
    colours: Optional[list[str]] = None,  # noqa: UP045 - also the older way to write it
    *,
    exact: bool = False,
    visit: Visitor,
    idempotency_key: str = "",
) -> object:
    """How many of an article are in stock.

    The article's number is sku.
    """
    return [sku, size, count, price, colours, exact, visit.user, idempotency_key]


def test_a1_the_schema_comes_from_annotations_and_the_description_from_the_docstring() -> None:
    """Parameters that Kefu sets are not the model's."""
    site = site_function(stock)
    assert site.description == (
        "How many of an article are in stock.\n\nThe article's number is sku."
    )
    assert site.properties == {
        "sku": {"type": "string"},
        "size": {"type": "string", "enum": ["S", "M"]},
        "count": {"type": "integer"},
        "price": {"type": "number"},
        "colours": {"type": "array", "items": {"type": "string"}},
        "exact": {"type": "boolean"},
    }
    assert site.required == ("sku",)
    schema = {"type": "object", "properties": site.properties, "required": site.required}
    assert unknown({**schema, "required": list(site.required)}) == []


async def test_arguments_that_are_left_out_have_their_default_or_are_none() -> None:
    said = await outcome(stock, sku="a")
    assert said == Outcome('["a", null, 1, null, null, false, "ann", "key-1"]')


async def test_a_whole_number_is_an_int_however_it_was_written() -> None:
    """JSON Schema counts 3.0 as an integer."""

    def add(numbers: list[int], most: int) -> str:
        """Add numbers."""
        return "".join("ab"[one] for one in numbers)[:most]

    assert problems(site_function(add).properties["most"], 2.0) == []
    assert await outcome(add, numbers=[0, 1.0, 0], most=2.0) == Outcome("ab")


def no_docstring(sku: str) -> str:
    return sku


def no_annotation(sku) -> str:  # type: ignore[no-untyped-def]
    """Look."""
    return str(sku)


def unknown_annotation(sku: Nowhere) -> str:  # type: ignore[name-defined] # noqa: F821
    """Look."""
    return str(sku)


def wrong_annotation(sku: dict[str, str]) -> str:
    """Look."""
    return str(sku)


def two_types(sku: int | str) -> str:
    """Look."""
    return str(sku)


def any_list(skus: list) -> str:  # type: ignore[type-arg]
    """Look."""
    return str(skus)


def positional(sku: str, /) -> str:
    """Look."""
    return sku


def many(*skus: str) -> str:
    """Look."""
    return str(skus)


def yielding(sku: str) -> Iterator[str]:
    """Look."""
    yield sku


@pytest.mark.parametrize(
    ("function", "sentence"),
    [
        (no_docstring, "has no docstring, which says to the model what the tool does"),
        (no_annotation, "must annotate sku with str, int, float, bool, Literal, list of these"),
        (unknown_annotation, "signature that cannot be read: name 'Nowhere' is not defined"),
        (wrong_annotation, "must annotate sku with str"),
        (two_types, "must annotate sku with str"),
        (any_list, "must annotate skus with str"),
        (positional, "has the parameter sku: 'str', which has no name for the model"),
        (many, "has the parameter *skus: 'str', which has no name"),
        (yielding, "must return its result, not yield it"),
    ],
)
def test_a3_a_function_that_cannot_be_a_tool_is_refused_with_a_sentence(
    function: Callable[..., object], sentence: str
) -> None:
    with pytest.raises(BadFunction) as error:
        site_function(function)
    assert sentence in str(error.value)


async def test_results_are_text_or_json() -> None:
    def returning(value: object) -> Callable[[], object]:
        def function() -> object:
            """Return it."""
            return value

        return function

    assert await outcome(returning("Da: 3")) == Outcome("Da: 3")
    assert await outcome(returning(None)) == Outcome("Done.")
    assert await outcome(returning({"状态": 3})) == Outcome('{"状态": 3}')
    assert await outcome(returning("\ud800")) == Outcome("?")
    for wrong in ({1, 2}, float("nan")):
        said = await outcome(returning(wrong))
        assert said == Outcome(
            f"The tool returned {type(wrong).__name__}, which is not JSON.", "failed"
        )
        assert (await outcome(returning(wrong), "write")).state == "done"


@pytest.mark.parametrize(
    ("effect", "was_called", "state"),
    [
        ("read", True, "failed"),
        ("read", False, "failed"),
        ("write", True, "unsure"),
        ("write", False, "failed"),
    ],
)
async def test_a10_after_an_exception_a_write_is_uncertain(
    effect: Effect, state: str, *, was_called: bool
) -> None:
    """A13: The exception's text is in no result."""

    async def failing(function: Callable[[], object]) -> object:
        raise FunctionFailed("raised ValueError: secret-5", was_called=was_called)

    run = function_run(site_function(stock), failing, effect)
    said = await run({"sku": "a"}, Visitor(), "")
    assert said.state == state
    assert "secret" not in said.text
    assert said.text.startswith("The tool failed.")
