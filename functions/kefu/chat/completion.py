"""Prepares the request for a question, and starts the model's answer."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, Protocol

from kefu.chat.prompt import (
    Memory,
    Prompt,
    PromptPolicy,
    Sampling,
    beside_images,
    build_prompt,
    request_body,
    tightened,
)
from kefu.chat.summaries import OnCall, Summaries
from kefu.context.tokens import estimate_tokens_v1
from kefu.errors import ContextTooLong, KefuError
from kefu.messages import Message
from kefu.relay.call import Call, Clock
from kefu.relay.chunks import Completion, Usage
from kefu.relay.collected import Collected
from kefu.relay.relay import ModelAnswer, Relay

if TYPE_CHECKING:
    from kefu.knowledge.sources import Source

ROOM_KNOWN_SECONDS = 3600.0
"""Seconds after a refused prompt for which long prompts are shortened before they are sent."""


class Sources(Protocol):
    """Passages of the site's pages that a request contains besides the conversation."""

    @property
    def answered(self) -> bool:
        """False when the model said that the passages do not answer the question."""
        ...

    @property
    def cited(self) -> Sequence[Source]:
        """The sources that the answer cites so far."""
        ...

    def fit(self, tokens: int) -> None:
        """Leave out passages that do not fit behind a prompt of so many tokens."""
        ...

    def halve(self) -> bool:
        """Leave out half of the passages; False if there are none."""
        ...

    def messages(self, prompt: Sequence[Message]) -> list[Message]:
        """The prompt with the passages."""
        ...

    def facts(self) -> Mapping[str, object]:
        """For the log of calls: which passages were given, and which were cited."""
        ...

    def counts(self) -> dict[str, object]:
        """For the log of requests: how many passages were given and cited."""
        ...


class Question(NamedTuple):
    """A validated conversation, and how it is to be answered."""

    messages: Sequence[Message]
    sampling: Sampling
    policy: PromptPolicy | None = None
    """Replaces the service's policy; None for the service's."""
    fields: Mapping[str, object] = MappingProxyType({})
    """Fields of the request body about tools, and about the form of the answer."""
    memory: Memory | None = None
    """Remembers the cut and the summary of a stored chat; None: this process remembers them."""
    page: str = ""
    """A line about the visitor's page, for the end of the system message."""
    image_tokens: int = 0
    """The tokens of the images in `messages`."""

    @property
    def wants_json(self) -> bool:
        return "response_format" in self.fields


class TooLong(NamedTuple):
    """A request that exceeded the model's context window and was replaced by a shorter request."""

    body: bytes
    prompt: Prompt
    attempts: int
    """Number of attempts for the question so far, including earlier requests."""
    ended: float
    """Monotonic time at which the request failed."""


@dataclass(slots=True, eq=False, repr=False)
class Dialogue:
    """A question with its request and its answer. Its fields are filled in step by step,
    so that a failed question can be logged, too.
    """

    question: Question
    prompt: Prompt
    call: Call
    sources: Sources | None = None
    answer: ModelAnswer | None = None
    too_long: list[TooLong] = field(default_factory=list)
    prompt_tokens: int = 0
    """Estimated tokens of the prompt, with its passages and tools."""
    collected: Collected | None = None
    """What the model wrote, for one of several steps; None for an answer of one request."""
    ended_at: float | None = None
    """Monotonic time at which the step ended."""

    @property
    def tokens_at_most(self) -> int:
        """Estimated tokens of the prompt, plus the longest answer that is allowed."""
        return self.prompt_tokens + self.question.sampling.max_tokens

    @property
    def usage(self) -> Usage:
        """Tokens as reported by the upstream; without a report, estimated."""
        return self.call.usage(self.prompt_tokens)

    @property
    def spent(self) -> int:
        """Tokens that the upstream may bill for all attempts."""
        return self.call.spent(self.prompt_tokens)


class Chat:
    def __init__(
        self,
        relay: Relay,
        policy: PromptPolicy,
        sampling: Sampling,
        clock: Clock,
        summaries: Summaries | None = None,
    ) -> None:
        """`summaries` writes summaries for policies with the strategy `summary`.

        `summaries` also remembers where conversations were cut. Without `summaries`, policies with
        `summary` trim the history without a summary.
        """
        self._relay = relay
        self._policy = policy
        self.clock = clock
        self._summaries = summaries
        self.sampling = sampling
        """For questions without a preset."""
        self._rooms: dict[str, tuple[int, float]] = {}
        """By model that has refused a prompt: the mean of that prompt's tokens and of those of the
        shorter one that it took; and the monotonic time until which longer prompts are shortened.
        """

    def warm(self) -> None:
        """Load the tokenizer's tables now instead of in the first request; this can be slow."""
        self._policy.trim.counter.count("x")

    def close(self) -> None:
        """Cancel the summaries that are being written."""
        if self._summaries:
            self._summaries.close()

    def prepare(
        self,
        question: Question,
        started: float,
        request_id: str,
        *,
        keep_bodies: bool = True,
        sources: Sources | None = None,
    ) -> Dialogue:
        """Build the request of a question; `started` is its monotonic arrival time.

        `keep_bodies`: whether chunks of the answer carry their parsed JSON.
        `sources`: passages of the site's pages for the question.
        Raises InvalidRequest when the policy rejects the client's system message.
        """
        prompt = self._prompt(question, question.policy or self._policy)
        completion = Completion(
            f"chatcmpl-{request_id}",
            question.sampling.model,
            int(self.clock.now()),
            estimate_tokens_v1,
            keep_bodies=keep_bodies,
        )
        if sources:
            texts = sum(estimate_tokens_v1(one.content) for one in prompt.window.messages)
            sources.fit(texts + question.image_tokens)
        dialogue = Dialogue(question, prompt, Call(b"", completion, started), sources)
        self._write_request(dialogue)
        return dialogue

    async def start(self, dialogue: Dialogue, on_summary: OnCall) -> ModelAnswer:
        """Send the request to the model; return when its answer starts.

        A prompt that exceeds the model's context window is trimmed further and sent again, at
        most twice, with passages three times.
        A summary that is due is written in the background, for the next request; `on_summary`
        receives its call. Raises a KefuError when there is no answer.
        """
        # The window of a model that Kefu does not know may be a quarter of what is assumed.
        ways = iter((_halve_passages, self._halve_history, self._halve_history))
        room, until = self._rooms.get(dialogue.question.sampling.model, (0, 0.0))
        if self.clock.monotonic() < until:
            while dialogue.prompt_tokens > room and (shorten := next(ways, None)):
                if shorten(dialogue):
                    self._write_request(dialogue)
        try:
            dialogue.answer = await self._relay.start(dialogue.call)
        except ContextTooLong as error:
            dialogue.answer = await self._start_shorter(dialogue, ways, error)
        if self._summaries and (due := dialogue.prompt.to_summarize):
            # Summaries start after the answer has started: no visitor waits for a summary.
            self._summaries.refresh(due, on_summary, dialogue.question.memory)
        return dialogue.answer

    async def _start_shorter(
        self, dialogue: Dialogue, ways: Iterator[Callable[[Dialogue], bool]], error: ContextTooLong
    ) -> ModelAnswer:
        """Send the request with half of the passages, and if need be with a half or a quarter of
        the history; remember what the model takes. The shortest one goes to a second upstream.

        Raises `error`, or the last one, if nothing helps.
        """
        call = dialogue.call
        for shorten in ways:
            ended, tokens = self.clock.monotonic(), dialogue.prompt_tokens
            refused = TooLong(call.body, dialogue.prompt, len(call.attempts), ended)
            if shorten(dialogue):
                dialogue.too_long.append(refused)
                self._write_request(dialogue)
                try:
                    answer = await self._relay.start(call)
                except ContextTooLong as again:
                    error = again
                else:
                    room = (tokens + dialogue.prompt_tokens) // 2
                    model = dialogue.question.sampling.model
                    self._rooms[model] = room, ended + ROOM_KNOWN_SECONDS
                    return answer
        if self._relay.has_fallback:
            call.only_fallback = True
            with suppress(KefuError):
                return await self._relay.start(call)
        raise error

    def _halve_history(self, dialogue: Dialogue) -> bool:
        question, prompt = dialogue.question, dialogue.prompt
        policy = tightened(question.policy or self._policy, prompt, question.page)
        dialogue.prompt = self._prompt(question, policy)
        return len(dialogue.prompt.window.messages) != len(prompt.window.messages)

    def _prompt(self, question: Question, policy: PromptPolicy) -> Prompt:
        memory = question.memory or (self._summaries.memory if self._summaries else None)
        if question.image_tokens:
            policy = beside_images(policy, question.image_tokens)
        return build_prompt(question.messages, policy, memory, question.page)

    def _write_request(self, dialogue: Dialogue) -> None:
        """Set the body of the request, and the estimated tokens of its prompt and tools."""
        question, messages = dialogue.question, dialogue.prompt.window.messages
        if dialogue.sources:
            messages = dialogue.sources.messages(messages)
        tokens = 0
        for message in messages:
            tokens += estimate_tokens_v1(message.content)
            for call in message.tool_calls:
                tokens += estimate_tokens_v1(call.arguments)
        if question.image_tokens:
            from kefu.chat.images import tokens_in  # here, because few messages have images

            tokens += tokens_in(messages, question.sampling.model)
        if question.fields:
            tokens += estimate_tokens_v1(json.dumps(dict(question.fields), ensure_ascii=False))
        dialogue.prompt_tokens = tokens
        dialogue.call.body = request_body(messages, question.sampling, question.fields)


def _halve_passages(dialogue: Dialogue) -> bool:
    return bool(dialogue.sources and dialogue.sources.halve())
