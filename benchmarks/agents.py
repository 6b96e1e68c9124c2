"""Trims the prompts of an agent that works on one question for 500 steps, by three libraries.

Run it where langchain-core and pydantic-ai are installed: `python -m benchmarks.agents [TOKENS]`.
LangChain's `trim_messages` gets the arguments that its documentation recommends; pydantic-ai has
no trimming of its own, so the processor of its documentation, which keeps the newest messages,
takes as many as fit.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

from tests.unit.context.wire.agent_run import agent_run, cost, watched

STEPS = 500


def langchain(limit: int, **options: Any) -> Callable[[list[Any]], list[Any]]:
    from langchain_core.messages import convert_to_messages, convert_to_openai_messages
    from langchain_core.messages import trim_messages as trim

    def count(messages: list[Any]) -> int:
        return sum(map(cost, convert_to_openai_messages(messages)))

    def run(whole: list[Any]) -> list[Any]:
        kept = trim(
            convert_to_messages(whole),
            max_tokens=limit,
            token_counter=count,
            strategy="last",
            include_system=True,
            **options,
        )
        return [{**m, "content": m["content"] or None} for m in convert_to_openai_messages(kept)]

    return run


def newest(limit: int) -> Callable[[list[Any]], list[Any]]:
    """pydantic-ai's documented processor: the system prompt, and the newest messages that fit."""

    def run(whole: list[Any]) -> list[Any]:
        room, start = limit - cost(whole[0]), len(whole)
        while start > 1 and cost(whole[start - 1]) <= room:
            start -= 1
            room -= cost(whole[start])
        return [whole[0], *whole[start:]]

    return run


def main() -> None:
    limit = int(sys.argv[1]) if len(sys.argv) > 1 else 8_000
    print(f"{'':42}summaries  repeated  above  invalid  without the goal  seconds")
    for strategy in ("agent_summary", "summary", "agent"):
        begun = time.monotonic()
        run = agent_run(strategy, STEPS, limit)
        took = time.monotonic() - begun
        row(f"kefu, {strategy}", run.summaries, (*run[1:5],), took)
        print(f"{'':42}not sent and not named: {run.unnamed}; dropped unsummarized: {run.lost}")
    others = {
        "langchain, start_on='human'": langchain(limit, start_on="human", end_on=("human", "tool")),
        "langchain, start_on=('human', 'ai')": langchain(limit, start_on=("human", "ai")),
        "pydantic-ai, newest messages": newest(limit),
    }
    for name, trim in others.items():
        begun = time.monotonic()
        row(name, 0, watched(trim, STEPS, limit), time.monotonic() - begun)


def row(name: str, summaries: int, seen: tuple[float, int, int, int], took: float) -> None:
    repeated, over, invalid, goal_lost = seen
    print(
        f"{name:42}{summaries:9}{repeated:9.0%}{over:7}{invalid:9}{goal_lost:18}{took:9.1f}",
        flush=True,
    )


if __name__ == "__main__":
    main()
