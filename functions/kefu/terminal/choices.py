"""What the flags and the settings ask for, in the terms of the parts that do it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from urllib.parse import urlsplit

from kefu.answer import Patience
from kefu.cli.arguments import ChatFlags
from kefu.cli.talk import Hearing, WrongUse
from kefu.context import message_counter
from kefu.errors import TiktokenMissing, UnknownCounter
from kefu.model import ChosenModel, choose_model
from kefu.policy import patience
from kefu.react import AgentDeps, AgentOptions, BudgetAction, TokenLimits, ToolPolicy
from kefu.relay import Relay
from kefu.settings import ConfigurationError, Settings, load
from kefu.system_clock import SystemClock
from kefu.terminal.ids import new_id
from kefu.tokens import counter as counter_of
from kefu.tools import TOOLS, Tool, Workplace, tools_for
from kefu.upstream.kefu_server import KefuServer
from kefu.upstream.public_web import PublicWeb


def settings_of(flags: ChatFlags) -> Settings:
    try:
        settings = load()
        changed = {
            "model": flags.model,
            "upstream_url": flags.base_url,
            "system_prompt": flags.system,
        }
        aliases = {name: Settings.model_fields[name].alias or name for name in changed}
        given = {aliases[name]: value for name, value in changed.items() if value is not None}
        if given:
            whole = settings.model_dump(by_alias=True, exclude_unset=True) | given
            settings = Settings.model_validate(whole)
    except ConfigurationError as error:
        raise WrongUse(f"the configuration is wrong.\n{error}") from error
    except ValueError as error:
        raise WrongUse("--base-url is not a URL such as https://api.example.com/v1") from error
    return settings


def model_of(flags: ChatFlags, settings: Settings, say: Callable[[str], None]) -> ChosenModel:
    if flags.server:
        parts = urlsplit(flags.server)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise WrongUse(f"{flags.server!r} is not an address such as https://chat.example.com")
        return ChosenModel(KefuServer(flags.server), "remote", flags.server, "")
    return choose_model(settings, say)


def patience_of(settings: Settings) -> Patience:
    """No widget's timers run here: unless limits were set, a slow model may take its time."""
    told = patience(settings)
    if settings.model_fields_set & {"try_timeout", "first_byte_budget", "first_event_timeout"}:
        return told
    return told._replace(
        first_byte_budget=30.0,
        first_event_timeout=60.0,
        first_event_budget=90.0,
        max_duration=max(600.0, told.max_duration),
    )


def rest_of(settings: Settings) -> float:
    """Seconds a failing key rests: it is one person who asks, and who sees why to wait."""
    return settings.cooldown if "cooldown" in settings.model_fields_set else 5.0


def tools_of(flags: ChatFlags, clock: SystemClock, kind: str) -> Mapping[str, Tool]:
    # The small local model gets lost in the rules for tools: it answers better without them.
    wanted = flags.tools or ("none" if kind != "remote" else None)
    if flags.server or wanted == "none":
        return {}
    names = [name.strip() for name in (wanted or ",".join(TOOLS)).split(",") if name.strip()]
    if unknown := [name for name in names if name not in TOOLS]:
        raise WrongUse(f"there is no tool {unknown[0]}; there are: {', '.join(TOOLS)}")
    hosts = frozenset(host.lower() for host in flags.allow_host)
    if not hosts and flags.tools is None:
        names.remove("http_get")  # nothing that it could fetch
    place = Workplace(Path.cwd(), clock.now, PublicWeb().get, hosts)
    return {tool.name: tool for tool in tools_for(place, names)}


def deps_of(
    flags: ChatFlags,
    settings: Settings,
    relay: Relay,
    hearing: Hearing,
    tools: Mapping[str, Tool],
) -> AgentDeps:
    name = f"tiktoken:{flags.tokenizer_model}" if flags.tokenizer_model else settings.counter
    try:
        counter = message_counter(name)
    except (UnknownCounter, TiktokenMissing) as error:
        raise WrongUse(str(error)) from error
    if flags.tokenizer_model and counter_of(name).approximate:
        hearing.warn(f"The tokenizer of {flags.tokenizer_model} is not known: counts are estimates")
    return AgentDeps(
        relay=relay,
        clock=SystemClock(),
        new_id=new_id,
        counter=counter,
        counter_name=name,
        tools=tools,
        on_event=hearing.event,
        on_piece=hearing.piece,
        warn=hearing.warn,
        approve=hearing.approve if flags.approve else None,
    )


def options_of(flags: ChatFlags, settings: Settings, model: str) -> AgentOptions:
    action: BudgetAction = flags.budget_action or "reject"  # type: ignore[assignment]
    policy: ToolPolicy = flags.tool_policy  # type: ignore[assignment]
    return AgentOptions(
        model=model,
        mode="once" if flags.once else "interactive",
        system_prompt="" if flags.server else settings.system_prompt,
        temperature=settings.temperature,
        max_output_tokens=settings.max_output_tokens,
        max_steps=flags.max_steps,
        limits=TokenLimits(flags.max_prompt_tokens, flags.warn_prompt_tokens, action),
        tool_policy=policy,
        working_directory=str(Path.cwd()),
    )
