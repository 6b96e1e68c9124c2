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
from kefu.relay.key_pool import KeyPool
from kefu.relay.relay import Relay
from kefu.stores.memory import MemoryStore
from tests.fakes.spoken import HandClock, Say, Spoken

ASKED = Message("user", "How much is the fish?")


def chat_with(model: Spoken) -> Chat:
    clock = HandClock()
    relay = Relay(model, KeyPool(["one key"]), MemoryStore(clock.now), clock)
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


async def test_a_prompt_is_halved_again_for_a_model_with_a_much_smaller_window() -> None:
    """Otherwise a chat that is four times as long as the window gets no more answers."""
    refusal = Say("context_length_exceeded", status=400)
    model = Spoken(refusal, refusal, "Four euros.")
    texts = [Message(role, f"{role} " * 100) for role in ("user", "assistant") * 4]
    dialogue = chat_with(model).prepare(Question([*texts, ASKED], Sampling("m", 0, 9)), 0.0, "1")
    async with aclosing(await chat_with(model).start(dialogue, lambda _: None)):
        lengths = [sum(len(one["content"]) for one in body["messages"]) for body in model.asked]
    whole, half, quarter = lengths
    assert quarter <= half / 2 <= whole / 4
    assert len(dialogue.too_long) == 2


async def test_a_prompt_that_stays_too_long_is_refused_in_the_end() -> None:
    refusal = Say("context_length_exceeded", status=400)
    model = Spoken(*[refusal] * 9)
    texts = [Message(role, f"{role} " * 100) for role in ("user", "assistant") * 4]
    chat = chat_with(model)
    with pytest.raises(ContextTooLong):
        await chat.start(chat.prepare(Question([*texts, ASKED], Sampling("m")), 0.0, "1"), print)
    assert len(model.asked) == 3
