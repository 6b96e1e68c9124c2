"""Answers one request: all steps from admission to the last chunk, in order, without HTTP.

A stateless request and a message of a stored chat run the same steps. The ports in
`kefu.chat.conversation` hide the difference.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from kefu.auth.bot_check import BotCheck, Proof
from kefu.chat.admission import Admission
from kefu.chat.completion import Chat
from kefu.chat.conversation import KnownAnswer, Report, RequestedConversation, Turn
from kefu.chat.stop import Stop
from kefu.errors import KefuError, UpstreamUnavailable
from kefu.knowledge.sources import Source, parted
from kefu.relay.chunks import Chunk, Usage
from kefu.relay.collected import replayed

if TYPE_CHECKING:
    from kefu.chat.grounding import Grounder, Grounding
    from kefu.relay.relay import ModelAnswer

BYTES_PER_TOKEN = 4096
"""Characters of JSON that an answer may have for each token; a chunk of one token has about 300."""
SPARE_BYTES = 64 * 1024
"""Characters that every answer may have."""


@dataclass(frozen=True, slots=True)
class Done:
    """The answer is complete. After this event, only data is saved."""

    usage: Usage


@dataclass(frozen=True, slots=True)
class SourcesFound:
    """The passages that the answer may cite. They come before its first chunk."""

    sources: Sequence[Source]
    links: Sequence[str] = ()
    """The addresses that it may link to, beside those of the sources."""


@dataclass(frozen=True, slots=True)
class SourcesUsed:
    """What the answer cited. It comes after the last chunk."""

    numbers: Sequence[int]
    answered: bool
    """False when the model said that the passages do not answer the question."""


AnswerEvent = list[Chunk] | SourcesFound | SourcesUsed | Done
"""An empty list asks the caller to send a ping, because no chunk has arrived for a while."""


@dataclass(frozen=True, slots=True)
class Incoming:
    """One request for an answer, without its HTTP details."""

    request_id: str
    received_at: float
    """Monotonic time at which the request arrived."""
    address: str
    """The IP address, or its network, for rate limits."""
    proof: Proof
    """The visitor's proof for the bot check."""
    conversation: RequestedConversation
    lists_sources: bool = False
    """Whether the answer's text ends with a list of the pages that it cites."""
    client: str = ""
    """The name of the key of a client of `/v1`. It has limits of its own, and no bot check."""
    deadline: float | None = None
    """Time of the event loop at which Lambda may freeze the process; None on a normal server."""
    stop: Stop = field(default_factory=Stop)
    report: Report = field(default_factory=Report)


class Services(NamedTuple):
    """The parts of the service that an answer needs."""

    admission: Admission
    chat: Chat
    prefetch: Callable[[], object]
    """Starts reading the cooldowns of the keys, so that the relay has them earlier."""
    bot_check: BotCheck | None = None
    grounder: Grounder | None = None
    """Finds passages of the site's pages; None for a service without learnt pages."""


async def answer(incoming: Incoming, services: Services) -> AsyncGenerator[AnswerEvent]:
    """Answer one request. The caller must close the iterator; that also ends the model's answer.

    Raises a KefuError when there is no complete answer. If the iteration is cancelled, the cause is
    `incoming.stop.reason`; without a reason, the visitor has disconnected.
    """
    admission, chat, report = services.admission, services.chat, incoming.report
    services.prefetch()
    with admission.slot(incoming.client or incoming.address):
        if incoming.client:
            await admission.admit_client(incoming.client)
        else:
            await check_visitor(incoming.proof, incoming.address, report, services)
            await admission.admit_address(incoming.address)
        opened = await incoming.conversation.open()
        report.session = opened.session
        if opened.session and not opened.is_new:
            await admission.admit_session(opened.session.id)
        await admission.admit_site()
        turn = await opened.save_question()
        report.is_saved = True
        if isinstance(turn, KnownAnswer):
            for event in known_events(turn, services, incoming.request_id, incoming.lists_sources):
                yield event
            return
        async with turn.answering(report, incoming.stop):
            question = await turn.question()
            # After the history: a follow-up is looked up together with the question before it.
            grounding = None
            if grounder := services.grounder:
                grounding = await grounder.ground(
                    question, turn.note_summary, lists=incoming.lists_sources
                )
            dialogue = chat.prepare(
                question,
                incoming.received_at,
                incoming.request_id,
                keep_bodies=turn.reads_bodies or grounding is not None,
                sources=grounding,
            )
            report.dialogue = dialogue
            async with (
                admission.budget(dialogue.tokens_at_most, lambda: dialogue.spent),
                aclosing(await chat.start(dialogue, turn.note_summary)) as running,
                aclosing(_shown(running, turn, grounding, incoming)) as events,
            ):
                async for event in events:
                    yield event
        yield Done(dialogue.usage)
        if incoming.deadline is not None:
            await turn.written(incoming.deadline)


def known_events(
    known: KnownAnswer, services: Services, request_id: str, lists_sources: bool
) -> Iterator[AnswerEvent]:
    """The events of an answer that was made before."""
    text, cited = parted(known.text)
    grounder = services.grounder
    if cited or grounder:
        yield SourcesFound(cited, grounder.links if grounder else ())
    shown = known.text if lists_sources else text
    id = f"chatcmpl-{request_id}"
    yield replayed(shown, id, services.chat.model, int(known.created_at))
    if cited or grounder:
        yield SourcesUsed([one.number for one in cited], answered=True)
    yield Done(Usage(0, 0))


async def _shown(
    running: ModelAnswer, turn: Turn, grounding: Grounding | None, incoming: Incoming
) -> AsyncGenerator[AnswerEvent]:
    """The model's chunks after all filters, and the sources of a grounded answer around them."""
    dialogue, failure = incoming.report.dialogue, None
    assert dialogue
    # A model may ignore `max_tokens`.
    left = SPARE_BYTES + BYTES_PER_TOKEN * dialogue.question.max_tokens
    if grounding:
        yield SourcesFound(grounding.sources, grounding.links)
    try:
        async with aclosing(running.batches()) as batches:
            async for batch in batches:
                left -= sum(len(chunk.text) for chunk in batch)
                if left < 0:
                    raise UpstreamUnavailable("The answer is too long.", should_retry=False)
                checked = await grounding.checked(batch) if grounding else batch
                if checked is not None and (shown := await turn.show(checked)) is not None:
                    yield shown
        turn.check_whole()
    except KefuError as error:
        failure = error
    if grounding and (held := await grounding.held_back()) and (shown := await turn.show(held)):
        yield shown
    if rest := await turn.show_rest():
        yield rest
    if failure:
        raise failure
    if grounding:
        yield SourcesUsed(grounding.used, grounding.answered)


async def check_visitor(proof: Proof, address: str, report: Report, services: Services) -> None:
    """Run the bot check if one is configured.

    Raises VerificationRequired, RateLimited, UpstreamUnavailable.
    """
    if services.bot_check is None:
        return

    def note(decision: str) -> None:
        report.bot_check = decision

    report.verification_pass = await services.bot_check.admit(
        proof, address, note, services.admission.checking
    )
