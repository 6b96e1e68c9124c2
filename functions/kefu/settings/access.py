"""Settings of access: [identity], [bot_check], [openai], [mcp] and [admin]."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr

from kefu.auth.admin_tokens import MIN_LENGTH
from kefu.relay.key_pool import keys_in
from kefu.settings.fields import (
    AnySecret,
    Names,
    Section,
    StoredSecrets,
    Url,
    secret_or_place,
    setting,
    split,
)

Price = Annotated[float, Field(ge=0)]


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
        "while one replaces the other. Or their place, as in `KEFU_API_KEYS`. docs/identity.md.",
    )


class BotCheckSettings(Section):
    TITLE: ClassVar = "Bot check"

    bot_check: Literal["off", "turnstile", "hcaptcha"] = setting(
        "off",
        "bot_check.provider",
        "KEFU_BOT_CHECK",
        "The provider that tells people from bots before a chat starts: docs/bot-check.md.",
    )
    bot_check_secret: AnySecret = setting(
        SecretStr(""),
        "bot_check.secret",
        "KEFU_BOT_CHECK_SECRET",
        "The provider's secret key, or its place, as in `KEFU_API_KEYS`.",
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
    openai_api: Literal["off", "on", "tools", "server"] | None = setting(
        None,
        "openai.api",
        "KEFU_OPENAI_API",
        "Serve `/v1` for OpenAI clients. `tools`: also pass tools, tool calls and their results "
        "between them and the model. `server`: the model may use the tools of `[tools.NAME]` that "
        "only read. Unset: `on`, but `off` on AWS.",
        examples=["on"],
    )


class McpSettings(Section):
    TITLE: ClassVar = "Assistants of your visitors"

    serves_mcp: bool = setting(
        False,
        "mcp.enabled",
        "KEFU_MCP",
        "Let assistants search and read the learnt pages by the Model Context Protocol, at `/mcp`: "
        "docs/mcp.md.",
    )
    mcp_keys: Annotated[SecretStr, AfterValidator(_long_keys)] = setting(
        SecretStr(""),
        "mcp.keys",
        "KEFU_MCP_KEYS",
        f"Keys of your own for these assistants, of {MIN_LENGTH} characters or more, comma "
        "separated; each is sent as `Authorization: Bearer`. Unset: no key is needed.",
    )


def _pair(prices: tuple[float, ...]) -> tuple[float, ...]:
    if len(prices) not in (0, 2):
        raise ValueError("must be two prices, of prompt and of answer")
    return prices


def _safe(url: str) -> str:
    parts = urlsplit(url)
    if url and parts.scheme != "https" and parts.hostname not in ("localhost", "127.0.0.1", "::1"):
        raise ValueError("must begin with https:")
    return url


class AdminSettings(Section):
    TITLE: ClassVar = "The operator's panel"

    admin_token: Annotated[SecretStr, secret_or_place(_long_token)] = setting(
        SecretStr(""),
        "admin.token",
        "ADMIN_TOKEN",
        f"Opens the panel at `/admin`: docs/panel.md. {MIN_LENGTH} characters or more; "
        "or its place, as in `KEFU_API_KEYS`. Unset: there is no panel.",
    )
    admin_url: Annotated[Url, AfterValidator(_safe)] = setting(
        "",
        "admin.url",
        "KEFU_ADMIN_URL",
        "The address at which operators open this service, for `oidc` and for links in mails.",
        examples=["https://chat.example.com"],
    )
    admin_oidc: Annotated[Url, AfterValidator(_safe)] = setting(
        "",
        "admin.oidc",
        "KEFU_ADMIN_OIDC",
        "The issuer of an OpenID provider, with which operators sign in: docs/panel.md. It needs "
        "`kefu[oidc]`. Unset: they sign in by links alone.",
        examples=["https://accounts.example.com"],
    )
    admin_oidc_client: str = setting(
        "",
        "admin.oidc_client",
        "KEFU_ADMIN_OIDC_CLIENT",
        "The client id that the provider has given to Kefu.",
        examples=["kefu"],
    )
    admin_oidc_secret: SecretStr = setting(
        SecretStr(""),
        "admin.oidc_secret",
        "KEFU_ADMIN_OIDC_SECRET",
        "The client's secret.",
    )
    admin_oidc_write: Names = setting(
        (),
        "admin.oidc_write",
        "KEFU_ADMIN_OIDC_WRITE",
        "Verified e-mail addresses, and values of the claims `roles` and `groups`, of operators "
        "who may do everything.",
        examples=[["ingrid@example.com", "support"]],
    )
    admin_oidc_read: Names = setting(
        (),
        "admin.oidc_read",
        "KEFU_ADMIN_OIDC_READ",
        "The same of operators who may only read.",
        examples=[["bob@example.com"]],
    )
    prices: Annotated[tuple[Price, ...], BeforeValidator(split), AfterValidator(_pair)] = setting(
        (),
        "admin.prices",
        "KEFU_PRICES",
        "Prices of a million tokens of prompt and of a million tokens of answer, comma separated, "
        "for the costs that the panel shows. Unset: it shows none.",
        examples=[[0.5, 1.5]],
    )
