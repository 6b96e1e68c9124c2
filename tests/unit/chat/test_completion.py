"""The request for a question, and the estimate of its tokens."""

from __future__ import annotations

import json
from contextlib import aclosing

import pytest

from kefu.chat.completion import Chat, Question
from kefu.chat.prompt import PromptPolicy, Sampling
from kefu.context.tokens import estimate_tokens_v1
from kefu.errors import ContextTooLong
from kefu.messages import Message, ToolCall
from kefu.relay.attempt import ModelProvider
from kefu.relay.key_pool import KeyPool
from kefu.relay.parameters import Parameters
from kefu.relay.relay import Relay
from kefu.stores.memory import MemoryStore
from tests.fakes.spoken import HandClock, Say, Spoken

ASKED = Message("user", "How much is the fish?")
LONG = [*(Message(role, f"{role} " * 100) for role in ("user", "assistant") * 4), ASKED]
REFUSAL = Say("context_length_exceeded", status=400)


def chat_with(model: Spoken, clock: HandClock | None = None, spare: Spoken | None = None) -> Chat:
    clock = clock or HandClock()
    fallback = (
        ModelProvider(spare, KeyPool(["another"]), "fallback", Parameters("spare"))
        if spare
        else None
    )
    relay = Relay(
        model,
        KeyPool(["one key"]),
        MemoryStore(clock.now),
        clock,
        fallback=fallback,
    )
    return Chat(relay, PromptPolicy(), Sampling("m"), clock)


def test_a_dialogue_counts_the_tokens_of_its_prompt_with_tools_and_their_calls() -> None:
    calls = (ToolCall("1", "price", '{"of": "fish"}'),)
    messages = [ASKED, Message("assistant", "", calls), Message("tool", "4 €", tool_call_id="1")]
    tools = {"tools": [{"type": "function", "function": {"name": "price"}}]}
    question = Question(messages, Sampling("m", 0.5, 100), fields=tools)
    dialogue = chat_with(Spoken("hello")).prepare(question, 0.0, "1")
    texts = [ASKED.content, '{"of": "fish"}', "4 €", json.dumps(tools)]
    tokens = sum(map(estimate_tokens_v1, texts))
    assert (dialogue.prompt_tokens, dialogue.tokens_at_most) == (tokens, tokens + 100)


async def test_a_dialogue_with_a_shorter_prompt_counts_the_shorter_prompt() -> None:
    model = Spoken(Say("context_length_exceeded", status=400), "Four euros.")
    chat = chat_with(model)
    messages = [Message("user", "long " * 400), Message("assistant", "So."), ASKED]
    question = Question(messages, Sampling("m", 0, 9))
    dialogue = chat.prepare(question, 0.0, "1")
    assert dialogue.prompt_tokens > estimate_tokens_v1("long " * 400)
    async with aclosing(await chat.start(dialogue, lambda _: None)):
        assert dialogue.prompt_tokens == estimate_tokens_v1(ASKED.content)
        assert json.loads(dialogue.call.body) == model.asked[-1]
        assert [one["content"] for one in model.asked[-1]["messages"]] == [ASKED.content]


async def lengths(chat: Chat, model: Spoken, name: str = "m") -> list[int]:
    """The lengths of the prompts that were sent for a long conversation."""
    before = len(model.asked)
    question = Question(LONG, Sampling(name, 0, 9))
    dialogue = chat.prepare(question, chat.clock.monotonic(), "1")
    async with aclosing(await chat.start(dialogue, lambda _: None)):
        assert len(dialogue.too_long) == len(model.asked) - before - 1
    return [sum(len(one["content"]) for one in body["messages"]) for body in model.asked[before:]]


async def test_a_prompt_is_halved_again_for_a_model_with_a_much_smaller_window() -> None:
    """Otherwise a chat that is four times as long as the window gets no more answers."""
    model = Spoken(REFUSAL, REFUSAL, "Four euros.")
    whole, half, quarter = await lengths(chat_with(model), model)
    assert quarter <= half / 2 <= whole / 4


async def test_a_later_prompt_is_as_short_as_the_one_that_the_model_took() -> None:
    """Otherwise each further turn of a long chat is asked three times."""
    model, clock = Spoken(REFUSAL, REFUSAL, "Four euros."), HandClock()
    chat = chat_with(model, clock)
    whole, _, quarter = await lengths(chat, model)
    assert await lengths(chat, model) == [quarter]
    assert await lengths(chat, model, "another model") == [whole]
    clock.spent += 3600  # a few texts with many tokens do not shorten all chats for ever
    assert await lengths(chat, model) == [whole]


async def test_a_prompt_that_cannot_be_as_short_as_an_earlier_one_is_sent_nevertheless() -> None:
    model = Spoken(REFUSAL, "Four euros.")
    chat = chat_with(model)
    await lengths(chat, model)
    question = Question([Message("user", "long " * 3000)], Sampling("m"))
    async with aclosing(await chat.start(chat.prepare(question, 0.0, "1"), print)):
        assert len(model.asked) == 3


async def test_a_prompt_that_stays_too_long_is_refused_in_the_end() -> None:
    """Nothing is known then of the lengths that the model takes."""
    model = Spoken(*[REFUSAL] * 3, "Four euros.")
    chat = chat_with(model)
    with pytest.raises(ContextTooLong):
        await lengths(chat, model)
    assert len(model.asked) == 3
    assert len(await lengths(chat, model)) == 1
    assert model.asked[3] == model.asked[0]


async def test_a_prompt_that_stays_too_long_goes_to_the_second_upstream() -> None:
    """Its model may have a larger window. Without an answer from it, the error is the first one."""
    model, spare = Spoken(REFUSAL), Spoken("Four euros.", Say("", status=500))
    chat = chat_with(model, spare=spare)
    assert len(await lengths(chat, model)) == 3
    assert spare.asked == [{**model.asked[-1], "model": "spare"}]
    for _ in range(2):
        with pytest.raises(ContextTooLong):
            await lengths(chat, model)
