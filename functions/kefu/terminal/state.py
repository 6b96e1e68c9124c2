"""Files of the user that all sessions on this machine share."""

from __future__ import annotations

import os
from pathlib import Path


def state_file(name: str) -> Path:
    """The path of a state file; creates its directory. Raises OSError if that is impossible."""
    home = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")  # noqa: PTH111
    path = Path(home, "kefu", name)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    return path


def first_time(name: str) -> bool:
    """Whether this is the first call with this name on this machine.

    The first call creates a file. Always True if the file cannot be created.
    """
    try:
        os.close(os.open(state_file(name), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError:
        return False
    except OSError:
        return True
    return True
