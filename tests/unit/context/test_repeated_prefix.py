"""X11: most of a prompt repeats the last one, so a provider's prompt cache serves it.

The share is that of the tokens in the messages with which both prompts begin, over the prompts of a
chat of 200 turns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random

from benchmarks.trials.context import conversation
from kefu.bootstrap.options import prompt_policy
from kefu.chat.prompt import build_prompt
from kefu.chat.trim_memory import ProcessMemory
from kefu.context import BYTES4, Budget, Message, MessageContextManager, TrimState, trim_messages
from kefu.settings import Settings

TURNS = 200
TALK = [
    Message("system", "You answer for a shop."),
    *(
        Message("assistant" if role == "assistant" else "user", text)
        for role, text in conversation(2 * TURNS)
    ),
]


def questions() -> Iterator[Sequence[Message]]:
    """The conversation at each question."""
    return (TALK[: 2 * turn] for turn in range(1, TURNS + 1))


class Repeated:
    """Sums up the share of the prompts that repeats the prompt before."""

    def __init__(self) -> None:
        self.before: Sequence[Message] = ()
        self.tokens = self.all = 0

    def note(self, prompt: Sequence[Message]) -> None:
        alike = 0
        while alike < min(len(prompt), len(self.before)) and prompt[alike] is self.before[alike]:
            alike += 1
        if self.before:
            self.tokens += sum(map(BYTES4, prompt[:alike]))
            self.all += sum(map(BYTES4, prompt))
        self.before = prompt

    @property
    def share(self) -> float:
        return self.tokens / self.all


def usage(prompt: Sequence[Message], dice: Random) -> int:
    """The provider's count, as a ratio of the estimate 2 % more or less each time."""
    return int(sum(map(BYTES4, prompt)) * dice.uniform(0.98, 1.02))


def test_nine_tenths_of_a_prompt_repeat_although_estimates_are_corrected() -> None:
    repeated, dice, state = Repeated(), Random(1), TrimState()
    for messages in questions():
        sent = trim_messages(
            messages, max_tokens=4000, reserve=0, trim_step=0.4, counter=BYTES4, state=state
        )
        repeated.note(sent)
        state = sent.state.calibrated(usage(sent, dice))
    assert repeated.share >= 0.9


def test_nine_tenths_of_a_managers_prompts_repeat_although_estimates_are_corrected() -> None:
    repeated, dice = Repeated(), Random(1)
    talk = MessageContextManager(Budget(4000, reserve=0, trim_step=0.4), counter=BYTES4)
    for number, message in enumerate(TALK, 1):
        talk.add(message)
        if number % 2 == 0:
            window = talk.window()
            repeated.note(tuple(window.messages))
            talk.calibrate(usage(window.messages, dice))
    assert repeated.share >= 0.9


def test_most_of_the_services_prompts_repeat_where_it_cuts_in_steps() -> None:
    shares = {}
    for trim in ("v1", "v1_steps"):
        settings = Settings.model_validate({"KEFU_TRIM": trim, "KEFU_SYSTEM_PROMPT": "You help."})
        policy = prompt_policy(settings, "gpt-4", lambda _: None)
        repeated, memory, tallest = Repeated(), ProcessMemory(10), 0
        for messages in questions():
            prompt = build_prompt(messages[1:], policy, memory).window.messages
            repeated.note(prompt[1:])
            tallest = max(tallest, sum(len(message.content) for message in prompt[1:]))
        shares[trim] = repeated.share
        assert tallest < 6000
    assert shares["v1"] < 0.6
    assert shares["v1_steps"] >= 0.85
