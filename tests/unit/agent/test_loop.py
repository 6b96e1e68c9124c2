"""The agent's loop, with a scripted model behind the real relay (S11-S17, S30)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from kefu.agent.events import (
    Assistant,
    AssistantChunk,
    Error,
    Final,
    Interrupt,
    Observation,
    SessionEvent,
    TurnEnd,
    TurnStart,
    event_line,
)
from kefu.agent.react import AgentDeps, AgentOptions, run_agent
from kefu.chat.prompt import Sampling
from kefu.tools.use import Use
from tests.fakes.spoken import KEY, Say, rig, text_tool, until


async def found(given: str) -> str:
    return "the file"


TOOL = text_tool("read", "reads a file", found)
READ = '<thought>let me see</thought><action tool="read">README.md</action>'


async def test_s15_an_action_is_run_written_back_and_followed_by_the_answer() -> None:
    """S13, S14: after the events for the start of the session and of the turn."""
    talk = rig(READ, "<final>A chat widget.</final>", tools=(TOOL,))
    result = await talk.session.run_turn("What is it?")
    assert (result.final_text, result.status) == ("A chat widget.", "ok")
    assert talk.types() == [
        "session_start",
        "turn_start",
        "assistant",
        "action",
        "observation",
        "assistant",
        "final",
        "turn_end",
    ]
    assert [(e.turn, e.step) for e in talk.told()] == [
        (None, None),
        (1, None),
        *[(1, 0)] * 3,
        *[(1, 1)] * 2,
        (1, None),
    ]
    assert [e.seq for e in talk.told()] == list(range(1, 9))
    assert talk.spoken.asked[1]["messages"][1:] == [
        {"role": "user", "content": "What is it?"},
        {"role": "assistant", "content": READ},
        {"role": "user", "content": '<observation tool="read">the file</observation>'},
    ]
    first, second = result.steps
    assert first.parsed_action == ("read", "README.md")
    assert (first.observation, first.tool, second.parsed_final) == (
        "the file",
        "read",
        "A chat widget.",
    )


async def test_s15_the_system_message_has_the_prompt_and_the_tools() -> None:
    talk = rig("hi", tools=(TOOL,), system_prompt="You are Kefu.")
    await talk.session.run_turn("?")
    system = talk.spoken.asked[0]["messages"][0]
    assert system["role"] == "system"
    assert system["content"].startswith("You are Kefu.\n\n")
    assert "- read: reads a file" in system["content"]


async def test_s17_later_prompts_contain_the_final_text() -> None:
    talk = rig("<final>one</final>", "two")
    await talk.session.run_turn("first")
    await talk.session.run_turn("second")
    assert [m["content"] for m in talk.spoken.asked[1]["messages"]] == ["first", "one", "second"]
    assert [body.implicit for body in talk.bodies(Final)] == [None, True]
    assert [e.turn for e in talk.told() if isinstance(e.body, TurnStart)] == [1, 2]


@pytest.mark.parametrize(
    ("say", "code"),
    [
        (Say(status=500), "upstream_service_unavailable"),
        (Say(status=429), "rate_limit_exceeded"),
        (Say(status=400), "invalid_request"),
    ],
)
async def test_s11_s17_a_failed_call_is_logged_and_leaves_no_question(say: Say, code: str) -> None:
    talk = rig(say, "back again")
    result = await talk.session.run_turn("lost")
    assert result.error
    assert (result.status, result.error.code) == ("error", code)
    assert talk.types() == ["session_start", "turn_start", "error", "turn_end"]
    [error] = talk.bodies(Error)
    assert [tried.outcome for tried in error.attempts] == [f"http_{say.status}"]
    assert talk.bodies(TurnEnd)[0].error_code == code
    assert list(talk.session.chat_history) == []


async def test_s11_the_session_continues_with_the_next_key() -> None:
    talk = rig(Say(status=500), "back again", keys=3)
    assert (await talk.session.run_turn("?")).final_text == "back again"
    [assistant] = talk.bodies(Assistant)
    assert [tried.outcome for tried in assistant.attempts] == ["http_500", "ok"]


@pytest.mark.parametrize(
    ("status", "pieces"), [(200, 99), (200, 7), (200, 1), (401, 9), (400, 9), (500, 9)]
)
async def test_t18_no_key_gets_into_the_log(status: int, pieces: int) -> None:
    """The key is divided into any number of chunks."""
    echo = Say(f"<final>your key is {KEY}-0, {KEY}-1", status=status, pieces=pieces)
    talk = rig(echo, keys=2)
    assert (await talk.session.run_turn("what is my key?")).status == "error"
    await talk.session.close()
    lines = b"".join(event_line(event) for event in talk.events)
    assert b"error" in lines
    assert KEY.encode() not in lines
    assert KEY not in talk.shown


async def test_s12_an_answer_without_a_finish_reason_is_incomplete() -> None:
    talk = rig(Say("It is fo", finish=None))
    result = await talk.session.run_turn("?")
    assert (result.status, result.final_text) == ("error", "It is fo")
    assert talk.types()[-3:] == ["assistant", "error", "turn_end"]
    [assistant] = talk.bodies(Assistant)
    assert (assistant.content, assistant.finish_reason) == ("It is fo", None)
    assert list(talk.session.chat_history) == []


async def test_k8_s16_a_model_that_never_answers_is_stopped() -> None:
    answers = [f'<action tool="read">{number}</action>' for number in range(5)]
    talk = rig(*answers, tools=(TOOL,), max_steps=4)
    result = await talk.session.run_turn("?")
    assert (result.status, len(result.steps)) == ("max_steps", 4)
    assert len(talk.spoken.asked) == 4
    assert (talk.bodies(TurnEnd)[0].status, talk.bodies(TurnEnd)[0].step_count) == ("max_steps", 4)


def test_s16_the_default_is_100_steps() -> None:
    assert AgentOptions(Sampling("m")).max_steps == 100


@pytest.mark.parametrize(
    ("bad", "repair"),
    [
        ('<action tool="read">', "unterminated_action"),
        ("<action>x</action>", "missing_tool"),
        ("<final></final>", "empty_final"),
        ("", "empty_final"),
        ("<thought>hm</thought>", "thought_only"),
    ],
)
async def test_s30_a_mistake_is_reported_to_the_model(bad: str, repair: str) -> None:
    talk = rig(Say(bad) if bad else Say(" "), "<final>ok</final>", tools=(TOOL,))
    assert (await talk.session.run_turn("?")).final_text == "ok"
    [observation] = talk.bodies(Observation)
    assert (observation.repair, observation.ok, observation.tool) == (repair, False, None)
    assert "action" not in talk.types()
    said, told = talk.spoken.asked[1]["messages"][-2:]
    assert said["content"]
    assert told["content"] == f"<observation>{escaped(observation.content)}</observation>"


def escaped(text: str) -> str:
    return text.replace("</observation", "&lt;/observation")


async def test_s30_two_repairs_in_a_row_are_enough() -> None:
    talk = rig(
        "<thought>a", "<thought>b", READ, "<thought>c", "<thought>d", "<thought>e", tools=(TOOL,)
    )
    result = await talk.session.run_turn("?")
    assert result.error
    assert (result.error.code, len(result.steps)) == ("malformed_output", 6)
    assert len(talk.bodies(Observation)) == 5


async def test_s11_ctrl_c_stops_the_answer_and_keeps_its_text() -> None:
    talk = rig(Say("<final>It is a long sto", hangs=True), "<final>ok</final>")
    running = asyncio.ensure_future(talk.session.run_turn("tell me"))
    await until(lambda: "long" in talk.shown)
    assert talk.session.interrupt()
    assert talk.session.interrupt()
    result = await asyncio.wait_for(running, 10)
    assert (result.status, result.final_text[:12]) == ("interrupted", "It is a long")
    assert talk.types()[-3:] == ["assistant", "interrupt", "turn_end"]
    assert talk.bodies(Interrupt)[0].content == result.final_text
    assert talk.spoken.closed
    await talk.session.run_turn("and?")
    kept = [message["content"] for message in talk.spoken.asked[1]["messages"]]
    assert kept == ["tell me", result.final_text, "and?"]
    assert talk.session.interrupt() is False


async def test_s11_a_cancelled_task_is_logged_alike_and_stays_cancelled() -> None:
    talk = rig(Say("<thought>hm", hangs=True))
    running = asyncio.ensure_future(talk.session.run_turn("tell me"))
    await until(lambda: "hm" in talk.shown)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert talk.bodies(TurnEnd)[0].status == "interrupted"
    assert list(talk.session.chat_history) == []


async def test_s11_ctrl_c_before_the_first_word_leaves_nothing() -> None:
    talk = rig(Say("", hangs=True))
    running = asyncio.ensure_future(talk.session.run_turn("tell me"))
    await until(lambda: talk.spoken.asked)
    talk.session.interrupt()
    assert (await running).status == "interrupted"
    assert talk.types() == ["session_start", "turn_start", "interrupt", "turn_end"]
    assert list(talk.session.chat_history) == []


async def test_s8_the_words_are_shown_as_they_come() -> None:
    talk = rig("<thought>hm</thought><final>It is 4.</final>")
    await talk.session.run_turn("?")
    told = {kind: "".join(p.text for p in talk.pieces if p.kind == kind) for kind, _ in talk.pieces}
    assert told == {"thought": "hm", "answer": "It is 4."}
    chunks = [body.content for body in talk.bodies(AssistantChunk)]
    assert "".join(chunks) == "<thought>hm</thought><final>It is 4.</final>"


async def test_s21_chunks_are_logged_only_where_they_are_wanted() -> None:
    for wanted in (False, True):
        kept: list[SessionEvent] = []
        talk = rig("yes", deps={"history_sinks": (Keeping(kept),)}, log_chunks=wanted)
        await talk.session.run_turn("?")
        assert ("assistant_chunk" in [e.type for e in kept]) is wanted
        assert [e.seq for e in kept] == list(range(1, len(kept) + 1))


class Keeping:
    def __init__(self, kept: list[SessionEvent], error: Exception | None = None) -> None:
        self.kept = kept
        self.error = error

    def append(self, event: SessionEvent) -> None:
        if self.error:
            raise self.error
        self.kept.append(event)

    async def flush(self) -> None:
        if self.error:
            raise self.error


async def test_s20_a_sink_that_fails_warns_once_and_the_others_go_on() -> None:
    kept: list[SessionEvent] = []
    sinks = (Keeping([], ZeroDivisionError()), Keeping(kept))
    talk = rig("yes", deps={"history_sinks": sinks})
    assert (await talk.session.run_turn("?")).final_text == "yes"
    await talk.session.close()
    assert talk.warnings == ["The log of the session is incomplete: ZeroDivisionError"]
    assert len(kept) == 6


async def test_an_unexpected_error_leaves_log_and_conversation_consistent() -> None:
    async def approve(use: Use, given: str) -> bool:
        raise EOFError

    talk = rig(
        *(READ, "<final>ok</final>"), tools=(TOOL,), deps={"approve": approve}, approve_each=True
    )
    with pytest.raises(EOFError):
        await talk.session.run_turn("?")
    end = talk.bodies(TurnEnd)[0]
    assert (end.status, end.error_code, end.error_message) == (
        "error",
        "internal_error",
        "EOFError",
    )
    assert [message.role for message in talk.session.chat_history] == ["system"]
    assert (await talk.session.run_turn("again")).final_text == "ok"


async def test_s7_a_turn_can_be_taken_back() -> None:
    talk = rig("one", "two", "three")
    await talk.session.run_turn("first")
    await talk.session.run_turn("second")
    assert talk.session.undo() == "second"
    assert [m.content for m in talk.session.chat_history] == ["first", "one"]
    talk.session.clear()
    assert talk.session.undo() is None
    assert list(talk.session.chat_history) == []
    await talk.session.run_turn("third")
    assert [e.turn for e in talk.told() if e.body.type == "turn_start"] == [1, 2, 3]


async def test_s1_s2_sessions_and_turns_log_times_and_results() -> None:
    talk = rig("one", "two", mode="once", working_directory="/here")
    session = talk.session
    assert (session.mode, session.ended_at) == ("once", None)
    assert session.config["workingDirectory"] == "/here"
    assert (session.config["model"], session.config["tokenizer"]) == ("test-model", "characters")
    await session.run_turn("first")
    result = await session.run_turn("second")
    await session.close()
    assert (result.turn_index, result.user_input, result.step_count) == (2, "second", 1)
    assert session.ended_at
    times = [session.started_at, result.started_at, result.ended_at, session.ended_at]
    assert times == sorted(times)


async def test_s19_there_is_one_turn_at_a_time_and_none_after_the_end() -> None:
    talk = rig("yes")
    running = asyncio.ensure_future(talk.session.run_turn("one"))
    await asyncio.sleep(0)
    with pytest.raises(RuntimeError):
        await talk.session.run_turn("two")
    assert (await running).status == "ok"
    await talk.session.close()
    with pytest.raises(RuntimeError):
        await talk.session.run_turn("three")
    assert talk.types()[-2:] == ["turn_end", "session_end"]


async def test_s18_the_end_is_written_once() -> None:
    talk = rig("yes")
    await talk.session.run_turn("?")
    await talk.session.close("sigterm")
    await talk.session.close()
    ends: list[Any] = [e.body for e in talk.told() if e.type == "session_end"]
    assert [(end.turn_count, end.reason) for end in ends] == [(1, "sigterm")]
    assert ends[0].tokens == talk.session.tokens


async def test_s19_run_agent_is_one_turn_and_its_events() -> None:
    talk = rig("unused")
    deps: AgentDeps = talk.session._deps
    told = await run_agent("?", deps, AgentOptions(Sampling("m")))
    assert [e.type for e in told if e.type != "assistant_chunk"] == [
        "session_start",
        "turn_start",
        "assistant",
        "final",
        "turn_end",
        "session_end",
    ]
