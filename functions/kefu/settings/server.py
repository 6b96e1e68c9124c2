"""Settings of the service itself: [server] and [limits]."""

from __future__ import annotations

import re
from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, SecretStr

from kefu.settings.fields import Section, StoredSecrets, setting

SITE_LIMIT_ON_AWS = 300
DAILY_TOKENS_ON_AWS = 2_000_000
"""Default limits on AWS, where the endpoint is public and each use costs money."""

_STORE = re.compile(
    r"memory:|sqlite:///.+|postgresql://[^\s/]*/\S+|dynamodb://[A-Za-z0-9_.-]{3,255}"
)
_PASSWORD = re.compile(r"postgresql://[^/@]*:[^/@]*@|.*[?&]password=")


def _store(store: str) -> str:
    if not _STORE.fullmatch(store):
        raise ValueError(
            "must be memory:, sqlite:///FILE, postgresql://USER@HOST/NAME or dynamodb://TABLE"
        )
    if _PASSWORD.match(store):
        raise ValueError("must hold no password: KEFU_STORE_PASSWORD is its variable")
    return store


class ServerSettings(Section):
    TITLE: ClassVar = "The service"

    store: Annotated[str, AfterValidator(_store)] = setting(
        "memory:",
        "server.store",
        "KEFU_STORE",
        "Where cooldowns, limits and chats are stored: `memory:`, `sqlite:///FILE` (shared by the "
        "processes of one machine), `postgresql://USER@HOST/NAME` or `dynamodb://TABLE` (shared by "
        "all).",
    )
    store_password: SecretStr = setting(
        SecretStr(""),
        "server.store_password",
        "KEFU_STORE_PASSWORD",
        "The password of the user of PostgreSQL.",
    )
    drain: int = setting(
        0,
        "server.drain",
        "KEFU_DRAIN",
        "Seconds for which a server that is to stop still sends its running answers, without "
        "listening for new requests. For several servers behind a proxy, 30. A second signal ends "
        "the answers at once.",
        ge=0,
        le=3600,
        examples=[30],
    )
    metrics: bool = setting(
        False,
        "server.metrics",
        "KEFU_METRICS",
        "Serve `/metrics` for Prometheus: to this machine alone, or with `KEFU_METRICS_TOKEN` to "
        "who has it.",
    )
    metrics_token: SecretStr = setting(
        SecretStr(""),
        "server.metrics_token",
        "KEFU_METRICS_TOKEN",
        "The bearer token that opens `/metrics` for other machines.",
    )
    traces: bool = setting(
        False,
        "server.traces",
        "KEFU_TRACES",
        "Send traces by OTLP. OpenTelemetry's own variables, such as "
        "`OTEL_EXPORTER_OTLP_ENDPOINT`, say where. Needs the package `kefu[otel]`.",
    )
    demo: bool | None = setting(
        None,
        "server.demo",
        "KEFU_DEMO",
        "Serve the demo page. Unset: yes, but not on AWS.",
        examples=[True],
        rare=True,
    )
    trusted_proxy_hops: int = setting(
        0,
        "server.trusted_proxy_hops",
        "KEFU_TRUSTED_PROXY_HOPS",
        "Number of your own proxies in front of the server: so many entries from the right of "
        "`X-Forwarded-For` are trusted. 0: the header is ignored.",
        ge=0,
        le=8,
    )
    origin_secret: StoredSecrets = setting(
        SecretStr(""),
        "server.origin_secret",
        "KEFU_ORIGIN_SECRET",
        "With a CDN in front: the value of the header `X-Kefu-Origin`, which the CDN alone sends. "
        "Requests without it are refused, and the visitor's address is read from "
        "`True-Client-IP`, which the CDN must set. 32 characters or more; or its place, as in "
        "`KEFU_API_KEYS`; `Cdn=on` sets it.",
    )
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = setting(
        "INFO", "server.log_level", "KEFU_LOG_LEVEL", "`DEBUG` also logs the visitors' messages."
    )


class LimitSettings(Section):
    TITLE: ClassVar = "Limits"

    ip_requests_per_minute: int = setting(
        30,
        "limits.per_address_per_minute",
        "KEFU_IP_REQUESTS_PER_MINUTE",
        "Chats that one address may start: so many at once, then one every 60/N seconds. "
        "0: no limit.",
        ge=0,
    )
    site_requests_per_minute: int | None = setting(
        None,
        "limits.per_site_per_minute",
        "KEFU_SITE_REQUESTS_PER_MINUTE",
        "Chats that the whole site may start in a minute. 0: no limit. Unset: no limit, but "
        f"{SITE_LIMIT_ON_AWS} on AWS.",
        ge=0,
        examples=[SITE_LIMIT_ON_AWS],
    )
    daily_tokens: int | None = setting(
        None,
        "limits.daily_tokens",
        "KEFU_DAILY_TOKENS",
        "Tokens that the whole site may spend in a day (UTC). 0: no limit. Unset: no limit, but "
        f"{DAILY_TOKENS_ON_AWS} on AWS.",
        ge=0,
        examples=[DAILY_TOKENS_ON_AWS],
    )
