"""Calls the model through the relay, collects its output as it arrives, and adds up its tokens."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field

from kefu.agent.events import Assistant, Error, Estimate, Tokens, Tried
from kefu.chat.prompt import Sampling, request_body
from kefu.context import Message, MessageCounter
from kefu.errors import KefuError
from kefu.relay.call import Call, Clock
from kefu.relay.chunks import Completion
from kefu.relay.collected import Collected
from kefu.relay.relay import Relay


@dataclass(slots=True)
class ModelOutput:
    """The output of one model call.

    The output is filled during streaming, so the partial output is available if the call fails.
    """

    call: Call
    clock: Clock
    collected: Collected = field(default_factory=Collected)

    @property
    def text(self) -> str:
        """The output so far. A native tool call is converted to the tags of the grammar."""
        return as_written(self.collected.content, self.collected.tool_calls)

    @property
    def begun(self) -> bool:
        """Whether any event of the stream has arrived."""
        return self.call.first_event_at is not None

    @property
    def latency_ms(self) -> int:
        """Milliseconds since the start of the call."""
        return self._ms_until(self.clock.monotonic())

    def _ms_until(self, at: float) -> int:
        return round((at - self.call.started) * 1000)

    @property
    def attempts(self) -> tuple[Tried, ...]:
        return tuple(
            Tried(tried.key, tried.outcome, round(tried.seconds * 1000))
            for tried in self.call.attempts
        )

    def event(self, tokens: Tokens, estimate: Estimate) -> Assistant:
        """The `assistant` event of this call."""
        completion = self.call.completion
        usage, first = completion.usage, self.call.first_event_at
        return Assistant(
            self.text,
            tokens=tokens,
            estimate=estimate,
            usage={"prompt_tokens": usage.prompt, "completion_tokens": usage.completion}
            if usage
            else None,
            model=completion.model,
            finish_reason=completion.finish_reason,
            latency_ms=self.latency_ms,
            ttft_ms=None if first is None else self._ms_until(first),
            attempts=self.attempts if len(self.call.attempts) > 1 else (),
        )

    def failure(self, error: KefuError) -> Error:
        """The `error` event of this call."""
        return Error(error.message, error.code, self.latency_ms, self.attempts)


class AgentModel:
    """Sends requests through the relay, which handles keys, retries, time-outs and errors.

    Adds up their tokens. The sums of the turns add up to the sum of the session.
    """

    def __init__(
        self,
        relay: Relay,
        clock: Clock,
        sampling: Sampling,
        counter: MessageCounter,
        before: Tokens | None = None,
    ) -> None:
        """`before`: the tokens of earlier processes of the session."""
        self._relay = relay
        self._clock = clock
        self._sampling = sampling
        self._counter = counter
        self._calls = 0
        self._counted = self._reported = 0
        """Kefu's and the upstream's tokens of the calls that the upstream has counted."""
        self.session = before or Tokens()
        self.turn = Tokens()
        """The tokens of the current turn; an `AgentTurn` sets them to none at its start."""

    @property
    def drift(self) -> float | None:
        """The relative error of Kefu's count, over all calls with counts from the upstream.

        0.1 means that Kefu counts 10 % more than the upstream. None without calls of the model.
        """
        return self._counted / self._reported - 1 if self._reported else None

    def prepare(self, messages: Sequence[Message], max_tokens: int | None = None) -> ModelOutput:
        """Build a call that is not sent yet. `max_tokens` limits the output."""
        self._calls += 1
        sampling = self._sampling
        if max_tokens:
            sampling = sampling._replace(max_tokens=max_tokens)
        body = request_body(messages, sampling)
        completion = Completion(f"call-{self._calls}", sampling.model, int(self._clock.now()))
        return ModelOutput(Call(body, completion, self._clock.monotonic()), self._clock)

    async def deltas(self, output: ModelOutput) -> AsyncGenerator[str]:
        """Send the call; its text as it arrives. Raises the relay's KefuErrors.

        Also after an error or a cancellation, `output` has the text so far and the connection is
        closed.
        """
        async with (
            aclosing(await self._relay.start(output.call)) as answer,
            aclosing(answer.batches()) as batches,
        ):
            async for batch in batches:
                for chunk in batch:
                    if delta := output.collected.add(chunk):
                        yield delta

    async def ask(self, output: ModelOutput) -> None:
        """Send the call and wait for the complete output. Raises the relay's KefuErrors."""
        await self._relay.complete(output.call, output.collected.add)

    def note(self, output: ModelOutput, prompt: int) -> tuple[Tokens, Estimate]:
        """Add a call to the sums, by the upstream's counts if it reported any.

        `prompt` is Kefu's count of the prompt. Returns the counts added and Kefu's estimate.
        """
        text = output.text
        completion = self._counter.count(text) if text else 0
        tokens = Tokens(prompt, completion, "local")
        if usage := output.call.completion.usage:
            tokens = Tokens(usage.prompt, usage.completion, "usage")
            self._counted += prompt + completion
            self._reported += tokens.total
        self.turn += tokens
        self.session += tokens
        return tokens, Estimate(prompt, completion)


def as_written(content: str, calls: Sequence[tuple[str, str]]) -> str:
    """The content, followed by the first native tool call in the tags of the grammar.

    `calls` are pairs of a name and JSON arguments.
    """
    if not calls:
        return content
    name, arguments = calls[0]
    if arguments.strip() in ("", "{}"):
        return f'{content}<action tool="{name}"/>'
    # In JSON, `\/` is the same as `/`, and the grammar does not see an end tag.
    escaped = arguments.replace("</action>", "<\\/action>")
    return f'{content}<action tool="{name}">{escaped}</action>'
