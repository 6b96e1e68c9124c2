"""Times the context engine's worst cases: `python -m benchmarks.worst [CHECKOUT]`.

With the path of another checkout of Kefu (`git worktree add ../old v0.1.0`), both versions are
measured in turn, that one first, and the last column is the ratio. Times are of the processor, in
milliseconds: the fastest of five, because other programs can only slow one down. Each measurement
has a process of its own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from time import process_time
from typing import Any

from benchmarks.processes import ROOT
from tests.unit.context.wire.agent_run import GOAL, PROMPT, parallel, steps

ROUNDS = 5
LIMIT = 4_000
LONG = "a few words \u4f60 " * 714_286


def kefu() -> Any:
    import kefu.context

    return kefu.context


def count_of(name: str) -> Callable[[str], int]:
    try:
        from kefu.context.tokens import counter
    except ImportError:  # version 0.1.0
        from kefu.tokens import counter  # type: ignore[import-not-found,no-redef]
    return counter(name).count


def history(count: int, every: int = 0, **fields: Any) -> list[Any]:
    """Questions and answers; every so manieth message has the given fields."""
    talk = []
    for n in range(count):
        message = kefu().Message("assistant" if n % 2 else "user", f"{n}: " + "a few words " * 18)
        talk.append(message._replace(**fields) if every and n % every == 1 else message)
    return talk


def timed(work: Callable[[], object], times: int = 1) -> float:
    start = process_time()
    for _ in range(times):
        work()
    return 1000 * (process_time() - start) / times


def message_count_of(name: str) -> Any:
    context = kefu()
    if hasattr(context, "message_counter"):
        return context.message_counter(name, overhead=False)
    return context.MessageCounter(count_of(name))


def trim(
    messages: list[Any], strategy: str = "fifo", count: str = "bytes4", **step: float
) -> float:
    """Milliseconds of processor time for one trimming of a list. The counter is loaded before."""
    context, cost = kefu(), message_count_of(count)
    cost.count("warm \u4f60\u597d")
    budget = context.Budget(LIMIT, reserve=0, **step)
    context.trim_messages(history(100), budget, strategy, cost)  # imports what it needs
    return timed(lambda: context.trim_messages(messages, budget, strategy, cost))


def stepped(count: str) -> float:
    name = "trim_step" if hasattr(kefu(), "TrimState") else "cut_step"
    return trim(history(100_000), "fifo", count, **{name: 0.2})


def running(messages: list[Any], limit: int, times: int = 20) -> float:
    """Adds a message to a running conversation, and takes its window."""
    context = kefu()
    budget = context.Budget(limit, reserve=0)
    bytes4 = context.MessageCounter(count_of("bytes4"))
    talk = context.MessageContextManager(budget, strategy="keep_important", counter=bytes4)
    for message in messages:
        talk.add(message)
    talk.window()

    def step() -> None:
        talk.add(context.Message("user", "And now?"))
        talk.window()

    return timed(step, times)


def tools(results: int, *, called: bool) -> list[Any]:
    context = kefu()
    ids = [f"call_{n}" for n in range(results)]
    calls = tuple(context.ToolCall(id, "look", "{}") for id in ids) if called else ()
    return [
        context.Message("user", "Look!"),
        context.Message("assistant", "", calls),
        *(context.Message("tool", "found", (), id) for id in ids),
        context.Message("user", "Well?"),
    ]


def with_state(count: str) -> float:
    """Milliseconds to trim 3,000 tool steps with the state of the step before."""
    context, cost = kefu(), message_count_of(count)
    cost.count("warm \u4f60\u597d")
    budget, whole = context.Budget(LIMIT, reserve=0), [PROMPT, GOAL, *steps(3_000)]
    state = context.trim_messages(whole[:-2], budget, "agent", cost).state
    return timed(lambda: context.trim_messages(whole, budget, "agent", cost, state=state).state)


def checksum() -> float:
    """Milliseconds to recognize a conversation of 3,000 tool steps."""
    from kefu.context.wire.marks import mark

    whole = [PROMPT, GOAL, *steps(3_000)]
    return timed(lambda: mark(whole, len(whole)))


def exact(text: str) -> float:
    count = count_of("tiktoken:o200k_base")
    count("warm \u4f60\u597d")
    return timed(lambda: count(text))


CASES: dict[str, Callable[[], float]] = {
    "100,000 messages with a step: bytes / 4": lambda: stepped("bytes4"),
    "100,000 messages with a step: estimated": lambda: stepped("calibrated"),
    "100,000 messages with a step: counted exactly": lambda: stepped("tiktoken:o200k_base"),
    "100,000 messages: keep_important": lambda: trim(history(100_000), "keep_important"),
    "100,000 messages: v1": lambda: trim(history(100_000), "v1"),
    "1,000 pins among 10,000: add one, window": lambda: running(
        history(10_000, 10, pinned=True), 128_000, 200
    ),
    "50,000 system notes among 100,000: add one, window": lambda: running(
        history(100_000, 2, role="system"), 128_000
    ),
    "one message of 10 MB: bytes / 4": lambda: trim([kefu().Message("user", LONG)]),
    "one message of 10 MB: estimated": lambda: trim(
        [kefu().Message("user", LONG)], "fifo", "calibrated"
    ),
    "one message of 10 MB: counted exactly": lambda: trim(
        [kefu().Message("user", LONG)], "fifo", "tiktoken:o200k_base"
    ),
    "100,000 results without a call": lambda: trim(tools(100_000, called=False)),
    "one call with 100,000 results": lambda: trim(tools(100_000, called=True)),
    "3,000 tool steps as dicts: agent": lambda: trim([PROMPT, GOAL, *steps(3_000)], "agent"),
    "3,000 tool steps as dicts: agent, counted exactly": lambda: trim(
        [PROMPT, GOAL, *steps(3_000)], "agent", "tiktoken:o200k_base"
    ),
    "  with a state, bytes / 4": lambda: with_state("bytes4"),
    "  with a state, counted exactly": lambda: with_state("tiktoken:o200k_base"),
    "  their checksum alone, 6,002 messages": checksum,
    "3,000 parallel calls as dicts: agent": lambda: trim(parallel(3_000), "agent"),
    "6,000 parallel calls as dicts: agent": lambda: trim(parallel(6_000), "agent"),
    "200,000 characters, exact: lone surrogates": lambda: exact("\ud800" * 200_000),
    "200,000 characters, exact: lines of 500 spaces": lambda: exact((" " * 500 + "\n") * 399),
    "200,000 characters, exact: 33 letters repeated": lambda: exact(
        "abcdefghijklmnopqrstuvwxyzabcdefg" * 6060
    ),
}


def main() -> None:
    if sys.argv[1:2] == ["--case"]:
        print(json.dumps(list(CASES.values())[int(sys.argv[2])]()))
        return
    checkouts = [*map(Path, sys.argv[1:2]), ROOT]
    for number, name in enumerate(CASES):
        times: dict[Path, list[float]] = {checkout: [] for checkout in checkouts}
        for _ in range(ROUNDS):
            for checkout in checkouts:
                times[checkout].append(measured(number, checkout))
        row = [min(found) for found in times.values()]
        ratio = f"{row[1] / row[0]:8.2f}x" if len(row) > 1 else ""
        print(name.ljust(60) + "".join(f"{value:12,.3f}" for value in row) + ratio, flush=True)


def measured(number: int, checkout: Path) -> float:
    path = os.pathsep.join((str(checkout / "functions"), str(ROOT)))
    command = [sys.executable, "-m", "benchmarks.worst", "--case", str(number)]
    done = subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    return float(done.stdout)


if __name__ == "__main__":
    main()
