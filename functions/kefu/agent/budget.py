"""Applies the token limits of a session to the prompt of each model call."""

from __future__ import annotations

from collections.abc import Sequence

from kefu.agent.events import BudgetExceeded, MessageRun, Tokens
from kefu.agent.history import ChatHistory, sent
from kefu.agent.journal import Write
from kefu.agent.model import AgentModel
from kefu.agent.options import TokenLimits, TurnFailed
from kefu.chat.summary_prompt import SUMMARY_TOKENS, summary_prompt, whole_sentences
from kefu.context import Budget, Message, Window, trim_with_summary, window_for
from kefu.errors import KefuError


class PromptLimits:
    """Applies the token limits during one turn. A budget writes at most one warning per turn."""

    def __init__(
        self,
        limits: TokenLimits,
        history: ChatHistory,
        model: AgentModel,
        write: Write,
    ) -> None:
        self._limits = limits
        self._history = history
        self._model = model
        self._write = write
        self._warned = False

    async def prompt(self) -> tuple[Sequence[Message], int]:
        """Returns the messages to send and their tokens.

        Raises TurnFailed if the prompt is too long and the limits say `reject`, or if even the
        shortened prompt is too long.
        """
        tokens, limits = self._history.tokens, self._limits
        if limits.warn is not None and tokens > limits.warn and not self._warned:
            self._warned = True
            self._write(BudgetExceeded(action="warn", prompt=tokens, limit=limits.warn))
        if limits.maximum is None or tokens <= limits.maximum:
            return self._history.messages, tokens
        if limits.action == "reject":
            raise self._rejected(tokens, limits.maximum)
        return await self._shorten(tokens, limits.maximum)

    def halved(self, tokens: int) -> tuple[Sequence[Message], int] | None:
        """Trim a prompt that the model refused as too long, to half of `tokens`.

        Returns the messages and their tokens; None if no message may be dropped.
        """
        if self._limits.action == "reject":
            return None
        half = max(1, tokens // 2)
        window = window_for(
            self._history.conversation, Budget(half, reserve=0), "fifo", self._history.counter
        )
        if not window.dropped:
            return None
        dropped = len(window.dropped)
        self._write(BudgetExceeded(action="trim", prompt=tokens, limit=half, dropped=dropped))
        return sent(window.messages), window.tokens

    def _rejected(self, tokens: int, limit: int, spent: Tokens | None = None) -> TurnFailed:
        self._write(BudgetExceeded(action="reject", prompt=tokens, limit=limit, tokens=spent))
        message = f"The prompt has {tokens} tokens, more than the {limit} it may have."
        return TurnFailed("budget_exceeded", message)

    async def _shorten(self, tokens: int, limit: int) -> tuple[Sequence[Message], int]:
        room, counter = Budget(limit, reserve=0), self._history.counter
        conversation = self._history.conversation
        calls: list[Tokens] = []
        """The tokens of the summary call, if there was one, also of an unused summary."""
        if self._limits.action == "summarize":

            async def summarize(messages: Sequence[Message], previous: str) -> str:
                return await self._summary(messages, previous, calls)

            # A fifth of the room is left free, so that not every step needs a new summary.
            room = room._replace(trim_step=0.2)
            window = await trim_with_summary(conversation, room, summarize, counter)
        else:
            window = window_for(conversation, room, "fifo", counter)
        spent = calls[0] if calls else None
        if window.over_budget:
            raise self._rejected(window.tokens, limit, spent)
        if spent and not window.fallback:
            self._store_summary(window, tokens, limit, spent)
        else:
            dropped = len(window.dropped)
            self._write(BudgetExceeded(None, "trim", tokens, limit, dropped, tokens=spent))
        return sent(window.messages), window.tokens

    def _store_summary(self, window: Window, tokens: int, limit: int, spent: Tokens) -> None:
        """Replace the dropped messages by the summary in the history, for all later calls."""
        summary = next(message for message in window.messages if message.summary)
        runs = tuple(MessageRun(run.start, run.stop) for run in window.left_out)
        self._history.replace_by_summary(summary, [(run.start, run.stop) for run in runs])
        dropped = len(window.dropped)
        self._write(
            BudgetExceeded(summary.content, "summarize", tokens, limit, dropped, runs, spent)
        )

    async def _summary(
        self, messages: Sequence[Message], previous: str, calls: list[Tokens]
    ) -> str:
        request = summary_prompt(messages, previous, SUMMARY_TOKENS)
        prompt = self._history.counter.priming + sum(map(self._history.counter, request))
        reply = self._model.prepare(request, SUMMARY_TOKENS)
        try:
            await self._model.ask(reply)
        except KefuError as error:
            self._write(reply.failure(error))
            raise
        calls.append(self._model.note(reply, prompt)[0])
        complete = reply.call.completion.finish_reason == "stop"
        return reply.text.strip() if complete else whole_sentences(reply.text.strip())
