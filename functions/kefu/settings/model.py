"""Settings of the model and of its API keys: [model]."""

from __future__ import annotations

import json
import re
from typing import Annotated, ClassVar, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, JsonValue, SecretStr, model_validator

from kefu.relay.key_pool import check_api_keys, keys_in
from kefu.settings.endpoint import (
    SECRET_NAME,
    Endpoint,
    endpoint_of,
    named_variable,
    query_of,
)
from kefu.settings.fields import (
    Section,
    Url,
    place_in,
    place_of,
    secret_or_place,
    setting,
    table,
    values_of,
)
from kefu.settings.file import Keys

_OWN = frozenset(
    {
        "function_call",
        "functions",
        "messages",
        "n",
        "parallel_tool_calls",
        "stream",
        "stream_options",
        "tool_choice",
        "tools",
    }
)
"""Fields of a request that Kefu makes of each chat."""

_SETTINGS = {"max_tokens": "max_output_tokens", "model": "name", "temperature": "temperature"}
"""Fields of a request that have a setting under [model]."""

_OWN_HEADERS = re.compile(
    "accept|accept-encoding|connection|content-.*|host|te|trailer|transfer-encoding|upgrade",
    re.IGNORECASE,
)
_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")

OLD_KEYS = "LONGCAT_API_KEYS"
"""The name of the variable `KEFU_API_KEYS` in the specification."""

LONGCAT = "https://api.longcat.chat/openai/v1"


def _header_values(keys: SecretStr) -> SecretStr:
    check_api_keys(keys_in(keys.get_secret_value()))
    return keys


def _owners_parameters(given: dict[str, JsonValue]) -> dict[str, JsonValue]:
    for name in given:
        if name in _OWN:
            raise ValueError(f"{name} is made by Kefu of each chat and cannot be set")
        if name in _SETTINGS:
            raise ValueError(f"{name} is a setting: write {_SETTINGS[name]} under [model]")
    limit = given.get("max_completion_tokens", 1)
    if type(limit) is not int or limit < 1:
        raise ValueError("max_completion_tokens must be a whole number of 1 or more")
    try:
        json.dumps(given, allow_nan=False)
    except ValueError:
        raise ValueError("a number must not be inf or nan") from None
    return given


def _owners_headers(given: dict[str, str]) -> dict[str, str]:
    for name, value in given.items():
        if not _HEADER.fullmatch(name) or _OWN_HEADERS.fullmatch(name):
            raise ValueError(f"{name} is not a header that can be set")
        if not value or not value.isascii() or not value.isprintable():
            raise ValueError(f"{name} must be a text of ASCII characters")
        if SECRET_NAME.search(name) and not (named_variable(value) or place_in(value)):
            raise ValueError(
                f'{name} looks like a secret, which must not be in this file: write "env:NAME" '
                "with the name of an environment variable, or its place in AWS"
            )
    return given


Parameters = Annotated[dict[str, JsonValue], AfterValidator(_owners_parameters)]
"""Fields of the request to the model, beside those of Kefu."""

Headers = Annotated[dict[str, str], AfterValidator(_owners_headers)]
"""A value is the text itself, `env:NAME`, or a place in AWS."""


def _none(given: object) -> object:
    return None if given == "none" else given


Temperature = Annotated[float | None, Field(ge=0, le=2), BeforeValidator(_none)]
"""None for `none`."""


def keys_at(url: str, keys: SecretStr) -> tuple[str, ...]:
    """The API keys; one empty key for a URL without any, to which no key is sent."""
    return values_of(keys) or (("",) if url and not keys.get_secret_value() else ())


ApiKeys = Annotated[SecretStr, secret_or_place(_header_values)]
"""Comma-separated keys, or their place in AWS."""


class ModelSettings(Section):
    TITLE: ClassVar = "The model"

    model: str = setting("LongCat-2.0", "model.name", "KEFU_MODEL", "The model to ask for.")
    upstream_url: Url = setting(
        "",
        "model.url",
        "KEFU_UPSTREAM_URL",
        "Base URL of an OpenAI-compatible API; `/chat/completions` is appended to its path, unless "
        "it ends so. A value of its query may be `env:NAME`. Without API keys none is sent, as "
        "for Ollama. "
        f"Unset: `{LONGCAT}` when there are keys or on AWS, else answers are quotations of the "
        "learnt pages (sample mode).",
        examples=["https://api.example.com/v1"],
    )
    api_keys: ApiKeys = setting(
        SecretStr(""),
        "model.api_keys",
        "KEFU_API_KEYS",
        "API keys of the model, comma separated; tried in turn. Or their place in AWS: `ssm:/NAME` "
        "or `secretsmanager:NAME-OR-ARN`; the template sets it. `bedrock:REGION` signs keys of "
        "Amazon Bedrock with the credentials of AWS that are there. Also read from "
        "`LONGCAT_API_KEYS`.",
        also=OLD_KEYS,
    )
    patience: Literal["normal", "slow"] = setting(
        "normal",
        "model.patience",
        "KEFU_PATIENCE",
        "`slow`: for models that think for up to 90 seconds before they answer with headers. It "
        "raises all time limits of the model together; the widget needs no change.",
    )
    fallback_url: Url = setting(
        "",
        "model.fallback.url",
        "KEFU_FALLBACK_URL",
        "Base URL of a second API, which is asked when no key of the first can answer. It has "
        "keys, parameters and headers of its own.",
        examples=["https://api.example.com/v1"],
    )
    fallback_model: str = setting(
        "",
        "model.fallback.name",
        "KEFU_FALLBACK_MODEL",
        "The model to ask for there. Unset: the same.",
        examples=["other-model"],
    )
    fallback_api_keys: ApiKeys = setting(
        SecretStr(""),
        "model.fallback.api_keys",
        "KEFU_FALLBACK_API_KEYS",
        "API keys of the second API, or their place, as in `KEFU_API_KEYS`.",
    )
    temperature: Temperature = setting(
        0.5,
        "model.temperature",
        "KEFU_TEMPERATURE",
        "Used when a request names none. `none`: it is never sent, for models that refuse it.",
    )
    max_output_tokens: int = setting(
        2048,
        "model.max_output_tokens",
        "KEFU_MAX_OUTPUT_TOKENS",
        "Longest answer in tokens; a request may ask for less.",
        ge=1,
    )
    parameters: Parameters = table(
        "model.parameters",
        "Further fields of each request to the model, sent as they are: docs/models.md. A "
        "`max_completion_tokens` is sent in place of `max_tokens`, and no answer gets more than "
        "`max_output_tokens`.",
        {"reasoning_effort": "low"},
    )
    headers: Headers = table(
        "model.headers",
        "Further headers of each request to the model. A secret is `env:NAME`, or a place in AWS.",
        {"X-Title": "Example shop"},
    )
    fallback_parameters: Parameters = table(
        "model.fallback.parameters",
        "The same for the second API, which gets none of the first's.",
        {"top_k": 20},
    )
    fallback_headers: Headers = table(
        "model.fallback.headers",
        "The same for the second API, which gets none of the first's.",
        {"X-Title": "Example shop"},
    )
    cooldown: float = setting(
        60,
        "model.cooldown",
        "KEFU_COOLDOWN",
        "Seconds for which a failing key is not used. Less helps where the API counts requests "
        "by the second.",
        ge=1,
        le=3600,
        rare=True,
    )

    variables: dict[str, SecretStr] = Field({}, exclude=True, repr=False)
    """The environment variables that headers and URLs name."""

    @model_validator(mode="after")
    def _fallback_is_whole(self) -> Self:
        more = (self.fallback_model, self.fallback_parameters, self.fallback_headers)
        if not self.fallback_url and (self.fallback_api_keys.get_secret_value() or any(more)):
            raise ValueError("KEFU_FALLBACK_URL: must be set when the fallback has keys or a model")
        return self

    @property
    def named_variables(self) -> dict[str, Keys]:
        """The names of `variables`, and the table that names each."""
        given = (self.headers, self.fallback_headers)
        values = [*given, query_of(self.upstream_url), query_of(self.fallback_url)]
        names = (named_variable(text) for one in values for text in one.values())
        return dict.fromkeys(filter(None, names), ("model",))

    @property
    def endpoint(self) -> Endpoint:
        return endpoint_of(self.upstream_url or LONGCAT, self.headers, self.variables)

    @property
    def fallback_endpoint(self) -> Endpoint:
        return endpoint_of(self.fallback_url, self.fallback_headers, self.variables)

    @property
    def fallback_keys(self) -> tuple[str, ...]:
        """The API keys of the second upstream. Secret: never log them."""
        return keys_at(self.fallback_url, self.fallback_api_keys)

    @property
    def fallback_keys_place(self) -> str:
        """The place of the keys in AWS; "" for keys that are not stored there."""
        return place_of(self.fallback_api_keys)
