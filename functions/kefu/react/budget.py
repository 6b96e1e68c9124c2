"""What a call of the model may be told: the conversation held against its limits."""

from __future__ import annotations

from collections.abc import Sequence

from kefu.context import Budget, Message, Window, trim_messages, trim_with_summary
from kefu.errors import KefuError
from kefu.events import Budget as BudgetEvent
from kefu.events import Error, Run, Tokens
from kefu.react.history import ChatHistory, sent
from kefu.react.meter import Meter
from kefu.react.model import Model
from kefu.react.options import TokenLimits
from kefu.react.tooling import TurnFailed, Write
from kefu.summaries import SUMMARY_TOKENS, summary_prompt, whole_sentences


class PromptLimits:
    """The limits of one turn: it warns once."""

    def __init__(
        self, limits: TokenLimits, history: ChatHistory, model: Model, meter: Meter, write: Write
    ) -> None:
        self._limits = limits
        self._history = history
        self._model = model
        self._meter = meter
        self._write = write
        self._warned = False

    async def prompt(self) -> tuple[Sequence[Message], int]:
        """What is sent now, and its tokens. Raises TurnFailed when it may not be sent."""
        tokens, limits = self._history.tokens, self._limits
        if limits.warn is not None and tokens > limits.warn and not self._warned:
            self._warned = True
            self._write(BudgetEvent(action="warn", prompt=tokens, limit=limits.warn))
        if limits.maximum is None or tokens <= limits.maximum:
            return self._history.messages, tokens
        if limits.action == "reject":
            raise self._rejected(tokens, limits.maximum)
        return await self._shortened(tokens, limits.maximum)

    def halved(self, tokens: int) -> tuple[Sequence[Message], int] | None:
        """Half of a prompt that the model has found too long; None where nothing may go."""
        if self._limits.action == "reject":
            return None
        half = max(1, tokens // 2)
        window = trim_messages(
            self._history.whole, Budget(half, reserve=0), "fifo", self._history.counter
        )
        if not window.dropped:
            return None
        gone = len(window.dropped)
        self._write(BudgetEvent(action="trim", prompt=tokens, limit=half, dropped=gone))
        return sent(window.messages), window.tokens

    def _rejected(self, tokens: int, limit: int, spent: Tokens | None = None) -> TurnFailed:
        self._write(BudgetEvent(action="reject", prompt=tokens, limit=limit, tokens=spent))
        said = f"The prompt has {tokens} tokens, more than the {limit} it may have."
        return TurnFailed("budget_exceeded", said)

    async def _shortened(self, tokens: int, limit: int) -> tuple[Sequence[Message], int]:
        room, counter, whole = Budget(limit, reserve=0), self._history.counter, self._history.whole
        calls: list[Tokens] = []
        """Tokens of the call that wrote a summary, if there was one, whatever became of it."""
        if self._limits.action == "summarize":

            async def summarize(messages: Sequence[Message], previous: str) -> str:
                return await self._summary(messages, previous, calls)

            # A summary is not wanted anew with every step: a fifth of the room is left free.
            room = room._replace(cut_step=0.2)
            window = await trim_with_summary(whole, room, summarize, counter)
        else:
            window = trim_messages(whole, room, "fifo", counter)
        spent = calls[0] if calls else None
        if window.over_budget:
            raise self._rejected(window.tokens, limit, spent)
        if spent and not window.fallback:
            self._keep(window, tokens, limit, spent)
        else:
            gone = len(window.dropped)
            self._write(BudgetEvent(None, "trim", tokens, limit, gone, tokens=spent))
        return sent(window.messages), window.tokens

    def _keep(self, window: Window, tokens: int, limit: int, spent: Tokens) -> None:
        """The summary takes the place of what it tells of, for all later calls."""
        summary = next(message for message in window.messages if message.summary)
        runs = tuple(Run(run.start, run.stop) for run in window.left_out)
        self._history.summarised(summary, [(run.start, run.stop) for run in runs])
        gone = len(window.dropped)
        self._write(BudgetEvent(summary.content, "summarize", tokens, limit, gone, runs, spent))

    async def _summary(
        self, messages: Sequence[Message], previous: str, calls: list[Tokens]
    ) -> str:
        asked = summary_prompt(messages, previous, SUMMARY_TOKENS)
        prompt = self._history.counter.priming + sum(map(self._history.counter, asked))
        reply = self._model.prepare(asked, SUMMARY_TOKENS)
        try:
            await self._model.ask(reply)
        except KefuError as error:
            self._write(Error(error.message, error.code, reply.latency_ms, reply.attempts))
            raise
        calls.append(self._meter.note(reply, prompt)[0])
        whole = reply.call.completion.finish_reason == "stop"
        return reply.text.strip() if whole else whole_sentences(reply.text.strip())
