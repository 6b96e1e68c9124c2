"""S8: a command signs what it sends, and a check opens nothing but the bot check."""

from __future__ import annotations

import pytest

from kefu.auth.admin_tokens import COMMAND_LIFE, AdminTokens, Kind

TOKEN = "operator-token-5f3c9a7e1b-6d20c81f"


@pytest.mark.parametrize(("kind", "panel"), [("pass", True), ("check", False)])
def test_s8_a_check_does_not_open_the_panel_and_both_end_soon(kind: Kind, panel: bool) -> None:
    tokens = AdminTokens(TOKEN)
    signed = tokens.issue("a1", 1000.0, COMMAND_LIFE, kind)
    assert TOKEN not in signed
    assert (tokens.admits(signed, 1000.0), tokens.admits_check(signed, 1000.0)) == (panel, True)
    assert tokens.redeem(signed, 1000.0) is None
    later = 1000.0 + COMMAND_LIFE
    assert (tokens.admits(signed, later), tokens.admits_check(signed, later)) == (False, False)
    assert not AdminTokens("x" * 40).admits_check(signed, 1000.0)


def test_s8_the_token_and_a_pass_are_good_for_the_bot_check_and_a_ticket_is_not() -> None:
    tokens = AdminTokens(TOKEN)
    for bearer, is_good in (
        (TOKEN, True),
        (tokens.issue("a1", 1000.0), True),
        (tokens.ticket("a1", 1000.0), False),
        ("check.9999999999.a1.x", False),
        ("", False),
    ):
        assert tokens.admits_check(bearer, 1000.0) is is_good
