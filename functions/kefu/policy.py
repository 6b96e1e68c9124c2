"""What the settings ask for, in the terms of the parts that do it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from kefu.admission import Allowance
from kefu.answer import Patience
from kefu.context import Budget, message_counter
from kefu.limits import Rate
from kefu.prompt import PromptPolicy, TrimPolicy
from kefu.settings import Settings
from kefu.upstream import local_model

if TYPE_CHECKING:
    from kefu.web.options import WebOptions


def prompt_policy(settings: Settings, model: str, say: Callable[[str], None]) -> PromptPolicy:
    """`say` takes what the person running the service should look at."""
    return PromptPolicy(settings.system_prompt, settings.client_system, _trim(settings, model, say))


def _trim(settings: Settings, model: str, say: Callable[[str], None]) -> TrimPolicy:
    if settings.trim in ("v1", "off"):
        return TrimPolicy(settings.trim, Budget(settings.trim_chars, reserve=0))
    known = known_windows(settings, model)
    whole = Budget.for_model(model, cut_step=settings.cut_step, windows=known)
    room = max(1, min(whole.room, whole.limit - settings.max_output_tokens))
    limit = min(settings.max_prompt_tokens or room, room)
    if not whole.resolved:
        say(
            f"The window of {model} is not known: {limit} tokens of prompt are assumed to fit. "
            "KEFU_CONTEXT_LENGTH says what it takes."
        )
    budget = whole._replace(limit=limit, reserve=0)
    return TrimPolicy(settings.trim, budget, message_counter(settings.counter))


def known_windows(settings: Settings, model: str) -> dict[str, int]:
    """Context lengths that are known better than by a model's name."""
    known = {local_model.NAME: local_model.CONTEXT_LENGTH}
    if settings.context_length:
        known[model] = settings.context_length
    return known


def web_options(settings: Settings) -> WebOptions:
    # Here, since the terminal chat has no use for a web framework.
    from kefu.web.options import BodyLimits, WebOptions

    def unless_aws(chosen: bool | None) -> bool:
        return not settings.on_aws if chosen is None else chosen

    return WebOptions(
        origins=settings.allowed_origins,
        body=BodyLimits(settings.max_body_bytes, settings.max_json_depth, settings.body_timeout),
        max_messages=settings.max_messages,
        max_message_chars=settings.max_message_chars,
        temperature=settings.temperature,
        max_output_tokens=settings.max_output_tokens,
        trusted_proxy_hops=settings.trusted_proxy_hops,
        behind_adapter=settings.behind_adapter,
        openai_api=unless_aws(settings.openai_api),
        demo=unless_aws(settings.demo),
    )


def allowance(settings: Settings) -> Allowance:
    def per_minute(requests: int) -> Rate | None:
        return Rate(requests, 60) if requests else None

    return Allowance(
        per_ip=per_minute(settings.ip_requests_per_minute),
        site=per_minute(settings.site_requests_per_minute),
        per_session=per_minute(settings.session_requests_per_minute),
        daily_tokens=settings.daily_tokens,
        streams=settings.max_streams,
        streams_per_ip=settings.max_streams_per_ip,
    )


def patience(settings: Settings) -> Patience:
    return Patience(
        try_timeout=settings.try_timeout,
        first_byte_budget=settings.first_byte_budget,
        first_event_timeout=settings.first_event_timeout,
        stall_timeout=settings.stall_timeout,
        ping_interval=settings.ping_interval,
        max_duration=settings.max_duration,
    )
