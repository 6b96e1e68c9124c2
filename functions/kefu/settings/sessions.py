"""Settings of stored chats, presets and hooks: [sessions], [presets.NAME] and [hooks.NAME]."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr

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

    @property
    def hooks(self) -> tuple[str, ...]:
        """The names of the enabled hooks, in their order."""
        return tuple(self.hook_options)
