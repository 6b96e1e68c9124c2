"""Authenticates requests to the operator's panel, and holds its dependencies."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import TYPE_CHECKING, Protocol

from fastapi import APIRouter, Depends, Request

from kefu.auth.admin_tokens import PASS_LIFE, TICKET_LIFE, AdminTokens, Holder, holder_in, nonce_for
from kefu.chat.admission import network_of
from kefu.chat.limits import LimitStore, Rate
from kefu.errors import (
    InvalidRequest,
    NotFound,
    RateLimited,
    ReadOnly,
    SessionNotFound,
    StoreUnavailable,
    Unauthorized,
    UpstreamUnavailable,
)
from kefu.relay.call import Clock
from kefu.relay.key_pool import KeyState
from kefu.sessions.store.answers import AnswerStore
from kefu.sessions.store.capacity import Room
from kefu.sessions.store.model import Session, SessionId
from kefu.sessions.store.passes import PassStore, SignIn
from kefu.sessions.store.ports import Sessions
from kefu.web.caller import bearer_of
from kefu.web.json_response import JsonRoute
from kefu.web.running import ChatRuntime

if TYPE_CHECKING:
    from kefu.auth.oidc import OidcSignIn
    from kefu.chat.translation import Translator
    from kefu.sessions.people.handoff import HandOff
    from kefu.sessions.people.visitor_mails import VisitorMails

WRONG_TOKENS_RATE = Rate(10, 600)
"""Wrong tokens allowed for one address: 10 in 600 s. Afterwards the panel responds with 429."""

_OF_ONE_SITE = ("about", "answers", "queue", "sessions")
"""The parts of the API for a sign-in to one of several sites."""

_AWAY = "The store is away. Try the link again."

_WITHOUT_STORE = ("about", "keys")

_WANTED = "The panel wants its token, as `Authorization: Bearer`."


class PageFacts(Protocol):
    @property
    def pages(self) -> int: ...

    @property
    def made(self) -> float:
        """Unix time of the run of `kefu learn`."""
        ...


class PanelPages(Protocol):
    """The file of the site's learnt pages."""

    @property
    def facts(self) -> PageFacts: ...

    async def problems(self) -> Sequence[tuple[str, str]]:
        """The pages that failed in the last run, each with the reason."""
        ...


@dataclass(frozen=True, slots=True)
class PanelSite:
    """One of several sites. Prices are as in `PanelInfo`."""

    name: str
    origins: Sequence[str]
    price_input: float | None = None
    price_output: float | None = None


@dataclass(frozen=True, slots=True)
class PanelInfo:
    """Facts about the service that the panel shows. Prices are per million tokens."""

    version: str
    model: str
    capture: str
    keeps_chats: bool
    has_contact_form: bool = False
    has_pages: bool = False
    """Whether answers come from learnt pages."""
    presets: Sequence[str] = ()
    """Names of the presets of chats; empty if there is only the default."""
    price_input: float | None = None
    price_output: float | None = None
    sites: Sequence[PanelSite] = ()
    """The sites beside that of the service."""
    replies: Sequence[Mapping[str, str]] = ()
    """The ready replies of operators, each with `name` and `text`."""
    translates: bool = False
    """Whether operators can read and write in their language."""

    def of_site(self, name: str) -> PanelInfo:
        """The facts for a sign-in to one site."""
        [site] = [one for one in self.sites if one.name == name]
        return replace(
            self,
            presets=[name],
            sites=[site],
            price_input=site.price_input,
            price_output=site.price_output,
        )


@dataclass(frozen=True, slots=True)
class Panel:
    runtime: ChatRuntime
    tokens: AdminTokens
    ready: Callable[[], Awaitable[None]]
    """Waits, for a limited time, for the admin token from SSM or Secrets Manager."""
    limits: LimitStore
    sessions: Sessions | None
    keys: Callable[[], Awaitable[Sequence[KeyState]]]
    info: PanelInfo
    clock: Clock
    nonce: Callable[[], str]
    room: Callable[[], Awaitable[Room]] | None = None
    """The fill level of the store of chats."""
    contact: HandOff | None = None
    """None without a contact form."""
    deliver: Callable[[], Awaitable[None]] | None = None
    """Delivers the requests that are due; None where they are only listed."""
    mails: VisitorMails | None = None
    """Mails operators' lines to visitors who have left; None where none are."""
    pages: PanelPages | None = None
    """The learnt pages' state; None without pages."""
    has_answers: bool = False
    """Whether a site has pages, among which answers of people are found."""
    answers_changed: Callable[[], None] = lambda: None
    """Is called after an answer of a person was changed here."""
    oidc: OidcSignIn | None = None
    """The sign-in at an OpenID provider; None without one."""
    own_url: str = ""
    """The public address of this service, with `oidc`."""
    translators: Callable[[str], Translator] | None = None
    """The translator of the chats of a preset, by its name; None where nothing is translated."""
    learn_page: Callable[[str], Awaitable[tuple[str, str]]] | None = None
    """Learns one address. Returns the outcome and its reason. Raises InvalidRequest."""

    async def check(self, request: Request, *, of_bot_check: bool = False) -> None:
        """Check the bearer token of a request, or of a command about the bot check.

        Raises Unauthorized for a wrong token or an ended pass, RateLimited after too many from one
        address, and ReadOnly for a change by a sign-in that may only read.
        """
        await self.ready()
        admits = self.tokens.admits_check if of_bot_check else self.tokens.admits
        if not admits(bearer_of(request), self.clock.now()):
            await self._failed(request)
        await self._check_open(request)
        holder = self.holder_of(request)
        if holder.may == "read" and request.method != "GET":
            raise ReadOnly("This sign-in may only read.")
        if holder.site:
            await self._check_site(request, holder.site)

    async def _check_open(self, request: Request) -> None:
        """Raises Unauthorized for a pass that was ended, and StoreUnavailable.

        Without the store, a pass opens what has no data of visitors.
        """
        id = self.pass_of(request)
        if not id or self.sign_ins is None:
            return
        try:
            has_ended = await self.sign_ins.has_ended(id)
        except StoreUnavailable:
            if request.scope["path"].removeprefix("/admin/api/") not in _WITHOUT_STORE:
                raise
            return
        if has_ended:  # no wrong token: it must not count for the colleagues of this address
            raise Unauthorized("This sign-in was ended. Please ask for a new link.")

    @property
    def sign_ins(self) -> PassStore | None:
        """None on a server that stores neither requests nor chats."""
        return self.contact.store if self.contact else self.sessions

    def pass_of(self, request: Request) -> str:
        """The id of the request's pass; "" without a pass."""
        return self.tokens.id_of(bearer_of(request), self.clock.now())

    def site_of(self, request: Request) -> str:
        """The site to which the request's pass is limited; "" for the whole service."""
        return self.holder_of(request).site

    def holder_of(self, request: Request) -> Holder:
        """The holder of the request's pass."""
        return self.tokens.holder_of(bearer_of(request), self.clock.now())

    def operator_of(self, request: Request, typed: str = "") -> str:
        """The name of the operator: that of the pass, else the typed one.

        Raises InvalidRequest without any.
        """
        if not (name := self.holder_of(request).operator or typed):
            raise InvalidRequest("operator: must not be empty.", param="operator")
        return name

    async def _check_site(self, request: Request, site: str) -> None:
        """Raises NotFound for data of other sites, and SessionNotFound for another site's chat."""
        kind = request.scope["path"].removeprefix("/admin/api/").partition("/")[0]
        sites = self.runtime.sites
        if kind not in _OF_ONE_SITE or not sites or site not in sites.by_name:
            raise NotFound("This sign-in is for one site, and shows its chats and answers alone.")
        if name := request.path_params.get("session_id", ""):
            await self.check_chat(name, site)

    async def check_chat(self, name: str, site: str) -> None:
        """Raises SessionNotFound for a chat of another site than `site`, which is not ""."""
        session, sites = await self.stored_chats().session(SessionId(name)), self.runtime.sites
        if not session or not sites or sites.configs.site_of(session.config_id) != site:
            raise SessionNotFound("There is no such session.")

    def stored_chats(self) -> Sessions:
        """Raises NotFound on a server that stores no chats."""
        if self.sessions is None:
            raise NotFound("This server does not store chats: KEFU_SESSIONS is off.")
        return self.sessions

    async def stored_chat(self, name: SessionId) -> Session:
        """Raises SessionNotFound, and NotFound on a server that stores no chats."""
        session = await self.stored_chats().session(name)
        if session is None:
            raise SessionNotFound("There is no such session.")
        return session

    def requests(self) -> Sessions:
        """Raises NotFound on a server that stores neither requests nor chats."""
        return self.contact.store if self.contact else self.stored_chats()

    def answers(self) -> AnswerStore:
        """The store of people's answers. Raises NotFound where none would be found."""
        if not self.has_answers:
            raise NotFound("This server answers from no learnt pages: please run `kefu learn`.")
        return self.stored_chats()

    def audit(self, request: Request, action: str, session_id: str = "") -> None:
        """Log an operator's access to stored chats.

        The line has the name of the operator. For a pass without a name it has the fingerprint of
        the pass, by which it tells sign-ins apart.
        """
        fingerprint = hashlib.sha256(bearer_of(request).encode()).hexdigest()[:12]
        self.runtime.log.audit(action, self.operator_of(request, fingerprint), session_id)

    async def enter(self, request: Request) -> str:
        """Return a new pass in exchange for the admin token or for a one-time ticket.

        A pass is not accepted, because a client could then renew it without end. Raises
        Unauthorized, RateLimited, and UpstreamUnavailable if the store fails.
        """
        await self.ready()
        now, bearer = self.clock.now(), bearer_of(request)
        nonce = self.tokens.redeem(bearer, now)
        if nonce is not None:
            if not await self._first_use(nonce):
                await self._failed(request)
        elif not self.tokens.is_token(bearer):
            await self._failed(request)
        return await self._issued(holder_in(nonce or ""), now)

    async def _issued(self, holder: Holder, now: float) -> str:
        """A new pass, which is stored as a sign-in. Raises UpstreamUnavailable."""
        id = self.nonce()
        if self.sign_ins:
            new = SignIn(id, now, int(now + PASS_LIFE), holder.operator, holder.site, holder.may)
            try:
                await self.sign_ins.add_sign_in(new)
            except StoreUnavailable as error:
                raise UpstreamUnavailable(_AWAY, retry_after=5) from error
        return self.tokens.issue(nonce_for(id, holder), now)

    async def new_state(self) -> str:
        """The state of a sign-in at the OpenID provider that begins now."""
        await self.ready()
        return self.tokens.issue(self.nonce(), self.clock.now(), TICKET_LIFE, "state")

    async def check_state(self, request: Request, state: str, begun: str) -> None:
        """Raises Unauthorized for a state that this browser has not `begun`, and RateLimited."""
        await self.ready()
        if state != begun or not self.tokens.admits_state(state, self.clock.now()):
            await self._failed(request)

    def ticket_for(self, holder: Holder) -> str:
        return self.tokens.ticket(nonce_for(self.nonce(), holder), self.clock.now())

    async def _first_use(self, nonce: str) -> bool:
        try:
            return bool(await self.limits.reserve(f"ticket:{nonce}", 1, 1))
        except StoreUnavailable as error:
            # Fail closed: without the store a used ticket would be accepted again.
            raise UpstreamUnavailable(_AWAY, retry_after=5) from error

    async def _failed(self, request: Request) -> None:
        network = network_of(self.runtime.gateway.address(request))
        wait = await self.limits.take(f"admin:{network}", WRONG_TOKENS_RATE)
        if wait > 0:
            raise RateLimited(
                "Too many wrong tokens.", limit="wrong tokens", retry_after=max(1, ceil(wait))
            )
        raise Unauthorized(_WANTED)


def panel_router(panel: Panel, path: str = "") -> APIRouter:
    """A router of the panel's API. Each request is checked before its body is read."""

    async def check(request: Request) -> None:
        await panel.check(request)

    return APIRouter(
        prefix=f"/admin/api{path}",
        route_class=JsonRoute,
        dependencies=[Depends(check)],
        include_in_schema=False,
    )
