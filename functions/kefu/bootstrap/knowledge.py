"""Answers from the site's own pages, if the settings name a file of learnt pages."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from kefu.bootstrap.base import Base
from kefu.bootstrap.constants import KNOWLEDGE_TOKENS, LOCAL_KNOWLEDGE_TOKENS
from kefu.bootstrap.options import prompt_room
from kefu.chat.admission import Admission
from kefu.errors import InvalidRequest, UpstreamUnavailable
from kefu.relay.relay import Relay
from kefu.settings import ConfigurationError, Settings

if TYPE_CHECKING:
    from kefu.chat.grounding import Grounder
    from kefu.knowledge.finding import Knowledge
    from kefu.stores.sqlite.knowledge.answered import AnsweredPages
    from kefu.stores.sqlite.knowledge.reloading import ReloadingKnowledge
    from kefu.web.page_tools import SitePages
    from kefu.web.routes.mcp import Assistants

PAGE_SECONDS = 30.0
"""Seconds in which a page that the panel's API names is read."""


def learnt_pages(base: Base) -> ReloadingKnowledge | None:
    """None for a service without learnt pages, which needs no further imports.

    Raises ConfigurationError for a file that cannot be used.
    """
    place = base.settings.knowledge
    is_default = place == Settings.model_fields["knowledge"].default
    if not place or (is_default and not Path(place).is_file()):
        return None
    try:
        return _opened(base.settings, base.clock.monotonic, base.log.notice)
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"KEFU_KNOWLEDGE: {error}") from None


def pages_of_site(base: Base, name: str, place: str | None) -> ReloadingKnowledge | None:
    """The learnt pages of one of several sites, which are opened by its first question.

    Raises ConfigurationError for a file that is not there.
    """
    if not place:
        return None
    from kefu.stores.s3_object import S3Object, is_s3
    from kefu.stores.sqlite.knowledge.reloading import LocalFile, ReloadingKnowledge

    if not is_s3(place) and not Path(place).is_file():
        raise ConfigurationError(f"[presets.{name}] knowledge: {place} does not exist.")
    try:
        original = S3Object(place) if is_s3(place) else LocalFile(Path(place))
    except ValueError as error:
        raise ConfigurationError(f"[presets.{name}] knowledge: {error}") from None
    return ReloadingKnowledge(
        original.path, base.clock.monotonic, base.log.notice, original=original
    )


def answered_pages(
    base: Base, pages: ReloadingKnowledge | None, site: str = ""
) -> AnsweredPages | None:
    """The pages of a site with the answers of people to its visitors.

    None without pages, or if no chats are stored.
    """
    if pages is None or base.store.sessions is None:
        return None
    from kefu.stores.sqlite.knowledge.answered import AnsweredPages

    return AnsweredPages(pages, base.store.sessions, base.clock.monotonic, site)


def build_grounder(
    base: Base,
    pages: Knowledge | None,
    relay: Relay,
    admission: Admission,
    links: Sequence[str] = (),
) -> Grounder | None:
    """`relay` carries the model calls for search words. Returns None without learnt pages.

    `links`: the addresses that answers may link to, beside the pages.
    """
    if pages is None:
        return None
    from kefu.chat.grounding import Grounder, PassageBudget
    from kefu.chat.search_words import SearchWords

    settings, model = base.settings, base.model
    tokens = LOCAL_KNOWLEDGE_TOKENS if model.kind == "local-model" else KNOWLEDGE_TOKENS
    room = PassageBudget(tokens, prompt_room(settings, model.name))
    words = None
    # The small local model is slow, and its words are of no use.
    if settings.knowledge_rewrite == "auto" and model.kind == "remote":
        words = SearchWords(relay, admission, model.sampling, base.clock)
    return Grounder(pages, room, words, links)


def build_assistants(base: Base, pages: SitePages | None) -> Assistants | None:
    """What assistants may use at `/mcp`. None if it is disabled, or there are no learnt pages."""
    if not base.settings.serves_mcp:
        return None
    if pages is None:
        base.notices.append("/mcp is not served: there are no learnt pages. Run `kefu learn`.")
        return None
    from kefu.auth.client_keys import ClientKeys
    from kefu.web.page_tools import PageTools
    from kefu.web.routes.mcp import Assistants

    tools, keys = PageTools(pages, KNOWLEDGE_TOKENS), ClientKeys(base.settings.assistant_keys)
    return Assistants(tools, base.store.limits, keys, base.store.sessions, base.clock.now)


def page_learner(
    base: Base, files: Sequence[ReloadingKnowledge]
) -> Callable[[str], Awaitable[tuple[str, str]]] | None:
    """Learns one page of a site whose other pages are in one of the files.

    None without files on this machine, or without what reads pages (`kefu[learn]`).
    """
    writable = [one for one in files if one.is_writable]
    if not writable or find_spec("selectolax") is None:
        return None

    # One page at a time, so that many leave the threads to the chats.
    lock = asyncio.Lock()

    async def learn(url: str) -> tuple[str, str]:
        host = urlsplit(url).netloc.rpartition("@")[2]
        for file in writable:
            if any(urlsplit(one).netloc == host for one in await file.sources()):
                try:
                    async with lock:
                        return await _learn_page(url, file, base.clock.now)
                except asyncio.CancelledError:
                    restarting = "The server is restarting. Please try again."
                    raise UpstreamUnavailable(restarting, retry_after=1) from None
        raise InvalidRequest("url: no learnt page has this host.", param="url")

    return learn


async def _learn_page(
    url: str, file: ReloadingKnowledge, now: Callable[[], float]
) -> tuple[str, str]:
    from kefu.knowledge.pages import PageText
    from kefu.upstream.crawl.crawl import read_one
    from kefu.upstream.crawl.scope import Scope

    # The owner has named this host to `kefu learn`, with --allow-private if it is private.
    host = frozenset({urlsplit(url).hostname or ""})
    try:
        async with asyncio.timeout(PAGE_SECONDS):
            outcome = await read_one(url, host)
    except TimeoutError:
        return "failed", f"not complete within {PAGE_SECONDS:g} s"
    asked = Scope(url).address(url)
    gone = PageText(asked, "", ())
    if outcome.page:
        await file.add(outcome.page, now())
        if outcome.url != asked:
            await file.add(gone, now())
            return outcome.kind, f"leads to {outcome.url}"
    elif outcome.status in {404, 410} or outcome.kind == "skipped":
        await file.add(gone, now())
        return "forgotten", outcome.reason
    return outcome.kind, outcome.reason


def _opened(
    settings: Settings, monotonic: Callable[[], float], on_fault: Callable[[str], None]
) -> ReloadingKnowledge:
    """Raises OSError for a file that cannot be used, and ValueError for a malformed address."""
    from kefu.stores.s3_object import S3Object, is_s3
    from kefu.stores.sqlite.knowledge.reloading import ReloadingKnowledge

    if not is_s3(settings.knowledge):
        return ReloadingKnowledge(Path(settings.knowledge), monotonic, on_fault)
    copy = S3Object(settings.knowledge)
    file = ReloadingKnowledge(copy.path, monotonic, on_fault, copy)
    # A cold start on Lambda does not wait for S3: the first question does, and `/ready`.
    if not settings.lambda_function:
        file.load()
    return file
