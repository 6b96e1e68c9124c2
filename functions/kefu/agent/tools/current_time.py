"""A tool for the current date and time, which a model does not know."""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo

from kefu.agent.tools.workplace import Workplace
from kefu.errors import ToolFailed


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
    # Raised for unknown names, directories, paths with `..` and names that are too long.
    except (KeyError, ValueError, OSError) as error:
        raise ToolFailed(f"no time zone is called {name[:80]!r}; one is Asia/Shanghai") from error
