"""The images of a visitor's message in a stored chat: how they are saved, and sent to the model."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from kefu.chat.images import Sizes, sent_again
from kefu.errors import MessageChanged, StoreFull
from kefu.images import described, place_of, stored
from kefu.messages import Image, Message
from kefu.sessions.store.model import BeginResult, StoredMessage
from kefu.sessions.turn.saving import before_model

if TYPE_CHECKING:
    from kefu.sessions.store.ports import Sessions
    from kefu.sessions.turn.service import SessionDeps


Finish = Callable[[], Awaitable[object]]


def check_room(deps: SessionDeps) -> None:
    """Raises StoreFull when the store fills up: images take more than texts."""
    if not deps.capacity.keeps_bodies:
        raise StoreFull("Pictures cannot be kept right now: the store is full.", retry_after=60)


async def save(
    deps: SessionDeps, begun: BeginResult, images: Sequence[Image], until: float
) -> None:
    """Save the images of a message that has begun.

    Raises MessageChanged if it was sent with other images before, and UpstreamUnavailable.
    """
    message = begun.message
    if message.images != stored(images):
        said = "This message was sent with other pictures before."
        raise MessageChanged(said, param="client_message_id")
    saving = deps.store.save_images(message.session_id, message.id, [one.data for one in images])
    with deps.saving():
        await before_model(saving, until)


async def load(deps: SessionDeps, message: StoredMessage, until: float) -> tuple[Image, ...]:
    """The images of a stored message that are still there. Raises UpstreamUnavailable."""
    found = list[Image]()
    for one in described(message.id, message.images) if message.images else ():
        place = place_of(str(one["id"]))
        assert place
        reading = deps.store.image(message.session_id, *place)
        if data := await before_model(reading, until):
            found.append(Image(**{**one, "data": data}))  # type: ignore[arg-type]
    return tuple(found)


async def with_images(
    deps: SessionDeps,
    messages: Sequence[Message],
    earlier: Mapping[int, StoredMessage],
    asked: tuple[StoredMessage, Sequence[Image] | None],
    model: str,
    until: float,
) -> list[Message]:
    """The messages with the images of the question and of the last turns.

    `earlier`: messages with images, by their positions. `asked`: the question, and its images;
    None: those that are stored. Raises UpstreamUnavailable.
    """
    question, given = asked
    sizes = [_sizes(earlier[at].images) if at in earlier else () for at in range(len(messages) - 1)]
    found = list(messages)
    for at in sent_again(sizes, model):
        found[at] = found[at]._replace(images=await load(deps, earlier[at], until))
    if given is None:
        images = await load(deps, question, until)
    else:
        images = tuple(one._replace(id=f"{question.id}-{at}") for at, one in enumerate(given))
    found[-1] = found[-1]._replace(images=images)
    return found


def _sizes(images: str) -> Sizes:
    return [(width, height) for _, width, height in json.loads(images)]


async def replace(
    store: Sessions, message: StoredMessage, images: Sequence[Image], finish: Finish
) -> None:
    """Save the images of a message that was changed, and the end of its turn.

    Raises StoreUnavailable.
    """
    data = [one.data for one in images]
    await store.save_images(message.session_id, message.id, data)
    await finish()
