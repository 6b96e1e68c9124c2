"""Combines the settings of all tables, and validates settings that depend on each other."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, Self
from urllib.parse import urlsplit

from pydantic import ConfigDict, Field, SecretStr, field_validator, model_validator

from kefu.relay.key_pool import keys_in
from kefu.settings.access import (
    AdminSettings,
    BotCheckSettings,
    IdentitySettings,
    McpSettings,
    OpenaiSettings,
)
from kefu.settings.chat import ChatSettings
from kefu.settings.contact import ContactSettings
from kefu.settings.endpoint import Endpoint, endpoint_of, named_variable
from kefu.settings.fields import place_of, text_of, values_of
from kefu.settings.file import Keys
from kefu.settings.knowledge import KnowledgeSettings
from kefu.settings.model import ModelSettings, keys_at
from kefu.settings.server import (
    DAILY_TOKENS_ON_AWS,
    SITE_LIMIT_ON_AWS,
    LimitSettings,
    ServerSettings,
)
from kefu.settings.sessions import SessionSettings

if TYPE_CHECKING:
    from kefu.settings.tools import ToolTable

SECTIONS = (
    ModelSettings,
    ChatSettings,
    LimitSettings,
    SessionSettings,
    KnowledgeSettings,
    ContactSettings,
    AdminSettings,
    IdentitySettings,
    BotCheckSettings,
    OpenaiSettings,
    McpSettings,
    ServerSettings,
)
"""All sections, in the order of docs/settings.md."""


class Settings(
    ServerSettings,
    McpSettings,
    OpenaiSettings,
    BotCheckSettings,
    IdentitySettings,
    AdminSettings,
    ContactSettings,
    KnowledgeSettings,
    SessionSettings,
    LimitSettings,
    ChatSettings,
    ModelSettings,
):
    """All settings as attributes without tables, such as `settings.daily_tokens`."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    config_file: str = Field("", alias="KEFU_CONFIG", exclude=True)
    """The path of the kefu.toml that was read; "": none was."""

    tool_tables: dict[str, Any] = Field({}, alias="tools", exclude=True)
    """See `tools`."""

    # Set by AWS
    lambda_function: str = Field("", alias="AWS_LAMBDA_FUNCTION_NAME", exclude=True)
    lambda_runtime: str = Field("", alias="AWS_LAMBDA_RUNTIME_API", exclude=True)
    lambda_start: str = Field("", alias="AWS_LAMBDA_INITIALIZATION_TYPE", exclude=True)

    @field_validator("tool_tables")
    @classmethod
    def _tools_are_right(cls, given: dict[str, Any]) -> dict[str, Any]:
        if not given:
            return given
        # Imported here, because few services have tools, and the class takes long to build.
        from kefu.settings.tool_checks import checked

        return {**checked(given)}

    @model_validator(mode="after")
    def _tools_fit_the_rest(self) -> Self:
        if self.tools or any(preset.tools for preset in self.presets.values()):
            from kefu.settings.tool_references import check_with_presets

            check_with_presets(self.tools, self.presets, has_users=bool(self.identity_secrets))
        return self

    @model_validator(mode="after")
    def _limits_fit_the_strategy(self) -> Self:
        if self.max_prompt_tokens and self.trim in ("v1", "v1_steps", "off"):
            raise ValueError(
                f"max_prompt_tokens (KEFU_MAX_PROMPT_TOKENS) does nothing with trim = {self.trim}: "
                "set trim (KEFU_TRIM) to fifo, sliding_window, keep_important or summary"
            )
        return self

    @model_validator(mode="after")
    def _bot_check_can_refuse(self) -> Self:
        if self.bot_check != "off":
            if not self.bot_check_secret.get_secret_value():
                raise ValueError("KEFU_BOT_CHECK_SECRET: must be set when the bot check is on")
            if not self.bot_check_hosts:
                raise ValueError("KEFU_ALLOWED_ORIGINS: must name a page when the bot check is on")
        return self

    @model_validator(mode="after")
    def _presets_keep_to_the_longest_answer(self) -> Self:
        most = self.max_output_tokens
        for name, preset in self.presets.items():
            if (preset.max_output_tokens or 0) > most:
                raise ValueError(
                    f"[presets.{name}] max_output_tokens must be from 1 to {most}, which is "
                    "max_output_tokens of [model] (KEFU_MAX_OUTPUT_TOKENS)"
                )
        return self

    @model_validator(mode="after")
    def _webhook_has_a_form(self) -> Self:
        # The template sets a topic also where kefu.toml has no form.
        if self.contact_webhook and not self.contact_topic and not self.contact_form:
            raise ValueError("[contact] webhook (KEFU_CONTACT_WEBHOOK) does nothing without form")
        if self.contact_mail and not self.contact_form:
            raise ValueError("[contact] mail (KEFU_CONTACT_MAIL) does nothing without form")
        if self.contact_mail and self.contact_webhook and not self.contact_topic:
            raise ValueError("[contact] has mail and webhook (KEFU_CONTACT_WEBHOOK): choose one")
        return self

    @model_validator(mode="after")
    def _visitors_can_be_mailed(self) -> Self:
        name = "[contact] mail_visitors (KEFU_CONTACT_MAIL_VISITORS)"
        if not self.contact_mail_visitors:
            return self
        if not (self.contact_mail and "email" in self.contact_form):
            raise ValueError(f"{name} needs mail, and the field email in form")
        if not self.keeps_chats:
            raise ValueError(f"{name} needs stored chats: enabled in [sessions] (KEFU_SESSIONS)")
        if self.site_address == "*":
            raise ValueError(f"{name} needs origins in [chat]: the mail has the first as a link")
        return self

    @model_validator(mode="after")
    def _oidc_can_work(self) -> Self:
        if not self.admin_oidc:
            return self
        if not (self.admin_oidc_write or self.admin_oidc_read):
            raise ValueError("[admin] oidc lets nobody in without oidc_write or oidc_read")
        for name, value in (
            ("oidc_client (KEFU_ADMIN_OIDC_CLIENT)", self.admin_oidc_client),
            ("KEFU_ADMIN_OIDC_SECRET", self.admin_oidc_secret.get_secret_value()),
            ("url (KEFU_ADMIN_URL)", self.admin_url),
            ("token (ADMIN_TOKEN), which signs the operators' passes", self.has_panel),
        ):
            if not value:
                raise ValueError(f"[admin] oidc needs {name}")
        return self

    @property
    def keys(self) -> tuple[str, ...]:
        """The API keys, in order, without duplicates. Secret: never log them.

        One empty key for a model that is asked without any.
        """
        return keys_at(self.upstream_url, self.api_keys)

    @property
    def keys_place(self) -> str:
        """The place in AWS where the API keys are stored; "" if they are not."""
        return place_of(self.api_keys)

    def with_panel(self) -> Self:
        """Return settings with a panel. If no token is set, the panel gets a random token."""
        own = SecretStr(secrets.token_urlsafe(24))
        return self if self.has_panel else self.model_copy(update={"admin_token": own})

    @property
    def secrets(self) -> tuple[str, ...]:
        """All secrets of the settings; no log and no record may contain them."""
        return (
            *self.keys,
            *self.fallback_keys,
            *self.endpoint.secrets,
            *self.fallback_endpoint.secrets,
            *(secret for name in self.tools for secret in self.tool_endpoint(name).secrets),
            *self.session_keys,
            *self.identity_keys,
            *self.origin_secrets,
            *self.client_keys,
            *self.assistant_keys,
            text_of(self.bot_check_secret),
            self.store_password.get_secret_value(),
            text_of(self.contact_password),
            self.admin_oidc_secret.get_secret_value(),
            self.metrics_token.get_secret_value(),
            self.panel_token,
        )

    @property
    def tools(self) -> Mapping[str, ToolTable]:
        return self.tool_tables

    def tool_endpoint(self, name: str) -> Endpoint:
        """The headers of a tool's requests, with the values of environment variables."""
        return endpoint_of("", self.tools[name].headers, self.variables)

    @property
    def named_variables(self) -> dict[str, Keys]:
        values = ((name, text) for name, one in self.tools.items() for text in one.headers.values())
        named = {named_variable(text): ("tools", name) for name, text in values}
        return {name: keys for name, keys in named.items() if name} | super().named_variables

    @property
    def session_keys(self) -> tuple[str, ...]:
        """The secrets of session tokens; the first secret signs."""
        return keys_in(self.session_secrets.get_secret_value())

    @property
    def panel_token(self) -> str:
        """The token of the panel; "" if the settings do not contain it."""
        return text_of(self.admin_token)

    @property
    def has_panel(self) -> bool:
        return bool(self.admin_token.get_secret_value())

    @property
    def identity_keys(self) -> tuple[str, ...]:
        """The secrets with which the site signs its users' tokens."""
        return values_of(self.identity_secrets)

    @property
    def origin_secrets(self) -> tuple[str, ...]:
        """The accepted secrets, as the CDN sends a secret in each request."""
        return values_of(self.origin_secret)

    @property
    def behind_cdn(self) -> bool:
        return bool(self.origin_secret.get_secret_value())

    @property
    def client_keys(self) -> tuple[str, ...]:
        """The keys that clients of `/v1` must send; empty: none is needed."""
        return keys_in(self.openai_keys.get_secret_value())

    @property
    def assistant_keys(self) -> tuple[str, ...]:
        """The keys that assistants must send to `/mcp`; empty: none is needed."""
        return keys_in(self.mcp_keys.get_secret_value())

    @property
    def keeps_chats(self) -> bool:
        return not self.on_aws if self.sessions is None else self.sessions

    @property
    def site_limit(self) -> int:
        """Chats that the whole site may start in a minute; 0: no limit."""
        usual = SITE_LIMIT_ON_AWS if self.on_aws else 0
        return usual if self.site_requests_per_minute is None else self.site_requests_per_minute

    @property
    def token_budget(self) -> int:
        """Tokens that the whole site may spend in a day; 0: no limit."""
        usual = DAILY_TOKENS_ON_AWS if self.on_aws else 0
        return usual if self.daily_tokens is None else self.daily_tokens

    @property
    def serves_openai(self) -> Literal["off", "on", "tools", "server"]:
        """The extent of the API `/v1`."""
        return self.openai_api or ("off" if self.on_aws else "on")

    @property
    def bot_check_hosts(self) -> frozenset[str]:
        """The host names of the pages on which the check may be done."""
        every = (*self.allowed_origins, *self.site_origins)
        origins = (origin for origin in every if origin != "*")
        return frozenset(urlsplit(origin).hostname or "" for origin in origins)

    @property
    def site_address(self) -> str:
        """The first origin of the site; `*` if none is named."""
        return next((one for one in self.allowed_origins if one != "*"), "*")

    @property
    def on_aws(self) -> bool:
        return bool(self.lambda_function)

    @property
    def behind_adapter(self) -> bool:
        """Whether this is a Lambda function, where only the Web Adapter can reach the server."""
        return self.on_aws and bool(self.lambda_runtime)

    @property
    def snapshot(self) -> bool:
        """Whether Lambda continues with copies of the started process (SnapStart)."""
        return self.lambda_start == "snap-start"

    @property
    def without_model(self) -> bool:
        """Whether no API key and no upstream is set, on a machine for trials."""
        return not (self.keys or self.keys_place or self.upstream_url or self.on_aws)
