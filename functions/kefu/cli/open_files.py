"""Raises the limit of open files and sockets of this process."""

from __future__ import annotations


def raise_limit() -> int | None:
    """Raise the soft limit to the hard limit. Returns the new limit, or None if there is none.

    Shells and systemd set a soft limit of 1024, and each answer takes two sockets.
    """
    try:
        import resource
    except ModuleNotFoundError:  # Windows
        return None
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    except (OSError, ValueError):  # macOS reports no hard limit, but refuses high values
        hard = soft
    return None if hard == resource.RLIM_INFINITY else hard
