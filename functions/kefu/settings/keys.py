"""Checks the keys of kefu.toml: unknown keys, misspelt keys, and secrets."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import NamedTuple

from kefu.settings.file import ConfigFile, ConfigurationError, Keys, leaves, name_of

_SECRET_NAME = re.compile(r"(^|_)((key|secret|password|credential)s?|token)$", re.IGNORECASE)
# `max_tokens` is a number, so no secret.

ELSEWHERE = {
    "api_base": "url",
    "base_url": "url",
    "max_completion_tokens": "max_output_tokens",
    "max_tokens": "max_output_tokens",
    "model": "name",
    "prompt": "system_prompt",
    "system": "system_prompt",
    "timeout": "patience",
}
"""Names that other programs have for a setting."""

_INNER = {
    "presets": ("parameters",),
    "tools": ("approve", "bind", "headers", "parameters", "title", "tools"),
}
"""Tables in those of presets and tools, whose names are not settings."""

_SECRET_VALUE = re.compile(
    r"\b(?:sk|ak|pk|rk)[-_][A-Za-z0-9_-]{16,}"  # model providers, Stripe
    r"|\bAKIA[0-9A-Z]{16}\b"  # AWS
    r"|\bgh[a-z]_[A-Za-z0-9]{20,}"  # GitHub
    r"|\beyJ[A-Za-z0-9_-]{10,}\.eyJ"  # JSON Web Tokens
    r"|\b0x[0-9A-Fa-f]{32,}\b|\b0x4[A-Za-z0-9_-]{20,}"  # hCaptcha, Turnstile
    r"|://[^\s/@:]+:(?:(?!\?(?:to|from)=)[^\s/@])+@"  # a password in a URL
    r"|\b(?=[A-Za-z]*[0-9])(?=[0-9]*[A-Za-z])[A-Za-z0-9]{40,}\b"  # anything long and random
)


class KnownKeys(NamedTuple):
    """The tables and keys that the file may contain."""

    settings: Mapping[Keys, str]
    """Key -> its environment variable."""
    secrets: Mapping[Keys, str]
    """Keys that only the environment may set -> the environment variable."""
    switches: Collection[Keys]
    """Keys that are true or false."""
    named: Mapping[str, Collection[str]]
    """The keys of the tables [presets.NAME] and [tools.NAME]: of all that the owner names."""
    free: Collection[Keys]
    """Tables whose names are the provider's."""

    def is_free(self, keys: Keys) -> bool:
        """Whether the name is the provider's or the owner's, or that of a hook's option."""
        in_named = len(keys) > 3 and keys[2] in _INNER.get(keys[0], ())
        in_table = any(keys[: len(one)] == one != keys for one in self.free)
        return keys[0] == "hooks" or in_named or in_table


def check_keys(file: ConfigFile, known: KnownKeys) -> None:
    """Raises ConfigurationError with a line for each key that may not be there."""
    problems = []
    for keys, value in leaves(file.tables):
        problem = _problem(keys, value, known)
        if problem:
            problems.append(f"{file.place(keys)}: {problem}")
    if problems:
        raise ConfigurationError("\n".join(problems))


def _problem(keys: Keys, value: object, known: KnownKeys) -> str:
    if variable := _secret_variable(keys, known):
        return (
            f"{name_of(keys)} is a secret. This file must not contain secrets: set the environment "
            f"variable {variable} instead."
        )
    if any(_SECRET_VALUE.search(text) for text in _texts(value)):
        return (
            f"{name_of(keys)} contains text that looks like an API key or a password. This file "
            f"must not contain secrets: remove it, and {_instead(keys, known)}."
        )
    if not _is_known(keys, value, known):
        return _unknown(keys, value, known)
    if isinstance(value, bool) and keys in known.settings and keys not in known.switches:
        return f"{name_of(keys)} must not be true or false."
    return ""


def _secret_variable(keys: Keys, known: KnownKeys) -> str:
    if keys in known.secrets:
        return known.secrets[keys]
    if keys in known.settings or known.is_free(keys) or not _SECRET_NAME.search(keys[-1]):
        return ""
    names = [one[-1] for one in known.settings]
    harmless = _near(keys[-1], names, 0.8)  # daily_token is a misspelt daily_tokens
    return "" if harmless else _likely(keys, known)


def _instead(keys: Keys, known: KnownKeys) -> str:
    if keys[0] in ("model", "tools") and (keys[-1] == "url" or keys[-2] == "headers"):
        return 'write "env:NAME" with the name of an environment variable that holds it'
    return f"set {_likely(keys, known)} instead"


def _likely(keys: Keys, known: KnownKeys) -> str:
    """The variable of a secret in the same table, else of the API keys."""
    here = [name for secret, name in known.secrets.items() if secret[:-1] == keys[:-1]]
    above = [name for secret, name in known.secrets.items() if secret[0] == keys[0]]
    return [*here, *above, "KEFU_API_KEYS"][0]


def _is_known(keys: Keys, value: object, known: KnownKeys) -> bool:
    if known.is_free(keys):
        return True
    if keys[0] in known.named:
        return len(keys) < 3 or (len(keys) == 3 and keys[2] in known.named[keys[0]])
    if value == {}:
        # A table may be there for the comments in it.
        named = (*known.settings, *known.secrets, *known.free)
        return any(one[: len(keys)] == keys for one in named)
    return keys in known.settings


def _unknown(keys: Keys, value: object, known: KnownKeys) -> str:
    if keys[0] in known.named and len(keys) > 1:
        names = known.named[keys[0]]
        tables = {keys[:2]: list(names)}
        if len(keys) > 3 and keys[2] not in names:
            keys = keys[:3]  # a table, given to a name that is misspelt
    else:
        tables = {}
        for one in known.settings:
            tables.setdefault(one[:-1], []).append(one[-1])
        tables |= {one: [] for one in known.free}
    table = keys[:-1] if value != {} else keys
    if keys in tables:
        return f"{keys[-1]} must be a table: [{'.'.join(keys)}]."
    if table not in tables:
        names = [".".join(one) for one in tables] + ["presets.NAME", "hooks.NAME", "tools.NAME"]
        near = _near(".".join(table), names, 0.6)
        hint = f"Did you mean [{near}]?" if near else f"There are [{'], ['.join(names)}]."
        what = f"there is no table [{'.'.join(table)}]" if table else f"{keys[-1]} is in no table"
        return f"{what}. {hint}"
    if keys in (("server", "host"), ("server", "port")):
        return f"{name_of(keys)} is not a setting: use `kefu serve --{keys[-1]}`."
    wanted = ELSEWHERE.get(keys[-1], "")
    for other in [table, *tables]:
        if near := wanted if wanted in tables[other] else _near(keys[-1], tables[other], 0.7):
            where = "" if other == table else f" in [{'.'.join(other)}]"
            return f"{name_of(keys)} is not a setting. Did you mean {near}{where}?"
    return f"{name_of(keys)} is not a setting. There are {', '.join(tables[table])}."


def _near(name: str, names: Iterable[str], likeness: float) -> str:
    """The most similar of the names; "" if none is similar."""
    import difflib  # here: only for a message

    return "".join(difflib.get_close_matches(name, names, 1, likeness))


def _texts(value: object) -> Iterator[str]:
    for one in value if isinstance(value, list) else [value]:
        if isinstance(one, str):
            yield one
