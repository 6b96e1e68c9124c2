"""Writes the pages of docs/ that are made from the source; `--check` only compares them."""

from __future__ import annotations

import sys
from pathlib import Path
from types import NoneType
from typing import Literal, get_args, get_origin

from annotated_types import Ge, Gt, Le
from pydantic import SecretStr
from pydantic.fields import FieldInfo

from kefu.settings import Settings

DOCS = Path(__file__).parent

# The first setting of each section, in the order of kefu.settings.
SECTIONS = {
    "LONGCAT_API_KEYS": "The model",
    "KEFU_STORE": "The service",
    "KEFU_MAX_BODY_BYTES": "Limits",
    "KEFU_BOT_CHECK": "Bot check",
    "KEFU_MAX_RETRIES": "Keys",
    "KEFU_TRY_TIMEOUT": "Time limits, in seconds",
}

SETTINGS_HEAD = """\
<!-- Made by `make docs` from functions/kefu/settings.py. -->
# Settings

Each is an environment variable; an empty one counts as unset. A wrong value stops the start with
a sentence that names it."""


def settings_page() -> str:
    lines = [SETTINGS_HEAD]
    for field in Settings.model_fields.values():
        if field.exclude:
            continue
        if field.alias in SECTIONS:
            heading = f"## {SECTIONS[field.alias]}"
            lines += [
                "",
                heading,
                "",
                "| Variable | Value | Default | Meaning |",
                "|---|---|---|---|",
            ]
        cells = (f"`{field.alias}`", _value(field), _default(field), field.description or "")
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _value(field: FieldInfo) -> str:
    kind = field.annotation
    if get_origin(kind) is Literal:
        return ", ".join(f"`{choice}`" for choice in get_args(kind))
    if kind is bool or set(get_args(kind)) == {bool, NoneType}:
        return "`true`, `false`"
    if kind is int or kind is float:
        return ("whole number" if kind is int else "number") + _range(field)
    if get_origin(kind) is tuple or "comma separated" in (field.description or ""):
        return "list"
    return "text"


def _range(field: FieldInfo) -> str:
    low = high = ""
    for bound in field.metadata:
        match bound:
            case Ge(ge=value):
                low = f" ≥ {value}"
            case Gt(gt=value):
                low = f" > {value}"
            case Le(le=value):
                high = f", ≤ {value}"
    return low + high


def _default(field: FieldInfo) -> str:
    default = field.default
    if isinstance(default, SecretStr):
        default = default.get_secret_value()
    return "" if default is None or default in ("", ()) else f"`{default}`"


PAGES = {"settings.md": settings_page}


def main() -> int:
    check = sys.argv[1:] == ["--check"]
    stale = []
    for name, page in PAGES.items():
        path = DOCS / name
        if path.exists() and path.read_text(encoding="utf-8") == page():
            continue
        stale.append(f"docs/{name}")
        if not check:
            path.write_text(page(), encoding="utf-8")
    for name in stale:
        print(f"{name} is out of date. Run: make docs" if check else f"Wrote {name}")
    return int(check and bool(stale))


if __name__ == "__main__":
    sys.exit(main())
