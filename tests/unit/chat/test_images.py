"""W21: which images of a conversation the model sees again, and what they take."""

from __future__ import annotations

from kefu.chat.images import EARLIER_TOKENS, sent_again, tokens_in, with_few_images
from kefu.chat.prompt import PromptPolicy, TrimPolicy, beside_images
from kefu.context import Budget
from kefu.messages import Image, Message

SMALL, LARGE = (512, 512), (1568, 1568)
MODEL = "gpt-4o"
"""85 tokens and 170 for each tile of 512 pixels: 255 and 765."""


def asked(*sizes: tuple[int, int]) -> Message:
    images = [Image("image/png", width, height, b"") for width, height in sizes]
    return Message("user", "?", images=tuple(images))


def test_w21_images_of_three_turns_are_sent_again_the_newest_first() -> None:
    turn = ((SMALL,), ())
    assert sent_again([*turn] * 5, MODEL) == [8, 6, 4]
    assert sent_again([], MODEL) == []


def test_w21_images_of_a_message_stay_together_within_the_tokens() -> None:
    assert EARLIER_TOKENS == 4000
    assert sent_again([(SMALL,), (LARGE,) * 3, (LARGE,) * 3], MODEL) == [2]
    assert sent_again([(LARGE,) * 3, (SMALL,), (LARGE,) * 2], MODEL) == [2, 1]
    assert sent_again([(SMALL,)], "gpt-4o-mini") == []  # 8,500 tokens


def test_w21_the_question_keeps_its_images_whatever_they_take() -> None:
    answer, question = Message("assistant", "!"), asked(*[LARGE] * 3)
    messages = [asked(LARGE), answer, asked(SMALL), answer, asked(SMALL), answer] * 2
    few = with_few_images([*messages, question], MODEL)
    assert [len(one.images) for one in few[-7:]] == [1, 0, 1, 0, 1, 0, 3]
    assert not any(one.images for one in few[:-7])
    assert tokens_in(few, MODEL) == 765 + 255 + 255 + 3 * 765


def test_w21_images_take_the_room_of_a_prompt_that_counts_tokens() -> None:
    tokens = PromptPolicy(trim=TrimPolicy("fifo", Budget(1000, reserve=0)))
    assert beside_images(tokens, 300).trim.budget.limit == 700
    assert beside_images(tokens, 3000).trim.budget.limit == 1
    characters = PromptPolicy()
    assert beside_images(characters, 300) == characters
