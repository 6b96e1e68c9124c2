"""Builds the service of stored chats from the settings: presets and hooks included."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import TypeVar

from kefu.bootstrap.constants import Constants
from kefu.bootstrap.hooks import load_hooks
from kefu.bootstrap.options import KNOWN_WINDOWS, prompt_policy
from kefu.bootstrap.stores import capacity_of
from kefu.bootstrap.upstream import ChosenModel
from kefu.chat.presets import DEFAULT, Config, Configs
from kefu.chat.prompt import PromptPolicy
from kefu.relay.call import Clock
from kefu.sessions.background import BackgroundWriter
from kefu.sessions.call_log import Recording
from kefu.sessions.message_processor import MessageProcessor
from kefu.sessions.ports import Sessions
from kefu.sessions.recorder import PersistenceDeps
from kefu.sessions.service import SessionDeps, SessionService, Signer, SummarizeForTurn
from kefu.settings import Settings
from kefu.settings.sessions import Preset
from kefu.web.log import RequestLog

T = TypeVar("T")


def kept_chats(
    settings: Settings,
    constants: Constants,
    store: Sessions,
    chosen: ChosenModel,
    clock: Clock,
    log: RequestLog,
    summarize: SummarizeForTurn,
    say: Callable[[str], None],
) -> SessionService:
    """`say` is called with messages for the operator; the same message may come twice.

    Raises ConfigurationError, with a message for the operator.
    """
    capacity = capacity_of(settings, constants, store, clock, log)
    persistence = PersistenceDeps(
        store=store,
        writer=BackgroundWriter(lambda what: log.notice(f"could not be saved: {what}")),
        clock=clock,
        recording=Recording(
            capture=settings.capture,
            redact=log.secrets.hide,
            host=chosen.host,
            model=chosen.name,
            windows=KNOWN_WINDOWS,
            has_room=lambda: capacity.keeps_bodies,
        ),
        processor=MessageProcessor(strip_code_fence=settings.strip_code_fence),
    )
    deps = SessionDeps(
        persistence=persistence,
        configs=_configs(settings, constants, chosen, say),
        hooks=load_hooks(settings, log.hook_failed),
        summarize=summarize,
        max_turns=settings.max_history_turns,
        capacity=capacity,
        answers_unsaved=settings.without_store == "answer",
    )
    signer = Signer(
        store, settings.session_keys, secrets.token_hex(32), 86400 * settings.session_days
    )
    return SessionService(deps, signer, secrets.token_bytes)


def _configs(
    settings: Settings, constants: Constants, chosen: ChosenModel, say: Callable[[str], None]
) -> Configs:
    def policy(prompt: str, model: str) -> PromptPolicy:
        ours = settings.model_copy(update={"system_prompt": prompt})
        return prompt_policy(ours, model, say, constants)

    presets = {DEFAULT: Preset(), **settings.presets}
    return Configs(
        {name: _config(name, preset, settings, chosen, policy) for name, preset in presets.items()}
    )


def _config(
    name: str,
    preset: Preset,
    settings: Settings,
    chosen: ChosenModel,
    policy: Callable[[str, str], PromptPolicy],
) -> Config:
    """`policy`: the rules of the prompt, by system prompt and model."""

    def own(value: T | None, usual: T) -> T:
        return usual if value is None else value

    model = own(preset.model, chosen.name)
    prompt = own(preset.system_prompt, settings.system_prompt)
    return Config(
        name,
        model,
        own(preset.temperature, settings.temperature),
        own(preset.max_output_tokens, settings.max_output_tokens),
        policy(prompt, model),
    )
