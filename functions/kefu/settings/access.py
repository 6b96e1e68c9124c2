"""Settings of access: [identity], [bot_check], [openai] and [admin]."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, SecretStr

from kefu.auth.admin_tokens import MIN_LENGTH
from kefu.relay.key_pool import keys_in
from kefu.settings.fields import Section, StoredSecrets, secret_or_place, setting


def _long_token(token: SecretStr) -> SecretStr:
    if 0 < len(token.get_secret_value()) < MIN_LENGTH:
        raise ValueError(f"must have {MIN_LENGTH} characters or more")
    return token


class IdentitySettings(Section):
    TITLE: ClassVar = "Users of your site"

    identity_secrets: StoredSecrets = setting(
        SecretStr(""),
        "identity.secrets",
        "KEFU_IDENTITY_SECRETS",
        "Your site signs its users' tokens with it: one secret of 32 characters or more, or two "
        "while one replaces the other. Or their place, as in `LONGCAT_API_KEYS`. docs/identity.md.",
    )


def _any(secret: SecretStr) -> SecretStr:
    return secret


class BotCheckSettings(Section):
    TITLE: ClassVar = "Bot check"

    bot_check: Literal["off", "turnstile", "hcaptcha"] = setting(
        "off",
        "bot_check.provider",
        "KEFU_BOT_CHECK",
        "The provider that tells people from bots before a chat starts: docs/bot-check.md.",
    )
    bot_check_secret: Annotated[SecretStr, secret_or_place(_any)] = setting(
        SecretStr(""),
        "bot_check.secret",
        "KEFU_BOT_CHECK_SECRET",
        "The provider's secret key, or its place, as in `LONGCAT_API_KEYS`.",
    )


def _long_keys(keys: SecretStr) -> SecretStr:
    if any(len(key) < MIN_LENGTH for key in keys_in(keys.get_secret_value())):
        raise ValueError(f"must be keys of {MIN_LENGTH} characters or more")
    return keys


class OpenaiSettings(Section):
    TITLE: ClassVar = "OpenAI clients"

    openai_keys: Annotated[SecretStr, AfterValidator(_long_keys)] = setting(
        SecretStr(""),
        "openai.keys",
        "KEFU_OPENAI_KEYS",
        f"Keys of your own for the clients of `/v1`, of {MIN_LENGTH} characters or more, comma "
        "separated; each is sent as `Authorization: Bearer`. Unset: no key is needed.",
    )
    openai_tools: bool = setting(
        False,
        "openai.tools",
        "KEFU_OPENAI_TOOLS",
        "Pass tools, tool calls and their results between the clients of `/v1` and the model.",
        examples=[True],
    )


class AdminSettings(Section):
    TITLE: ClassVar = "The operator's panel"

    admin_token: Annotated[SecretStr, secret_or_place(_long_token)] = setting(
        SecretStr(""),
        "admin.token",
        "ADMIN_TOKEN",
        f"Opens the panel at `/admin`: docs/panel.md. {MIN_LENGTH} characters or more; "
        "or its place, as in `LONGCAT_API_KEYS`. Unset: there is no panel.",
    )
    price_input: float | None = setting(
        None,
        "admin.price_input",
        "KEFU_PRICE_INPUT",
        "Price of a million tokens of prompt, for the costs that the panel shows. Unset: it shows "
        "none.",
        ge=0,
        examples=[0.5],
    )
    price_output: float | None = setting(
        None,
        "admin.price_output",
        "KEFU_PRICE_OUTPUT",
        "Price of a million tokens of answer.",
        ge=0,
        examples=[1.5],
    )
