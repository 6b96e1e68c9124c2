"""The think/act loop, against a scripted model behind the real relay."""

from __future__ import annotations

from kefu.errors import ToolFailed
from kefu.events import Final, Observation, TurnEnd
from kefu.tools import Tool
from tests.fakes.spoken import Say, rig


def tool(name: str = "read", answer: str | Exception = "the file", **more: object) -> Tool:
    async def call(given: str) -> str:
        if isinstance(answer, Exception):
            raise answer
        return answer

    return Tool(name, f"{name} something", call, **more)  # type: ignore[arg-type]


READ = '<thought>let me see</thought><action tool="read">README.md</action>'


async def test_s15_an_action_is_run_written_back_and_followed_by_the_answer() -> None:
    talk = rig(READ, "<final>A chat widget.</final>", tools=(tool(),))
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
    assert talk.spoken.asked[1]["messages"][1:] == [
        {"role": "user", "content": "What is it?"},
        {"role": "assistant", "content": READ},
        {"role": "user", "content": '<observation tool="read">the file</observation>'},
    ]


async def test_s17_the_final_text_is_what_later_turns_are_told() -> None:
    talk = rig("<final>one</final>", "two")
    await talk.session.run_turn("first")
    await talk.session.run_turn("second")
    assert [m["content"] for m in talk.spoken.asked[1]["messages"]] == ["first", "one", "second"]
    assert [body.implicit for body in talk.bodies(Final)] == [None, True]


async def test_a_failed_call_ends_the_turn_and_leaves_no_question_behind() -> None:
    talk = rig(Say(status=500), "back again")
    assert (await talk.session.run_turn("lost")).status == "error"
    assert talk.types() == ["session_start", "turn_start", "error", "turn_end"]
    assert list(talk.session.chat_history) == []
    assert talk.bodies(TurnEnd)[0].error_code == "upstream_service_unavailable"


async def test_a_tool_that_fails_is_an_observation() -> None:
    broken = tool(answer=ToolFailed("no such file"))
    talk = rig(READ, "<final>none</final>", tools=(broken,))
    assert (await talk.session.run_turn("?")).status == "ok"
    assert talk.bodies(Observation)[0].ok is False
