"""Settings of stored chats, presets and hooks: [sessions], [presets.NAME] and [hooks.NAME]."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    SecretStr,
    field_validator,
    model_validator,
)

from kefu.settings.chat import checked_origins
from kefu.settings.contact import Link
from kefu.settings.fields import RotatedSecrets, Section, setting
from kefu.settings.model import Parameters, Temperature


class Preset(BaseModel):
    """The table [presets.NAME]. For a field that is not set, the value of the settings applies."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    model: str | None = Field(None, description="The model to ask for, of the same API.")
    temperature: Temperature = None
    max_output_tokens: int | None = Field(
        None, ge=1, description="Longest answer, up to `max_output_tokens` of `[model]`."
    )
    system_prompt: str | None = None
    parameters: Parameters | None = Field(
        None, description="A table of its own, in place of `[model.parameters]`."
    )
    tools: tuple[str, ...] | None = Field(
        None, description="The names of its tools. Unset: all tools."
    )
    origins: Annotated[tuple[str, ...], AfterValidator(checked_origins)] = Field(
        (),
        description="Makes the preset a site of its own: docs/sites.md. The origins of its pages, "
        "which use no other preset, and no other page uses this one.",
    )
    knowledge: str | None = Field(
        None, description="A site's file of learnt pages. Unset: it has no pages."
    )
    contact: Link | None = Field(
        None, description="Where a site's visitors reach a person. Unset: as in `[contact]`."
    )
    daily_tokens: int | None = Field(
        None, ge=0, description="A site's own budget. Unset: it shares that of `[limits]`."
    )
    prices: tuple[float, float] | None = Field(
        None, description="Prices of a million tokens of prompts and answers, for the panel."
    )

    @model_validator(mode="after")
    def _belongs_to_a_site(self) -> Self:
        own = ("knowledge", "contact", "daily_tokens", "prices")
        if not self.origins and (found := [one for one in own if getattr(self, one) is not None]):
            raise ValueError(f"{found[0]} needs origins, which make the preset a site")
        return self


class SessionSettings(Section):
    TITLE: ClassVar = "Stored chats"

    sessions: bool | None = setting(
        None,
        "sessions.enabled",
        "KEFU_SESSIONS",
        "Store chats: docs/sessions.md. Unset: yes, but not on AWS, because visitors' messages "
        "are stored.",
        examples=[True],
    )
    session_days: float = setting(
        30,
        "sessions.days",
        "KEFU_SESSION_DAYS",
        "Days for which a chat is stored after the visitor's last message.",
        gt=0,
        le=3650,
    )
    without_store: Literal["refuse", "answer"] = setting(
        "refuse",
        "sessions.without_store",
        "KEFU_SESSIONS_WITHOUT_STORE",
        "A message that cannot be stored because the store fails: `refuse` it, or `answer` it "
        "without storing the chat.",
        rare=True,
    )
    capture: Literal["off", "errors", "all"] = setting(
        "errors",
        "sessions.capture",
        "KEFU_CAPTURE",
        "The calls to the model of which the raw requests and responses are stored, for 7 days: "
        "`off`, `errors` or `all`.",
    )
    max_history_turns: int = setting(
        10,
        "sessions.max_history_turns",
        "KEFU_MAX_HISTORY_TURNS",
        "Older turns of a stored chat that are sent to the model, at most.",
        ge=0,
        le=100,
        rare=True,
    )
    session_secrets: RotatedSecrets = setting(
        SecretStr(""),
        "sessions.secrets",
        "KEFU_SESSION_SECRETS",
        "Signs the tokens of stored chats: one secret of 32 characters or more, or two, comma "
        "separated, while they are rotated; the first signs. Unset: one that the store keeps.",
    )
    strip_code_fence: bool = setting(
        False,
        "sessions.strip_code_fence",
        "KEFU_STRIP_CODE_FENCE",
        "Where an answer is stored that is one Markdown code block, remove the fence.",
        rare=True,
    )
    hook_options: dict[str, dict[str, object]] = Field({}, alias="hooks", exclude=True)
    presets: dict[str, Preset] = Field({}, alias="presets", exclude=True)

    @field_validator("presets")
    @classmethod
    def _origins_have_one_site(cls, presets: dict[str, Preset]) -> dict[str, Preset]:
        seen = dict[str, str]()
        for name, preset in presets.items():
            if name == "default" and preset.origins:
                raise ValueError("[presets.default] origins: its pages are those of [chat]")
            for origin in preset.origins:
                if origin == "*":
                    raise ValueError(f"[presets.{name}] origins: must name each origin of the site")
                if (other := seen.setdefault(origin, name)) != name:
                    raise ValueError(f"[presets.{name}] origins: {origin} is one of {other}")
        return presets

    @property
    def site_origins(self) -> dict[str, str]:
        """The preset of each origin that belongs to a site of its own."""
        return {one: name for name, preset in self.presets.items() for one in preset.origins}

    @property
    def hooks(self) -> tuple[str, ...]:
        """The names of the enabled hooks, in their order."""
        return tuple(self.hook_options)
