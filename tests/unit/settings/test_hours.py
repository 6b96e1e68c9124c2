"""H26: opening hours, and the ready replies of operators."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest

from kefu.settings import ConfigurationError, Settings, load
from kefu.settings.hours import opening_hours
from kefu.settings.replies import MAX_REPLIES, ReadyReply, replies_in

WEEK = "Mon-Fri 09:00-12:00, mon-fri 13:00-18:00, Sat 10:00-14:00 Europe/Berlin"


def opening(hours: str, now: str) -> str | None:
    return opening_hours(hours).next_opening(datetime.fromisoformat(now).timestamp())


@pytest.mark.parametrize(
    ("now", "opens"),
    [
        # 2026-11-25 is a Wednesday.
        ("2026-11-25T08:59:59+01:00", "2026-11-25T09:00:00+01:00"),
        ("2026-11-25T09:00:00+01:00", None),
        ("2026-11-25T11:59:59+01:00", None),
        ("2026-11-25T12:00:00+01:00", "2026-11-25T13:00:00+01:00"),
        ("2026-11-25T16:59:59+00:00", None),
        ("2026-11-25T18:00:00+01:00", "2026-11-26T09:00:00+01:00"),
        ("2026-11-27T23:00:00+00:00", "2026-11-28T10:00:00+01:00"),
        ("2026-11-28T14:00:00+01:00", "2026-11-30T09:00:00+01:00"),
        # Summer time ends in the night to Sunday, 25 October, and begins on 29 March.
        ("2026-10-24T20:00:00+02:00", "2026-10-26T09:00:00+01:00"),
        ("2026-03-28T20:00:00+01:00", "2026-03-30T09:00:00+02:00"),
        # The visitor's clock is ahead of the shop's by a day.
        ("2026-11-30T05:00:00+13:00", "2026-11-30T09:00:00+01:00"),
    ],
)
def test_h26_the_next_opening_is_in_the_time_zone_of_the_shop(now: str, opens: str | None) -> None:
    assert opening(WEEK, now) == opens


def test_h26_days_go_on_over_sunday_and_times_until_midnight() -> None:
    hours = "Sun-Mon 20:00-24:00 Asia/Shanghai"
    assert opening(hours, "2026-11-29T23:59:59+08:00") is None
    assert opening(hours, "2026-11-30T00:00:00+08:00") == "2026-11-30T20:00:00+08:00"
    assert opening(hours, "2026-12-01T00:00:00+08:00") == "2026-12-06T20:00:00+08:00"
    always = "Mon-Sun 00:00-24:00 UTC"
    assert opening(always, "2026-11-30T00:00:00+00:00") is None
    # Today's hours are over, and they are the only ones of the week.
    assert opening("Mon 09:00-10:00 UTC", "2026-11-30T10:00:00Z") == "2026-12-07T09:00:00+00:00"


def test_h26_an_hour_that_comes_twice_is_open_for_two_hours() -> None:
    """In Berlin it is 02:30 twice on 25 October 2026."""
    hours = "Sun 02:00-03:00 Europe/Berlin"
    assert opening(hours, "2026-10-25T02:30:00+02:00") is None
    assert opening(hours, "2026-10-25T02:30:00+01:00") is None
    assert opening(hours, "2026-10-25T03:00:00+01:00") == "2026-11-01T02:00:00+01:00"


@pytest.mark.parametrize(
    ("hours", "said"),
    [
        ("Mon-Fri 09:00-18:00", "'09:00-18:00' is not a known time zone"),
        ("Mon-Fri 09:00-18:00 Europe/Nowhere", "'Europe/Nowhere' is not a known time zone"),
        ("Mon-Fri 09:00-18:00 Europe", "'Europe' is not a known time zone"),
        ("Mon-Fri 09:00-18:00 ../etc/passwd", "is not a known time zone"),
        ("Europe/Berlin", "'' is not"),
        ("Mon-Fri 9-18 Europe/Berlin", "'Mon-Fri 9-18' is not"),
        ("Mo-Fr 09:00-18:00 Europe/Berlin", "'Mo-Fr 09:00-18:00' is not"),
        ("Mon-Son 09:00-18:00 Europe/Berlin", "'Son' is not a day"),
        ("Mon 09:00-24:01 Europe/Berlin", "24:01 is not a time of day"),
        ("Mon 09:60-18:00 Europe/Berlin", "09:60 is not a time of day"),
        ("Mon 18:00-09:00 Europe/Berlin", "must close later on the same day than it opens"),
        ("Mon 09:00-18:00,, Tue 09:00-18:00 Europe/Berlin", "'' is not"),
    ],
)
def test_h26_hours_that_are_not_understood_stop_the_start(hours: str, said: str) -> None:
    with pytest.raises(ConfigurationError) as error:
        load({"KEFU_CONTACT_HOURS": hours})
    assert said in str(error.value)


def test_h26_replies_are_the_texts_below_the_headings_of_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "kefu.toml").write_text('[contact]\nreplies = "@replies.md"\n')
    text = "# Hello\n\nHello! I am #1 here.\n\n## Back soon \r\nA minute,\r\nplease.\n"
    (tmp_path / "replies.md").write_text(text, newline="")
    hello, soon = load().replies
    assert hello == ReadyReply("Hello", "Hello! I am #1 here.")
    assert (soon.name, soon.text.splitlines()) == ("Back soon", ["A minute,", "please."])
    assert Settings().replies == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Hello\n# One\ntext", "must begin with a heading"),
        ("# One\n# Two\ntext", "not so at 'One'"),
        (f"# {'n' * 61}\ntext", "at most 60 characters"),
        (f"# One\n{'t' * 4001}", "at most 4000"),
        ("# One\ntext\n" * (MAX_REPLIES + 1), "at most 20 replies; it has 21"),
    ],
)
def test_h26_replies_that_cannot_be_used_stop_the_start(text: str, said: str) -> None:
    with pytest.raises(ConfigurationError) as error:
        load({"KEFU_CONTACT_REPLIES": text})
    assert said in str(error.value)
    assert len(replies_in("# One\ntext\n" * MAX_REPLIES)) == MAX_REPLIES
