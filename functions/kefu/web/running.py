"""What is in progress in this process: answers, which other requests can stop or follow, and
operators who are writing.

The text of an answer exists once. A request that follows an answer holds a position in its text, so
a slow reader receives longer pieces, and takes no memory of its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import TYPE_CHECKING, Protocol

from kefu.chat.services import Services
from kefu.chat.state import Answer, AnswerEvent, Done
from kefu.errors import AnswerCancelled, TakenOver, UpstreamUnavailable
from kefu.relay.chunks import Chunk, Json, Usage, chunk_of
from kefu.web.caller import Gateway
from kefu.web.log import RequestLog
from kefu.web.options import WebOptions

if TYPE_CHECKING:
    from starlette.requests import Request

    from kefu.web.sites import Sites

_CANCEL, _CANCEL_SESSION, _TAKE_OVER = "cancel", "cancel session", "take over"
_WRITES, _WROTE = "writes", "wrote"
"""What servers tell each other."""

WRITING_SECONDS = 8.0
"""An operator counts as writing for this time. The panel repeats it every four seconds."""

PING_SECONDS = 2.5
"""Seconds without news after which a ping is sent: a page waits five seconds for the first byte."""


class OtherServers(Protocol):
    """The other servers on the same store."""

    def tell(self, what: str, name: str) -> None:
        """Tell all of them. Returns at once, and never raises. What is told may be lost."""
        ...

    def listen(self, on_told: Callable[[str, str], None]) -> None:
        """Call a function on the event loop for what one of them tells."""
        ...


class Running:
    """The answers in progress in this process, and the operators who are writing."""

    def __init__(self) -> None:
        self.answers: set[Answer] = set()
        self._writing: dict[str, float] = {}
        """The time of the event loop until which an operator writes, by chat and name."""
        self._others: OtherServers | None = None

    def join(self, others: OtherServers) -> None:
        """Cancel answers of other servers, too, and let them cancel answers of this one."""
        self._others = others
        others.listen(self._told)

    def cancel(self, client_message_id: str) -> bool:
        """Cancel the answers with this id: their clients receive AnswerCancelled.

        Returns False if no answer of this process has this id.
        """
        found = self._stop(client_message_id)
        if not found and self._others:
            self._others.tell(_CANCEL, client_message_id)
        return found

    def cancel_session(self, session_id: str) -> None:
        """Cancel the answers of a session, because it is being deleted."""
        self._stop_session(session_id)
        if self._others:
            self._others.tell(_CANCEL_SESSION, session_id)

    def take_over(self, session_id: str) -> None:
        """End the answers of a session, because a person has it now. Clients receive no error.

        A message that is not saved yet gets its answer, and a call that changes something its end.
        """
        self._end_for_person(session_id)
        if self._others:
            self._others.tell(_TAKE_OVER, session_id)

    def write(self, session_id: str, operator: str, *, ends: bool = False) -> None:
        """Note that an operator is writing to a visitor, or has written.

        No store has it: a write for every few letters would cost more than it is worth. So in
        Lambda, where each request may have a process of its own, nobody is writing.
        """
        what, name = _WROTE if ends else _WRITES, _writer(session_id, operator)
        self._told(what, name)
        if self._others:
            self._others.tell(what, name)

    def is_writing(self, session_id: str, operator: str) -> bool:
        now = asyncio.get_running_loop().time()
        return self._writing.get(_writer(session_id, operator), 0.0) > now

    def _told(self, what: str, name: str) -> None:
        if what == _CANCEL:
            self._stop(name)
        elif what == _CANCEL_SESSION:
            self._stop_session(name)
        elif what == _TAKE_OVER:
            self._end_for_person(name)
        elif what == _WROTE:
            self._writing.pop(name, None)
        elif what == _WRITES:
            now = asyncio.get_running_loop().time()
            self._writing = {one: until for one, until in self._writing.items() if until > now}
            self._writing[name] = now + WRITING_SECONDS

    def _stop(self, client_message_id: str) -> bool:
        matching = [one for one in self.answers if one.client_message_id == client_message_id]
        for answer in matching:
            answer.stop(AnswerCancelled())
        return bool(matching)

    def _stop_session(self, session_id: str) -> None:
        for answer in [one for one in self.answers if _session_of(one) == session_id]:
            answer.stop(AnswerCancelled())

    def _end_for_person(self, session_id: str) -> None:
        for answer in [one for one in self.answers if _session_of(one) == session_id]:
            if answer.goes_on and not any(use.state == "sending" for use in answer.uses):
                answer.stop(TakenOver())

    def find(self, session_id: str, client_message_id: str) -> Answer | None:
        """The answer to this message of a stored chat; None if this process does not make it."""
        # A request that follows the answer has no text of its own.
        same = self._to(session_id, client_message_id)
        return next((answer for answer in same if answer.goes_on), None)

    async def find_beside(self, lost: Answer) -> Answer | None:
        """The answer that keeps the request of `lost` from answering the same message.

        The store may know of it before the request that makes it learns that it may.
        """
        if not (lost.session and lost.client_message_id):
            return None
        place = lost.session.id, lost.client_message_id
        while not (found := self.find(*place)):
            saving = [a for a in self._to(*place) if not (a.is_saved or a.reason or a.has_ended)]
            if not saving:
                return None
            await asyncio.wait([one.change() for one in saving], return_when="FIRST_COMPLETED")
        return found

    def _to(self, session_id: str, client_message_id: str) -> list[Answer]:
        wanted = session_id, client_message_id
        return [a for a in self.answers if (_session_of(a), a.client_message_id) == wanted]

    def drain(self) -> None:
        """End all answers with an error event, because the server shuts down."""
        restarting = "The server is restarting. Please try again."
        for answer in self.answers:
            answer.stop(UpstreamUnavailable(restarting, retry_after=1))


def _writer(session_id: str, operator: str) -> str:
    return f"{session_id} {operator}"


class ChatRuntime:
    """The objects that all requests share, such as admission, log and running answers."""

    def __init__(
        self,
        services: Services,
        log: RequestLog,
        gateway: Gateway,
        options: WebOptions,
        sites: Sites | None = None,
    ) -> None:
        """`sites`: None for a service of one site."""
        self.services = services
        self.sites = sites
        self.admission = services.admission
        self.log = log
        self.gateway = gateway
        self.options = options
        self.running = Running()

    def site_of(self, request: Request) -> str | None:
        """The site of the page that sends a request: see `Sites.of`."""
        return self.sites.of(request) if self.sites else None

    def services_of(self, config_id: str) -> Services:
        """The limits, the pages and the model of the site that has this preset."""
        site = self.sites.by_name.get(config_id) if self.sites else None
        return site.services if site else self.services

    def contact_link_of(self, config_id: str) -> str:
        """The address at which visitors of the site that has this preset reach a person."""
        site = self.sites.by_name.get(config_id) if self.sites else None
        return site.contact_link if site else self.options.contact_link

    def close(self) -> bool:
        """Refuse new requests, and end the answers in progress with an error event.

        Returns False if the runtime was already closed.
        """
        if self.admission.closed:
            return False
        self.admission.close()
        self.running.drain()
        return True


def _session_of(answer: Answer) -> str | None:
    return answer.session.id if answer.session else None


async def following(
    runtime: ChatRuntime, address: str, answer: Answer
) -> AsyncGenerator[AnswerEvent]:
    """The events of an answer that this process makes for another request.

    First its text from the start, and then what arrives, until the answer ends. Raises the error
    with which it ends.
    """
    with runtime.admission.slot(address):
        async with aclosing(_follow(answer)) as events:
            async for event in events:
                yield event


async def _follow(answer: Answer) -> AsyncGenerator[AnswerEvent]:
    sent, told, usage = 0, 0, Usage(0, 0)
    while True:
        text = answer.output.text if answer.output else ""
        change, has_ended = answer.change(), answer.has_ended
        before, events = sent, answer.events[told:]
        told += len(events)
        # Each event in its place in the text.
        for at, event in (*events, (len(text), None)):
            if text[sent:at] and answer.dialogues:
                # Without a role, OpenAI's client for JavaScript fails.
                role = {} if sent else {"role": "assistant"}
                yield [_chunk(answer, {**role, "content": text[sent:at]})]
                sent = at
            if event:
                yield event
        if has_ended:
            break
        if sent == before:
            yield []
        if not (await asyncio.wait({change}, timeout=PING_SECONDS))[0] and answer.free:
            answer.free()
    if answer.error:
        raise answer.error
    if dialogue := answer.dialogue:
        usage, reason = answer.usage, dialogue.call.completion.finish_reason
        yield [_chunk(answer, {}, "stop" if reason in (None, "tool_calls") else reason)]
    yield Done(usage)


def _chunk(answer: Answer, delta: Json, finish_reason: str | None = None) -> Chunk:
    completion = answer.dialogues[0].call.completion
    return chunk_of(
        {
            "id": completion.id,
            "object": "chat.completion.chunk",
            "created": completion.created,
            "model": completion.model,
            "choices": [{"index": 0, "delta": delta, "finish_reason": finish_reason}],
        }
    )
