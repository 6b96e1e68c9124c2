"""Records of calls: what is stored is read, and what cannot be read is named (P10, P33, M6)."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kefu.messages import Role
from kefu.sessions.store.model import CallRecord, SessionId, StoredMessage
from kefu.stores.folded_calls import Known, known
from kefu.stores.packed_calls import CallPlace, pack, unpack

PLACE = CallPlace(SessionId("s"), 3, 1, 1000.0)
CALL = CallRecord(
    *PLACE[:3], 1, PLACE[3], None, None, '{"host":"h"}', "stop", True, 0.25, 1.5, None, 20, 5
)


def none() -> Known:
    return Known({}, {})


def damaged(call: CallRecord) -> object:
    return json.loads(call.meta).get("damaged")


@given(st.none() | st.binary(), st.none() | st.text(st.characters()), st.text(st.characters()))
def test_call_comes_back_as_it_was(request: bytes | None, response: str | None, meta: str) -> None:
    """P10: a request that is no text, too, and lone surrogates, which some upstreams send."""
    call = CALL._replace(request=request, response=response, meta=json.dumps(meta))
    assert unpack(PLACE, pack(call), none) == call


def test_m6_a_record_damaged_at_any_byte_is_named() -> None:
    whole = pack(CALL._replace(request=b'{"messages":["What do boots cost?"]}', error='{"code":1}'))
    broken = [whole[:at] for at in range(len(whole))]
    broken += [whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1 :] for at in range(len(whole))]
    for one in broken:
        call = unpack(PLACE, one, none)
        assert damaged(call) == "This record is damaged: it cannot be read."
        assert (call.session_id, call.message_id, call.number) == ("s", 3, 1)
        assert (call.request, call.response, call.error) == (None, None, None)


FOLDED = b64decode(
    "eLuqxMaNQ82yxsRlWQMDAz0DcrOtkSlqxjXFyLlGBljTiyly1jXGzLokZtvC0sy0vEK3yHBt3zL/FG9/pVpQ9QHJykb4"
    "qpJqJW1QNREIcgnQfVYKSjrgrGEMjAmlWHAqzssvSUVkGOSMG+KlH+VqkmFYnOzrb+ZXkF9qVmpQGJaUnOlkWVqSnmtQ"
    "6pkTEBqRZRnlZQEuZrHkcrR8TEruNakFxTnQPYl5xeWgWFbyDC728DYJN1NCyXrQLJIBzNS1AGZssEE="
)
"""A record as commit 59040d0 stored it: it refers to messages and texts in all ways."""
NO_TEXT = b64decode(
    "eLuqxMaNQ82yxogsa4QnyxoYGOgZkJttjUxRM64pRs41MsCaXkyRsm61UlJicaqZCdBW/XKn0qRKJ4OoiAwDYA2AiETT"
    "iERH91In4xTHfM/IYq+QYl+zPFPDTKOostLcAo+8NEczX+cKi+Kc0qR8JZSEB00gGeAkjVwJQMv1CqBELQAyPGXo"
)
"""Another one, with a request that is no text."""
TEXTS = {
    "quifnqFYW+MvOdKO": b64decode(
        "eJyLzC9VSMwrLk8tUkjLL1Lwyy9Kyaks1lFIVCjOyC8AiyXl55cUAxWlgHkZiSXFegqR5GkDAIUOJtk="
    )
}
SAID = {
    1: "Do you ship to Norway? 挪威呢？ That is far.",
    2: "Yes: three to five working days.",
    3: "And what does it cost to Svalbard?",
    4: "Twenty euros, and a week more than to Norway.",
}
SYSTEM = "You answer for Nordlys, a shop for boots and for hats. " * 2


def chat(said: Mapping[int, str] = SAID, texts: Mapping[str, bytes] = TEXTS) -> Known:
    roles: tuple[Role, Role] = ("assistant", "user")
    messages = [
        StoredMessage(n, PLACE.session_id, roles[n % 2], text, "ok", 0.0)
        for n, text in said.items()
    ]
    return known(messages, texts.items())


def test_m6_a_record_of_an_earlier_version_is_read_byte_for_byte() -> None:
    call = unpack(PLACE, FOLDED, chat)
    request = json.loads(call.request or "")
    assert call.request == json.dumps(request).encode()
    assert request == {
        "model": "LongCat",
        "messages": [
            {"role": "system", "content": SYSTEM},
            {"role": "user", "content": SAID[1]},
            {"role": "assistant", "content": SAID[2]},
            {"role": "user", "content": f"Question: {SAID[3]}"},
        ],
        "note": SAID[2],
    }
    assert call.response is not None
    assert json.loads(call.response)["choices"][0]["message"]["content"] == SAID[4]
    assert call == CALL._replace(request=call.request, response=call.response)


def test_m6_an_earlier_request_that_is_no_text_is_read_byte_for_byte() -> None:
    call = unpack(PLACE._replace(number=2), NO_TEXT, none)
    assert call == CALL._replace(number=2, request=b"\xff\x00no text", error='{"code":"x"}')


@pytest.mark.parametrize(
    ("said", "texts", "what"),
    [
        ({**SAID, 4: "Another answer."}, TEXTS, "response"),
        ({**SAID, 2: "Another answer."}, TEXTS, "request"),
        ({**SAID, 1: ""}, {}, "request"),
        (SAID, {"quifnqFYW+MvOdKO": b"broken"}, "request"),
        ({}, {}, "request, response"),
    ],
)
def test_m6_a_text_missing_from_an_earlier_record_is_named(
    said: dict[int, str], texts: dict[str, bytes], what: str
) -> None:
    call = unpack(PLACE, FOLDED, lambda: chat(said, texts))
    assert json.loads(call.meta) == {
        "host": "h",
        "damaged": f"This record is damaged: {what} cannot be read.",
    }
    assert (call.request is None, call.response is None) == ("request" in what, "response" in what)
    assert (call.duration, call.finish_reason, call.prompt_tokens) == (1.5, "stop", 20)
