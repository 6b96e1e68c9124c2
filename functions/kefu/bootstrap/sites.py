"""Builds the sites beside that of the service: each is a preset with origins of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kefu.bootstrap.base import Base
from kefu.bootstrap.knowledge import answered_pages, build_grounder, pages_of_site
from kefu.bootstrap.relay import Relays
from kefu.bootstrap.sessions import build_configs
from kefu.chat.completion import Chat
from kefu.chat.prompt import PromptPolicy
from kefu.chat.services import Services
from kefu.chat.summaries import Summaries
from kefu.web.sites import Site, Sites

if TYPE_CHECKING:
    from kefu.sessions.turn.service import SessionService
    from kefu.settings.sessions import Preset
    from kefu.stores.sqlite.knowledge.answered import AnsweredPages
    from kefu.stores.sqlite.knowledge.reloading import ReloadingKnowledge


class BuiltSite(NamedTuple):
    site: Site
    chat: Chat | None
    """Its own, if it has a budget of its own, which its summaries take from."""
    pages: ReloadingKnowledge | None
    answered: AnsweredPages | None


class BuiltSites(NamedTuple):
    sites: Sites
    parts: Sequence[BuiltSite]


def build_sites(
    base: Base,
    services: Services,
    relays: Relays,
    policy: PromptPolicy,
    sessions: SessionService | None,
) -> BuiltSites:
    """The sites of the presets with origins. `services`: those of the service's own site.

    Raises ConfigurationError.
    """
    settings = base.settings
    presets = {name: one for name, one in settings.presets.items() if one.origins}
    parts = {
        name: _site(base, name, one, services, relays, policy) for name, one in presets.items()
    }
    configs = sessions.deps.configs if sessions else build_configs(base)
    by_name = {name: one.site for name, one in parts.items()}
    return BuiltSites(Sites(configs, settings.site_origins, by_name), list(parts.values()))


def _site(
    base: Base,
    name: str,
    preset: Preset,
    services: Services,
    relays: Relays,
    policy: PromptPolicy,
) -> BuiltSite:
    admission = services.admission.of_site(name, preset.daily_tokens)
    pages = pages_of_site(base, name, preset.knowledge)
    answered = answered_pages(base, pages, name)
    grounder = build_grounder(base, answered or pages, relays.summaries, admission)
    chat: Chat | None = None
    if preset.daily_tokens is not None:
        sampling = base.model.sampling
        summaries = Summaries(relays.summaries, admission, sampling, base.clock)
        chat = Chat(relays.answers, policy, sampling, base.clock, summaries)
    prefetches: list[Callable[[], object]] = [*services.prefetches]
    if answered:
        prefetches.append(answered.prefetch)
    own = services._replace(
        admission=admission, chat=chat or services.chat, prefetches=prefetches, grounder=grounder
    )
    link = base.settings.contact_link if preset.contact is None else preset.contact
    return BuiltSite(Site(own, link), chat, pages, answered)
