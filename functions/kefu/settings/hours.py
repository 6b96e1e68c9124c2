"""Parses opening hours, and finds the time of the next opening."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import date, datetime, timedelta, tzinfo
from typing import NamedTuple

_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_RANGE = re.compile(r"(\w{3})(?:-(\w{3}))? (\d\d):(\d\d)-(\d\d):(\d\d)")
_FORM = "must be such as Mon-Fri 09:00-18:00, Sat 10:00-14:00 Europe/Berlin"
_SEARCHED_DAYS = 8
"""Today and a week: the hours of today may be over."""


class _Range(NamedTuple):
    days: frozenset[int]
    """0 is Monday."""
    opens: timedelta
    closes: timedelta
    """Times of day, up to 24 hours."""


class OpeningHours(NamedTuple):
    ranges: Sequence[_Range]
    zone: tzinfo

    def next_opening(self, now: float) -> str | None:
        """When it opens, such as `2026-01-31T09:00:00+01:00`; None if it is open.

        `now` is Unix time in seconds.
        """
        today = datetime.fromtimestamp(now, self.zone).date()
        days = [today + timedelta(days=number) for number in range(_SEARCHED_DAYS)]
        times = [one for day in days for one in self._on(day)]
        # As timestamps: times of one zone are compared without their offsets from UTC.
        if any(opens.timestamp() <= now < closes.timestamp() for opens, closes in times):
            return None
        return min(opens for opens, _ in times if opens.timestamp() > now).isoformat()

    def _on(self, day: date) -> Iterator[tuple[datetime, datetime]]:
        begin = datetime(day.year, day.month, day.day)  # noqa: DTZ001 - the zone is set below
        for one in self.ranges:
            if day.weekday() in one.days:
                opens, closes = begin + one.opens, begin + one.closes
                yield opens.replace(tzinfo=self.zone), closes.replace(tzinfo=self.zone)


def opening_hours(text: str) -> OpeningHours:
    """Parse hours such as `Mon-Fri 09:00-18:00, Sat 10:00-14:00 Europe/Berlin`.

    Raises ValueError, with a sentence for the owner.
    """
    ranges, _, name = text.strip().rpartition(" ")
    zone = _zone(name)  # first: a text without a zone has another reason than its ranges
    return OpeningHours([_range(one.strip()) for one in ranges.split(",")], zone)


def _zone(name: str) -> tzinfo:
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError  # here: few services have hours

    try:
        return ZoneInfo(name)
    # IsADirectoryError is of a name such as Europe.
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError(f"{_FORM}: {name!r} is not a known time zone") from None


def _range(text: str) -> _Range:
    found = _RANGE.fullmatch(text)
    if not found:
        raise ValueError(f"{_FORM}: {text!r} is not")
    first, last = (_day(one) for one in (found[1], found[2] or found[1]))
    opens, closes = _time(found[3], found[4]), _time(found[5], found[6])
    if opens >= closes:
        raise ValueError(f"{text!r} must close later on the same day than it opens")
    days = frozenset((first + number) % 7 for number in range((last - first) % 7 + 1))
    return _Range(days, opens, closes)


def _day(name: str) -> int:
    if name.casefold() not in _DAYS:
        raise ValueError(f"{_FORM}: {name!r} is not a day")
    return _DAYS.index(name.casefold())


def _time(hours: str, minutes: str) -> timedelta:
    time = timedelta(hours=int(hours), minutes=int(minutes))
    if int(minutes) > 59 or time > timedelta(hours=24):
        raise ValueError(f"{_FORM}: {hours}:{minutes} is not a time of day")
    return time
