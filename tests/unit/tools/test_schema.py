"""A7: arguments are checked without a library, a fetched `$ref` or a pattern that takes hours.

The judge is another implementation in another language, jsonschema-rs.
"""

from __future__ import annotations

import math
import time
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kefu.tools.pattern import MAX_PATTERN
from kefu.tools.schema import MAX_DEPTH, problems, unknown

# Small alphabets, so that values often fit their schemas.
NAMES = st.sampled_from(["a", "b", "c"])
SCALARS = st.one_of(
    *(st.none(), st.booleans(), st.integers(-2, 5), st.sampled_from([0.5, 1.0, 2.0, -1.5])),
    st.text("aB1- \n٣é", max_size=4),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=8,
)
TYPES = st.sampled_from(["object", "array", "string", "boolean", "null", "number", "integer"])
COUNTS = st.integers(0, 4)
ITEMS = st.sampled_from(
    ["a", "B", r"\d", r"\w", r"\s", ".", r"\-", "[a-z]", "[^a1]", r"[\d\-]", r"\D", r"\S", r"[\s1]"]
)
QUANTIFIERS = st.sampled_from(["", "", "*", "+", "?", "{2}", "{1,}", "{0,2}"])
PATTERNS = st.builds(
    "{}{}{}".format,
    st.sampled_from(["", "^"]),
    st.lists(st.builds("{}{}".format, ITEMS, QUANTIFIERS), max_size=4).map("".join),
    st.sampled_from(["", "$"]),
)
CHECKED: dict[str, st.SearchStrategy[Any]] = {
    "type": TYPES | st.lists(TYPES, min_size=1, max_size=3, unique=True),
    "enum": st.lists(VALUES, min_size=1, max_size=3),
    "const": VALUES,
    "required": st.lists(NAMES, max_size=2, unique=True),
    "uniqueItems": st.booleans(),
    "pattern": PATTERNS,
    **dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems"), COUNTS),
    **dict.fromkeys(("minimum", "maximum"), st.integers(-2, 4)),
    **dict.fromkeys(("exclusiveMinimum", "exclusiveMaximum"), st.sampled_from([-1, 0.5, 2, 3.0])),
}
OTHER: dict[str, st.SearchStrategy[Any]] = {
    **dict.fromkeys(("maxProperties", "minProperties"), COUNTS),
    "multipleOf": st.sampled_from([2, 0.5]),
    "dependentRequired": st.dictionaries(NAMES, st.lists(NAMES, max_size=1), max_size=1),
    "$ref": st.just("#/$defs/some"),
}


def schemas(words: dict[str, st.SearchStrategy[Any]], *, more: bool) -> st.SearchStrategy[Any]:
    def nested(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        forms = st.lists(inner, min_size=1, max_size=3)
        whole = {
            **words,
            **dict.fromkeys(("items", "additionalProperties"), inner),
            **dict.fromkeys(("anyOf", "oneOf", "allOf"), forms),
            "properties": st.dictionaries(NAMES, inner, max_size=3),
        }
        if more:
            whole |= {"not": inner, "contains": inner, "propertyNames": inner, "prefixItems": forms}
            whole["patternProperties"] = st.dictionaries(PATTERNS, inner, max_size=2)
        return objects(whole)

    return st.recursive(st.booleans() | objects(words), nested, max_leaves=6)


def objects(words: dict[str, st.SearchStrategy[Any]]) -> st.SearchStrategy[dict[str, Any]]:
    """Objects with a few of the keywords."""
    names = st.lists(st.sampled_from(sorted(words)), min_size=1, max_size=4, unique=True)
    return names.flatmap(lambda some: st.fixed_dictionaries({name: words[name] for name in some}))


def is_valid(schema: Any, value: Any) -> bool:
    # Its other engine for patterns, the default, finds \d+a*\d+ in "1".
    engine = jsonschema_rs.RegexOptions()
    return jsonschema_rs.Draft202012Validator(schema, pattern_options=engine).is_valid(value)


@given(schemas(CHECKED, more=False), VALUES)
@example({"pattern": "^[0-9]$"}, "1\n")
@example({"enum": [1, [True]]}, [1])
@example({"type": "integer"}, 1.0)
def test_a7_a_value_is_valid_exactly_if_another_implementation_says_so(
    schema: Any, value: Any
) -> None:
    assert unknown(schema) == []
    assert (problems(schema, value) == []) is is_valid(schema, value), problems(schema, value)


@given(schemas(CHECKED | OTHER, more=True), VALUES)
@example({"oneOf": [{"$ref": "#/$defs/some"}, {"multipleOf": 2}]}, 1)
@example({"patternProperties": {"a": True}, "additionalProperties": False}, {"a": 1})
@example({"prefixItems": [{"type": "null"}], "items": False}, [None])
def test_a7_keywords_that_are_not_checked_never_refuse_a_valid_value(
    schema: Any, value: Any
) -> None:
    whole = {"allOf": [schema], "$defs": {"some": {"type": ["string", "integer"]}}}
    if problems(schema, value):
        assert not is_valid(whole, value), problems(schema, value)


@given(PATTERNS, st.text("aB1- \n٣é", max_size=8))
@example(r"^\d$", "٣")
@example(r"^\w$", "é")
@example(r"^\s$", "\u3000")
def test_a7_a_simple_pattern_matches_as_in_javascript(pattern: str, text: str) -> None:
    assert unknown({"pattern": pattern}) == []
    assert (problems({"pattern": pattern}, text) == []) is is_valid({"pattern": pattern}, text)


@pytest.mark.parametrize(
    "pattern",
    [
        *(
            "^(a+)+$",
            "(a|aa)+$",
            "^(?:a*)*$",
            "a++",
            "a+?",
            r"\bword",
            r"^(\w)\1$",
            "(?=a)a",
            "a|b",
        ),
        *("[[:alpha:]]", "[a--b]", "[a&&b]", r"\p{L}", "[z-a]", "a{3,1}", "^*", "a{", "]", "("),
        *("[", "[]", r"\u12", "\\", "a^b", "a$b", "a" * (MAX_PATTERN + 1)),
    ],
)
def test_a7_a_pattern_that_is_not_simple_is_named_and_never_run(pattern: str) -> None:
    assert unknown({"pattern": pattern}) == ["pattern"]
    started = time.thread_time()
    assert problems({"pattern": pattern}, "a" * 50) == []
    assert time.thread_time() - started < 0.5


@pytest.mark.parametrize("pattern", ["^a*a*a*a*a*a*a*a*b$", "a*a*a*b", r"^\S+@\S+\.\S+\.\S+x$"])
def test_a7_many_ways_to_match_take_no_time(pattern: str) -> None:
    """Python's `re` would need years for each."""
    started = time.thread_time()
    assert problems({"pattern": pattern}, "a" * 2000 + "@" + "." * 1999)
    assert time.thread_time() - started < 1


@pytest.mark.parametrize(
    ("schema", "places"),
    [
        ({"$ref": "http://127.0.0.1:1/secret.json"}, ["$ref"]),
        ({"$ref": "#/$defs/order", "type": "string"}, ["$ref"]),
        ({"properties": {"day": {"format": "date"}}}, ["properties.day.format"]),
        (
            {"items": {"anyOf": [{"type": "text"}, {"if": True}]}},
            ["items.anyOf[0].type", "items.anyOf[1].if"],
        ),
        ({"items": [{"type": "string"}]}, ["items"]),
        ({"type": [], "enum": [], "required": "id"}, ["type", "enum", "required"]),
        (
            {"minimum": "1", "maxLength": -1, "exclusiveMinimum": True},
            ["minimum", "maxLength", "exclusiveMinimum"],
        ),
        ({"properties": {"id": "string"}}, ["properties.id"]),
        ({"properties": ["id"]}, ["properties"]),
        ({"title": "T", "description": "D", "default": 1, "x-order": 1, "$defs": {}}, []),
        ([], ["the schema"]),
    ],
)
def test_a7_what_cannot_be_checked_is_named_with_its_place(schema: Any, places: list[str]) -> None:
    assert unknown(schema) == places
    assert problems(schema, {"id": 1, "day": 1}) == []


ORDER: dict[str, Any] = {
    "type": "object",
    "properties": {
        "order_id": {"type": "string", "pattern": r"^[A-Z]{2}-\d{4}$"},
        "items": {"type": "array", "items": {"type": "object", "required": ["sku"]}, "maxItems": 2},
        "pay": {"enum": ["card", "bill"]},
        "count": {"type": ["integer", "null"], "minimum": 1},
        "to": {"anyOf": [{"const": 0}, {"type": "string"}]},
    },
    "required": ["order_id"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("value", "sentences"),
    [
        ({"order_id": "AB-1234", "items": [{"sku": 1}], "pay": "card", "count": None}, []),
        ({}, ["order_id is missing. It is required."]),
        ({"order_id": 5}, ["order_id must be of type string, but is integer."]),
        ({"order_id": "5"}, [r"order_id must match the pattern ^[A-Z]{2}-\d{4}$."]),
        ({"order_id": "AB-1234", "items": [{}]}, ["items[0].sku is missing. It is required."]),
        ({"order_id": "AB-1234", "pay": "cash"}, ['pay must be one of "card", "bill".']),
        ({"order_id": "AB-1234", "count": 0}, ["count must be at least 1."]),
        (
            {"order_id": "AB-1234", "count": math.nan},
            ["count must be of type integer or null, but is not finite."],
        ),
        (
            {"order_id": "AB-1234", "to": 1},
            ["to has none of the allowed forms. For the nearest: to must be 0."],
        ),
        (
            {"order_id": "AB-1234", "id": 1},
            ['id is not a parameter. There are: "order_id", "items", "pay", "count", "to".'],
        ),
        ([], ["The value must be of type object, but is array."]),
    ],
)
def test_a7_the_model_reads_what_to_change(value: Any, sentences: list[str]) -> None:
    assert problems(ORDER, value) == sentences


def test_a7_sentences_are_short_and_can_be_sent() -> None:
    """A value of the model must not fill the next prompt, nor stop it."""
    found = problems({"additionalProperties": False}, {"\ud800" + "x" * 5000: 1})
    assert len(found[0]) < 500
    assert found[0].encode()


def test_a7_depth_and_work_are_limited() -> None:
    deep: Any = {"type": "string"}
    value: Any = 1
    for _ in range(MAX_DEPTH):
        deep, value = {"items": deep}, [value]
    assert unknown(deep) == [".".join(["items"] * MAX_DEPTH)]
    assert problems(deep, value) == []
    assert unknown(deep["items"]) == []
    assert "must be of type string" in problems(deep["items"], value[0])[0]
    for _ in range(3000):
        value = [value]
    assert "too large" in problems({"const": [1]}, value)[0]
    started = time.thread_time()
    many = {"items": {"anyOf": [{"type": "string"}] * 50}}
    assert "too large" in problems(many, [1] * 4000)[0]
    assert time.thread_time() - started < 1
