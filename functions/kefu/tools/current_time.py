"""Tells the time, which no model knows by itself."""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo

from kefu.errors import ToolFailed
from kefu.tools.workplace import Workplace


async def current_time(place: Workplace, zone: str = "") -> str:
    """Tell the date and time, here or in a time zone such as Asia/Shanghai."""
    moment = datetime.fromtimestamp(place.now(), _zone(zone) if zone else UTC)
    if not zone:
        moment = moment.astimezone()
    return f"{moment.isoformat(timespec='seconds')} ({moment:%A})"


def _zone(name: str) -> tzinfo:
    from zoneinfo import ZoneInfo

    try:
        return ZoneInfo(name.strip())
    # Also: a folder of zones, a name that leads out of them, one that is too long for a path.
    except (KeyError, ValueError, OSError) as error:
        raise ToolFailed(f"no time zone is called {name[:80]!r}; one is Asia/Shanghai") from error
