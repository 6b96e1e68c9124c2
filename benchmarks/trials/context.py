"""Measures one library with one conversation: `python -m benchmarks.trials.context NAME`.

Prints JSON. Every contender runs in its own process with the same messages and counters; the peers
have an environment of their own.
"""

from __future__ import annotations

import gc
import json
import sys
import tracemalloc
from collections.abc import Callable, Sequence
from statistics import mean, median, quantiles
from time import perf_counter
from typing import Any, Protocol

from kefu.context.tokens import counter, estimate_message_tokens

Text = tuple[str, str]
"""Role and content."""

HISTORY, LIMIT = 100_000, 4_000
RUNNING, RUNNING_LIMIT = 10_000, 128_000
PINNED = 10
"""Every tenth message: nobody pins that many."""

SENTENCES = (
    (
        "I ordered two pairs of shoes last week and only one of them has arrived so far. ",
        "Thank you for the photograph, the colour is lighter than I had expected. ",
        "The parcel left our warehouse on Tuesday and should be with you by the weekend. ",
    ),
    (
        "您好，我上周下的订单（编号 A4711）还没有收到，请问什么时候能送达？",
        "退货需要保留原包装吗？谢谢您的帮助，我会在 3 天内寄出。",
        "包裹已于周二离开仓库，预计周末前可以送到，届时会有短信通知。",
    ),
    (
        "def total(items):\n    return sum(item.price * item.count for item in items)\n",
        "SELECT id, state FROM orders WHERE customer = 42 ORDER BY placed DESC;\n",
        "curl -s https://shop.example/api/orders/42 | jq '.items[].name'\n",
    ),
)
"""Each message is in one of them, as most are: English, Chinese, code."""


def conversation(count: int) -> list[Text]:
    """Alternating questions and answers of 222 bytes on average; all are distinct objects."""
    texts = []
    for n in range(count):
        kind = SENTENCES[n % 7 % 3]
        parts = [kind[(n + i) % 3] for i in range(2 + n % 3)]
        texts.append(("assistant" if n % 2 else "user", f"{n}: {''.join(parts)}"[: 260 - n % 60]))
    return texts


class Contender(Protocol):
    def messages(self, texts: Sequence[Text]) -> list[Any]: ...

    def trim(self, messages: list[Any], limit: int, count: Callable[[str], int]) -> object: ...

    def running(self, limit: int, count: Callable[[str], int]) -> Running: ...


class Running(Protocol):
    def add(self, message: Any) -> None: ...

    def window(self) -> object: ...


class Kefu:
    def __init__(
        self, strategy: str = "fifo", pinned: int = 0, step: float = 0.0, *, dicts: bool = False
    ) -> None:
        """With `pinned`, one message in that many is pinned. `dicts`: messages as OpenAI's API
        has them.
        """
        self._strategy = strategy
        self._pinned = pinned
        self._step = step
        self._dicts = dicts

    def messages(self, texts: Sequence[Text]) -> list[Any]:
        from kefu.context import Message

        if self._dicts:
            return [{"role": role, "content": text} for role, text in texts]
        every = self._pinned or len(texts) + 1
        return [
            Message(role, text, pinned=n % every == 1)  # type: ignore[arg-type]
            for n, (role, text) in enumerate(texts)
        ]

    def trim(self, messages: list[Any], limit: int, count: Callable[[str], int]) -> object:
        from kefu.context import Budget, MessageCounter, trim_messages

        budget = Budget(limit, reserve=0, trim_step=self._step)
        return trim_messages(messages, budget, self._strategy, MessageCounter(count))

    def running(self, limit: int, count: Callable[[str], int]) -> Running:
        from kefu.context import Budget, MessageContextManager, MessageCounter

        budget = Budget(limit, reserve=0)
        return MessageContextManager(  # type: ignore[return-value]
            budget, strategy=self._strategy, counter=MessageCounter(count)
        )


class LangChain:
    def messages(self, texts: Sequence[Text]) -> list[Any]:
        from langchain_core.messages import AIMessage, HumanMessage

        return [(AIMessage if role == "assistant" else HumanMessage)(text) for role, text in texts]

    def trim(self, messages: list[Any], limit: int, count: Callable[[str], int]) -> object:
        from langchain_core.messages import trim_messages

        def total(messages: Sequence[Any]) -> int:
            return sum(count(message.content) for message in messages)

        return trim_messages(messages, max_tokens=limit, token_counter=total, start_on="human")

    def running(self, limit: int, count: Callable[[str], int]) -> Running:
        contender, messages = self, list[Any]()

        class InMemory:
            def add(self, message: Any) -> None:
                messages.append(message)

            def window(self) -> object:
                return contender.trim(messages, limit, count)

        return InMemory()


class LlamaIndex:
    def messages(self, texts: Sequence[Text]) -> list[Any]:
        from llama_index.core.llms import ChatMessage

        return [ChatMessage(role=role, content=text) for role, text in texts]

    def trim(self, messages: list[Any], limit: int, count: Callable[[str], int]) -> object:
        return self._buffer(messages, limit, count).get()

    def running(self, limit: int, count: Callable[[str], int]) -> Running:
        buffer = self._buffer([], limit, count)

        class Buffer:
            def add(self, message: Any) -> None:
                buffer.put(message)

            def window(self) -> object:
                return buffer.get()

        return Buffer()

    def _buffer(self, messages: list[Any], limit: int, count: Callable[[str], int]) -> Any:
        from llama_index.core.memory import ChatMemoryBuffer

        return ChatMemoryBuffer.from_defaults(
            chat_history=messages, token_limit=limit, tokenizer_fn=lambda text: range(count(text))
        )


CONTENDERS: dict[str, Callable[[], Contender]] = {
    "kefu": Kefu,
    "langchain-core": LangChain,
    "llama-index": LlamaIndex,
}
OTHERS = {
    "step": Kefu(step=0.2),
    "dicts": Kefu(dicts=True),
    "dicts_step": Kefu(step=0.2, dicts=True),
}
# llama-index counts all remaining messages for each one that it drops: 30 s for 10,000.
SLOW = {"llama-index"}
EXACT = "tiktoken:o200k_base"


def trimming(contender: Contender, count: Callable[[str], int], seconds: float) -> float:
    """Milliseconds to trim a whole history, without a cache of an earlier call."""
    messages = contender.messages(conversation(HISTORY))
    contender.trim(messages[:100], LIMIT, count)
    times: list[float] = []
    while sum(times) < seconds or len(times) < 3:
        start = perf_counter()
        contender.trim(messages, LIMIT, count)
        times.append(perf_counter() - start)
    return 1000 * median(times)


def running(contender: Contender, rounds: int) -> list[float]:
    """Milliseconds to add a message to a conversation of 10,000 and get the window, for
    each round.
    """
    texts = conversation(RUNNING + rounds)
    messages = contender.messages(texts)
    talk = contender.running(RUNNING_LIMIT, estimate_message_tokens)
    for message in messages[:RUNNING]:
        talk.add(message)
    if rounds > 1:
        talk.window()
    times = []
    for message in messages[RUNNING:]:
        start = perf_counter()
        talk.add(message)
        talk.window()
        times.append(1000 * (perf_counter() - start))
    return times


def memory(contender: Contender, count: Callable[[str], int]) -> float:
    """The memory of a conversation of 10,000 messages, divided by the UTF-8 size of its texts."""
    count("warm 你好")
    contender.running(LIMIT, count).add(contender.messages([("user", "warm")])[0])
    size = sum(len(text.encode()) for _, text in conversation(RUNNING))
    gc.collect()
    tracemalloc.start()
    talk = contender.running(1 << 40, count)
    for message in contender.messages(conversation(RUNNING)):
        talk.add(message)
    talk.window()
    gc.collect()
    taken = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    return taken / size


def main() -> None:
    name, quick = sys.argv[1], "quick" in sys.argv
    contender = CONTENDERS[name]()
    exact = counter(EXACT).count
    found: dict[str, float] = {}
    if name not in SLOW:
        found["trim_ms"] = trimming(contender, estimate_message_tokens, 0.3)
        found["trim_exact_ms"] = trimming(contender, exact, 0.0 if quick else 1.0)
    if name == "kefu":
        for kind, other in OTHERS.items():
            found[f"trim_{kind}_ms"] = trimming(other, estimate_message_tokens, 0.3)
            found[f"trim_{kind}_exact_ms"] = trimming(other, exact, 0.3)
        for strategy in ("keep_important", "v1"):
            found[f"trim_{strategy}_ms"] = trimming(Kefu(strategy), estimate_message_tokens, 0.3)
        found["window_pins_ms"] = median(running(Kefu("keep_important", PINNED), 200))
    if name not in SLOW or not quick:
        times = running(contender, {"kefu": 2000, "langchain-core": 5}.get(name, 1))
        found["window_ms"] = median(times)
        if len(times) > 100:
            found["window_p99_ms"] = quantiles(times, n=100)[98]
    found["memory_ratio"] = memory(contender, exact)
    found["bytes"] = mean(len(text.encode()) for _, text in conversation(1000))
    print(json.dumps(found))


if __name__ == "__main__":
    main()
