"""Implements the ports of `kefu.chat.conversation` for a request that stores nothing."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from kefu.chat.completion import Question
from kefu.chat.conversation import KnownAnswer, OpenConversation, Report, SessionAccess, Turn
from kefu.chat.stop import Stop
from kefu.chat.summaries import SummaryCall
from kefu.relay.chunks import Chunk


class Stateless:
    """A request that contains its whole conversation; nothing is stored."""

    session: SessionAccess | None = None
    is_new = True

    def __init__(self, question: Question, *, reads_bodies: bool = True) -> None:
        """`reads_bodies`: False for an answer that is only passed on, as its text arrives."""
        self._question = question
        self.reads_bodies = reads_bodies

    async def open(self) -> OpenConversation:
        return self

    async def save_question(self) -> Turn | KnownAnswer:
        return self

    @asynccontextmanager
    async def answering(self, report: Report, stop: Stop) -> AsyncIterator[None]:
        yield

    async def question(self) -> Question:
        return self._question

    async def show(self, chunks: list[Chunk]) -> list[Chunk] | None:
        return chunks

    async def show_rest(self) -> list[Chunk]:
        return []

    def check_whole(self) -> None:
        """Does nothing: an empty answer is allowed."""

    def note_summary(self, call: SummaryCall) -> None:
        """Does nothing: only stored chats have a call log."""

    async def written(self, deadline: float) -> None:
        """Does nothing: there is no data to save."""
