"""Kept chats as the settings describe them: store, presets from a file, hooks by their names."""

from __future__ import annotations

import importlib
import secrets
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NoReturn, cast

from kefu.answer import Clock
from kefu.configs import DEFAULT, Config, Configs
from kefu.context import Summarize
from kefu.hooks import HOOKS, BadOptions, Given, Hook, HookFactory
from kefu.keeping import Keeper
from kefu.message_processor import MessageProcessor
from kefu.model import ChosenModel
from kefu.outcome import Writing
from kefu.policy import known_windows, prompt_policy
from kefu.recording import Recording
from kefu.sessions import Retention, Sessions
from kefu.settings import ConfigurationError, Settings
from kefu.turn import Ways
from kefu.turns import Signer, Turns
from kefu.web.log import RequestLog

Table = Mapping[str, object]


def retention(settings: Settings) -> Retention:
    return Retention(session=86400 * settings.session_days, raw=86400 * settings.raw_days)


def kept_chats(
    settings: Settings,
    store: Sessions,
    chosen: ChosenModel,
    clock: Clock,
    log: RequestLog,
    summarize: Summarize,
    say: Callable[[str], None],
) -> Turns:
    """`say` takes what the person running the service should look at; one thing perhaps twice.

    Raises ConfigurationError, with a sentence for that person.
    """
    file = _file(settings.configs)
    writing = Writing(
        store=store,
        keeper=Keeper(lambda what: log.notice(f"could not be saved: {what}")),
        clock=clock,
        recording=Recording(
            capture=settings.captured,
            redact=log.redactor,
            host=chosen.host,
            model=chosen.name,
            windows=known_windows(settings, chosen.name),
        ),
        processor=MessageProcessor(unfence=settings.unfence),
    )
    ways = Ways(
        writing=writing,
        configs=_configs(settings, file, chosen, say),
        hooks=_hooks(settings, file, summarize),
        on_fault=lambda what: log.notice(f"a hook failed: {what}"),
        max_turns=settings.max_history_turns,
    )
    signer = Signer(
        store, settings.session_keys, secrets.token_hex(32), 86400 * settings.session_days
    )
    return Turns(ways, signer, secrets.token_bytes)


def _file(name: str) -> Table:
    if not name:
        return {}
    import tomllib  # here: few services have such a file

    try:
        return tomllib.loads(Path(name).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise ConfigurationError(f"KEFU_CONFIGS: {name} cannot be read: {reason}") from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigurationError(f"KEFU_CONFIGS: {name} is not TOML: {error}") from None


def _configs(
    settings: Settings, file: Table, chosen: ChosenModel, say: Callable[[str], None]
) -> Configs:
    tables = _tables(file, "configs")
    known = {
        name: _config(name, tables[name], settings, chosen, say)
        for name in (DEFAULT, *tables)
        if name in tables
    }
    if DEFAULT not in known:
        known[DEFAULT] = _config(DEFAULT, {}, settings, chosen, say)
    return Configs(known)


_KINDS: Mapping[str, tuple[type, ...]] = {
    "model": (str,),
    "temperature": (int, float),
    "max_tokens": (int,),
    "system_prompt": (str,),
    "api_type": (str,),
}


def _config(
    name: str, table: Table, settings: Settings, chosen: ChosenModel, say: Callable[[str], None]
) -> Config:
    for key, value in table.items():
        if key not in _KINDS:
            _wrong(f"configs.{name}", f"{key} is not known; there are {', '.join(_KINDS)}")
        if isinstance(value, bool) or not isinstance(value, _KINDS[key]):
            _wrong(f"configs.{name}", f"{key} must not be {value!r}")
    temperature = cast(float, table.get("temperature", settings.temperature))
    max_tokens = cast(int, table.get("max_tokens", settings.max_output_tokens))
    if not 0 <= temperature <= 2:
        _wrong(f"configs.{name}", "temperature must be from 0 to 2")
    if not 1 <= max_tokens <= settings.max_output_tokens:
        most = settings.max_output_tokens
        _wrong(f"configs.{name}", f"max_tokens must be from 1 to {most} (KEFU_MAX_OUTPUT_TOKENS)")
    if table.get("api_type", "openai") != "openai":
        _wrong(f"configs.{name}", "api_type must be openai")
    own_model = cast(str, table.get("model", chosen.name))
    own = {
        "system_prompt": table.get("system_prompt", settings.system_prompt or chosen.system_prompt)
    }
    policy = prompt_policy(settings.model_copy(update=own), own_model, say)
    return Config(name, own_model, temperature, max_tokens, policy)


def _hooks(settings: Settings, file: Table, summarize: Summarize) -> list[Hook]:
    options = _tables(file, "hooks")
    unused = set(options) - set(settings.hooks)
    if unused:
        _wrong(f"hooks.{min(unused)}", "is not switched on in KEFU_HOOKS")
    made = []
    for name in settings.hooks:
        try:
            made.append(_factory(name)(Given(options.get(name, {}), summarize)))
        except BadOptions as error:
            _wrong(f"hooks.{name}", str(error))
    return made


def _factory(name: str) -> HookFactory:
    """A hook that ships, or `module:name`, one of the site's own."""
    module, colon, attribute = name.partition(":")
    if not colon:
        if name not in HOOKS:
            known = ", ".join(HOOKS)
            raise ConfigurationError(
                f"KEFU_HOOKS: there is no hook {name!r}. There are {known}, and module:name."
            )
        return HOOKS[name]
    try:
        return cast(HookFactory, getattr(importlib.import_module(module), attribute))
    except (ImportError, AttributeError) as error:
        raise ConfigurationError(f"KEFU_HOOKS: {name} cannot be loaded: {error}") from error


def _tables(file: Table, name: str) -> Mapping[str, Table]:
    tables = file.get(name, {})
    if not isinstance(tables, dict) or not all(isinstance(t, dict) for t in tables.values()):
        _wrong(name, "must be tables")
    return cast(Mapping[str, Table], tables)


def _wrong(where: str, what: str) -> NoReturn:
    raise ConfigurationError(f"KEFU_CONFIGS: [{where}] {what}.")
