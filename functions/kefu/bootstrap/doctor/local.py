"""Checks of this machine: the settings, the model's keys, the store, the widget, the origins."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from kefu.bootstrap.clock import SystemClock
from kefu.bootstrap.doctor.finding import Finding
from kefu.bootstrap.doctor.model import CheckedProvider, check_keys, read_keys
from kefu.bootstrap.options import time_limits
from kefu.bootstrap.readiness import store_problems
from kefu.bootstrap.service import build
from kefu.bootstrap.stores import choose_store
from kefu.bootstrap.upstream import choose_model, sampling_of
from kefu.settings import ConfigurationError, Settings, load
from kefu.settings.endpoint import Endpoint
from kefu.settings.fields import place_in
from kefu.settings.loading import VARIABLES, config_path, unknown_variables
from kefu.stores.aws import text_at
from kefu.web.routes.site import NOT_BUILT, widget_is_built


def check_local() -> Sequence[Finding]:
    found = list(_variables())
    try:
        settings = load()
        build(settings)  # opens nothing; hooks are loaded
    except ConfigurationError as error:
        return [*found, *map(_wrong, str(error).splitlines())]
    return [
        *found,
        *_model(settings),
        *_tools(settings),
        *_budgets(settings),
        *_store(settings),
        *_widget(),
        *_origins(settings.allowed_origins),
    ]


def _wrong(message: str) -> Finding:
    """`message`: a line of a ConfigurationError; a file or a variable is its first word."""
    name = message.partition(":")[0]
    if name in VARIABLES:
        return Finding(message, f"unset {name}  # or give it a valid value")
    if message.startswith(f"{config_path()} cannot be read"):
        return Finding(message, f"ls -l {config_path()}  # UTF-8 that this user may read")
    return Finding(message, f"${{EDITOR:-vi}} {config_path()}")


def _variables() -> Iterator[Finding]:
    for name, sentence in unknown_variables():
        yield Finding(sentence, f"unset {name}", "note")


def _model(settings: Settings) -> Iterator[Finding]:
    if settings.without_model:
        if choose_model(settings, lambda _: None).kind == "sample":
            yield Finding(
                "There is no API key: visitors get quotations of the learnt pages (sample mode).",
                "export KEFU_API_KEYS=...",
            )
        return
    patience = time_limits(settings).first_byte
    short = sampling_of(settings, settings.model)._replace(max_tokens=1)
    first = CheckedProvider(settings.endpoint, short, "KEFU_API_KEYS", "model", patience)
    yield from _provider(first, settings.keys, settings.keys_place, settings.secrets)
    if settings.fallback_url:
        other = short._replace(
            model=settings.fallback_model or settings.model, parameters=settings.fallback_parameters
        )
        keys, table = "KEFU_FALLBACK_API_KEYS", "model.fallback"
        second = CheckedProvider(settings.fallback_endpoint, other, keys, table, patience)
        yield from _provider(
            second, settings.fallback_keys, settings.fallback_keys_place, settings.secrets
        )


def _provider(
    provider: CheckedProvider, keys: Sequence[str], place: str, secrets: Sequence[str]
) -> Iterator[Finding]:
    if place:
        keys, findings = read_keys(place, text_at)
        yield from findings
    elif not keys:
        yield Finding(
            "No API key is set: every chat is answered 503.", f"export {provider.variable}=..."
        )
    endpoint = provider.endpoint
    query, unread = _read(endpoint.query)
    headers, more = _read(endpoint.headers)
    yield from (findings := [*unread, *more])
    if not findings:
        hidden = (*secrets, *query.values(), *headers.values())
        endpoint = Endpoint(endpoint.url, query, headers, hidden)
        yield from check_keys(provider._replace(endpoint=endpoint), keys)


def _read(values: Mapping[str, str]) -> tuple[dict[str, str], Sequence[Finding]]:
    """The values, with those that are stored in AWS."""
    known = dict(values)
    findings: list[Finding] = []
    for name, text in values.items():
        if place := place_in(text):
            secrets, found = read_keys(place, text_at)
            known[name] = ",".join(secrets)
            findings += found
    return known, findings


def _tools(settings: Settings) -> Iterator[Finding]:
    if settings.tools:
        from kefu.bootstrap.doctor.tools import check_tools

        yield from check_tools(settings)


def _budgets(settings: Settings) -> Iterator[Finding]:
    longest = settings.max_output_tokens
    found = {"limits": (settings.token_budget, longest)}
    for name, own in settings.presets.items():
        found[f"presets.{name}"] = (own.daily_tokens or 0, own.max_output_tokens or longest)
    for table, (budget, answer) in found.items():
        if 0 < budget <= answer:
            yield Finding(
                f"Every chat is refused: daily_tokens in [{table}] is {budget}, and one answer may "
                f"take {answer} tokens, beside its question.",
                f"In kefu.toml:\n[{table}]\ndaily_tokens = {100 * answer}",
            )


def _store(settings: Settings) -> Iterator[Finding]:
    if settings.store == "memory:":
        yield Finding(
            "Nothing is stored on disk: a restart loses the chats and the day's budget.",
            'In kefu.toml:\n[server]\nstore = "sqlite:///kefu.db"',
            "note",
        )
    kind, _, name = settings.store.partition("://")
    if kind == "postgresql":
        fix = f"psql {settings.store}  # with PGPASSWORD set"
    else:
        fix = f"aws dynamodb describe-table --table-name {name}"
    if kind == "sqlite":
        file = Path(name.removeprefix("/")).absolute()
        if not file.exists():
            fix = f"ls -ld {file.parent}  # this user must be able to create files there"
            # A check that creates the file as root would close it to the service's own user.
            folder = next(parent for parent in file.parents if parent.exists())
            if not (folder.is_dir() and os.access(folder, os.W_OK)):
                yield Finding(f"The store fails: nothing can be created in {folder}.", fix)
            return
        fix = f"ls -ld {file.parent} {file}*  # this user must be able to write all of them"
    store = choose_store(settings, SystemClock())

    async def problems() -> Sequence[str]:
        try:
            return [one["message"] for one in await store_problems(store)]
        finally:
            await store.aclose()

    for message in asyncio.run(problems()):
        yield Finding(f"{message} It is {settings.store}.", fix)


def _widget() -> Iterator[Finding]:
    if not widget_is_built():
        yield Finding(NOT_BUILT, "make setup")


def _origins(origins: Sequence[str]) -> Iterator[Finding]:
    example = 'In kefu.toml:\n[chat]\norigins = ["https://www.example.com"]'
    if not origins:
        yield Finding(
            "Only this server's own pages may use the chat: the list of origins is empty.",
            example,
            "note",
        )
    elif "*" in origins:
        yield Finding('Every page on the Web may use the chat: origins has "*".', example, "note")
    for origin in origins:
        host = origin.partition("://")[2].partition(":")[0]
        if origin.startswith("http://") and host not in ("localhost", "127.0.0.1"):
            yield Finding(
                f"{origin} in origins is not encrypted: others can read and change that page.",
                f'In kefu.toml:\n[chat]\norigins = ["https://{host}"]',
                "note",
            )
