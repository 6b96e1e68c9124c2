"""Converts the flags and the settings into the options of the agent, its model and its tools."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

from kefu.agent.react import AgentDeps, AgentOptions, BudgetAction, TokenLimits, ToolPolicy
from kefu.agent.tools import TOOLS, Tool, Workplace, tools_for
from kefu.bootstrap.clock import SystemClock
from kefu.bootstrap.operator import operator_of
from kefu.bootstrap.upstream import ChosenModel, choose_model, sampling_of
from kefu.chat.prompt import Sampling
from kefu.context import message_counter
from kefu.context.tokens import counter as counter_of
from kefu.errors import TiktokenMissing, UnknownCounter
from kefu.relay.relay import Relay
from kefu.settings import Settings
from kefu.terminal.flags import ChatFlags, WrongUse, is_address, read_settings, wrong_use
from kefu.terminal.ids import new_id
from kefu.terminal.screen import Screen
from kefu.upstream.kefu_server import KefuServer, ServerVisitor
from kefu.upstream.public_web import PublicWeb

Approve = Callable[[Tool, str], Awaitable[bool]]
"""Asks the user whether a tool may run with this input."""


def settings_of(flags: ChatFlags) -> Settings:
    """The settings, with the values that flags replace. Raises WrongUse."""
    given = {
        "KEFU_MODEL": flags.model,
        "KEFU_UPSTREAM_URL": flags.base_url,
        "KEFU_SYSTEM_PROMPT": flags.system,
    }
    if flags.base_url and not is_address(flags.base_url):
        raise WrongUse("--base-url is not a URL such as https://api.example.com/v1")
    settings = read_settings({name: value for name, value in given.items() if value is not None})
    return _with_preset(settings, flags) if flags.preset and not flags.server else settings


def _with_preset(settings: Settings, flags: ChatFlags) -> Settings:
    preset = settings.presets.get(flags.preset or "")
    if preset is None:
        known = ", ".join(settings.presets) or "none"
        where = settings.config_file or "kefu.toml, which does not exist here"
        raise WrongUse(f"there is no preset {flags.preset} in {where}; presets there: {known}")
    values = preset.model_dump(exclude_unset=True)
    for name in ("model", "system_prompt"):
        if name in values and (flags.model if name == "model" else flags.system) is not None:
            del values[name]
    return settings.model_copy(update=values)


def model_of(
    flags: ChatFlags, settings: Settings, on_progress: Callable[[str], None]
) -> ChosenModel:
    """The model of the settings, or the server of `--server`."""
    if flags.server:
        server = KefuServer(flags.server, visitor_of(flags, settings))
        sampling = sampling_of(settings, flags.server)._replace(parameters={})
        return ChosenModel(server, "remote", sampling, "")
    return choose_model(settings, on_progress)


def visitor_of(flags: ChatFlags | Namespace, settings: Settings) -> ServerVisitor:
    """The visitor whose identity the requests to the server of `--server` have."""
    operator = operator_of(settings)
    return ServerVisitor(flags.origin or "", flags.user_token or "", operator, flags.preset or "")


def workplace_of(flags: ChatFlags, clock: SystemClock) -> Workplace:
    hosts = frozenset(host.lower() for host in flags.allow_host)
    return Workplace(Path.cwd(), clock.now, PublicWeb().get, hosts)


def tools_of(flags: ChatFlags, workplace: Workplace, kind: str) -> Mapping[str, Tool]:
    """The tools that the model may use, by name. Raises WrongUse for an unknown tool."""
    # The small local model does not understand the rules for tools and answers better without.
    wanted = flags.tools or ("none" if kind != "remote" else None)
    if flags.server or wanted == "none":
        return {}
    names = [name.strip() for name in (wanted or ",".join(TOOLS)).split(",") if name.strip()]
    if unknown := [name for name in names if name not in TOOLS]:
        raise WrongUse(f"there is no tool {unknown[0]}; there are: {', '.join(TOOLS)}")
    if not workplace.hosts and flags.tools is None:
        names.remove("http_get")  # it may fetch from no host
    return {tool.name: tool for tool in tools_for(workplace, names)}


def deps_of(
    flags: ChatFlags,
    settings: Settings,
    relay: Relay,
    screen: Screen,
    tools: Mapping[str, Tool],
    approve: Approve,
) -> AgentDeps:
    """The parts that the agent needs, without the sinks of its session. Raises WrongUse."""
    name = f"tiktoken:{flags.tokenizer_model}" if flags.tokenizer_model else settings.counter
    with wrong_use(UnknownCounter, TiktokenMissing):
        counter = message_counter(name)
    if flags.tokenizer_model and counter_of(name).approximate:
        screen.warn(f"The tokenizer of {flags.tokenizer_model} is not known: counts are estimates")
    return AgentDeps(
        relay=relay,
        clock=SystemClock(),
        new_id=new_id,
        counter=counter,
        counter_name=name,
        tools=tools,
        on_event=screen.hear,
        on_piece=screen.piece,
        warn=screen.warn,
        approve=approve if flags.approve else None,
    )


def options_of(flags: ChatFlags, settings: Settings, sampling: Sampling) -> AgentOptions:
    action: BudgetAction = flags.budget_action or "reject"  # type: ignore[assignment]
    policy: ToolPolicy = flags.tool_policy  # type: ignore[assignment]
    return AgentOptions(
        sampling,
        mode="once" if flags.once else "interactive",
        system_prompt="" if flags.server else settings.system_prompt,
        max_steps=flags.max_steps,
        limits=TokenLimits(flags.max_prompt_tokens, flags.warn_prompt_tokens, action),
        tool_policy=policy,
        working_directory=str(Path.cwd()),
    )
