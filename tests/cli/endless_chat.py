"""`kefu chat` with two more tools in `TOOLS`, added as in docs/terminal.md. Neither ever ends."""

from __future__ import annotations

import sys
from types import MappingProxyType

from kefu.__main__ import main
from kefu.agent import tools
from tests.fakes.endless import hold_the_lock, spin

if __name__ == "__main__":
    added = {function.__name__: function for function in (spin, hold_the_lock)}
    tools.TOOLS = MappingProxyType({**tools.TOOLS, **added})
    sys.exit(main())
