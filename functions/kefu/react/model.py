"""One call of the model: messages in, words out; what comes is kept as it comes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from kefu.answer import Call, Clock
from kefu.completion import Collected, Completion
from kefu.context import Message
from kefu.events import Assistant, AssistantChunk, Body, Estimate, Tokens, Tried
from kefu.prompt import request_body
from kefu.react.display import Piece, Splitter
from kefu.relay import Relay


@dataclass(slots=True)
class Reply:
    """Filled in as the answer comes, so that what there is of it is not lost with its end."""

    call: Call
    clock: Clock
    collected: Collected = field(default_factory=Collected)

    @property
    def text(self) -> str:
        """The model's words; a native tool call reads like one that was written in tags."""
        return as_written(self.collected.content, self.collected.tool_calls)

    @property
    def begun(self) -> bool:
        return self.call.first_event_at is not None

    @property
    def usage(self) -> Tokens | None:
        usage = self.call.completion.usage
        return Tokens(usage.prompt, usage.completion, "usage") if usage else None

    @property
    def latency_ms(self) -> int:
        return round((self.clock.monotonic() - self.call.started) * 1000)

    @property
    def ttft_ms(self) -> int | None:
        first = self.call.first_event_at
        return None if first is None else round((first - self.call.started) * 1000)

    @property
    def attempts(self) -> tuple[Tried, ...]:
        return tuple(
            Tried(tried.key, tried.outcome, round(tried.seconds * 1000))
            for tried in self.call.attempts
        )

    def event(self, tokens: Tokens, estimate: Estimate) -> Assistant:
        completion = self.call.completion
        usage = completion.usage
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
            ttft_ms=self.ttft_ms,
            attempts=self.attempts if len(self.call.attempts) > 1 else (),
        )


class Saying:
    """A reply as it is shown while it comes."""

    def __init__(
        self, reply: Reply, on_piece: Callable[[Piece], None], write: Callable[[Body], None]
    ) -> None:
        self.reply = reply
        self._on_piece = on_piece
        self._write = write
        self._splitter = Splitter()

    def hear(self, delta: str) -> None:
        self._write(AssistantChunk(delta))
        for piece in self._splitter.feed(delta):
            self._on_piece(piece)

    def close(self) -> None:
        for piece in self._splitter.close():
            self._on_piece(piece)


class Model:
    """Asks over the relay: keys, retries, time limits and errors are its business."""

    def __init__(
        self, relay: Relay, clock: Clock, name: str, temperature: float, max_tokens: int
    ) -> None:
        self._relay = relay
        self._clock = clock
        self._temperature = temperature
        self._max_tokens = max_tokens
        self._count = 0
        self.name = name

    def prepare(self, messages: Sequence[Message], max_tokens: int | None = None) -> Reply:
        self._count += 1
        longest = max_tokens or self._max_tokens
        body = request_body(messages, self.name, self._temperature, longest)
        completion = Completion(f"call-{self._count}", self.name, int(self._clock.now()))
        return Reply(Call(body, completion, self._clock.monotonic()), self._clock)

    async def ask(self, reply: Reply, on_delta: Callable[[str], None] | None = None) -> None:
        """Comes back when the answer is whole; raises the relay's KefuErrors.

        However it ends, also cancelled: what came is in `reply`, and the connection is closed.
        """
        answer = await self._relay.start(reply.call)
        try:
            async for batch in answer.batches():
                for chunk in batch:
                    delta = reply.collected.add(chunk)
                    if delta and on_delta:
                        on_delta(delta)
        finally:
            answer.close()


def as_written(content: str, calls: Sequence[tuple[str, str]]) -> str:
    """The first native call behind the content, in the tags of the grammar."""
    if not calls:
        return content
    name, arguments = calls[0]
    if arguments.strip() in ("", "{}"):
        return f'{content}<action tool="{name}"/>'
    # In JSON the two are the same string.
    given = arguments.replace("</action>", "<\\/action>")
    return f'{content}<action tool="{name}">{given}</action>'
