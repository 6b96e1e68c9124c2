"""Settings of the model and of its API keys: [model]."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, Self

from pydantic import SecretStr, model_validator

from kefu.relay.key_pool import keys_in
from kefu.settings.fields import Section, Url, place_of, secret_or_place, setting, values_of

LONGCAT = "https://api.longcat.chat/openai/v1"


def _header_values(keys: SecretStr) -> SecretStr:
    keys_in(keys.get_secret_value())
    return keys


ApiKeys = Annotated[SecretStr, secret_or_place(_header_values)]
"""Comma-separated keys, or their place in AWS."""


class ModelSettings(Section):
    TITLE: ClassVar = "The model"

    model: str = setting("LongCat-2.0", "model.name", "KEFU_MODEL", "The model to ask for.")
    upstream_url: Url = setting(
        "",
        "model.url",
        "KEFU_UPSTREAM_URL",
        "Base URL of an OpenAI-compatible API; `/chat/completions` is appended. "
        f"Unset: `{LONGCAT}` when there are keys or on AWS, else answers are quotations of the "
        "learnt pages (sample mode).",
        examples=["https://api.example.com/v1"],
    )
    api_keys: ApiKeys = setting(
        SecretStr(""),
        "model.api_keys",
        "LONGCAT_API_KEYS",
        "API keys of the model, comma separated; tried in turn. Or their place in AWS: `ssm:/NAME` "
        "or `secretsmanager:NAME-OR-ARN`; the template sets it.",
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
        "Base URL of a second API, which is asked when no key of the first can answer. It needs "
        "keys of its own.",
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
        "API keys of the second API, or their place, as in `LONGCAT_API_KEYS`.",
    )
    temperature: float = setting(
        0.5,
        "model.temperature",
        "KEFU_TEMPERATURE",
        "Used when a request names none.",
        ge=0,
        le=2,
    )
    max_output_tokens: int = setting(
        2048,
        "model.max_output_tokens",
        "KEFU_MAX_OUTPUT_TOKENS",
        "Longest answer in tokens; a request may ask for less.",
        ge=1,
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

    @model_validator(mode="after")
    def _fallback_is_whole(self) -> Self:
        keys = self.fallback_api_keys.get_secret_value()
        if self.fallback_url and not keys:
            raise ValueError("KEFU_FALLBACK_API_KEYS: must be set when the fallback has a URL")
        if not self.fallback_url and (keys or self.fallback_model):
            raise ValueError("KEFU_FALLBACK_URL: must be set when the fallback has keys or a model")
        return self

    @property
    def fallback_keys(self) -> tuple[str, ...]:
        """The API keys of the second upstream. Secrets, never to be logged."""
        return values_of(self.fallback_api_keys)

    @property
    def fallback_keys_place(self) -> str:
        """The place of the keys in AWS; "" for keys that are not stored there."""
        return place_of(self.fallback_api_keys)
