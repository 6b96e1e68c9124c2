"""The request for a question, and the estimate of its tokens."""

from __future__ import annotations

from collections.abc import Iterator

from kefu.chat.completion import Dialogue, Question
from kefu.chat.prompt import (
    Prompt,
    Sampling,
)
from kefu.context import Window
from kefu.context.tokens import estimate_tokens_v1
from kefu.messages import Message
from kefu.relay.call import Call
from kefu.relay.chunks import Completion


class CountingReads(list[Message]):
    """A sequence of messages that counts how often they are read."""

    reads: int

    def __iter__(self) -> Iterator[Message]:
        self.reads = getattr(self, "reads", 0) + 1
        return super().__iter__()


def dialogue_of(messages: CountingReads) -> Dialogue:
    call = Call(b"{}", Completion("chatcmpl-1", "m", 0, estimate_tokens_v1), 0.0)
    return Dialogue(Question(messages, Sampling("m", 0.5, 100)), Prompt(Window(messages)), call)


def test_a_dialogue_counts_the_tokens_of_its_prompt_once() -> None:
    messages = CountingReads([Message("user", "How much is the fish?")])
    dialogue = dialogue_of(messages)
    tokens = estimate_tokens_v1("How much is the fish?")
    assert [dialogue.tokens_at_most, dialogue.tokens_at_most] == [tokens + 100] * 2
    assert dialogue.prompt_tokens == tokens
    assert messages.reads == 1


def test_a_dialogue_with_a_shorter_prompt_counts_the_shorter_prompt() -> None:
    dialogue = dialogue_of(CountingReads([Message("user", "long " * 40)]))
    dialogue.replace_prompt(Prompt(Window([Message("user", "short")])), b'{"short": true}')
    assert dialogue.prompt_tokens == estimate_tokens_v1("short")
    assert dialogue.call.body == b'{"short": true}'
