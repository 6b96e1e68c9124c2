"""Converts the settings into the options of the prompt, the web application and the limits."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from kefu.bootstrap.constants import (
    BYTES_PER_CHARACTER,
    CONSTANTS,
    Constants,
)
from kefu.chat.admission import Allowance
from kefu.chat.limits import Rate
from kefu.chat.prompt import PromptPolicy, TrimPolicy
from kefu.context import Budget, estimate_of, message_counter, resolve_window
from kefu.context.tokens import estimate_calibrated
from kefu.relay.time_limits import NORMAL, SLOW, TimeLimits
from kefu.settings import Settings
from kefu.upstream import local_model

if TYPE_CHECKING:
    from kefu.web.options import WebOptions


KNOWN_WINDOWS = {local_model.NAME: local_model.CONTEXT_LENGTH}
"""Context lengths by model. These lengths override the table of `kefu.context.model_windows`."""


def prompt_policy(
    settings: Settings,
    model: str,
    say: Callable[[str], None],
    constants: Constants = CONSTANTS,
    *,
    has_tools: bool = False,
) -> PromptPolicy:
    """`say` is called with messages for the operator.

    `has_tools`: whether prompts may have results of tools, which are shortened first.
    """
    make = _with_results if has_tools else _trim
    trim = make(settings, model, say, constants)
    return PromptPolicy(settings.system_prompt, settings.client_system, trim)


def _with_results(
    settings: Settings, model: str, say: Callable[[str], None], constants: Constants
) -> TrimPolicy:
    """Counts tokens, whatever the settings count: a result may have more than a whole history."""
    if settings.trim in ("v1", "v1_steps", "off"):
        whole, room = _window(model), prompt_room(settings, model)
        budget = whole._replace(limit=room, reserve=0, trim_step=constants.trim_step)
        counter = message_counter(
            estimate_of(model) if settings.counter == "calibrated" else settings.counter
        )
        return TrimPolicy("agent", budget, counter.within(room))
    policy = _trim(settings, model, say, constants)
    return policy._replace(strategy="agent_summary" if settings.trim == "summary" else "agent")


def _trim(
    settings: Settings, model: str, say: Callable[[str], None], constants: Constants
) -> TrimPolicy:
    if settings.trim in ("v1", "v1_steps", "off"):
        _check_characters(settings, model, say, constants.trim_chars)
        step = constants.trim_chars_step if settings.trim == "v1_steps" else 0.0
        strategy = settings.trim.removesuffix("_steps")
        return TrimPolicy(strategy, Budget(constants.trim_chars, 0, step))
    whole = _window(model)
    room = prompt_room(settings, model)
    if not (whole.resolved or settings.max_prompt_tokens):
        say(
            f"The window of {model} is not known: {room} tokens of prompt are assumed to fit. "
            "Set KEFU_MAX_PROMPT_TOKENS to what it accepts, less the longest answer."
        )
    _check_tokens(settings, whole, room, say)
    budget = whole._replace(limit=room, reserve=0, trim_step=constants.trim_step)
    estimated = settings.counter == "calibrated"
    counter = message_counter(estimate_of(model) if estimated else settings.counter)
    return TrimPolicy(settings.trim, budget, counter.within(room))


def _check_characters(
    settings: Settings, model: str, say: Callable[[str], None], characters: int
) -> None:
    """Warn if prompt, history and answer exceed a known window, at 4 characters a token."""
    window = resolve_window(model, KNOWN_WINDOWS)
    prompt = estimate_calibrated(settings.system_prompt)
    history = characters // 4 if settings.trim != "off" else 0
    needed = prompt + history + settings.max_output_tokens
    if window.resolved and needed > window.context_length:
        say(
            f"{model} takes {window.context_length} tokens. KEFU_SYSTEM_PROMPT has about {prompt}, "
            f"the history may have {history} or more, and KEFU_MAX_OUTPUT_TOKENS is "
            f"{settings.max_output_tokens}: long chats exceed it, and their history is cut in half."
        )


def _check_tokens(
    settings: Settings, window: Budget, room: int, say: Callable[[str], None]
) -> None:
    """Warn if the prompt's limit exceeds the model, or the system prompt the limit."""
    if window.resolved and room > (known := _known_room(settings, window)):
        say(
            f"KEFU_MAX_PROMPT_TOKENS is {room}, but {window.model} has room for {known} tokens of "
            "prompt beside the answer: if it refuses longer ones, their history is cut in half."
        )
    prompt = estimate_calibrated(settings.system_prompt)
    if prompt >= room:
        say(
            f"KEFU_SYSTEM_PROMPT has about {prompt} tokens and a prompt may have {room}: "
            "no history will be sent."
        )


def _window(model: str) -> Budget:
    return Budget.for_model(model, windows=KNOWN_WINDOWS)


def windows_of(models: Iterable[str]) -> Mapping[str, int]:
    """The context windows of known models, in tokens."""
    windows = {model: resolve_window(model, KNOWN_WINDOWS) for model in models}
    return {model: one.context_length for model, one in windows.items() if one.resolved}


def prompt_room(settings: Settings, model: str) -> int:
    """Tokens of a prompt at most: as configured, else so that the longest answer fits behind it."""
    return settings.max_prompt_tokens or _known_room(settings, _window(model))


def _known_room(settings: Settings, window: Budget) -> int:
    return max(1, min(window.room, window.limit - settings.max_output_tokens))


def web_options(settings: Settings, constants: Constants = CONSTANTS) -> WebOptions:
    # Imported here, because the terminal chat needs no web framework.
    from kefu.web.options import BodyLimits, WebOptions

    return WebOptions(
        origins=settings.allowed_origins,
        body=BodyLimits(
            max(constants.max_body_bytes, BYTES_PER_CHARACTER * constants.max_message_chars),
            seconds=constants.body_timeout,
        ),
        images=settings.images,
        max_message_chars=constants.max_message_chars,
        on_aws=settings.on_aws,
        openai_api=settings.serves_openai != "off",
        openai_tools=settings.serves_openai == "tools",
        openai_server_tools=settings.serves_openai == "server",
        contact_link=settings.contact_link,
        opens_at=hours.next_opening if (hours := settings.opening_hours) else None,
        demo=not settings.on_aws if settings.demo is None else settings.demo,
        overload_delay=constants.overload_delay,
    )


FILES_PER_STREAM = 3
"""Open files of an answer: the visitor's connection, the upstream's, and a spare one."""
OTHER_FILES = 64
"""Open files for the store, logs, listening sockets and idle connections."""


def allowance(
    settings: Settings,
    say: Callable[[str], None],
    open_files: int | None = None,
    constants: Constants = CONSTANTS,
) -> Allowance:
    """The limits on requests. `open_files` is the maximum of this process; None: unknown.

    `say` is called with messages for the operator.
    """
    streams = constants.max_streams
    if open_files is not None:
        streams = min(streams, max(1, (open_files - OTHER_FILES) // FILES_PER_STREAM))
    if streams < constants.max_streams:
        say(
            f"This process may have {open_files} files open: it serves {streams} answers at once, "
            f"not {constants.max_streams}. Raise the limit: ulimit -n, or LimitNOFILE in systemd."
        )

    def per_minute(requests: int) -> Rate | None:
        return Rate(requests, 60) if requests else None

    return Allowance(
        per_ip=per_minute(settings.ip_requests_per_minute),
        site=per_minute(settings.site_limit),
        per_session=per_minute(constants.session_requests_per_minute),
        per_client=per_minute(constants.openai_requests_per_minute),
        daily_tokens=settings.token_budget,
        streams=streams,
        streams_per_ip=constants.max_streams_per_ip if settings.ip_requests_per_minute else 0,
    )


def time_limits(settings: Settings, constants: Constants = CONSTANTS) -> TimeLimits:
    limits = SLOW if settings.patience == "slow" else NORMAL
    return limits._replace(max_duration=constants.max_duration or limits.max_duration)
