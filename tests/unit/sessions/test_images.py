"""W21: a message with images whose store fails, fills up, or has other images already."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kefu.errors import StoreUnavailable
from kefu.sessions.store.capacity import Capacity
from kefu.sessions.store.model import SessionId
from tests.fakes.chats_in_memory import ChatsInMemory
from tests.fakes.in_process import Process
from tests.fakes.in_process_upstream import InProcessUpstream, answer
from tests.fakes.pictures import image_of, jpeg, png
from tests.fakes.relaying import CLOCK, in_virtual_time

PHOTO = image_of(jpeg())


class Away(ChatsInMemory):
    """A store that saves no images while it is `away`."""

    away = True

    async def save_images(
        self, session_id: SessionId, message_id: int, images: Sequence[bytes]
    ) -> None:
        if self.away:
            raise StoreUnavailable("away")
        await super().save_images(session_id, message_id, images)


@in_virtual_time
async def test_w21_images_that_cannot_be_saved_cost_nothing_and_can_be_sent_again() -> None:
    store, model = Away(CLOCK.now), InProcessUpstream({"one key": [answer("A hat.")]})
    process = Process(store, model, CLOCK)
    more: dict[str, Any] = {"client_message_id": "one-message", "images": (PHOTO,)}
    failed = await process.ask("What is this?", **more)
    assert (failed.status, failed.code) == (503, "upstream_service_unavailable")
    assert not model.exchanges
    store.away = False
    other = await process.ask(
        "What is this?", client_message_id="one-message", images=(image_of(png()),)
    )
    assert (other.status, other.code) == (422, "message_changed")
    assert not model.exchanges
    assert (await process.ask("What is this?", **more)).text == "A hat."
    (id,) = store.ids
    messages = await store.messages(id, now=CLOCK.now())
    assert [(one.role, one.status) for one in messages] == [("user", "ok"), ("assistant", "ok")]
    assert await store.image(id, 1, 0) == PHOTO.data


@in_virtual_time
async def test_w21_a_store_that_fills_up_takes_texts_and_no_images() -> None:
    async def used() -> int:
        return 85

    model = InProcessUpstream({"one key": [answer("Yes?"), answer("A hat.")]})
    capacity = Capacity(used, 100, CLOCK.monotonic, lambda _: None)
    await capacity.room()
    process = Process(ChatsInMemory(CLOCK.now), model, CLOCK, capacity=capacity)
    first = await process.ask("Hello")
    refused = await process.ask("What is this?", after=first, images=(PHOTO,))
    assert (refused.status, refused.code) == (503, "store_full")
    assert (await process.ask("A hat?", after=first)).text == "A hat."
