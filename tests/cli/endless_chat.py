"""`kefu chat` with two more tools in `TOOLS`, added as in docs/terminal.md. Neither ever ends.

`http_get` may fetch from this machine here, where a test has a server.
"""

from __future__ import annotations

import sys
from functools import partial
from types import MappingProxyType

from kefu.__main__ import main
from kefu.agent import tools
from kefu.upstream import public_web
from tests.fakes.endless import hold_the_lock, spin

if __name__ == "__main__":
    added = {function.__name__: function for function in (spin, hold_the_lock)}
    tools.TOOLS = MappingProxyType({**tools.TOOLS, **added})
    public_web.PublicWeb = partial(public_web.PublicWeb, lambda _: True)  # type: ignore[misc, assignment]
    sys.exit(main())
