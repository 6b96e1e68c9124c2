"""Tools that the visitor's page carries out, after the visitor's click.

The page describes them with each message, and sends the result with the click. So the service runs
nothing, and offers only the tools that the owner's settings name.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from kefu.tools.card import is_free_text
from kefu.tools.schema import unknown
from kefu.tools.tool import Arguments, Outcome, Tool, Visitor


async def not_run(_given: Arguments, _visitor: Visitor, _key: str) -> Outcome:
    """The `Run` of a tool of the settings, before a page has sent a result."""
    return Outcome("The visitor's page has not carried this out.", "failed")


def described(
    tool: Tool,
    description: str,
    parameters: Mapping[str, Mapping[str, object]],
    optional: Collection[str],
    approve: str,
) -> Tool:
    """The tool as the page describes it. `parameters`: the JSON Schema of each.

    `approve`: the question of the card, if the settings have none. Raises ValueError with a
    sentence for the page's developer.
    """
    for name, schema in parameters.items():
        if places := unknown(schema):
            raise ValueError(f"{name}: {places[0]} of JSON Schema cannot be checked")
        if is_free_text(schema):
            raise ValueError(
                f"{name} is free text, so the model could choose what the visitor cannot judge: "
                "limit it by enum or by a pattern from ^ to $"
            )
    schema = {
        "type": "object",
        "properties": parameters,
        "required": [name for name in parameters if name not in optional],
        "additionalProperties": False,
    }
    question = tool.approve or ({"": approve} if approve else {})
    return tool._replace(description=description, parameters=schema, approve=question)


def with_result(tool: Tool, result: Outcome) -> Tool:
    """The tool for a click, with which the page has sent the result."""

    async def run(_given: Arguments, _visitor: Visitor, _key: str) -> Outcome:
        return result

    return tool._replace(run=run)
