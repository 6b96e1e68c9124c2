"""Asks a service the questions of a case, and waits when the service asks for it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import nullcontext

from kefu.errors import GatewayTimeout, RateLimited, SessionBusy, UpstreamUnavailable
from kefu.evaluation.cases import CaseQuestion
from kefu.evaluation.checks import ServiceAnswer
from kefu.evaluation.given_results import GivenResults
from kefu.evaluation.heard import Heard, whole_answer
from kefu.evaluation.steps import ShownCard, ToolUse
from kefu.evaluation.told_calls import told_calls
from kefu.relay.attempt import UpstreamResponse
from kefu.upstream.kefu_server import KefuServer, ServerVisitor

_MAX_ATTEMPTS = 5
"""Attempts of a question that fail for another reason than a rate limit."""
_MAX_WAIT_SECONDS = 900.0
"""Maximum seconds that one question waits for rate limits and for keys that cool down."""
_MAX_CLICKS = 3
"""Cards that are answered after one question."""


class QuestionGate:
    """Holds back all questions while the service asks to wait."""

    def __init__(self) -> None:
        self._open_at = 0.0

    async def passed(self) -> None:
        """Wait until questions may be sent."""
        now = asyncio.get_running_loop().time
        while (left := self._open_at - now()) > 0:  # noqa: ASYNC110 - it may close again meanwhile
            await asyncio.sleep(left)

    def close(self, seconds: float) -> None:
        self._open_at = max(self._open_at, asyncio.get_running_loop().time() + seconds)


class ServiceChat:
    """A chat with the service, in the name of a new visitor."""

    def __init__(
        self,
        url: str,
        visitor: ServerVisitor,
        gate: QuestionGate,
        given: GivenResults | None = None,
        history: Sequence[Mapping[str, str]] = (),
    ) -> None:
        """`given`: has the results of calls, if this process gives them. `history`: messages that
        were said before.
        """
        self._server = KefuServer(url, visitor._replace(sources="passages", steps=True))
        self._gate = gate
        self._given = given
        self._messages = list(history)

    async def ask(self, question: CaseQuestion) -> ServiceAnswer:
        """The last answer: after a card that the file answers, the one to the click.

        Raises the KefuError of the last attempt.
        """
        asked = {"role": "user", "content": question.ask}
        messages, server = [*self._messages, asked], self._server
        heard, seconds = await self._patiently(lambda: server.ask(messages), question)
        answers, cards = [heard], list[ShownCard]()
        while heard.card:
            answer = question.answer_to(heard.card.tool) if len(cards) < _MAX_CLICKS else None
            cards.append(heard.card._replace(answer=answer))
            if answer is None:
                break
            heard, more = await self._clicked(cards[-1].id, answer, question)
            answers.append(heard)
            seconds += more
        self._messages += [asked, {"role": "assistant", "content": heard.text}]
        missing = self._given.missing(server.session_id) if self._given else ()
        use = ToolUse(await told_calls(server, answers), cards, missing)
        facts = heard.pages(), heard.answered, question.ask, use
        return ServiceAnswer(heard.text, seconds, *facts)

    async def aclose(self) -> None:
        await self._server.aclose()

    async def _clicked(
        self, card: str, approved: bool, question: CaseQuestion
    ) -> tuple[Heard, float]:
        return await self._patiently(lambda: self._server.click(card, approved=approved), question)

    async def _patiently(
        self, send: Callable[[], Awaitable[UpstreamResponse]], question: CaseQuestion
    ) -> tuple[Heard, float]:
        """The answer, and the seconds that it took."""
        clock = asyncio.get_running_loop().time
        end, attempt = clock() + _MAX_WAIT_SECONDS, 0
        while True:
            await self._gate.passed()
            try:
                started = clock()
                return await self._once(send, question), clock() - started
            except (RateLimited, UpstreamUnavailable, GatewayTimeout, SessionBusy) as error:
                attempt += not error.retry_after
                wait = error.retry_after or 2.0 ** (attempt - 1)
                is_final = error.should_retry is False and not error.retry_after
                if is_final or attempt >= _MAX_ATTEMPTS or clock() + wait > end:
                    raise
                # After one refusal all other questions wait, instead of being refused, too.
                if error.retry_after:
                    self._gate.close(wait)
                await asyncio.sleep(wait)

    async def _once(
        self, send: Callable[[], Awaitable[UpstreamResponse]], question: CaseQuestion
    ) -> Heard:
        given = self._given
        with given.asking(self._server, question.results) if given else nullcontext():
            response = await send()
        try:
            return await whole_answer(response)
        finally:
            await response.aclose()
