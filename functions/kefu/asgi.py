"""`kefu.asgi:app` for any ASGI server: the application that the environment describes."""

import gc

# Importing allocates much and frees nothing: collecting meanwhile would cost a tenth of the start.
gc.disable()

from kefu.assembly import build  # noqa: E402
from kefu.settings import load  # noqa: E402

service = build(load())
app = service.app

# Not looked at again, neither now nor later: what is here lives as long as the process.
gc.freeze()
gc.enable()
