"""All of Kefu's configuration: the only reader of the environment.

Every field is one environment variable. A wrong value stops the start with a sentence that names
it. `docs/settings.md` is made from the descriptions here.
"""

import os
import re
import secrets
from typing import Annotated, Literal, Self
from urllib.parse import urlsplit

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SecretStr,
    ValidationError,
    field_validator,
    model_validator,
)

from kefu.admin_tokens import MIN_LENGTH
from kefu.keypool import keys_in
from kefu.tokens import counter

# To find plugins, pydantic would read the metadata of all that is installed; there are none for us.
os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")

LONGCAT = "https://api.longcat.chat/openai/v1"

_ORIGIN = re.compile(r"https?://[^/?#@\s*]+")
_STORE = re.compile(r"memory:|sqlite:///.+|dynamodb://[A-Za-z0-9_.-]{3,255}")

_REFERENCE = re.compile(r"ssm:[A-Za-z0-9_./:-]+|secretsmanager:[A-Za-z0-9/_+=.@!:-]+")

Names = tuple[str, ...]


class ConfigurationError(Exception):
    """A setting has a value that Kefu cannot run with."""


class Settings(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)

    # The model
    api_keys: Annotated[SecretStr, Field(alias="LONGCAT_API_KEYS")] = Field(
        SecretStr(""), description="API keys of the model, comma separated; tried in turn."
    )
    keys_from: str = Field(
        "",
        alias="KEFU_KEYS_FROM",
        description="On AWS: where the keys are kept, `ssm:/NAME` or `secretsmanager:NAME-OR-ARN`, "
        "instead of `LONGCAT_API_KEYS`.",
    )
    keys_ttl: float = Field(
        300,
        alias="KEFU_KEYS_TTL",
        ge=10,
        description="Seconds after which keys that are kept there are read again.",
    )
    upstream_url: str = Field(
        "",
        alias="KEFU_UPSTREAM_URL",
        description="Base URL of an OpenAI-compatible API; `/chat/completions` is appended. "
        f"Unset: `{LONGCAT}` when there are keys or on AWS, else a small local model.",
    )
    model: str = Field("LongCat-2.0", alias="KEFU_MODEL", description="The model to ask for.")
    system_prompt: str = Field(
        "",
        alias="KEFU_SYSTEM_PROMPT",
        description="Put first in every conversation. `@FILE`: what is in that file.",
    )
    client_system: Literal["auto", "append", "drop", "reject"] = Field(
        "auto",
        alias="KEFU_CLIENT_SYSTEM",
        description="A `system` message of the page: `auto` uses it when there is no "
        "`KEFU_SYSTEM_PROMPT`, `append` puts it behind that, `drop` ignores it, `reject` "
        "answers 400.",
    )
    trim: Literal["v1", "fifo", "sliding_window", "keep_important", "summary", "off"] = Field(
        "v1",
        alias="KEFU_TRIM",
        description="How a long history is shortened. `v1` counts characters; `fifo`, "
        "`sliding_window` and `keep_important` count tokens; `summary` also has the model tell in "
        "short what it leaves out.",
    )
    trim_chars: int = Field(
        6000,
        alias="KEFU_TRIM_CHARS",
        ge=1,
        description="`v1` removes the oldest turns above this many characters.",
    )
    max_prompt_tokens: int | None = Field(
        None,
        alias="KEFU_MAX_PROMPT_TOKENS",
        ge=1,
        description="Longest prompt, for every `KEFU_TRIM` but `v1` and `off`. Unset: what the "
        "model takes, less a fifth or the longest answer.",
    )
    context_length: int | None = Field(
        None,
        alias="KEFU_CONTEXT_LENGTH",
        ge=1,
        description="Tokens that the model takes, prompt and answer together. Unset: as known of "
        "the model, 8192 for an unknown one.",
    )
    counter: str = Field(
        "calibrated",
        alias="KEFU_COUNTER",
        description="Counts these tokens: `calibrated`, `cjk_v1`, `bytes4`, `chars4`, or exactly "
        "with `tiktoken:` and the name of an encoding or a model.",
    )
    cut_step: float = Field(
        0.0,
        alias="KEFU_CUT_STEP",
        ge=0,
        lt=1,
        description="Above 0, the history is cut in steps of this part of the prompt, so that "
        "prompts begin alike and a provider's prompt cache can serve them; 0.2 is a good step.",
    )
    summary_wait: float = Field(
        1.5,
        alias="KEFU_SUMMARY_WAIT",
        ge=0,
        description="Seconds a chat waits for a new summary; one that takes longer serves the "
        "next request.",
    )
    temperature: float = Field(
        0.5, alias="KEFU_TEMPERATURE", ge=0, le=2, description="Used when a request names none."
    )
    max_output_tokens: int = Field(
        2048,
        alias="KEFU_MAX_OUTPUT_TOKENS",
        ge=1,
        description="Longest answer; a request may ask for less.",
    )

    # The service
    store: str = Field(
        "memory:",
        alias="KEFU_STORE",
        description="Where cooldowns and limits are kept: `memory:`, `sqlite:///FILE` (shared by "
        "the processes of one machine) or `dynamodb://TABLE` (shared by all).",
    )
    allowed_origins: Names = Field(
        (),
        alias="KEFU_ALLOWED_ORIGINS",
        description="Origins of the pages that may embed the widget, comma separated, exact: "
        "`https://www.example.com`. `*` allows every page. The server's own origin always may.",
    )
    openai_api: bool | None = Field(
        None,
        alias="KEFU_OPENAI_API",
        description="Serve `/v1` for OpenAI clients. Unset: yes, but not on AWS.",
    )
    demo: bool | None = Field(
        None, alias="KEFU_DEMO", description="Serve the demo page. Unset: yes, but not on AWS."
    )
    trusted_proxy_hops: int = Field(
        0,
        alias="KEFU_TRUSTED_PROXY_HOPS",
        ge=0,
        le=8,
        description="Proxies of your own in front of the server: so many entries from the right "
        "of `X-Forwarded-For` are believed. 0: the header is ignored.",
    )
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = Field(
        "INFO", alias="KEFU_LOG_LEVEL", description="`DEBUG` also logs the visitors' messages."
    )
    log_format: Literal["json", "text"] = Field(
        "json", alias="KEFU_LOG_FORMAT", description="`text` is for a person at a terminal."
    )

    # Limits
    max_body_bytes: int = Field(
        65536, alias="KEFU_MAX_BODY_BYTES", ge=1, description="Longest request body."
    )
    max_messages: int = Field(
        200, alias="KEFU_MAX_MESSAGES", ge=1, description="Most messages in a request."
    )
    max_message_chars: int = Field(
        16000, alias="KEFU_MAX_MESSAGE_CHARS", ge=1, description="Longest message."
    )
    max_json_depth: int = Field(
        32, alias="KEFU_MAX_JSON_DEPTH", ge=4, description="Deepest nesting of a request body."
    )
    max_streams: int = Field(
        1000,
        alias="KEFU_MAX_STREAMS",
        ge=1,
        description="Answers under way at once in one process; above it 503.",
    )
    max_streams_per_ip: int = Field(
        50,
        alias="KEFU_MAX_STREAMS_PER_IP",
        ge=0,
        description="The same for one address; above it 429. 0: no limit.",
    )
    ip_requests_per_minute: int = Field(
        30,
        alias="KEFU_IP_REQUESTS_PER_MINUTE",
        ge=0,
        description="Chats one address may start in a minute. 0: no limit.",
    )
    site_requests_per_minute: int = Field(
        0,
        alias="KEFU_SITE_REQUESTS_PER_MINUTE",
        ge=0,
        description="Chats the whole site may start in a minute. 0: no limit.",
    )
    daily_tokens: int = Field(
        0,
        alias="KEFU_DAILY_TOKENS",
        ge=0,
        description="Tokens the whole site may spend in a day (UTC). 0: no limit.",
    )
    budget_without_store: Literal["closed", "local"] = Field(
        "closed",
        alias="KEFU_BUDGET_WITHOUT_STORE",
        description="While the store is down: `closed` refuses what the daily budget cannot be "
        "checked for, `local` lets each process count alone.",
    )

    # Kept chats
    sessions: bool | None = Field(
        None,
        alias="KEFU_SESSIONS",
        description="Keep chats, in `KEFU_STORE`: docs/sessions.md. Unset: yes, but not on AWS, "
        "because it stores what visitors write.",
    )
    session_days: float = Field(
        30,
        alias="KEFU_SESSION_DAYS",
        gt=0,
        le=3650,
        description="Days for which a chat is kept after the visitor's last message.",
    )
    raw_days: float = Field(
        7,
        alias="KEFU_RAW_DAYS",
        gt=0,
        le=3650,
        description="Days for which requests and responses are kept as they went over the wire.",
    )
    capture: Literal["off", "errors", "all"] | None = Field(
        None,
        alias="KEFU_CAPTURE",
        description="Of which calls they are: `off`, `errors` or `all`. Unset: `all`, on AWS "
        "`errors`.",
    )
    max_history_turns: int = Field(
        10,
        alias="KEFU_MAX_HISTORY_TURNS",
        ge=0,
        le=100,
        description="Older turns of a kept chat that the model is told, at most.",
    )
    session_requests_per_minute: int = Field(
        20,
        alias="KEFU_SESSION_REQUESTS_PER_MINUTE",
        ge=0,
        description="Messages one kept chat may send in a minute. 0: no limit.",
    )
    session_secrets: SecretStr = Field(
        SecretStr(""),
        alias="KEFU_SESSION_SECRETS",
        description="Signs the tokens of kept chats: one secret of 32 characters or more, or two, "
        "comma separated, while they are rotated; the first signs. Unset: one that the store "
        "keeps.",
    )
    configs: str = Field(
        "",
        alias="KEFU_CONFIGS",
        description="A TOML file with presets that a page may choose, and options of hooks.",
    )
    hooks: Names = Field(
        (),
        alias="KEFU_HOOKS",
        description="What is done to kept chats on the way, in this order, comma separated: names "
        "from docs/sessions.md, or `module:name` for one of your own.",
    )
    unfence: bool = Field(
        False,
        alias="KEFU_UNFENCE",
        description="Take the fence off an answer that is one Markdown code block, where it is "
        "kept.",
    )

    identity_secrets: SecretStr = Field(
        SecretStr(""),
        alias="KEFU_IDENTITY_SECRETS",
        description="With which your site signs who its users are, one secret or two while one "
        "replaces the other, of 32 characters or more: docs/identity.md.",
    )
    identity_secrets_from: str = Field(
        "",
        alias="KEFU_IDENTITY_SECRETS_FROM",
        description="On AWS: where they are kept, as in `KEFU_KEYS_FROM`, instead.",
    )
    identity_audience: str = Field(
        "kefu", alias="KEFU_IDENTITY_AUDIENCE", description="The `aud` that such a token must have."
    )

    # Bot check
    bot_check: Literal["off", "turnstile", "hcaptcha"] = Field(
        "off",
        alias="KEFU_BOT_CHECK",
        description="Who tells people from bots before a chat starts: docs/bot-check.md.",
    )
    bot_check_secret: SecretStr = Field(
        SecretStr(""),
        alias="KEFU_BOT_CHECK_SECRET",
        description="The provider's secret key.",
    )
    bot_check_secret_from: str = Field(
        "",
        alias="KEFU_BOT_CHECK_SECRET_FROM",
        description="On AWS: where it is kept, as in `KEFU_KEYS_FROM`, instead; it is read again "
        "every `KEFU_KEYS_TTL` seconds.",
    )
    bot_check_hostnames: Names = Field(
        (),
        alias="KEFU_BOT_CHECK_HOSTNAMES",
        description="Host names of the pages on which the check may be done, comma separated. "
        "Unset: those of `KEFU_ALLOWED_ORIGINS`.",
    )
    bot_check_action: str = Field(
        "chat",
        alias="KEFU_BOT_CHECK_ACTION",
        description="What the page must give Turnstile as the `action`; hCaptcha knows none.",
    )
    bot_check_minutes: int = Field(
        30,
        alias="KEFU_BOT_CHECK_MINUTES",
        ge=1,
        le=1440,
        description="For which a visitor who has passed is not checked again.",
    )
    bot_check_url: str = Field(
        "",
        alias="KEFU_BOT_CHECK_URL",
        description="Where tokens are verified. Unset: the provider's own address.",
    )

    # The operator's panel
    admin_token: SecretStr = Field(
        SecretStr(""),
        alias="ADMIN_TOKEN",
        description="Opens the panel at `/admin`: docs/panel.md. 32 characters or more. Unset: "
        "there is no panel.",
    )
    admin_token_from: str = Field(
        "",
        alias="KEFU_ADMIN_TOKEN_FROM",
        description="On AWS: where it is kept, as in `KEFU_KEYS_FROM`, instead.",
    )
    price_input: float | None = Field(
        None,
        alias="KEFU_PRICE_INPUT",
        ge=0,
        description="Of a million tokens of prompt, for the costs that the panel shows. Unset: it "
        "shows none.",
    )
    price_output: float | None = Field(
        None, alias="KEFU_PRICE_OUTPUT", ge=0, description="Of a million tokens of answer."
    )

    # Keys
    max_retries: int = Field(
        3, alias="KEFU_MAX_RETRIES", ge=0, le=10, description="Further keys tried for one request."
    )
    cooldown: float = Field(
        60, alias="KEFU_COOLDOWN", ge=1, le=3600, description="Seconds a failing key rests."
    )
    probe_interval: float = Field(
        0,
        alias="KEFU_PROBE_INTERVAL",
        ge=0,
        description="While every key rests, let one request through every so many seconds. "
        "0: none.",
    )

    # Time limits, in seconds
    try_timeout: float = Field(
        2.5,
        alias="KEFU_TRY_TIMEOUT",
        gt=0,
        description="For one key to answer with headers, while another is left to try.",
    )
    first_byte_budget: float = Field(
        4.5,
        alias="KEFU_FIRST_BYTE_BUDGET",
        gt=0,
        description="For all keys together to answer with headers. For slow models raise it "
        "together with the widget's `data-first-byte-timeout`.",
    )
    first_event_timeout: float = Field(
        10,
        alias="KEFU_FIRST_EVENT_TIMEOUT",
        gt=0,
        description="From a key's headers to its first event.",
    )
    stall_timeout: float = Field(
        10, alias="KEFU_STALL_TIMEOUT", gt=0, description="Between two pieces of an answer."
    )
    ping_interval: float = Field(
        2.5,
        alias="KEFU_PING_INTERVAL",
        gt=0,
        description="Silence after which a comment keeps the connection alive.",
    )
    max_duration: float = Field(
        120, alias="KEFU_MAX_DURATION", gt=0, description="For a whole answer."
    )
    body_timeout: float = Field(
        10, alias="KEFU_BODY_TIMEOUT", gt=0, description="For a client to send its request."
    )
    write_timeout: float = Field(
        30, alias="KEFU_WRITE_TIMEOUT", gt=0, description="For a client to read what was sent."
    )
    store_timeout: float = Field(
        0.2, alias="KEFU_STORE_TIMEOUT", gt=0, description="For the store to answer a chat."
    )

    # Set by AWS, not by you
    lambda_function: str = Field("", alias="AWS_LAMBDA_FUNCTION_NAME", exclude=True)
    lambda_runtime: str = Field("", alias="AWS_LAMBDA_RUNTIME_API", exclude=True)
    lambda_start: str = Field("", alias="AWS_LAMBDA_INITIALIZATION_TYPE", exclude=True)

    @field_validator("allowed_origins", "bot_check_hostnames", "hooks", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        if isinstance(value, str):
            return tuple(part.strip() for part in value.split(",") if part.strip())
        return value

    @field_validator("allowed_origins")
    @classmethod
    def _are_origins(cls, origins: tuple[str, ...]) -> tuple[str, ...]:
        for origin in origins:
            if origin != "*" and not _ORIGIN.fullmatch(origin):
                raise ValueError(f"{origin!r} is not an origin such as https://www.example.com")
        return tuple(origin if origin == "*" else origin.lower() for origin in origins)

    @field_validator("system_prompt")
    @classmethod
    def _from_file(cls, prompt: str) -> str:
        if not prompt.startswith("@"):
            return prompt
        try:
            with open(prompt[1:], encoding="utf-8") as file:  # noqa: PTH123 - pathlib takes time
                return file.read().strip()
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
            raise ValueError(f"{prompt[1:]} cannot be read: {reason}") from None

    @field_validator("upstream_url", "bot_check_url")
    @classmethod
    def _is_url(cls, url: str) -> str:
        parts = urlsplit(url)
        if url and (parts.scheme not in ("http", "https") or not parts.hostname):
            raise ValueError("must be a URL such as https://api.example.com/v1")
        if parts.username or parts.password:
            raise ValueError("must hold no user name or password; keys go into LONGCAT_API_KEYS")
        return url

    @field_validator("store")
    @classmethod
    def _is_store(cls, store: str) -> str:
        if not _STORE.fullmatch(store):
            raise ValueError("must be memory:, sqlite:///FILE or dynamodb://TABLE")
        return store

    @field_validator("counter")
    @classmethod
    def _is_counter(cls, name: str) -> str:
        try:
            counter(name)
        except ImportError as error:
            raise ValueError(str(error)) from error
        return name

    @model_validator(mode="after")
    def _limits_fit_the_strategy(self) -> Self:
        if self.max_prompt_tokens and self.trim in ("v1", "off"):
            raise ValueError(
                f"KEFU_MAX_PROMPT_TOKENS does nothing with KEFU_TRIM={self.trim}: set KEFU_TRIM to "
                "fifo, sliding_window, keep_important or summary"
            )
        return self

    @model_validator(mode="after")
    def _bot_check_can_refuse(self) -> Self:
        if self.bot_check != "off":
            if not (self.bot_check_secret.get_secret_value() or self.bot_check_secret_from):
                raise ValueError("KEFU_BOT_CHECK_SECRET: must be set when KEFU_BOT_CHECK is on")
            if not self.bot_check_hosts:
                raise ValueError("KEFU_BOT_CHECK_HOSTNAMES: must be set where no page is named")
        return self

    @field_validator("session_secrets", "identity_secrets")
    @classmethod
    def _are_long_enough(cls, secrets: SecretStr) -> SecretStr:
        each = keys_in(secrets.get_secret_value())
        if len(each) > 2 or any(len(secret) < 32 for secret in each):
            raise ValueError("must be one or two secrets of 32 characters or more")
        return secrets

    @field_validator("api_keys")
    @classmethod
    def _are_header_values(cls, keys: SecretStr) -> SecretStr:
        keys_in(keys.get_secret_value())
        return keys

    @field_validator("admin_token")
    @classmethod
    def _is_long_enough(cls, token: SecretStr) -> SecretStr:
        if 0 < len(token.get_secret_value()) < MIN_LENGTH:
            raise ValueError(f"must have {MIN_LENGTH} characters or more")
        return token

    @field_validator(
        "keys_from", "bot_check_secret_from", "admin_token_from", "identity_secrets_from"
    )
    @classmethod
    def _is_reference(cls, reference: str) -> str:
        # Without the value: somebody may have put a key here.
        if reference and not _REFERENCE.fullmatch(reference):
            raise ValueError("must be ssm:/NAME or secretsmanager:NAME-OR-ARN")
        return reference

    @property
    def keys(self) -> tuple[str, ...]:
        """The API keys, in order, each once. Secret: never log them."""
        return keys_in(self.api_keys.get_secret_value())

    def with_panel(self) -> Self:
        """The same with a panel: where nobody chose a token, with one of its own."""
        own = SecretStr(secrets.token_urlsafe(24))
        return self if self.has_panel else self.model_copy(update={"admin_token": own})

    @property
    def secrets(self) -> tuple[str, ...]:
        """All that no log and no record may show."""
        others = (self.bot_check_secret, self.admin_token)
        return (
            *self.keys,
            *self.session_keys,
            *self.identity_keys,
            *(one.get_secret_value() for one in others),
        )

    @property
    def session_keys(self) -> tuple[str, ...]:
        """What signs session tokens, the first of them; secret."""
        return keys_in(self.session_secrets.get_secret_value())

    @property
    def has_panel(self) -> bool:
        return bool(self.admin_token.get_secret_value() or self.admin_token_from)

    @property
    def identity_keys(self) -> tuple[str, ...]:
        """What the site signs with; secret."""
        return keys_in(self.identity_secrets.get_secret_value())

    @property
    def keeps_chats(self) -> bool:
        return not self.on_aws if self.sessions is None else self.sessions

    @property
    def captured(self) -> Literal["off", "errors", "all"]:
        return self.capture or ("errors" if self.on_aws else "all")

    @property
    def bot_check_hosts(self) -> frozenset[str]:
        """The pages on which the check may be done."""
        origins = (origin for origin in self.allowed_origins if origin != "*")
        names = self.bot_check_hostnames or (urlsplit(origin).hostname or "" for origin in origins)
        return frozenset(name.lower() for name in names)

    @property
    def on_aws(self) -> bool:
        return bool(self.lambda_function)

    @property
    def behind_adapter(self) -> bool:
        """Inside a Lambda function, where only the Web Adapter can reach the server."""
        return self.on_aws and bool(self.lambda_runtime)

    @property
    def snapshot(self) -> bool:
        """Lambda will copy the started process, and go on with copies of it."""
        return self.lambda_start == "snap-start"

    @property
    def wants_local_model(self) -> bool:
        return not (self.keys or self.keys_from or self.upstream_url or self.on_aws)


def load() -> Settings:
    """Read the environment. Raises ConfigurationError, whose text is for the person starting it."""
    try:
        # An empty variable counts as unset, as it does in a shell script.
        return Settings.model_validate({name: text for name, text in os.environ.items() if text})
    except ValidationError as error:
        # Without the input: it may be a key.
        lines = (
            ": ".join([*map(str, problem["loc"]), _plain(problem["msg"])])
            for problem in error.errors()
        )
        raise ConfigurationError("\n".join(lines)) from None


def _plain(message: str) -> str:
    return message.removeprefix("Value error, ").removeprefix("Input ")
