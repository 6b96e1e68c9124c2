"""Checks the hooks of a site when the service starts: the names and arguments of their steps."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import NamedTuple, cast

from kefu.sessions.hooks.calls import Function, is_async
from kefu.sessions.hooks.hook import STEPS, Hook

_OLD_NAMES = {"system": "context(question, visit)", "answer": "output(visit)"}
"""The names of steps in Kefu 0.1.0, with their new names."""


class BadHook(ValueError):
    """A hook cannot be used; the message is for the operator."""


class LoadedHook(NamedTuple):
    """A hook that can be called."""

    name: str
    """The hook's name in kefu.toml."""
    steps: Mapping[str, Function]
    """The functions of the steps that the hook has."""
    is_ours: bool
    """Whether the hook is one of Kefu's own, whose filters never block."""


def loaded(name: str, hook: object) -> LoadedHook:
    """The hook with checked steps. `hook` is an object with methods, or a module with functions.

    Raises BadHook.
    """
    steps = {step: found for step in STEPS if (found := _function(hook, step)) is not None}
    for step, function in steps.items():
        _check(name, step, function)
    for old, new in () if inspect.ismodule(hook) else _OLD_NAMES.items():
        if callable(getattr(hook, old, None)):
            raise BadHook(f"The hook {name} has {old}. Its name is {new} now.")
    if not steps:
        known = ", ".join(_call(step) for step in STEPS)
        raise BadHook(f"The hook {name} has none of the functions {known}.")
    is_ours = isinstance(hook, Hook) and type(hook).__module__.startswith("kefu.")
    return LoadedHook(name, steps, is_ours)


def _function(hook: object, step: str) -> Function | None:
    """The function of a step. None if the hook does not override the step."""
    found = getattr(hook, step, None)
    if not callable(found) or getattr(found, "__func__", None) is vars(Hook)[step]:
        return None
    return cast(Function, found)


def _check(name: str, step: str, function: Function) -> None:
    try:
        inspect.signature(function).bind(*STEPS[step])
    except TypeError:
        given = inspect.signature(function)
        raise BadHook(f"The hook {name}: {step}{given} must be {_call(step)}.") from None
    except ValueError:
        raise BadHook(f"The hook {name}: {step} is no function of Python.") from None
    if inspect.isasyncgenfunction(function) or inspect.isgeneratorfunction(function):
        raise BadHook(f"The hook {name}: {step} must return its result, not yield it.")
    if step == "output" and is_async(function):
        raise BadHook(f"The hook {name}: output must be a plain function, without async.")


def _call(step: str) -> str:
    return f"{step}({', '.join(STEPS[step])})"
