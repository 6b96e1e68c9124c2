"""One chat request, from its checked messages to a running answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from kefu.answer import Answer, Call, Clock
from kefu.completion import Completion
from kefu.errors import ContextTooLong
from kefu.lean_typing import NamedTuple
from kefu.messages import Message
from kefu.prompt import (
    SUMMARY,
    Prompt,
    PromptPolicy,
    build_prompt,
    build_prompt_with_summary,
    request_body,
    tightened,
)
from kefu.relay import Relay
from kefu.summaries import Summaries
from kefu.tokens import estimate_tokens_v1


class Question(NamedTuple):
    """What a client asks, within all limits."""

    messages: Sequence[Message]
    temperature: float
    max_tokens: int
    model: str = ""
    """Another than the service's own."""
    policy: PromptPolicy | None = None
    """The same."""


class TooLong(NamedTuple):
    """A request that the model found too long, and was not the last."""

    body: bytes
    prompt: Prompt
    attempts: int
    """How many tries there had been by then, of this request and those before."""
    ended: float
    """Monotonic."""


@dataclass(slots=True, eq=False, repr=False)
class Dialogue:
    """A question on its way; filled in as it goes, so that it can be logged however it ends."""

    question: Question
    prompt: Prompt
    call: Call
    answer: Answer | None = None
    too_long: list[TooLong] = field(default_factory=list)

    @property
    def tokens_at_most(self) -> int:
        """Estimated prompt plus the longest answer allowed."""
        prompt = sum(estimate_tokens_v1(m.content) for m in self.prompt.messages)
        return prompt + self.question.max_tokens


class Chat:
    def __init__(
        self,
        relay: Relay,
        policy: PromptPolicy,
        model: str,
        clock: Clock,
        summaries: Summaries | None = None,
    ) -> None:
        """`summaries` are needed where the policy asks for them."""
        self._relay = relay
        self._policy = policy
        self._clock = clock
        self._summaries = summaries
        self.model = model

    def warm(self) -> None:
        """Load what the first count needs, a tokenizer's tables for one; takes its time."""
        self._policy.trim.counter.count("x")

    def close(self) -> None:
        """End what goes on without anybody waiting for it."""
        if self._summaries:
            self._summaries.close()

    def prepare(self, question: Question, started: float, request_id: str) -> Dialogue:
        """Trim and put together; `started` is the monotonic time at which the request came."""
        prompt = build_prompt(question.messages, self._policy_of(question))
        created = int(self._clock.now())
        model = question.model or self.model
        completion = Completion(f"chatcmpl-{request_id}", model, created)
        return Dialogue(question, prompt, Call(self._body(question, prompt), completion, started))

    async def start(self, dialogue: Dialogue) -> Answer:
        """Ask the model; a prompt that is too long for it is trimmed once more and asked again.

        Raises a KefuError when there is no answer.
        """
        policy = self._policy_of(dialogue.question)
        if policy.trim.strategy == SUMMARY and dialogue.prompt.window.dropped:
            await self._shorten(dialogue, policy)
        try:
            dialogue.answer = await self._relay.start(dialogue.call)
        except ContextTooLong:
            call, prompt = dialogue.call, dialogue.prompt
            refused = TooLong(call.body, prompt, len(call.attempts), self._clock.monotonic())
            await self._shorten(dialogue, tightened(policy, prompt))
            if len(dialogue.prompt.messages) == len(prompt.messages):
                raise
            dialogue.too_long.append(refused)
            dialogue.answer = await self._relay.start(dialogue.call)
        return dialogue.answer

    async def _shorten(self, dialogue: Dialogue, policy: PromptPolicy) -> None:
        messages = dialogue.question.messages
        if policy.trim.strategy == SUMMARY and self._summaries:
            prompt = await build_prompt_with_summary(messages, policy, self._summaries.write)
        else:
            prompt = build_prompt(messages, policy)
        dialogue.prompt = prompt
        dialogue.call.body = self._body(dialogue.question, prompt)

    def _policy_of(self, question: Question) -> PromptPolicy:
        return question.policy or self._policy

    def _body(self, question: Question, prompt: Prompt) -> bytes:
        model = question.model or self.model
        return request_body(prompt.messages, model, question.temperature, question.max_tokens)
