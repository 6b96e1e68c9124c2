"""Answers one request: all steps from admission to the last chunk, in order, without HTTP.

A stateless request and a message of a stored chat run the same steps. The port in
`kefu.chat.conversation` hides the difference.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import aclosing
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

from kefu.auth.bot_check import BotCheck
from kefu.chat.admission import Admission
from kefu.chat.completion import Chat
from kefu.chat.conversation import KnownAnswer, RequestedConversation
from kefu.chat.output_filter import OutputFilter
from kefu.chat.state import Answer, AnswerEvent, Done, SourcesFound, SourcesUsed
from kefu.errors import KefuError, UpstreamUnavailable
from kefu.knowledge.sources import parted
from kefu.relay.chunks import Chunk, Usage
from kefu.relay.collected import replayed

if TYPE_CHECKING:
    from kefu.chat.grounding import Grounder, Grounding
    from kefu.relay.relay import ModelAnswer

BYTES_PER_TOKEN = 4096
"""Characters of JSON that an answer may have for each token; a chunk of one token has about 300."""
SPARE_BYTES = 64 * 1024
"""Characters that every answer may have."""

_text_of = attrgetter("text")


class Services(NamedTuple):
    """The parts of the service that an answer needs."""

    admission: Admission
    chat: Chat
    prefetches: Sequence[Callable[[], object]]
    """Start reads that an answer needs later, such as of the keys' cooldowns; return at once."""
    bot_check: BotCheck | None = None
    grounder: Grounder | None = None
    """Finds passages of the site's pages; None for a service without learnt pages."""


async def make_answer(
    answer: Answer, conversation: RequestedConversation, services: Services
) -> AsyncGenerator[AnswerEvent]:
    """Answer one request. The caller must close the iterator; that also ends the model's answer.

    Raises a KefuError when there is no complete answer. If the iteration is cancelled, the cause is
    `answer.reason`; without a reason, the visitor has disconnected.
    """
    admission, chat, grounder = services.admission, services.chat, services.grounder
    for prefetch in services.prefetches:
        prefetch()
    with admission.slot(answer.client or answer.address):
        await _admit_caller(answer, services)
        answer.session = await conversation.open()
        if answer.session and not conversation.is_new:
            await admission.admit_session(answer.session.id)
        await admission.admit_site()
        known = await conversation.save_question()
        answer.is_saved = True
        if known:
            for event in known_events(known, answer, services):
                yield event
            return
        async with conversation.answering(answer):
            question = await conversation.question()
            # Called after the history is read: a follow-up is searched with the previous question.
            grounding = None
            if grounder:
                note = conversation.note_summary
                lists = answer.source_format == "text"
                grounding = await grounder.ground(question, note, lists=lists)
            if conversation.is_stored or grounding:
                answer.output = _output(conversation, grounding)
            dialogue = answer.dialogue = chat.prepare(
                question,
                answer.received_at,
                answer.request_id,
                keep_bodies=answer.output is not None or conversation.reads_bodies,
                sources=grounding,
            )
            async with (
                admission.budget(dialogue.tokens_at_most, lambda: dialogue.spent),
                aclosing(await chat.start(dialogue, conversation.note_summary)) as running,
                aclosing(_shown(running, answer, conversation, grounding)) as events,
            ):
                async for event in events:
                    yield event
                if grounding:
                    yield SourcesUsed(grounding.used, grounding.answered)
        yield Done(dialogue.usage)
        if answer.deadline is not None:
            await conversation.written(answer.deadline)


def known_events(known: KnownAnswer, answer: Answer, services: Services) -> Iterator[AnswerEvent]:
    """The events of an answer that was made before."""
    text, cited = parted(known.text)
    grounder = services.grounder
    if cited or grounder:
        yield SourcesFound(cited, grounder.links if grounder else ())
    shown = known.text if answer.source_format == "text" else text
    id = f"chatcmpl-{answer.request_id}"
    yield replayed(shown, id, services.chat.sampling.model, int(known.created_at))
    if cited or grounder:
        yield SourcesUsed([one.number for one in cited], answered=True)
    yield Done(Usage(0, 0))


def _output(conversation: RequestedConversation, grounding: Grounding | None) -> OutputFilter:
    """The filters of an answer: citations are checked first, then the hooks change its text."""
    output = OutputFilter()
    if grounding:
        output.use(grounding.filters, grounding.ending)
    if conversation.is_stored:
        output.use(conversation.filters)
    return output


async def _shown(
    running: ModelAnswer,
    answer: Answer,
    conversation: RequestedConversation,
    grounding: Grounding | None,
) -> AsyncGenerator[AnswerEvent]:
    """The sources of a grounded answer, and the model's chunks after all filters."""
    dialogue, output, failure = answer.dialogue, answer.output, None
    assert dialogue
    # A model may ignore `max_tokens`.
    left = SPARE_BYTES + BYTES_PER_TOKEN * dialogue.question.sampling.max_tokens
    if grounding:
        yield SourcesFound(grounding.sources, grounding.links)
    try:
        async with aclosing(running.batches()) as batches:
            async for batch in batches:
                left -= sum(map(len, map(_text_of, batch)))
                shown: list[Chunk] | None = batch
                if left < 0:
                    raise UpstreamUnavailable("The answer is too long.", should_retry=False)
                if output:
                    waits = not output.has_text and conversation.waits_for_text
                    shown = await output.next(batch, waits=waits, pings=grounding is None)
                if shown is not None:
                    yield shown
        if output and conversation.is_stored and not output.text.strip():
            raise UpstreamUnavailable("The AI service gave no answer.", retry_after=1)
    except KefuError as error:
        failure = error
    if output and (rest := await output.close()):
        yield rest
    if failure:
        raise failure


async def _admit_caller(answer: Answer, services: Services) -> None:
    """Raises RateLimited, and the errors of `check_visitor`."""
    if answer.client:
        await services.admission.admit_client(answer.client)
    else:
        await check_visitor(answer, services)
        await services.admission.admit_address(answer.address)


async def check_visitor(answer: Answer, services: Services) -> None:
    """Run the bot check if one is configured.

    Raises VerificationRequired, RateLimited, UpstreamUnavailable.
    """
    if services.bot_check is None:
        return

    def note(decision: str) -> None:
        answer.bot_check = decision

    answer.verification_pass = await services.bot_check.admit(
        answer.proof, answer.address, note, services.admission.checking
    )
