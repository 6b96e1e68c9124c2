"""Which images of a conversation the model sees again, and the tokens that they take."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from kefu.context.wire.media import image_tokens
from kefu.messages import Message

EARLIER_MESSAGES: Final = 6
"""Messages before the question whose images are sent again: three turns."""
EARLIER_TOKENS: Final = 4000
"""Tokens of all images that are sent again."""

Sizes = Sequence[tuple[int, int]]
"""Width and height of each image of a message, in pixels."""


def tokens_of(sizes: Iterable[tuple[int, int]], model: str) -> int:
    """The tokens of images, as the model's provider counts them."""
    return sum(image_tokens(size, model) for size in sizes)


def sent_again(earlier: Sequence[Sizes], model: str) -> list[int]:
    """The positions of messages whose images are sent again, the newest first.

    `earlier`: the images of each message before the question. The images of a message stay
    together.
    """
    left, found = EARLIER_TOKENS, list[int]()
    for at in range(len(earlier) - 1, max(0, len(earlier) - EARLIER_MESSAGES) - 1, -1):
        left -= tokens_of(earlier[at], model)
        if left < 0:
            break
        if earlier[at]:
            found.append(at)
    return found


def sizes_of(message: Message) -> Sizes:
    return [(one.width, one.height) for one in message.images]


def with_few_images(messages: Sequence[Message], model: str) -> list[Message]:
    """The messages with the images of the question, and the earlier images that are sent again."""
    *earlier, question = messages
    kept = sent_again([sizes_of(one) for one in earlier], model)
    few = [
        one._replace(images=()) if one.images and at not in kept else one
        for at, one in enumerate(earlier)
    ]
    return [*few, question]


def tokens_in(messages: Iterable[Message], model: str) -> int:
    """The tokens of all images in the messages."""
    return sum(tokens_of(sizes_of(one), model) for one in messages if one.images)
