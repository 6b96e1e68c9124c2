"""T17: the passes of the bot check."""

from __future__ import annotations

from kefu.auth.bot_check import Passes

NOW = 1_800_000_000.0


def test_a_pass_is_good_until_it_expires() -> None:
    passes = Passes("secret", 60)
    issued = passes.issue("192.0.2.1", NOW)
    assert passes.good(issued, "192.0.2.1", NOW)
    assert passes.good(issued, "192.0.2.1", NOW + 59)
    assert not passes.good(issued, "192.0.2.1", NOW + 60)


def test_a_pass_of_another_secret_or_address_is_not() -> None:
    issued = Passes("secret", 60).issue("192.0.2.1", NOW)
    assert not Passes("other", 60).good(issued, "192.0.2.1", NOW)
    assert not Passes("secret", 60).good(issued, "192.0.2.2", NOW)


def test_a_pass_tells_neither_secret_nor_address() -> None:
    issued = Passes("secret", 60).issue("192.0.2.1", NOW)
    assert "secret" not in issued
    assert "192.0.2.1" not in issued


def test_nonsense_is_no_pass() -> None:
    passes = Passes("secret", 60)
    for text in ("", ".", "1", "1.", ".x", "x.y", "1800000060", "９.é", "a" * 128):
        assert not passes.good(text, "192.0.2.1", NOW)
