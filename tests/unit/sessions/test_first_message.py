"""P4: a retried first message finds its chat, for ten minutes only."""

from __future__ import annotations

import asyncio

import pytest

from kefu.sessions.turn.service import RETRIES_FOR
from tests.fakes.chats_in_memory import ChatsInMemory
from tests.fakes.in_process import Process
from tests.fakes.in_process_upstream import InProcessUpstream, answer
from tests.fakes.relaying import CLOCK, in_virtual_time


class Site:
    """Visitors with one address, and a model with a different answer for each request."""

    def __init__(self) -> None:
        replies = [answer(f"answer {number}") for number in range(5)]
        self.model = InProcessUpstream({"one key": replies})
        store = ChatsInMemory(CLOCK.now)
        self.process = Process(store, self.model, CLOCK)

    async def send(self, client_message_id: str | None = "id") -> tuple[str, str]:
        """Send a first message. Returns its session and the text of its answer."""
        sent = await self.process.ask("question", client_message_id=client_message_id)
        assert sent.complete
        return sent.headers["x-session-id"], sent.text


@pytest.mark.parametrize("pause", [1.0, 300.0, RETRIES_FOR - 1])
@in_virtual_time
async def test_first_message_sent_again_within_ten_minutes_is_in_the_same_chat(
    pause: float,
) -> None:
    """It gets the stored answer, and the model is not called again."""
    site = Site()
    first = await site.send()
    await asyncio.sleep(pause)
    assert await site.send() == first
    assert len(site.model.exchanges) == 1


@pytest.mark.parametrize("pause", [RETRIES_FOR + 1, 3600.0])
@in_virtual_time
async def test_first_message_sent_again_after_ten_minutes_begins_another_chat(
    pause: float,
) -> None:
    """So two visitors with one address get separate chats, even if their client always sends the
    same id.
    """
    site = Site()
    first, text = await site.send()
    await asyncio.sleep(pause)
    second, other = await site.send()
    assert second != first
    assert (text, other) == ("answer 0", "answer 1")


@in_virtual_time
async def test_ten_minutes_count_from_the_beginning_of_the_chat() -> None:
    """A retry does not extend them."""
    site = Site()
    first, _ = await site.send()
    for _ in range(2):
        await asyncio.sleep(290)
        assert (await site.send())[0] == first
    await asyncio.sleep(290)
    assert (await site.send())[0] != first


@pytest.mark.parametrize("ids", [("one", "two"), (None, None)])
@in_virtual_time
async def test_messages_with_other_ids_or_none_begin_chats_of_their_own(
    ids: tuple[str | None, str | None],
) -> None:
    site = Site()
    (first, _), (second, _) = [await site.send(one) for one in ids]
    assert first != second


def test_ten_minutes_are_six_hundred_seconds() -> None:
    assert RETRIES_FOR == 600
