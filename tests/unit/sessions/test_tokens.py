"""P35: a session token gives access to one session only."""

from __future__ import annotations

import re

from kefu.sessions.store.model import SessionId
from kefu.sessions.turn.tokens import ID_BYTES, SessionTokens, session_id

A, B = session_id(b"a" * ID_BYTES), session_id(b"b" * ID_BYTES)
OLD, NEW = "o" * 32, "n" * 32
DAY = 86400.0


def test_an_id_has_128_bits_of_the_randomness_it_was_given() -> None:
    assert re.fullmatch("[0-9a-f]{32}", A)
    assert bytes.fromhex(A) == b"a" * 16


def test_a_token_is_good_for_its_session_until_it_expires() -> None:
    tokens = SessionTokens([NEW], DAY)
    token = tokens.issue(A, 1000.0)
    assert tokens.owns(token, A, 1000.0)
    assert tokens.owns(token, A, 1000.0 + DAY - 1)
    assert not tokens.owns(token, A, 1000.0 + DAY)
    assert not tokens.owns(token, B, 1000.0)


def test_no_character_of_a_token_can_be_changed() -> None:
    tokens = SessionTokens([NEW], DAY)
    token = tokens.issue(A, 1000.0)
    for at in range(len(token)):
        changed = token[:at] + chr(ord(token[at]) ^ 1) + token[at + 1 :]
        # Two bits of the last Base64 character have no effect on the bytes, so tokens are compared
        # as text.
        assert not tokens.owns(changed, A, 1000.0), at
        assert not tokens.owns(token[:at], A, 1000.0)


def test_nonsense_is_no_token() -> None:
    tokens = SessionTokens([NEW], DAY)
    for text in ("", ".", "x", "9" * 5000, "99999999999.", ".abc", "ä.ö", "1e9.x", "\ud800"):
        if text != "\ud800":
            assert not tokens.owns(text, A, 0.0)
        assert not tokens.owns("1.x", SessionId(text), 0.0)


def test_secrets_are_rotated_without_ending_chats() -> None:
    """The first secret signs, and the second is still accepted; later it is not."""
    token = SessionTokens([OLD], DAY).issue(A, 0.0)
    rotating = SessionTokens([NEW, OLD], DAY)
    assert rotating.owns(token, A, 1.0)
    assert SessionTokens([NEW], DAY).owns(rotating.issue(A, 1.0), A, 2.0)
    assert not SessionTokens([NEW], DAY).owns(token, A, 1.0)


def test_d9_the_same_first_message_begins_the_same_session() -> None:
    tokens = SessionTokens([NEW], DAY)
    name = tokens.session_for("client-message-1", "203.0.113.7")
    assert name == SessionTokens([NEW, OLD], 1.0).session_for("client-message-1", "203.0.113.7")
    others = {
        tokens.session_for("client-message-2", "203.0.113.7"),
        tokens.session_for("client-message-1", "203.0.113.8"),
        SessionTokens([OLD], DAY).session_for("client-message-1", "203.0.113.7"),
    }
    assert name not in others
    assert len(others) == 3
    assert re.fullmatch("[0-9a-f]{32}", name)
