"""P5, P8, P9, P12, P14, P15: the four steps of `MessageProcessor`, on texts alone."""

from __future__ import annotations

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kefu.sessions.store.model import SessionId, StoredMessage
from kefu.sessions.turn.message_processor import DEFAULT_SYSTEM_PROMPT, MessageProcessor
from tests.fakes.growth import assert_linear

processor = MessageProcessor()

LINES = st.text(alphabet=" \t\r\n\u3000ab好", max_size=40)


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("  hi  ", "hi"),
        ("\u3000你好\u3000\n", "你好"),
        ("a\n\n\nb", "a\n\nb"),
        ("a\n\nb", "a\n\nb"),
        ("a\r\n\r\n\r\nb", "a\n\nb"),
        ("a\rb", "a\nb"),
        ("a\n \t \n\t\nb", "a\n\nb"),
        ("a\n \nb", "a\n\nb"),
        ("a\n\n\n    indented", "a\n\n    indented"),
        ("a  \n\n\n\nb", "a  \n\nb"),
        (" \n\t\r\n", ""),
        ("", ""),
    ],
)
def test_p5_a_message_is_cleaned(text: str, clean: str) -> None:
    assert processor.preprocess_user_message(text) == clean


@given(LINES | st.text())
def test_p5_cleaning_again_changes_nothing(text: str) -> None:
    once = processor.preprocess_user_message(text)
    assert processor.preprocess_user_message(once) == once
    assert "\r" not in once
    assert "\n\n\n" not in once
    assert once == once.strip()
    assert "".join(once.split()) == "".join(text.split())


@pytest.mark.parametrize(("start", "unit"), [("\n", " "), ("", "a\n \t"), ("", "\n  ")])
def test_t31_cleaning_takes_linear_time(start: str, unit: str) -> None:
    def hard(size: int) -> str:
        return start + unit * (size // len(unit)) + "x"

    assert_linear(hard, processor.preprocess_user_message, 300_000)


WORKED = [
    {"role": "user", "content": "你好"},
    {"role": "assistant", "content": "你好！有什么可以帮你？"},
    {"role": "user", "content": "今天天气怎么样？"},
    {"role": "assistant", "content": "抱歉，我无法获取天气..."},
]


def test_p15_the_worked_example() -> None:
    """Four stored messages and a new one make a request of six, with the system prompt."""
    built = processor.build_messages_for_llm("那告诉我现在几点了", WORKED, DEFAULT_SYSTEM_PROMPT)
    assert built == [
        {"role": "system", "content": "你是一个有帮助的AI助手。"},
        {"role": "user", "content": "你好"},
        {"role": "assistant", "content": "你好！有什么可以帮你？"},
        {"role": "user", "content": "今天天气怎么样？"},
        {"role": "assistant", "content": "抱歉，我无法获取天气..."},
        {"role": "user", "content": "那告诉我现在几点了"},
    ]


def history(count: int) -> list[dict[str, str]]:
    return [{"role": ("user", "assistant")[n % 2], "content": str(n)} for n in range(count)]


@pytest.mark.parametrize(
    ("count", "first"), [(0, None), (9, "0"), (10, "0"), (11, "1"), (30, "20")]
)
def test_p8_the_newest_ten_messages_are_kept(count: int, first: str | None) -> None:
    """P9: `max_history` counts messages, not turns."""
    built = processor.build_messages_for_llm("now", history(count))
    assert built[-1] == {"role": "user", "content": "now"}
    assert len(built) == min(count, 10) + 1
    assert first is None or built[0]["content"] == first


@pytest.mark.parametrize("most", [0, -1])
def test_p8_no_history_is_wanted_and_none_comes(most: int) -> None:
    assert len(processor.build_messages_for_llm("now", history(4), max_history=most)) == 1


@pytest.mark.parametrize("system", [None, ""])
def test_p8_without_a_system_prompt_there_is_no_system_message(system: str | None) -> None:
    assert processor.build_messages_for_llm("now", None, system) == [
        {"role": "user", "content": "now"}
    ]


@given(st.integers(0, 30), st.integers(-1, 30), st.none() | st.text(max_size=5))
def test_p8_building_is_pure_and_in_order(count: int, most: int, system: str | None) -> None:
    given_history = history(count)
    before = copy.deepcopy(given_history)
    built = processor.build_messages_for_llm("now", given_history, system, most)
    assert given_history == before
    assert [m["role"] == "system" for m in built] == [bool(system)] * bool(system) + [False] * (
        len(built) - bool(system)
    )
    middle = built[bool(system) : -1]
    assert middle == (given_history[-most:] if most > 0 else [])
    for message in built:
        message["content"] = "changed"
    assert given_history == before


@pytest.mark.parametrize(
    ("text", "plain", "unfenced"),
    [
        ("  hi\n", "hi", "hi"),
        ("```\ncode\n```", "```\ncode\n```", "code"),
        ("\n```python\na\n\nb\n```\n", "```python\na\n\nb\n```", "a\n\nb"),
        ("see ```x```", "see ```x```", "see ```x```"),
        ("```\na\n```\nand\n```\nb\n```", *["```\na\n```\nand\n```\nb\n```"] * 2),
        ("```\nopen", "```\nopen", "```\nopen"),
        ("", "", ""),
    ],
)
def test_p12_an_answer_is_stripped_and_unfenced_where_that_is_wanted(
    text: str, plain: str, unfenced: str
) -> None:
    assert processor.postprocess_llm_response(text) == plain
    assert MessageProcessor(strip_code_fence=True).postprocess_llm_response(text) == unfenced


def stored(number: int, role: str, **more: object) -> StoredMessage:
    fields = {"status": "ok", "created_at": 5.0 + number, "content": f"text {number}", **more}
    return StoredMessage(id=number, session_id=SessionId("s"), role=role, **fields)  # type: ignore[arg-type]


def test_p14_history_for_display_ascends_and_shows_nothing_raw() -> None:
    shown = processor.format_history_for_display(
        [
            stored(4, "assistant", reply_to=3, rating="up"),
            stored(1, "system"),
            stored(3, "user", client_message_id="secret", status="failed"),
            stored(2, "tool"),
        ]
    )
    assert shown == [
        {"id": 3, "role": "user", "content": "text 3", "created_at": 8.0, "status": "failed"},
        {"id": 4, "role": "assistant", "content": "text 4", "created_at": 9.0, "status": "ok"},
    ]
