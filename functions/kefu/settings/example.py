"""The commented kefu.toml that `kefu init` writes, made from the settings' descriptions."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterator

from pydantic import SecretStr
from pydantic.fields import FieldInfo

from kefu.settings.all import SECTIONS
from kefu.settings.fields import RARE_SETTING
from kefu.settings.loading import key_of

FILE_HEAD = """\
# Settings of Kefu. To use one, remove the # before it; its value is the default or an example.
# The environment variable in brackets, if it is set, wins over this file.
# Secrets, such as API keys, are refused here: set them in the environment.
# A text "@prompt.md" is replaced by the text of that file in this folder.
"""

FILE_TAIL = """
# Named variants of the chat; a page chooses one by its name: docs/sessions.md.
#[presets.short]
#temperature = 0.2
#max_output_tokens = 300
#system_prompt = "Answer in one sentence."

# Tools that the model may call: docs/settings.md. A secret is named here, never written.
#[tools.order_status]
#url = "https://api.shop.example/orders/{order_id}"
#description = "State and delivery day of an order."
#title = "Looking up your order"
#[tools.order_status.parameters]
#order_id = { type = "string", description = "The number on the invoice." }

# Hooks change stored chats, in the order of their tables: docs/hooks.md.
#[hooks.commands]
#[hooks.word_filter]
#words = ["damn"]
"""


def example() -> str:
    """Return the text of the file. The file has every setting, as a comment."""
    return FILE_HEAD + "".join(map(_section, _tables())) + FILE_TAIL


def value_of(field: FieldInfo) -> object:
    """The default; an example if nothing is set by default."""
    return field.examples[0] if field.examples else field.default


def is_rare(field: FieldInfo) -> bool:
    """Whether few sites change it."""
    return field.json_schema_extra == RARE_SETTING


def _tables() -> Iterator[list[FieldInfo]]:
    """The settings of each table, in the order of the documentation."""
    tables: dict[str, list[FieldInfo]] = {}
    for section in SECTIONS:
        for field in section.model_fields.values():
            if key := key_of(field):
                tables.setdefault(".".join(key[:-1]), []).append(field)
    for fields in tables.values():
        yield sorted(fields, key=is_rare)


def _section(fields: list[FieldInfo]) -> str:
    lines = ["", f"[{'.'.join(key_of(fields[0])[:-1])}]"]
    for number, field in enumerate(fields):
        if is_rare(field) and (number == 0 or not is_rare(fields[number - 1])):
            lines += ["# Few sites change these:", ""]
        text = f"{field.description} [{field.alias}]" if field.alias else field.description or ""
        secret = isinstance(field.default, SecretStr)
        if secret:
            text = f"Not here, only in the environment: {field.alias}. {field.description}"
        lines += [f"# {line}" for line in textwrap.wrap(text, 96)]
        if not secret:
            value = toml_of(value_of(field))
            lines.append(f"#{key_of(field)[-1]} = {value}")
        lines.append("")
    return "\n".join(lines)


def toml_of(value: object) -> str:
    """A value of JSON in TOML, on one line."""
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(toml_of, value))}]"
    if not isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    inside = ", ".join(f"{key_of_toml(name)} = {toml_of(one)}" for name, one in value.items())
    return f"{{ {inside} }}" if inside else "{}"


def key_of_toml(name: str) -> str:
    return name if re.fullmatch("[A-Za-z0-9_-]+", name) else toml_of(name)
