"""The environment of a child process: a short list of variables, so that it inherits no secret.

The environment of a service contains API keys and tokens. The variables of a process can be read in
`/proc`, by its debugger and by each program that it starts.
"""

from __future__ import annotations

import os
import sys

_NAMES = frozenset(
    {
        "DYLD_LIBRARY_PATH",
        "HOME",
        "LANG",
        "LD_LIBRARY_PATH",
        "PATH",
        "PYTHONHOME",
        "SYSTEMROOT",  # Windows cannot create sockets without SYSTEMROOT
        "TEMP",
        "TMP",
        "TMPDIR",
        "TZ",
    }
)


def child_environment() -> dict[str, str]:
    """The variables that Python, its libraries and the locale need.

    Start the child with `-P`. The child then has the import path of this process; without `-P`
    Python would also import from the working directory, which may contain other people's files.
    """
    inherited = {
        name: value
        for name, value in os.environ.items()
        if name in _NAMES or name.startswith("LC_")
    }
    return {**inherited, "PYTHONPATH": os.pathsep.join(sys.path)}
