"""Reads the settings: kefu.toml and the environment, which wins. No other module reads them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast, get_args

from pydantic import AliasChoices, AliasPath, SecretStr, ValidationError
from pydantic.fields import FieldInfo

from kefu.settings.all import Settings
from kefu.settings.file import (
    FILE_NAME,
    ConfigFile,
    ConfigurationError,
    Keys,
    find,
    name_of,
    referenced_text,
)
from kefu.settings.model import OLD_KEYS
from kefu.settings.sessions import Preset

VARIABLES = {field.alias: field for field in Settings.model_fields.values() if field.alias}
"""Variable -> its field. `hooks` and `presets` have no variable: they are tables of the file."""

_OTHERS = {"KEFU_ARCH", "KEFU_NEW_VERSION"}
"""Variables of Kefu that are not settings: of `sam build` and of the pre-traffic hook."""


def key_of(field: FieldInfo) -> Keys:
    """The key of a setting in kefu.toml; () without a key."""
    choices = field.validation_alias
    if isinstance(choices, AliasPath):
        return tuple(map(str, choices.path))
    if not isinstance(choices, AliasChoices):
        return ()
    (path,) = (one for one in choices.choices if isinstance(one, AliasPath))
    return tuple(map(str, path.path))


NAMES = {*VARIABLES, OLD_KEYS}
"""All variables that are read."""

TABLES = [
    key_of(field) for field in Settings.model_fields.values() if not field.alias and key_of(field)
]
"""The tables of the file whose names are the provider's."""


def config_path() -> Path:
    """The path of the configuration file, whether it exists or not."""
    return Path(os.environ.get("KEFU_CONFIG") or FILE_NAME)


def unknown_variables() -> Iterator[tuple[str, str]]:
    """Environment variables that look like settings and are not, each with a message."""
    names = {name for name in os.environ if name.startswith(("KEFU_", "LONGCAT_"))}
    for name in sorted(names - {*NAMES, *_OTHERS}):
        import difflib  # here: only for a message

        near = difflib.get_close_matches(name, VARIABLES, 1, 0.7)
        hint = f" Did you mean {near[0]}?" if near else ""
        yield name, f"The environment variable {name} is set, but Kefu has no such setting.{hint}"


def new_version() -> str:
    """The ARN of the function's version that the pre-traffic hook checks; the template sets it.

    The version is not a field of Settings, because the hook has no secrets, and `load` may refuse
    kefu.toml without them.
    """
    return os.environ["KEFU_NEW_VERSION"]


def load(overrides: Mapping[str, str] | None = None) -> Settings:
    """Return the settings.

    `overrides`: values by environment variable, such as the values of flags. The overrides win over
    file and environment. Raises ConfigurationError with a message for the person who starts Kefu.
    """
    given = _given(overrides or {})
    file = find(given.pop("KEFU_CONFIG", ""))
    values: dict[str, object] = dict(given)
    if file:
        values = {**_values(file), **given, "KEFU_CONFIG": str(file.path)}
    try:
        settings = Settings.model_validate(values)
    except ValidationError as error:
        raise ConfigurationError("\n".join(_lines(error, file))) from None
    named = {
        name: _secret_of(name, table, file) for name, table in settings.named_variables.items()
    }
    return settings.model_copy(update={"variables": named})


def _given(overrides: Mapping[str, str]) -> dict[str, str]:
    """The values of the environment variables, with the text of the file that the prompt names."""
    # An empty variable counts as unset, as it does in a shell script.
    given = {
        name: text for name, text in os.environ.items() if text and name in NAMES and name.isupper()
    }
    given |= overrides
    if {"KEFU_API_KEYS", OLD_KEYS} <= given.keys():
        raise ConfigurationError(
            f"{OLD_KEYS}: KEFU_API_KEYS is set, too, and has the same meaning: remove one of them"
        )
    try:
        prompt = given.get("KEFU_SYSTEM_PROMPT", "")
        given["KEFU_SYSTEM_PROMPT"] = referenced_text(prompt, Path())
    except ValueError as error:
        raise ConfigurationError(f"KEFU_SYSTEM_PROMPT: {error}") from None
    if not prompt:
        del given["KEFU_SYSTEM_PROMPT"]
    return given


def _secret_of(name: str, table: Keys, file: ConfigFile | None) -> SecretStr:
    """The value of a variable that a header or a URL of a table names as `env:NAME`.

    Raises ConfigurationError.
    """
    text = os.environ.get(name, "").strip()
    if not text or not text.isascii() or not text.isprintable():
        problem = "holds a character that no header has" if text else "is not set"
        place = f"{file.place(table)}: " if file else ""
        raise ConfigurationError(
            f"{place}[{'.'.join(table)}] names the environment variable {name}, which {problem}"
        )
    return SecretStr(text)


def _values(file: ConfigFile) -> dict[str, object]:
    """The tables of the file, checked, with the texts of the files that they name."""
    from kefu.settings.keys import KnownKeys, check_keys

    named = {key_of(field): (name, field) for name, field in VARIABLES.items() if key_of(field)}
    check_keys(
        file,
        KnownKeys(
            settings={key: name for key, (name, _) in named.items() if not _is_secret(name)},
            secrets={key: name for key, (name, _) in named.items() if _is_secret(name)},
            switches=[key for key, (_, field) in named.items() if _is_switch(field)],
            named={
                "presets": tuple(Preset.model_fields),
                "tools": _keys_of_tools() if "tools" in file.tables else (),
            },
            free=TABLES,
        ),
    )
    return cast(dict[str, object], _with_texts(file, file.tables, ()))


def _keys_of_tools() -> tuple[str, ...]:
    from kefu.settings.tools import ToolTable

    return tuple(ToolTable.model_fields)


def _is_secret(variable: str) -> bool:
    return isinstance(VARIABLES[variable].default, SecretStr)


def _is_switch(field: FieldInfo) -> bool:
    return field.annotation is bool or bool in get_args(field.annotation)


def _with_texts(file: ConfigFile, value: Any, keys: Keys) -> object:
    if isinstance(value, dict):
        return {name: _with_texts(file, one, (*keys, name)) for name, one in value.items()}
    if not isinstance(value, str):
        return value
    try:
        return referenced_text(value, file.path.parent)
    except ValueError as error:
        raise ConfigurationError(f"{file.place(keys)}: {name_of(keys)}: {error}") from None


def _lines(error: ValidationError, file: ConfigFile | None) -> Iterator[str]:
    """A line for each wrong value, without the value: it may be a key."""
    for problem in error.errors():
        keys = tuple(part for part in problem["loc"] if isinstance(part, str))
        says = problem["msg"].removeprefix("Value error, ").removeprefix("Input ")
        if problem["type"] == "extra_forbidden":
            says = "is not a setting here"
        if not keys:
            yield f"{file.path}: {says}" if file else says
        elif keys[0] in NAMES and keys[0].isupper():
            yield f"{keys[0]}: {says}"
        else:
            assert file is not None
            yield f"{file.place(keys)}: {name_of(keys)}: {says}"
