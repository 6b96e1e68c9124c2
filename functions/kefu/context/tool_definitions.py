"""Tokens of the tools that are sent beside the messages."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kefu.context.cost import json_of, tokenizer_family

# OpenAI's cookbook, "How to count tokens with tiktoken": by tokenizer, the tokens that begin a
# function; then those that begin its parameters, each parameter, each value of an enumeration, and
# those at the end of all functions.
_FUNCTION = {"o200k": 7, "cl100k": 10}
_PARAMETERS, _PARAMETER, _FIRST_VALUE, _VALUE, _END = 3, 3, -3, 3, 12
_CLAUDE_TOOLS = 346
"""Anthropic, "Tool use": the system prompt that Claude gets with tools."""
_EXPLAINED = frozenset({"type", "description", "enum", "title"})


def tools_tokens(tools: Any, count: Callable[[str], int], model: str) -> int:
    """The tokens of the value of `tools` in a request.

    OpenAI's functions by the formula of its cookbook, which gives the billed tokens of parameters
    without a nested schema. What the formula does not explain is counted as JSON, as are the tools
    of other APIs, so that the count is too high rather than too low.
    """
    family = tokenizer_family(model)
    if family not in _FUNCTION or not isinstance(tools, Sequence) or isinstance(tools, str):
        return count(json_of(tools)) + (_CLAUDE_TOOLS if family == "claude" else 0)
    tokens, functions = 0, 0
    for tool in tools:
        function = tool.get("function", tool) if isinstance(tool, Mapping) else None
        if isinstance(function, Mapping) and isinstance(function.get("name"), str):
            functions += 1
            tokens += _FUNCTION[family] + _function_tokens(function, count)
        else:
            tokens += count(json_of(tool))
    return tokens + (_END if functions else 0)


def _function_tokens(function: Mapping[str, Any], count: Callable[[str], int]) -> int:
    tokens = count(f"{function['name']}:{_described(function)}")
    schema = function.get("parameters")
    if not isinstance(schema, Mapping):
        return tokens
    properties = schema.get("properties")
    if not isinstance(properties, Mapping):
        return tokens + (count(json_of(schema)) if schema else 0)
    if properties:
        tokens += _PARAMETERS
    for name, described in properties.items():
        tokens += _PARAMETER
        if not isinstance(described, Mapping):
            tokens += count(f"{name}:{json_of(described)}")
            continue
        if values := described.get("enum"):
            tokens += _FIRST_VALUE + sum(_VALUE + count(str(value)) for value in values)
        tokens += count(f"{name}:{described.get('type', '')}:{_described(described)}")
        if nested := {key: part for key, part in described.items() if key not in _EXPLAINED}:
            tokens += count(json_of(nested))
    if shared := schema.get("$defs") or schema.get("definitions"):
        tokens += count(json_of(shared))
    return tokens


def _described(value: Mapping[str, Any]) -> str:
    return str(value.get("description") or "").removesuffix(".")
