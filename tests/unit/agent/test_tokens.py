"""Tokens: counts, sums, and the limits of a prompt (S22, S25-S28, K9)."""

from __future__ import annotations

import asyncio

import pytest

from kefu.agent.events import (
    Assistant,
    BudgetExceeded,
    Error,
    Final,
    TurnEnd,
    TurnStart,
    read_lines,
)
from kefu.agent.events import event_line as line
from kefu.agent.react import TokenLimits, resume
from tests.fakes.spoken import Rig, Say, rig, text_tool, until


async def result_of_tool(given: str) -> str:
    return f"found {given}"


READ = text_tool("read", "reads", result_of_tool)
ACTION = '<action tool="read">{}</action>'


def spent(talk: Rig) -> int:
    """The token sum of all model calls in the log."""
    budgets = [body.tokens.total for body in talk.bodies(BudgetExceeded) if body.tokens]
    assistants = [body.tokens.total for body in talk.bodies(Assistant)]
    return int(sum(assistants + budgets))


async def test_s26_steps_add_up_to_turns_and_turns_to_the_session() -> None:
    answers = (
        Say(ACTION.format(1), usage=(120, 35)),
        Say("<final>one</final>", usage=(170, 28)),
        Say("two"),
        Say("cut of", finish=None),
        Say("<final>three</final>", usage=(7, 1)),
    )
    talk = rig(*answers, tools=(READ,), keys=9)
    results = [await talk.session.run_turn("?") for _ in range(4)]
    assert [result.status for result in results] == ["ok", "ok", "error", "ok"]
    assert [step.tokens.total for step in results[0].steps] == [120 + 35, 170 + 28]
    assert results[0].tokens.total == 120 + 35 + 170 + 28
    assert [body.tokens for body in talk.bodies(TurnEnd)] == [r.tokens for r in results]
    assert talk.session.tokens.total == spent(talk) == sum(r.tokens.total for r in results)
    assert [r.tokens.source for r in results] == ["usage", "local", "local", "usage"]
    assert talk.session.tokens.source == "mixed"
    await talk.session.close()
    assert talk.told()[-1].body.tokens == talk.session.tokens  # type: ignore[union-attr]


async def test_s22_the_estimate_of_the_users_message_is_in_no_sum() -> None:
    talk = rig(Say("<final>ok</final>", usage=(120, 35)))
    result = await talk.session.run_turn("twelve chars")
    assert talk.bodies(TurnStart)[0].tokens.prompt == 12
    assert result.tokens.prompt == 120
    assert talk.bodies(Final)[0].tokens == result.tokens


async def test_s28_kefu_always_counts_and_prefers_the_upstreams_count() -> None:
    talk = rig(Say("abcd", usage=(100, 4)), "ab")
    await talk.session.run_turn("12345")
    await talk.session.run_turn("67")
    reported, counted = talk.bodies(Assistant)
    assert (reported.estimate.prompt, reported.estimate.completion) == (5, 4)
    assert (reported.tokens.prompt, reported.tokens.source) == (100, "usage")
    assert reported.usage == {"prompt_tokens": 100, "completion_tokens": 4}
    assert (counted.tokens.prompt, counted.tokens.completion) == (5 + 4 + 2, 2)
    assert (counted.tokens.source, counted.usage) == ("local", None)


async def test_s28_the_drift_is_that_of_all_calls() -> None:
    talk = rig(Say("abcd", usage=(5, 5)), Say("abcd", usage=(100, 4)))
    for said in ("12345", "6", "7"):
        await talk.session.run_turn(said)
    assert talk.session.drift
    assert talk.session.drift < -0.15
    assert rig("x").session.drift is None


async def test_s27_equal_to_the_limit_passes_and_one_more_is_rejected() -> None:
    talk = rig("abc", limits=TokenLimits(maximum=5))
    assert (await talk.session.run_turn("12345")).status == "ok"
    talk = rig("abc", limits=TokenLimits(maximum=5))
    result = await talk.session.run_turn("123456")
    assert result.error
    assert (result.status, result.error.code) == ("error", "budget_exceeded")
    assert talk.spoken.asked == []
    assert list(talk.session.chat_history) == []
    [told] = talk.bodies(BudgetExceeded)
    assert (told.action, told.prompt, told.limit) == ("reject", 6, 5)
    assert talk.bodies(TurnEnd)[0].error_message


async def test_s27_above_the_warning_there_is_one_a_turn() -> None:
    talk = rig(ACTION.format(1), "ok", tools=(READ,), limits=TokenLimits(warn=3))
    await talk.session.run_turn("1234")
    assert [body.action for body in talk.bodies(BudgetExceeded)] == ["warn"]
    await talk.session.run_turn("1234")
    assert [body.action for body in talk.bodies(BudgetExceeded)] == ["warn", "warn"]


def test_s27_a_warning_above_the_maximum_is_refused() -> None:
    TokenLimits(maximum=5, warn=5)
    with pytest.raises(ValueError, match="above"):
        TokenLimits(maximum=5, warn=6)


async def test_k9_a_budget_that_ends_in_the_middle_of_a_turn_stops_it_before_the_next_call() -> (
    None
):
    talk = rig(ACTION.format("x" * 100), tools=(READ,), limits=TokenLimits(maximum=800))
    await talk.session.run_turn("?")
    talk = rig(ACTION.format("x" * 400), tools=(READ,), limits=TokenLimits(maximum=1000))
    result = await talk.session.run_turn("?")
    assert result.error
    assert (result.error.code, len(talk.spoken.asked)) == ("budget_exceeded", 1)
    assert talk.types()[-2:] == ["budget", "turn_end"]
    assert talk.bodies(TurnEnd)[0].tokens.total == spent(talk)


def contents(talk: Rig) -> list[str]:
    return [message["content"] for message in talk.spoken.asked[-1]["messages"]]


async def test_s27_trim_leaves_the_oldest_turns_out_of_the_prompt_alone() -> None:
    talk = rig("aaaa", "bbbb", "cccc", limits=TokenLimits(maximum=14, action="trim"))
    for said in ("1111", "2222", "3333"):
        await talk.session.run_turn(said)
    assert contents(talk) == ["2222", "bbbb", "3333"]
    [told] = talk.bodies(BudgetExceeded)
    assert (told.action, told.prompt, told.limit, told.dropped) == ("trim", 20, 14, 2)
    assert len(talk.session.chat_history) == 6


async def test_s27_trim_keeps_an_observation_with_its_action_and_the_question() -> None:
    actions = [ACTION.format(letter * 20) for letter in "abc"]
    limit = 3 + 2 * (len(actions[0]) + len('<observation tool="read">found </observation>') + 20)
    talk = rig(*actions, "<final>ok</final>", tools=(READ,), limits=TokenLimits(action="trim"))
    talk = rig(
        *actions,
        "<final>ok</final>",
        tools=(READ,),
        limits=TokenLimits(limit + len(talk.session.chat_history[0].content), action="trim"),
    )
    assert (await talk.session.run_turn("???")).status == "ok"
    messages = talk.spoken.asked[-1]["messages"]
    assert [message["role"] for message in messages] == [
        *("system", "user"),
        *("assistant", "user") * 2,
    ]
    assert contents(talk)[1:] == [
        "???",
        *(actions[1], f'<observation tool="read">found {"b" * 20}</observation>'),
        *(actions[2], f'<observation tool="read">found {"c" * 20}</observation>'),
    ]


async def test_s27_a_prompt_that_cannot_be_trimmed_enough_is_rejected() -> None:
    talk = rig("aaaa", limits=TokenLimits(maximum=5, action="trim"))
    result = await talk.session.run_turn("123456")
    assert result.error
    assert result.error.code == "budget_exceeded"


SUMMARISED = TokenLimits(maximum=400, action="summarize")


async def test_s27_summarize_puts_a_summary_in_the_place_of_old_turns_for_good() -> None:
    told = Say("They spoke of cats.", usage=(50, 6))
    talk = rig("a" * 150, "b" * 150, told, "c" * 20, "d" * 20, limits=SUMMARISED)
    for said in ("1" * 40, "2" * 40, "3" * 40):
        assert (await talk.session.run_turn(said)).status == "ok"
    assert contents(talk)[0] == (
        "<conversation_summary>\nThey spoke of cats.\n</conversation_summary>"
    )
    assert contents(talk)[-1] == "3" * 40
    assert "1" * 40 not in contents(talk)
    [budget] = talk.bodies(BudgetExceeded)
    assert (budget.action, budget.tokens.total) == ("summarize", 56)
    assert talk.session.tokens.total == spent(talk)
    await talk.session.run_turn("4")
    assert len(talk.bodies(BudgetExceeded)) == 1
    again = resume(read_lines(line(event) for event in talk.told()))
    assert [entry.message.content for entry in again.entries] == [
        message.content for message in talk.session.chat_history
    ]
    assert again.tokens == talk.session.tokens


async def test_s27_where_the_summary_fails_the_oldest_are_left_out() -> None:
    talk = rig("a" * 150, "b" * 150, Say(status=500), "c" * 20, limits=SUMMARISED, keys=9)
    talk.spoken.answers[3:3] = [Say(status=500)] * 3
    for said in ("1" * 40, "2" * 40, "3" * 40):
        assert (await talk.session.run_turn(said)).status == "ok"
    assert [body.action for body in talk.bodies(BudgetExceeded)] == ["trim"]
    assert len(talk.bodies(Error)) == 1
    assert talk.session.tokens.total == spent(talk)


TOO_LONG = Say("context_length_exceeded", status=400)


async def test_u9_a_prompt_that_is_too_long_for_the_model_is_halved_once() -> None:
    talk = rig("a" * 50, "b" * 50, TOO_LONG, "ok", limits=TokenLimits(action="trim"))
    results = [await talk.session.run_turn(said * 50) for said in "123"]
    assert (results[-1].status, contents(talk)) == ("ok", ["3" * 50])
    assert talk.types()[-6:] == ["turn_start", "budget", "error", "assistant", "final", "turn_end"]
    assert [body.code for body in talk.bodies(Error)] == ["context_length_exceeded"]
    assert len(talk.session.chat_history) == 6


@pytest.mark.parametrize("limits", [TokenLimits(), TokenLimits(action="trim")])
async def test_u9_where_nothing_may_go_the_turn_ends(limits: TokenLimits) -> None:
    talk = rig(TOO_LONG, limits=limits)
    result = await talk.session.run_turn("1")
    assert result.error
    assert result.error.code == "context_length_exceeded"
    assert len(talk.spoken.asked) == 1


async def test_s26_an_empty_summary_is_in_the_sum() -> None:
    empty = Say(" ", usage=(50, 1))
    talk = rig("a" * 150, "b" * 150, empty, "c" * 20, limits=SUMMARISED)
    for said in ("1" * 40, "2" * 40, "3" * 40):
        assert (await talk.session.run_turn(said)).status == "ok"
    [budget] = talk.bodies(BudgetExceeded)
    assert (budget.action, budget.tokens.total) == ("trim", 51)
    assert talk.session.tokens.total == spent(talk)


async def test_s11_ctrl_c_while_a_summary_is_written_ends_the_turn() -> None:
    hanging = Say("They", hangs=True)
    talk = rig("a" * 150, "b" * 150, hanging, limits=SUMMARISED)
    for said in ("1" * 40, "2" * 40):
        await talk.session.run_turn(said)
    running = asyncio.ensure_future(talk.session.run_turn("3" * 40))
    await until(lambda: len(talk.spoken.asked) == 3)
    talk.session.interrupt()
    assert (await running).status == "interrupted"
    assert len(talk.session.chat_history) == 4
