"""Bodies are stored without repeated texts, and restored byte for byte (P10, P33)."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kefu.sessions.body_dedup import MessageIndex, Unfoldable, fold, references, unfold
from kefu.sessions.model import SessionId, StoredMessage

SYSTEM = "你是一个有帮助的AI助手。" * 8


def message(number: int, text: str) -> StoredMessage:
    return StoredMessage(
        id=number,
        session_id=SessionId("s"),
        role="user" if number % 2 else "assistant",
        content=text,
        status="ok",
        created_at=0.0,
    )


CHAT = [message(number, f"第{number}句话，说给客服听的，要有一点长度。") for number in range(1, 41)]


def body(messages: Sequence[StoredMessage], system: str = SYSTEM, **more: object) -> bytes:
    said = [{"role": "system", "content": system}]
    said += [{"role": one.role, "content": one.content} for one in messages]
    whole = {"model": "LongCat", "messages": said, "temperature": 0.7, "stream": True, **more}
    return json.dumps(whole, ensure_ascii=False, separators=(",", ":")).encode()


def there_and_back(whole: bytes, known: Sequence[StoredMessage] = CHAT) -> tuple[object, bytes]:
    """Fold a body, and restore it from the stored data."""
    texts: dict[str, str] = {}
    kept = MessageIndex(known)
    folded = json.loads(json.dumps(fold(whole, kept, texts)))
    return folded, unfold(folded, kept.by_id, texts)


def is_folded(folded: object) -> bool:
    return isinstance(folded, list)


def test_m5_a_question_in_the_system_prompt_does_not_store_the_prompt_with_each_call() -> None:
    """An example question there is usual."""
    question = message(41, "How long does delivery to Norway take?")
    system = f"{SYSTEM * 20}\nExample: {question.content}\n{SYSTEM * 20} {question.content}."
    texts: dict[str, str] = {}
    kept = MessageIndex([*CHAT, question])
    whole = body([question], system)
    folded = fold(whole, kept, texts)
    assert len(json.dumps(folded)) < 400
    assert unfold(json.loads(json.dumps(folded)), kept.by_id, texts) == whole
    _, digests = references(folded)
    assert digests == set(texts), "erasing a text finds those that still need it"


def test_a_window_of_messages_becomes_their_ids() -> None:
    folded, again = there_and_back(body(CHAT[10:31]))
    assert again == body(CHAT[10:31])
    assert isinstance(folded, list)
    [_, *messages] = folded[1]["messages"]
    assert messages == [{"~": "11-31"}]


def test_dropped_messages_are_a_gap_in_the_window() -> None:
    told = [*CHAT[2:8], *CHAT[12:14], CHAT[20]]
    folded, again = there_and_back(body(told))
    assert again == body(told)
    assert {"~": "3-8,13-14,21"} in folded[1]["messages"]  # type: ignore[index]
    assert references(folded)[0] == {one.id for one in told}


def test_the_system_prompt_is_a_text_that_calls_share() -> None:
    texts: dict[str, str] = {}
    for end in (5, 7, 9):
        fold(body(CHAT[:end]), MessageIndex(CHAT), texts)
    assert list(texts.values()) == [SYSTEM]


def test_an_answer_is_a_reference_also_when_it_was_stripped() -> None:
    for text in (CHAT[1].content, f"\n\n{CHAT[1].content} \n", f"```\n{CHAT[1].content}\n```"):
        choice = {"index": 0, "message": {"role": "assistant", "content": text}}
        whole = json.dumps({"id": "x", "choices": [choice]}).encode()
        folded, again = there_and_back(whole)
        assert again == whole
        assert CHAT[1].content not in json.dumps(folded, ensure_ascii=False)
        assert references(folded)[0] == {2}


@pytest.mark.parametrize("ascii_only", [True, False])
@pytest.mark.parametrize("separators", [(",", ":"), (", ", ": ")])
def test_every_usual_way_to_write_json_is_known(
    ascii_only: bool, separators: tuple[str, str]
) -> None:
    value = json.loads(body(CHAT[:21]))
    whole = json.dumps(value, ensure_ascii=ascii_only, separators=separators).encode()
    folded, again = there_and_back(whole)
    assert again == whole
    assert is_folded(folded)


@pytest.mark.parametrize(
    "whole",
    [
        b"",
        b"not JSON",
        b"\xff\xfe\x00",
        b'{"a": 1.00}',
        b'{"a": 1, "a": 2}',
        b'{"a":1}\n',
        b'{"a":"\\u00e9"}',
        b'{"a":"\\/"}',
        b'{"a":"\\ud83d"}',
        b'{"=":3}',
        b'{"a":{"~":"1-3"}}',
        b'[{"#":"x"}]',
        b'{"+":["a"]}',
        b'{"a":' * 5000,
        b"[" * 3000 + b"]" * 3000,
        b'{"n":' + b"9" * 5000 + b"}",
    ],
)
def test_a_body_of_an_unknown_form_is_kept_whole(whole: bytes) -> None:
    """Also if its values look like references."""
    folded, again = there_and_back(whole)
    assert again == whole
    assert whole == b'{"a":"\\u00e9"}' or not is_folded(folded)


def test_messages_with_more_than_role_and_content_are_not_mistaken() -> None:
    one = {"role": "user", "content": CHAT[0].content, "name": "x"}
    other = {"content": CHAT[0].content, "role": "user"}
    whole = json.dumps({"messages": [one, other]}, ensure_ascii=False).encode()
    assert there_and_back(whole)[1] == whole


def test_a_message_that_is_gone_or_was_edited_is_noticed() -> None:
    whole = body(CHAT[:5])
    texts: dict[str, str] = {}
    folded = fold(whole, MessageIndex(CHAT), texts)
    with pytest.raises(Unfoldable):
        unfold(folded, MessageIndex(CHAT[1:]).by_id, texts)
    with pytest.raises(Unfoldable):
        unfold(folded, MessageIndex(CHAT).by_id, {})
    edited = [message(1, "something else"), *CHAT[1:]]
    assert unfold(folded, MessageIndex(edited).by_id, texts) != whole


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(max_size=3) | st.sampled_from("=~#+"), inner, max_size=4)
    ),
    max_leaves=20,
)


@given(values, st.booleans(), st.lists(st.integers(0, 39), max_size=8))
def test_whatever_is_folded_comes_back(value: object, ascii_only: bool, window: list[int]) -> None:
    told = [{"role": CHAT[n].role, "content": CHAT[n].content} for n in window]
    whole = json.dumps({"messages": told, "more": value}, ensure_ascii=ascii_only)
    encoded = whole.encode(errors="surrogatepass")
    assert there_and_back(encoded)[1] == encoded


@given(st.binary(max_size=60))
def test_any_bytes_come_back(whole: bytes) -> None:
    assert there_and_back(whole)[1] == whole
