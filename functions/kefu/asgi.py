"""`kefu.asgi:app` for any ASGI server: the application that the environment describes."""

import gc

# Importing allocates much and frees nothing: collecting meanwhile would cost a tenth of the start.
gc.disable()

from kefu.assembly import build  # noqa: E402
from kefu.settings import load  # noqa: E402

app = build(load()).app
gc.enable()
