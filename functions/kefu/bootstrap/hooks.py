"""Loads the hooks that kefu.toml enables: Kefu's hooks, and the site's."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
from collections.abc import Callable, Mapping
from types import ModuleType

from kefu.sessions.hooks import (
    HOOKS,
    ON_AWS,
    BadHook,
    BadOptions,
    HookConfig,
    Hooks,
    LoadedHook,
    loaded,
)
from kefu.settings import ConfigurationError, Settings


def load_hooks(settings: Settings, on_fault: Callable[[str], None]) -> Hooks:
    """The hooks in the order of their tables. `on_fault` receives failures while chats run.

    Raises ConfigurationError.
    """
    made = [_load(settings, name) for name in settings.hooks]
    return Hooks(made, on_fault, ON_AWS if settings.on_aws else 0.0)


def _load(settings: Settings, name: str) -> LoadedHook:
    options = settings.hook_options.get(name, {})
    try:
        return loaded(name, _hook(name, options))
    except BadOptions as error:
        where = settings.config_file or "kefu.toml"
        raise ConfigurationError(f"{where}: [hooks.{name}] {error}.") from None
    except BadHook as error:
        raise ConfigurationError(str(error)) from None


def _hook(name: str, options: Mapping[str, object]) -> object:
    """A hook by its name: one of `HOOKS`, a module of the site, or `module:name` for a class."""
    if name in HOOKS:
        return HOOKS[name](HookConfig(options))
    module, colon, attribute = name.partition(":")
    if not colon:
        return _functions(name, options)
    try:
        factory = getattr(_module(name, module), attribute)
    except AttributeError as error:
        raise BadHook(f"The hook {name} cannot be loaded: {error}") from None
    try:
        takes_config = bool(inspect.signature(factory).parameters)
    except (TypeError, ValueError):
        raise BadHook(f"The hook {name} is no class and no function.") from None
    try:
        return factory(HookConfig(options)) if takes_config else factory()
    except (BadOptions, ConfigurationError):
        raise
    except Exception as error:
        raise BadHook(f"The hook {name} cannot be created: {_error_text(error)}") from error


def _functions(name: str, options: Mapping[str, object]) -> ModuleType:
    if options:
        raise BadHook(f"The hook {name} is a module with functions, which has no options.")
    return _module(name, name)


def _module(name: str, module: str) -> ModuleType:
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if ":" not in name and error.name == module:
            known = ", ".join(HOOKS)
            raise BadHook(
                f"There is no hook {name!r}. There are {known}, and modules of the site; "
                "PYTHONPATH=. finds a module in this folder."
            ) from None
        raise BadHook(f"The hook {name} cannot be loaded: {error}") from error
    except Exception as error:
        raise BadHook(f"The hook {name} cannot be loaded: {_error_text(error)}") from error


def _error_text(error: Exception) -> str:
    """The type and the first line of the text of an exception."""
    text = str(error).partition("\n")[0]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
