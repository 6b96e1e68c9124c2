"""Lets further requests read an answer in progress, such as that of a page that was reloaded.

The text of the answer exists once. A request that follows it holds a position in that text, so a
slow reader receives longer pieces, and takes no memory of its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable

from kefu.chat.answer import AnswerEvent, Done, SourcesFound, SourcesUsed
from kefu.chat.conversation import Report
from kefu.errors import KefuError
from kefu.relay.chunks import Chunk, Completion, Json, Usage, chunk_of

PING_EVERY = 2.5
"""Seconds without news after which a ping is sent: a page waits five seconds for the first byte."""


class Progress:
    """Tells the requests that follow an answer about its changes."""

    def __init__(self, free: Callable[[], None]) -> None:
        """`free` is called when the answer has paused while others follow it."""
        self.free = free
        self.sources: list[SourcesFound | SourcesUsed] = []
        self.has_ended = False
        self.error: KefuError | None = None
        """Why the answer is not complete."""
        self._change: asyncio.Future[None] | None = None

    def note(self) -> None:
        """Wake the requests that follow the answer. Without any, this costs nothing."""
        if self._change:
            self._change.set_result(None)
            self._change = None

    def end(self, error: KefuError | None = None) -> None:
        """Note the end of the answer. Only the first call has an effect."""
        if not self.has_ended:
            self.has_ended, self.error = True, error
            # Without this reference the response is freed at once, not by the garbage collector.
            self.free = _nothing
            self.note()

    def change(self) -> asyncio.Future[None]:
        """A future that is done after the next change."""
        self._change = self._change or asyncio.get_running_loop().create_future()
        return self._change


def _nothing() -> None:
    pass


async def follow(progress: Progress, report: Report) -> AsyncGenerator[AnswerEvent]:
    """The text of an answer from its start, and then what arrives, until the answer ends.

    Raises the error with which the answer ends.
    """
    sent, named, usage = 0, 0, Usage(0, 0)
    while report.text:
        change, has_ended, text = progress.change(), progress.has_ended, report.text()
        for source in progress.sources[named:]:
            named += 1
            yield source
        if text[sent:] and report.dialogue:
            # Without a role, OpenAI's client for JavaScript fails.
            delta = {"content": text[sent:]} if sent else {"role": "assistant", "content": text}
            sent = len(text)
            yield [_chunk(report.dialogue.call.completion, delta)]
        elif not has_ended:
            yield []
        if has_ended:
            break
        if not (await asyncio.wait({change}, timeout=PING_EVERY))[0]:
            progress.free()
    if progress.error:
        raise progress.error
    if report.dialogue:
        completion, usage = report.dialogue.call.completion, report.dialogue.usage
        yield [_chunk(completion, {}, completion.finish_reason or "stop")]
    yield Done(usage)


def _chunk(completion: Completion, delta: Json, finish_reason: str | None = None) -> Chunk:
    return chunk_of(
        {
            "id": completion.id,
            "object": "chat.completion.chunk",
            "created": completion.created,
            "model": completion.model,
            "choices": [{"index": 0, "delta": delta, "finish_reason": finish_reason}],
        }
    )
