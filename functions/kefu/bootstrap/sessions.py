"""Builds the service of stored chats from the settings: presets and hooks included."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, TypeVar

from kefu.bootstrap.base import Base
from kefu.bootstrap.hooks import load_hooks
from kefu.bootstrap.options import prompt_policy, windows_of
from kefu.bootstrap.upstream import sampling_of
from kefu.chat.presets import DEFAULT, Config, Configs
from kefu.chat.summaries import Summaries
from kefu.sessions.store.ports import Sessions
from kefu.sessions.turn.call_log import Recording
from kefu.sessions.turn.message_processor import MessageProcessor
from kefu.sessions.turn.saving import BackgroundWriter
from kefu.sessions.turn.service import SessionDeps, SessionService
from kefu.sessions.turn.tokens import SessionTokens
from kefu.settings.sessions import Preset

if TYPE_CHECKING:
    from kefu.tools.toolbox import Toolbox

T = TypeVar("T")


def kept_chats(
    base: Base, store: Sessions, summaries: Summaries, toolbox: Toolbox | None = None
) -> SessionService:
    """Raises ConfigurationError, with a message for the operator."""
    settings, log, capacity = base.settings, base.log, base.capacity(store)
    configs = build_configs(base)
    deps = SessionDeps(
        store=store,
        writer=BackgroundWriter(lambda what: log.notice(f"could not be saved: {what}")),
        clock=base.clock,
        recording=Recording(
            capture=settings.capture,
            redact=log.secrets.hide,
            host=base.model.host,
            windows=windows_of([config.sampling.model for config in configs.by_id.values()]),
            has_room=lambda: capacity.keeps_bodies,
        ),
        processor=MessageProcessor(strip_code_fence=settings.strip_code_fence),
        configs=configs,
        hooks=load_hooks(settings, log.hook_failed),
        summaries=summaries,
        max_turns=settings.max_history_turns,
        toolbox=toolbox,
        capacity=capacity,
        images=settings.images,
        answers_unsaved=settings.without_store == "answer",
    )
    tokens = SessionTokens(settings.session_keys, 86400 * settings.session_days)
    return SessionService(deps, tokens, secrets.token_bytes)


def build_configs(base: Base) -> Configs:
    """The presets of the settings, and the default one."""
    presets = {DEFAULT: Preset(), **base.settings.presets}
    return Configs({name: _config(base, name, preset) for name, preset in presets.items()})


def _config(base: Base, name: str, preset: Preset) -> Config:
    """The values of the preset. Values that it does not have come from the settings."""
    settings = base.settings

    def own(value: T | None, usual: T) -> T:
        return usual if value is None else value

    model = own(preset.model, base.model.name)
    prompt = own(preset.system_prompt, settings.system_prompt)
    ours = settings.model_copy(update={"system_prompt": prompt})
    values = settings.model_copy(update=preset.model_dump(exclude_unset=True))
    return Config(
        name,
        sampling_of(values, model),
        # A message for the operator may be noted twice here. A note is logged once.
        prompt_policy(
            ours,
            model,
            base.notices.append,
            base.constants,
            has_tools=bool(settings.tools) and preset.tools != (),
        ),
        tools=preset.tools,
        is_site=bool(preset.origins),
    )
