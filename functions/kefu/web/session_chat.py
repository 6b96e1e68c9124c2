"""Connects HTTP requests with the `SessionService`, for chats that the server stores."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from hashlib import sha256
from typing import TYPE_CHECKING

from starlette.requests import Request

from kefu.auth.identity import Identities, SiteUser
from kefu.chat.answer import known_events, make_answer
from kefu.chat.state import Answer, AnswerEvent
from kefu.errors import IdentityRejected, StoreUnavailable, UpstreamUnavailable
from kefu.knowledge.sources import named, parted
from kefu.sessions.store.model import Session, StoredMessage
from kefu.sessions.turn.message import KeptConversation
from kefu.sessions.turn.service import IncomingMessage, SessionService
from kefu.web.caller import answer_of, language_of
from kefu.web.running import ChatRuntime, following
from kefu.web.schemas import ClickRequest, GivenApproval, MessageRequest, ResumeRequest
from kefu.web.sending import TOKEN_HEADER, AnswerResponse

if TYPE_CHECKING:
    from starlette.responses import Response

    from kefu.messages import Image
    from kefu.sessions.people.visitor_mails import VisitorMails
    from kefu.tools.tool import Outcome, Tool
    from kefu.tools.toolbox import Toolbox

USER_HEADER = "X-User-Token"
RESULT = "result"
"""The attempt of every click with a result, so that the first result counts."""


class KeptChats:
    """Converts requests into calls of the `SessionService`."""

    def __init__(
        self,
        runtime: ChatRuntime,
        sessions: SessionService,
        identities: Identities | None,
        mails: VisitorMails | None = None,
    ) -> None:
        """`identities`: None if the site does not sign user tokens. `mails`: None without any."""
        self.runtime = runtime
        self.mails = mails
        self.sessions = sessions
        self._identities = identities

    async def answer(self, request: Request, body: MessageRequest | ClickRequest) -> AnswerResponse:
        runtime, click = self.runtime, None
        if isinstance(body, ClickRequest):
            from kefu.sessions.turn.tools import Click  # here, because few messages are clicks

            given = body.approval
            click = Click(given.id, given.approved, _result(given))
            body = body.message()
        answer = answer_of(request, body, runtime.gateway)
        incoming = await self._incoming(request, body, answer)
        if click:
            # The result of the page replaces the answer to the click, once.
            attempt = RESULT if click.result else ""
            incoming = incoming._replace(click=click, replaces=bool(attempt), attempt=attempt)
        services = runtime.services
        if sites := runtime.sites:
            incoming = await self._with_site(incoming, sites.of(request))
            services = runtime.services_of(incoming.site or "")
        message = KeptConversation(self.sessions, incoming, answer.received_at)
        events = make_answer(answer, message, services)
        return AnswerResponse(runtime, answer, events, wants_usage=body.wants_usage)

    async def _with_site(self, incoming: IncomingMessage, site: str | None) -> IncomingMessage:
        """The message with its site. Without an origin, that of its chat or of its preset."""
        configs = self.sessions.deps.configs
        if site is None and incoming.session_id is not None:
            owner = incoming.session_id, incoming.token, incoming.owner
            site = configs.site_of((await self.sessions.owned(*owner)).config_id)
        elif site is None:
            site = configs.site_of(incoming.config_id or configs.default)
        return incoming._replace(site=site)

    async def resume(self, request: Request, name: str, body: ResumeRequest) -> AnswerResponse:
        """The answer to an earlier message of a session: from its start, and new text.

        Raises the errors of `polled`.
        """
        session = await self.polled(request, name)
        answer = answer_of(request, body, self.runtime.gateway)
        events = resumed(self.runtime, self.sessions, answer, session, body)
        return AnswerResponse(self.runtime, answer, events)

    async def session(self, request: Request, name: str) -> Session:
        """Return the session of this id if it belongs to the visitor.

        Raises SessionNotFound, and RateLimited if the session is read too often.
        """
        session = await self._owned(request, name)
        await self.runtime.admission.admit_reader(session.id)
        return session

    async def listed(
        self, request: Request, config_id: str, cursor: str | None, limit: int
    ) -> tuple[Sequence[tuple[Session, str]], str | None]:
        """`SessionService.listed` for the user of the request.

        Raises IdentityRejected for an anonymous visitor, and RateLimited.
        """
        owner = (await self.visitor(request)).name
        if not owner:
            raise IdentityRejected(
                "Only a signed-in user has a list of chats: send the user token of the site."
            )
        # Hashed, because the names of limits are stored.
        name = sha256(owner.encode("utf-8", "replace")).hexdigest()[:32]
        await self.runtime.admission.admit_reader(f"user:{name}")
        configs, site = self.sessions.deps.configs, self.runtime.site_of(request)
        if self.runtime.sites:
            site = configs.site_of(config_id) if site is None else site
            if config_id and not configs.serves(config_id, site):
                return (), None
        found, following = await self.sessions.listed(owner, config_id or site or "", cursor, limit)
        return [one for one in found if configs.serves(one[0].config_id, site)], following

    async def polled(self, request: Request, name: str) -> Session:
        """As `session`, with the limit for requests that are repeated every few seconds."""
        session = await self._owned(request, name)
        await self.runtime.admission.admit_poll(session.id)
        return session

    def name_sources(self, session: Session, shown: list[dict[str, object]]) -> dict[str, object]:
        """Part the model's answers from the lists of their sources, which become a field.

        Returns the fields of the response; none on a server without learnt pages.
        """
        grounder = self.runtime.services_of(session.config_id).grounder
        for message in shown:
            if message["role"] == "assistant" and "operator" not in message:
                text, cited = parted(str(message["content"]))
                if cited or grounder:
                    message |= {"content": text, "sources": named(cited)}
        return {"links": list(grounder.links)} if grounder else {}

    def checked(self, session: Session, messages: Sequence[StoredMessage]) -> list[StoredMessage]:
        """The messages for a file of Markdown: answers of earlier versions may have other links."""
        grounder = self.runtime.services_of(session.config_id).grounder
        return [
            one._replace(content=grounder.checked_text(one.content))
            if grounder and one.role == "assistant" and not one.operator
            else one
            for one in messages
        ]

    async def delete(self, request: Request, name: str) -> None:
        """Delete the visitor's session of this id, and stop an answer that is being sent.

        Succeeds for a session that was deleted before. Raises the errors of `session`.
        """
        visitor = await self.visitor(request)
        id = await self.sessions.owned_id(name, _token(request), visitor.name)
        if self.runtime.sites and (session := await self.sessions.found(id)):
            self.sessions.check_site(session, self.runtime.site_of(request))
        await self.runtime.admission.admit_reader(id)
        self.runtime.running.cancel_session(id)
        await self.sessions.forget(id)

    async def _owned(self, request: Request, name: str) -> Session:
        visitor = await self.visitor(request)
        session = await self.sessions.owned(name, _token(request), visitor.name)
        self.sessions.check_site(session, self.runtime.site_of(request))
        return session

    async def visitor(self, request: Request) -> SiteUser:
        """The user of the site; an anonymous one without a token, or if the site signs none."""
        token = request.headers.get(USER_HEADER, "")
        return await self._identities.visitor(token) if self._identities and token else SiteUser()

    async def _incoming(
        self, request: Request, body: MessageRequest, answer: Answer
    ) -> IncomingMessage:
        visitor, toolbox = await self.visitor(request), self.sessions.deps.toolbox
        return IncomingMessage(
            text=body.message,
            address=answer.address,
            request_id=answer.request_id,
            session_id=body.session_id,
            token=_token(request),
            owner=visitor.name,
            config_id=body.config_id,
            claims=visitor.profile,
            language=language_of(request) if toolbox else "",
            page_tools=self._of_page(toolbox, body) if toolbox and body.page_tools else (),
            client_message_id=body.again or answer.client_message_id,
            replaces=body.again is not None,
            attempt=(answer.client_message_id or "") if body.again else "",
            temperature=body.temperature,
            max_tokens=body.asked_tokens,
            # The signed profile of the user token overrides the profile in the request body.
            page=body.context or {},
            images=None if body.images is None else self._images(body.images),
            profile={**(body.profile or {}), **visitor.profile},
        )

    def _images(self, urls: Sequence[str]) -> Sequence[Image]:
        """The images of a message. Raises InvalidRequest."""
        if not urls:
            return ()
        from kefu.web.images import images_from  # here, because few messages have images

        return images_from(urls, allowed=self.runtime.options.images)

    async def image(self, request: Request, name: str, id: str) -> Response:
        """An image of the visitor's chat. Raises NotFound, and the errors of `polled`."""
        from kefu.web.images import image_response

        session = await self.polled(request, name)
        try:
            return await image_response(self.sessions.deps.store, session.id, id)
        except StoreUnavailable as error:
            said = "The picture cannot be read right now. Please try again."
            raise UpstreamUnavailable(said, retry_after=5) from error

    def _of_page(self, toolbox: Toolbox, body: MessageRequest) -> Sequence[Tool]:
        """The tools of the visitor's page that the settings name. A wrong one is left out."""
        from kefu.tools.page import described  # here, because few pages have tools

        found: list[Tool] = []
        for one in body.page_tools:
            if tool := toolbox.of_pages.get(one.name):
                words = one.description, one.parameters, one.optional, one.approve
                try:
                    found.append(described(tool, *words))
                except ValueError as error:
                    self.runtime.log.notice(f"The page's tool {one.name} is left out: {error}.")
        return found


def _result(given: GivenApproval) -> Outcome | None:
    from kefu.tools.tool import Outcome

    return Outcome(given.result.text, given.result.state) if given.result else None


async def resumed(
    runtime: ChatRuntime,
    sessions: SessionService,
    answer: Answer,
    session: Session,
    body: ResumeRequest,
) -> AsyncGenerator[AnswerEvent]:
    """The events of an answer that this process is making; else the events of the stored answer."""
    if running := runtime.running.find(session.id, body.client_message_id):
        async with aclosing(following(runtime, answer.address, running)) as events:
            async for event in events:
                yield event
        return
    known = await sessions.answer_to(session, body.again or body.client_message_id)
    for event in known_events(known, answer, runtime.services_of(session.config_id)):
        yield event


def _token(request: Request) -> str:
    return request.headers.get(TOKEN_HEADER, "")
