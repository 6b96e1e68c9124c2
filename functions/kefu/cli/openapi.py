"""Writes tables [tools.NAME] of kefu.toml from operations of an OpenAPI 3 document.

The tables are for a person who reviews them: what cannot be converted stands there as a comment.
The service itself never reads OpenAPI.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple
from urllib.parse import urlsplit

from kefu.cli.openapi_schema import (
    MAX_DESCRIPTION,
    BadDocument,
    Node,
    cleaned,
    line_of,
    list_of,
    node_of,
    resolved,
)
from kefu.settings.example import key_of_toml, toml_of

_METHODS = ("get", "head", "post", "put", "patch", "delete")
_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")


class Operation(NamedTuple):
    id: str
    method: str
    """In upper case."""
    path: str
    summary: str
    node: Node
    shared: Node
    """The path's own fields, which all its operations have."""


class _Converted(NamedTuple):
    """The parameters of an operation."""

    properties: dict[str, Node]
    required: list[str]
    body: list[str]
    renamed: dict[str, str]
    """The names in the path -> the names of the parameters."""
    notes: list[str]


def operations(document: object) -> list[Operation]:
    """All operations. Raises BadDocument for what is no OpenAPI 3 document."""
    if node_of(document).get("swagger"):
        raise BadDocument(
            "this is OpenAPI 2: make it version 3 with npx swagger2openapi FILE --patch -o NEW.json"
        )
    if not isinstance(document, dict) or not str(document.get("openapi", "")).startswith("3."):
        raise BadDocument("this is not an OpenAPI document of version 3")
    found = []
    for path, given in node_of(document.get("paths")).items():
        shared = resolved(given, document)
        for method in _METHODS:
            if node := node_of(shared.get(method)):
                name = str(node.get("operationId") or f"{method}_{path.strip('/')}")
                summary = line_of(node.get("summary") or node.get("description"))
                found.append(Operation(name, method.upper(), path, summary, node, shared))
    return found


def table_of(operation: Operation, document: Node, base_url: str = "") -> str:
    """The table of an operation in TOML. `base_url` replaces the server that the document names.

    Raises BadDocument.
    """
    parts = _parts(operation, document)
    name = _name(operation.id)
    url = _server(operation, document, base_url).rstrip("/") + _PLACEHOLDER.sub(
        lambda found: f"{{{parts.renamed.get(found[1], found[1])}}}", operation.path
    )
    lines = [f"[tools.{name}]", f"url = {toml_of(url)}"]
    if operation.method != ("POST" if parts.body else "GET"):
        lines.append(f"method = {toml_of(operation.method)}")
    lines += _headers(operation, document)
    if parts.body:
        lines.append(f"body = {toml_of(parts.body)}")
    lines.append(f"description = {toml_of(_description(operation) or name)}")
    if operation.method not in ("GET", "HEAD"):
        values = ", ".join(f"{{{one}}}" for one in parts.required if "-" not in one)
        question = f"{operation.summary or name}{': ' if values else ''}{values}?"
        lines += ['# The question to the visitor. Free text needs preview = "NAME OF A READ TOOL".']
        lines.append(f"approve = {toml_of(question)}")
    if optional := [one for one in parts.properties if one not in parts.required]:
        lines.append(f"optional = {toml_of(optional)}")
    lines += [f"# {one}" for one in parts.notes]
    if parts.properties:
        lines.append(f"[tools.{name}.parameters]")
        lines += [
            f"{key_of_toml(one)} = {toml_of(schema)}" for one, schema in parts.properties.items()
        ]
    return "\n".join(lines) + "\n"


def _description(operation: Operation) -> str:
    given = (line_of(operation.node.get(one)) for one in ("summary", "description"))
    sentences = [f"{one.rstrip('.')}." for one in dict.fromkeys(given) if one]
    return " ".join(sentences)[:MAX_DESCRIPTION]


def _parts(operation: Operation, document: Node) -> _Converted:
    parts = _Converted({}, [], [], {}, [])
    given = [
        *list_of(operation.shared.get("parameters")),
        *list_of(operation.node.get("parameters")),
    ]
    fields = [resolved(one, document) for one in given]
    # A parameter of the operation replaces the path's of the same place and name.
    for one in {(field.get("in"), field.get("name")): field for field in fields}.values():
        _add_field(parts, one, document)
    for name in _PLACEHOLDER.findall(operation.path):
        if name not in parts.renamed:
            raise BadDocument(f"{operation.id} does not describe {name}, which is in its path")
    _add_body(parts, operation, document)
    return parts


def _add_field(parts: _Converted, field: Node, document: Node) -> None:
    place, name = field.get("in"), str(field.get("name"))
    is_required = field.get("required") is True
    if place not in ("path", "query"):
        if is_required:
            parts.notes.append(f"The {place} {line_of(name)} is required: see headers.")
        return
    own = _name(name)
    if place == "path":
        own = parts.renamed[name] = own.replace("-", "_")
    if place == "query" and own != name:
        parts.notes.append(
            f"The field {line_of(name)} of the query has a name that no model can use."
        )
        return
    schema = dict(cleaned(field.get("schema"), document))
    if place == "query" and _has_own_form(field, schema):
        if is_required:
            raise BadDocument(
                f"the field {line_of(name)} of the query is required, in a form that Kefu does "
                "not write"
            )
        parts.notes.append(f"The field {line_of(name)} of the query has a form of its own.")
        return
    if text := line_of(field.get("description")):
        schema["description"] = text[:MAX_DESCRIPTION]
    parts.properties[own] = schema
    if is_required or place == "path":
        parts.required.append(own)


def _has_own_form(field: Node, schema: Node) -> bool:
    """Whether the field is not written as Kefu writes it: a list as a field for each item."""
    is_usual = field.get("style", "form") == "form" and field.get("explode", True) is True
    kinds = list_of(schema.get("type")) or [schema.get("type")]
    return "content" in field or (not is_usual and ("array" in kinds or "object" in kinds))


def _add_body(parts: _Converted, operation: Operation, document: Node) -> None:
    body = resolved(operation.node.get("requestBody"), document)
    if not body:
        return
    media = next(
        (one for kind, one in node_of(body.get("content")).items() if "json" in kind), None
    )
    schema = cleaned(node_of(media).get("schema"), document) if media else {}
    properties = node_of(schema.get("properties"))
    if not properties:
        raise BadDocument(f"{operation.id} has a body that is no JSON object with properties")
    required = list_of(schema.get("required"))
    for name, one in properties.items():
        if name in parts.properties or _name(name) != name:
            parts.notes.append(f"The field {line_of(name)} of the body has no name of its own.")
            continue
        parts.properties[name] = one
        parts.body.append(name)
        if name in required:
            parts.required.append(name)


def _server(operation: Operation, document: Node, base_url: str) -> str:
    """Raises BadDocument if the server is not known."""
    if base_url:
        return base_url
    for node in (operation.node, operation.shared, document):
        for server in list_of(node.get("servers")):
            url = str(node_of(server).get("url", ""))
            for name, one in node_of(node_of(server).get("variables")).items():
                url = url.replace(f"{{{name}}}", str(node_of(one).get("default", "")))
            if urlsplit(url).scheme in ("http", "https") and "{" not in url:
                return url
    raise BadDocument("the document has no address of a server: name it with --base-url")


def _headers(operation: Operation, document: Node) -> Iterator[str]:
    """A comment for each header with a secret that the operation needs."""
    wanted = operation.node.get("security", document.get("security"))
    schemes = node_of(node_of(document.get("components")).get("securitySchemes"))
    for name in dict.fromkeys(name for one in list_of(wanted) for name in node_of(one)):
        scheme = resolved(schemes.get(name), document)
        header = "Authorization"
        if scheme.get("type") == "apiKey":
            if scheme.get("in") != "header":
                yield f"# The secret {line_of(name)} is no header, which is not possible here."
                continue
            header = line_of(scheme.get("name"))
        yield f'# headers = {{ {key_of_toml(header)} = "env:{_variable(name)}" }}'


def _variable(name: str) -> str:
    return re.sub(r"\W+", "_", name).upper()


def _name(text: str) -> str:
    """A name that a model can use."""
    name = re.sub(r"[^A-Za-z0-9_-]+", "_", text).strip("_")[:64]
    return name if re.match("[A-Za-z_]", name) else f"_{name}"[:64]
