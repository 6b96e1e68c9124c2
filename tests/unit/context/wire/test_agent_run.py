from __future__ import annotations

from typing import Any

import pytest

from kefu.context import BYTES4, Trimmed, TrimState, trim_messages
from tests.unit.context.wire.agent_run import GOAL, PROMPT, agent_run, steps


@pytest.mark.slow
def test_x21_an_agent_with_one_question_is_summarised_rarely_and_loses_nothing() -> None:
    """500 steps in 8,000 tokens: the goal stays, and a cache serves nine tenths of the prompts."""
    run = agent_run("agent_summary", 500, 8_000)
    assert run.summaries <= 25
    assert run.repeated >= 0.9
    assert run[2:] == (0, 0, 0, 0, 0)


@pytest.mark.parametrize("strategy", ["summary", "agent_summary"])
def test_x21_a_run_with_little_room_is_valid_and_names_what_it_leaves_out(strategy: str) -> None:
    """One result has more than the whole room."""
    run = agent_run(strategy, 40, 1_500)
    assert run.summaries > 0
    assert (run.invalid, run.goal_lost, run.unnamed) == (0, 0, 0)


def test_x11_without_summaries_the_start_within_a_turn_stays_for_several_steps() -> None:
    assert agent_run("fifo", 150, 4_000).repeated >= 0.8


def test_x21_a_summary_follows_the_question_while_it_is_worked_on() -> None:
    """Afterwards the question is a part of what the summary covers, and is named as such."""
    whole = [PROMPT, GOAL, *steps(60)]

    def trim(state: TrimState) -> Trimmed[dict[str, Any]]:
        return trim_messages(
            whole, max_tokens=3000, reserve=0, strategy="summary", counter=BYTES4, state=state
        )

    first = trim(TrimState())
    due = first.to_summarize
    assert due
    assert due.messages[0] is GOAL
    assert due.covers > 2
    state = due.with_summary("Read 12 orders.", first.state)
    second = trim(state)
    assert second[:2] == [PROMPT, GOAL]
    assert "Read 12 orders." in second[2]["content"]
    assert second[3] is whole[due.covers]
    assert (2, due.covers, "summarized") in second.left_out
    whole += [{"role": "assistant", "content": "Done."}, {"role": "user", "content": "And now?"}]
    third = trim(state)
    assert GOAL not in third
    assert "Read 12 orders." in third[1]["content"]
    assert (1, due.covers, "summarized") in third.left_out
