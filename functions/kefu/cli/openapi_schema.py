"""Reads schemas of an OpenAPI document: without references, with the keywords that are checked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import unquote

from kefu.terminal.clean import clean
from kefu.tools.schema import MAX_DEPTH, unknown

Node = Mapping[str, Any]
"""An object of the document."""

MAX_DESCRIPTION = 500
"""Characters of a description, which each request to the model contains."""

MAX_SCHEMAS = 5_000
"""The most schemas that the schema of one value may contain. References between a few types can
lead to millions.
"""

_WORDS = {
    *("type", "const", "default", "pattern", "required", "additionalProperties"),
    *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    *("minLength", "maxLength", "minItems", "maxItems", "uniqueItems"),
}


class BadDocument(ValueError):
    """The document or an operation cannot be converted; the message says why."""


def cleaned(schema: object, document: Node) -> Node:
    """The schema of a value that is sent, without references and keywords that Kefu does not check.

    Raises BadDocument.
    """
    return _cleaned(schema, document, iter(range(MAX_SCHEMAS)))


def _cleaned(
    schema: object, document: Node, left: Iterator[int], inside: tuple[str, ...] = ()
) -> Node:
    """`left`: one item for each schema that may still be read.

    `inside`: the references that lead to it; one of these again is just an object.
    """
    reference = node_of(schema).get("$ref")
    if isinstance(reference, str):
        if reference in inside:
            return {"type": "object"}
        inside = (*inside, reference)
    given = _sent(_merged(resolved(schema, document), document, left), document)
    kept = dict[str, Any]()
    for word, rule in given.items():
        if word == "properties":
            its = node_of(rule).items()
            kept[word] = {name: _cleaned(one, document, left, inside) for name, one in its}
        elif word in ("anyOf", "oneOf"):
            kept[word] = [_cleaned(one, document, left, inside) for one in list_of(rule)]
        elif word in ("items", "additionalProperties") and isinstance(rule, dict):
            kept[word] = _cleaned(rule, document, left, inside)
        else:
            kept |= _plain(word, rule)
    if "format" in given and kept.get("type") == "string":
        kept["description"] = f"{kept.get('description', '')} ({given['format']})".strip()
    return kept


def _sent(schema: Node, document: Node) -> Node:
    """The schema without its read-only properties, such as an id: they come from the server."""
    properties = node_of(schema.get("properties"))
    fixed = [
        name
        for name, one in properties.items()
        if node_of(one).get("readOnly") or resolved(one, document).get("readOnly")
    ]
    if not fixed:
        return schema
    return {
        **schema,
        "properties": {name: one for name, one in properties.items() if name not in fixed},
        "required": [name for name in list_of(schema.get("required")) if name not in fixed],
    }


def _plain(word: str, rule: object) -> Node:
    """A keyword without schemas in it; nothing if it is not checked."""
    if word == "description":
        return {word: line_of(rule)[:MAX_DESCRIPTION]}
    if word == "enum":
        return {word: [one for one in list_of(rule) if one is not None]}  # TOML has no null
    return {word: rule} if word in _WORDS and rule is not None and not unknown({word: rule}) else {}


def _merged(schema: Node, document: Node, left: Iterator[int], depth: int = 0) -> Node:
    """The schema with the members of `allOf` in it. Raises BadDocument."""
    if depth > MAX_DEPTH:
        raise BadDocument("a schema contains itself")
    if next(left, None) is None:
        raise BadDocument(
            f"the schema of a value contains more than {MAX_SCHEMAS:,} others: leave those out of "
            "the document that the model does not need"
        )
    whole = {word: rule for word, rule in schema.items() if word != "allOf"}
    for one in list_of(schema.get("allOf")):
        part = _merged(resolved(one, document), document, left, depth + 1)
        properties = {**node_of(whole.get("properties")), **node_of(part.get("properties"))}
        required = [*list_of(whole.get("required")), *list_of(part.get("required"))]
        whole = {**part, **whole}
        if properties:
            whole |= {"properties": properties, "required": required}
    return whole


def resolved(node: object, document: Node) -> Node:
    """The node, or that to which its local `$ref` points. Raises BadDocument."""
    for _ in range(MAX_DEPTH):
        found = node_of(node)
        reference = found.get("$ref")
        if not isinstance(reference, str):
            return found
        if not reference.startswith("#/"):
            raise BadDocument(f"{line_of(reference)} is not in this file")
        node = document
        for step in unquote(reference[2:]).split("/"):
            name = step.replace("~1", "/").replace("~0", "~")
            if isinstance(node, list):
                node = node[int(name)] if name.isdecimal() and int(name) < len(node) else None
            else:
                node = node_of(node).get(name)
        if node is None:
            raise BadDocument(f"there is no {line_of(reference)}")
    raise BadDocument("a $ref leads to itself")


def node_of(value: object) -> Node:
    return value if isinstance(value, dict) else {}


def list_of(value: object) -> Sequence[Any]:
    return value if isinstance(value, list) else []


def line_of(value: object) -> str:
    """A text on one line, as a comment needs it."""
    return " ".join(clean(str(value or "")).split())
