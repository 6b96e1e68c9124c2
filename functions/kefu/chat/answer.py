"""Answers one request: all steps from admission to the last chunk, in order, without HTTP.

A stateless request and a message of a stored chat run the same steps. The port in
`kefu.chat.conversation` hides the difference.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import aclosing, asynccontextmanager
from operator import attrgetter
from typing import TYPE_CHECKING

from kefu.chat.completion import Question
from kefu.chat.conversation import KnownAnswer, RequestedConversation
from kefu.chat.output_filter import OutputFilter
from kefu.chat.services import Services
from kefu.chat.state import Answer, AnswerEvent, Done, SourcesFound, SourcesUsed, ToolStep
from kefu.errors import KefuError, UpstreamUnavailable
from kefu.knowledge.sources import parted
from kefu.relay.chunks import Chunk, Usage
from kefu.relay.collected import replayed

if TYPE_CHECKING:
    from kefu.chat.grounding import Grounding
    from kefu.chat.steps import Steps
    from kefu.tools.workbench import Workbench

BYTES_PER_TOKEN = 4096
"""Characters of JSON that an answer may have for each token; a chunk of one token has about 300."""
SPARE_BYTES = 64 * 1024
"""Characters that every answer may have."""

_text_of = attrgetter("text")

Batches = AsyncIterator[list[Chunk]] | AsyncIterator[list[Chunk] | SourcesFound | ToolStep]


async def make_answer(
    answer: Answer, conversation: RequestedConversation, services: Services
) -> AsyncGenerator[AnswerEvent]:
    """Answer one request. The caller must close the iterator; that also ends the model's answer.

    Raises a KefuError when there is no complete answer. If the iteration is cancelled, the cause is
    `answer.reason`; without a reason, the visitor has disconnected.
    """
    admission, grounder = services.admission, services.grounder
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
            bench = await conversation.bench(answer, admission)
            steps = tool_steps(answer, bench, conversation, services, grounding) if bench else None
            answer.output = _output(conversation, question, grounding or steps)
            async with (
                _running(question, answer, conversation, services, grounding, steps) as batches,
                aclosing(_shown(batches, question, answer, conversation, grounding)) as events,
            ):
                if grounding:
                    yield SourcesFound(grounding.sources, grounding.links)
                async for event in events:
                    yield event
                if grounding:
                    yield SourcesUsed(grounding.used, grounding.answered, grounding.follow_ups)
        yield Done(answer.usage)
        if answer.deadline is not None:
            await conversation.written(answer.deadline)


def tool_steps(
    answer: Answer,
    bench: Workbench,
    conversation: RequestedConversation,
    services: Services,
    grounding: Grounding | None,
) -> Steps:
    # Imported here: a service without tools does not need it.
    from kefu.chat.steps import Steps

    return Steps(answer, bench, conversation, services, grounding)


@asynccontextmanager
async def _running(
    question: Question,
    answer: Answer,
    conversation: RequestedConversation,
    services: Services,
    grounding: Grounding | None,
    steps: Steps | None,
) -> AsyncIterator[Batches]:
    """The chunks of the model's answer, of one request or of all steps; closed on exit."""
    if steps:
        async with aclosing(steps.events(question)) as made:
            yield made
        return
    dialogue = services.chat.prepare(
        question,
        answer.received_at,
        answer.request_id,
        keep_bodies=answer.output is not None or conversation.reads_bodies,
        sources=grounding,
    )
    answer.dialogues.append(dialogue)
    async with (
        services.admission.budget(dialogue.tokens_at_most, lambda: dialogue.spent),
        aclosing(await services.chat.start(dialogue, conversation.note_summary)) as running,
        aclosing(running.batches()) as batches,
    ):
        yield batches


def known_events(known: KnownAnswer, answer: Answer, services: Services) -> Iterator[AnswerEvent]:
    """The events of an answer that was made before."""
    text, cited = parted(known.text)
    grounder = services.grounder
    if cited or grounder:
        yield SourcesFound(cited, grounder.links if grounder else ())
    yield from _known_steps(known)
    shown = known.text if answer.source_format == "text" else text
    id = f"chatcmpl-{answer.request_id}"
    yield replayed(shown, id, services.chat.sampling.model, int(known.created_at))
    if cited or grounder:
        yield SourcesUsed([one.number for one in cited], answered=True)
    yield Done(Usage(0, 0))


def _known_steps(known: KnownAnswer) -> Iterator[AnswerEvent]:
    if known.page_call:
        yield ToolStep(known.page_call, known.question_id, for_page=True)
    elif known.steps:
        from kefu.tools.use import stored_uses

        for use in stored_uses(known.steps):
            yield ToolStep(use, known.question_id)


def _output(
    conversation: RequestedConversation, question: Question, checked: Grounding | Steps | None
) -> OutputFilter | None:
    """The filters of an answer: references are checked first, then the hooks change its text."""
    if checked and question.wants_json:
        checked = None  # a link, or a number in brackets, is a value there
    if not (checked or conversation.is_stored):
        return None
    output = OutputFilter()
    if checked:
        output.use(checked.filters, checked.ending)
    if conversation.is_stored:
        output.use(conversation.filters)
    return output


async def _shown(
    batches: Batches,
    question: Question,
    answer: Answer,
    conversation: RequestedConversation,
    grounding: Grounding | None,
) -> AsyncGenerator[AnswerEvent]:
    """The model's chunks after all filters, and the calls of tools."""
    output, failure = answer.output, None
    # A model may ignore `max_tokens`.
    left = SPARE_BYTES + BYTES_PER_TOKEN * question.sampling.max_tokens
    try:
        async for batch in batches:
            if not isinstance(batch, list):
                yield batch
                continue
            left -= sum(map(len, map(_text_of, batch)))
            if left < 0:
                raise UpstreamUnavailable("The answer is too long.", should_retry=False)
            shown: list[Chunk] | None = batch
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
