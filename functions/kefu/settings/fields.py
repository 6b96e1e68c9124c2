"""How one setting is declared, and the types that several settings share."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    AliasChoices,
    AliasPath,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SecretStr,
)
from pydantic.config import JsonDict

from kefu.relay.key_pool import keys_in

_PLACE = re.compile(
    r"ssm:[A-Za-z0-9_./:-]+|secretsmanager:[A-Za-z0-9/_+=.@!:-]+|bedrock:[a-z0-9-]+"
)


class Section(BaseModel):
    """The settings of one table. `Settings` inherits from the classes of all tables.

    Only `Settings` is validated, so that validators of the sections are not built: 7 ms of a start.
    """

    model_config = ConfigDict(defer_build=True)


RARE_SETTING: JsonDict = {"rare": True}
"""Marks a setting that few sites change."""


def setting(
    default: object,
    key: str,
    variable: str,
    description: str,
    *,
    also: str = "",
    rare: bool = False,
    **rules: Any,
) -> Any:
    """Declare a field that is read from `variable`, else from kefu.toml.

    `key`: `table.name` in the file, such as `limits.daily_tokens`. A secret has a key as well, but
    the file's reader refuses it, and names `variable` instead.
    `also`: another name of the variable.
    `rare`: few sites change it, so it comes last in the documentation.
    `rules`: bounds as `pydantic.Field` has them.
    """
    return Field(
        default,
        alias=variable,
        validation_alias=AliasChoices(variable, *also.split(), AliasPath(*key.split("."))),
        description=description,
        json_schema_extra=RARE_SETTING if rare else None,
        **rules,
    )


def table(key: str, description: str, example: object) -> Any:
    """Declare a table of kefu.toml whose names are the provider's. It has no variable."""
    return Field(
        {},
        validation_alias=AliasPath(*key.split(".")),
        description=description,
        examples=[example],
    )


def split(value: object) -> object:
    """Split a comma-separated text, as environment variables have it."""
    if isinstance(value, str):
        return tuple(part.strip() for part in value.split(",") if part.strip())
    return value


def url_of(url: str) -> str:
    parts = urlsplit(url)
    if url and (parts.scheme not in ("http", "https") or not parts.hostname):
        raise ValueError("must be a URL such as https://api.example.com/v1")
    if parts.username or parts.password:
        raise ValueError("must hold no user name or password; keys have variables of their own")
    return url


def place_in(text: str) -> str:
    """Return the place in AWS that a variable names instead of a secret; "" for a secret."""
    text = text.strip()
    return text if text.startswith(("ssm:", "secretsmanager:", "bedrock:", "arn:")) else ""


def place_of(secret: SecretStr) -> str:
    return place_in(secret.get_secret_value())


def text_of(secret: SecretStr) -> str:
    """Return the secret of a variable; "" if it names a place."""
    return "" if place_of(secret) else secret.get_secret_value()


def values_of(secret: SecretStr) -> tuple[str, ...]:
    """Return the comma-separated secrets of a variable; none if it names their place."""
    return keys_in(text_of(secret))


def secret_or_place(check: Callable[[SecretStr], SecretStr]) -> AfterValidator:
    """Validate a secret with `check`, and a place by its form."""

    def validate(secret: SecretStr) -> SecretStr:
        place = place_of(secret)
        if not place:
            return check(secret)
        if not _PLACE.fullmatch(place):
            # The message does not quote the value: it may be a key after all.
            raise ValueError("must be ssm:/NAME or secretsmanager:NAME-OR-ARN, or the secret")
        return secret

    return AfterValidator(validate)


def _long_secrets(secrets: SecretStr) -> SecretStr:
    if place_of(secrets):
        raise ValueError("must be secrets of 32 characters or more, not their place")
    each = keys_in(secrets.get_secret_value())
    if len(each) > 2 or any(len(secret) < 32 for secret in each):
        raise ValueError("must be one or two secrets of 32 characters or more")
    return secrets


AnySecret = Annotated[SecretStr, secret_or_place(lambda secret: secret)]
"""One secret, or its place in AWS."""

Names = Annotated[tuple[str, ...], BeforeValidator(split)]
"""A list in kefu.toml, comma separated in an environment variable."""

Url = Annotated[str, AfterValidator(url_of)]

RotatedSecrets = Annotated[SecretStr, AfterValidator(_long_secrets)]
"""One secret of 32 characters or more. During a rotation: both secrets, comma separated."""

StoredSecrets = Annotated[SecretStr, secret_or_place(_long_secrets)]
"""One or two secrets, or their place in AWS: `ssm:/NAME` or `secretsmanager:NAME-OR-ARN`."""
