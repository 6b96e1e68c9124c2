"""`kefu chat` with two more tools in `TOOLS`, added as in docs/terminal.md. Neither ever ends.

`http_get` may fetch from this machine here, where a test has a server.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from types import MappingProxyType

from kefu.__main__ import main as kefu
from kefu.agent import tools
from kefu.upstream import public_web
from tests.fakes.endless import hold_the_lock, spin


def main(arguments: Sequence[str]) -> int:
    added = {function.__name__: function for function in (spin, hold_the_lock)}
    tools.TOOLS = MappingProxyType({**tools.TOOLS, **added})
    public_web.PublicWeb = partial(public_web.PublicWeb, lambda _: True)  # type: ignore[misc, assignment]
    return kefu(arguments)
