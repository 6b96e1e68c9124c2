"""The arguments of `kefu chat`, and the error for invalid arguments."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from kefu.settings import Settings

LOG_DIR = "history"

_MOST_DIGITS = 9
_EXAMPLE_URL = "https://chat.example.com"


class WrongUse(Exception):
    """A command has invalid arguments. The message is for the user."""


@contextmanager
def wrong_use(*kinds: type[Exception], prefix: str = "") -> Iterator[None]:
    """Turn an error of `kinds` into a WrongUse with the same message, after `prefix`."""
    try:
        yield
    except kinds as error:
        raise WrongUse(f"{prefix}{error}") from error


def wrong_settings() -> AbstractContextManager[None]:
    """Turn a ConfigurationError into a WrongUse."""
    from kefu.settings import ConfigurationError

    return wrong_use(ConfigurationError, prefix="the configuration is wrong.\n")


def read_settings(overrides: Mapping[str, str] | None = None) -> Settings:
    """The settings; `overrides`: values by variable. Raises WrongUse for invalid settings."""
    from kefu.settings import load

    with wrong_settings():
        return load(overrides)


class ChatFlags(NamedTuple):
    """The arguments of `kefu chat`."""

    question: str | None = None
    once: bool = False
    json: bool = False
    server: str | None = None
    origin: str | None = None
    user_token: str | None = None
    model: str | None = None
    base_url: str | None = None
    system: str | None = None
    preset: str | None = None
    tools: str | None = None
    allow_host: tuple[str, ...] = ()
    approve: bool = False
    tool_policy: str = "skip"
    max_steps: int = 100
    max_prompt_tokens: int | None = None
    warn_prompt_tokens: int | None = None
    budget_action: str | None = None
    tokenizer_model: str | None = None
    log_dir: str = LOG_DIR
    no_log: bool = False
    xml: bool = False
    resume: str | None = None
    fork: str | None = None
    continue_: bool = False

    def problem(self) -> str | None:
        """The error message for arguments that exclude each other; None if there are none."""
        most, warn = self.max_prompt_tokens, self.warn_prompt_tokens
        if most is not None and warn is not None and warn > most:
            return "--warn-prompt-tokens is above --max-prompt-tokens"
        if sum((bool(self.resume), bool(self.fork), self.continue_)) > 1:
            return "--resume, --fork and --continue exclude each other"
        _, colon, turn = (self.fork or "").partition(":")
        if colon and not (turn.isdecimal() and len(turn) <= _MOST_DIGITS):
            return f"--fork ID:TURN: {turn[:40]!r} is not the number of a turn"
        if self.server and (self.model or self.base_url or self.system or self.tools):
            return "a server has its own model, system prompt and no tools for you to choose"
        return problem_with_server(self.server, self.origin, self.user_token)


def problem_with_server(server: str | None, *of_server: str | None) -> str | None:
    """The error message for `--server` and the arguments that need it; None if there is none."""
    if not server:
        return "--origin and --user-token are for --server" if any(of_server) else None
    return None if is_address(server) else f"{server!r} is not an address such as {_EXAMPLE_URL}"


def is_address(text: str) -> bool:
    """Whether the text is a URL with a host."""
    return bool(re.match(r"https?://[^/?#:@]", text, re.IGNORECASE))
