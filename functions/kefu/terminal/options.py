"""Converts the flags and the settings into the options of the agent, its model and its tools."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from pathlib import Path

from kefu.agent.react import AgentDeps, AgentOptions, BudgetAction, TokenLimits, ToolPolicy
from kefu.agent.tools import TOOLS, Workplace, tools_for
from kefu.bootstrap.clock import SystemClock
from kefu.bootstrap.operator import operator_of
from kefu.bootstrap.upstream import ChosenModel, choose_model, sampling_of
from kefu.chat.prompt import Sampling
from kefu.context import message_counter
from kefu.context.tokens import counter as counter_of
from kefu.errors import TiktokenMissing, UnknownCounter
from kefu.relay.redaction import Secrets
from kefu.relay.relay import Relay
from kefu.settings import Settings
from kefu.terminal.flags import (
    ChatFlags,
    WrongUse,
    is_address,
    read_settings,
    wrong_settings,
    wrong_use,
)
from kefu.terminal.ids import new_id
from kefu.terminal.screen import Screen
from kefu.tools.tool import Tool
from kefu.tools.use import Use
from kefu.upstream.kefu_server import KefuServer, ServerVisitor
from kefu.upstream.public_web import PublicWeb

Approve = Callable[[Use, str], Awaitable[bool]]
"""Asks the user whether a tool may run; the text is its input as the model wrote it."""


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
    values = preset.model_dump(exclude_unset=True, exclude={"tools"})
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


def has_tools(flags: ChatFlags, kind: str) -> bool:
    """Whether the model of this kind gets tools."""
    if flags.server or flags.tools == "none":
        return False
    # The small local model does not understand the rules for tools and answers better without.
    return kind == "remote" or bool(flags.tools)


async def sites_tools(
    flags: ChatFlags, settings: Settings, screen: Screen, stack: AsyncExitStack
) -> Mapping[str, Tool]:
    """The tools of kefu.toml that an anonymous visitor has, until the stack is closed.

    Raises WrongUse.
    """
    if not settings.tools:
        return {}
    from kefu.bootstrap.tool_trial import open_tools
    from kefu.tools.tool import Visitor
    from kefu.tools.toolbox import Toolbox

    with wrong_settings():
        opened = await stack.enter_async_context(open_tools(settings, screen.warn))
    for problem in opened.problems:
        screen.warn(problem)
    preset = settings.presets.get(flags.preset or "")
    # Kefu's own tools need the pages and the forms of a site.
    toolbox = Toolbox([tool for tool in opened.tools.values() if not tool.is_own])
    return await toolbox.offered(preset.tools if preset else None, Visitor())


def tools_of(
    flags: ChatFlags, workplace: Workplace, of_site: Mapping[str, Tool]
) -> Mapping[str, Tool]:
    """The tools that the model may use, by name. Raises WrongUse for an unknown tool."""
    known = {**{tool.name: tool for tool in tools_for(workplace, TOOLS)}, **of_site}
    if not flags.tools:
        # Without a host, `http_get` may fetch nothing.
        left_out = set() if workplace.hosts else {"http_get"} - of_site.keys()
        return {name: tool for name, tool in known.items() if name not in left_out}
    names = [name.strip() for name in flags.tools.split(",") if name.strip()]
    if unknown := [name for name in names if name not in known]:
        raise WrongUse(f"there is no tool {unknown[0]}; there are: {', '.join(known)}")
    return {name: known[name] for name in names}


def deps_of(
    flags: ChatFlags,
    settings: Settings,
    relay: Relay,
    screen: Screen,
    approve: Approve,
) -> AgentDeps:
    """The parts that the agent needs, without its tools and its sinks. Raises WrongUse."""
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
        on_event=screen.hear,
        on_piece=screen.piece,
        warn=screen.warn,
        approve=approve,
        redact=Secrets(settings.secrets).hide,
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
        approve_each=flags.approve,
        working_directory=str(Path.cwd()),
    )
