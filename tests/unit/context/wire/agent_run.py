"""A run of an agent that works on one question, with a trimmed prompt for each step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any, NamedTuple

from kefu.context import BYTES4, TrimState, trim_messages
from tests.unit.context.wire.formats import refused_chat

GOAL = {"role": "user", "content": "Find why order A4711 is late, and write the report."}
PROMPT = {"role": "system", "content": "You work with tools until the report is written. " * 4}


def steps(count: int) -> list[dict[str, Any]]:
    """Tool calls and results of an agent: a result has 20 to 300 tokens, one in twenty 2,000."""
    dice = Random(3)
    made: list[dict[str, Any]] = []
    for at in range(count):
        words = 1500 if not at % 20 else dice.randrange(15, 220)
        function = {"name": "read", "arguments": f'{{"path": "orders/{at}.json"}}'}
        call = {"id": f"call_{at}", "type": "function", "function": function}
        made += [
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {
                "role": "tool",
                "tool_call_id": f"call_{at}",
                "content": f"step {at}: " + "ok 42 " * words,
            },
        ]
    return made


def parallel(calls: int) -> list[dict[str, Any]]:
    """A prompt, a goal, and one step of a model with many tool calls and their results."""
    made = steps(calls)
    whole = {"role": "assistant", "tool_calls": [m["tool_calls"][0] for m in made[::2]]}
    return [PROMPT, GOAL, whole, *made[1::2]]


class Run(NamedTuple):
    summaries: int
    repeated: float
    """The share of all prompts that repeats the beginning of the prompt before."""
    over: int
    """Prompts above the limit."""
    invalid: int
    goal_lost: int
    unnamed: int
    """Messages that were not sent, and that neither a summary nor `left_out` names."""
    lost: int
    """Messages that were dropped without a summary."""


def cost(message: Any) -> int:
    """The tokens of a message, at four bytes a token, counted apart from the library."""
    if isinstance(message, dict):
        texts = [message.get("content") or ""]
        for call in message.get("tool_calls") or ():
            texts += call["function"]["name"], call["function"]["arguments"]
        return sum(-(-len(text.encode()) // 4) for text in texts)
    raise TypeError(message)


def shared(before: Sequence[Any], now: Sequence[Any]) -> int:
    """The tokens at the beginning of two prompts that are the same."""
    tokens = 0
    for one, other in zip(before, now, strict=False):
        if one != other:
            break
        tokens += cost(one)
    return tokens


Trim = Callable[[list[Any]], list[Any]]


def watched(trim: Trim, count: int, limit: int) -> tuple[float, int, int, int]:
    """The repeated share, and the prompts above the limit, refused, and without the goal."""
    whole: list[Any] = [PROMPT, GOAL]
    before: list[Any] = []
    repeated = total = over = invalid = goal_lost = 0
    made = steps(count)
    for at in range(0, len(made) + 1, 2):
        sent = trim(whole)
        repeated, total = repeated + shared(before, sent), total + sum(map(cost, sent))
        over += sum(map(cost, sent)) > limit
        invalid += bool(refused_chat(sent, whole))
        goal_lost += GOAL not in sent
        before = list(sent)
        whole += made[at : at + 2]
    return repeated / total, over, invalid, goal_lost


def agent_run(strategy: str = "agent_summary", count: int = 500, limit: int = 8_000) -> Run:
    """Runs an agent whose model writes a summary of 200 words at once when one is due."""
    state = TrimState()
    summaries = unnamed = lost = 0

    def trim(whole: list[Any]) -> list[Any]:
        nonlocal state, summaries, unnamed, lost
        sent = trim_messages(
            whole,
            max_tokens=limit,
            reserve=0,
            strategy=strategy,
            counter=BYTES4,
            state=state,
            trim_step=0.4,
        )
        state = sent.state
        named = {at for run in sent.left_out for at in range(run.start, run.stop)}
        kept = {id(message) for message in sent}
        ids = {message["tool_call_id"] for message in sent if message["role"] == "tool"}
        for at, message in enumerate(whole):
            is_there = id(message) in kept or message.get("tool_call_id") in ids
            unnamed += not is_there and at not in named
        lost += sum(run.stop - run.start for run in sent.left_out if run.reason == "budget")
        if sent.to_summarize:
            summaries += 1
            text = f"{summaries}: " + "Read and understood. " * 40
            state = sent.to_summarize.with_summary(text, state)
        return list(sent)

    repeated, over, invalid, goal_lost = watched(trim, count, limit)
    return Run(summaries, repeated, over, invalid, goal_lost, unnamed, lost)
