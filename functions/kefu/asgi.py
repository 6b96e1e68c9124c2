"""`kefu.asgi:app` for any ASGI server: the application, built from the environment's settings."""

import gc

# Imports allocate many objects and free few. Garbage collection would make the start 10 % slower.
gc.disable()

from kefu.bootstrap.service import build  # noqa: E402
from kefu.settings import load  # noqa: E402

service = build(load())
app = service.app

# The objects that exist now live as long as the process, so the collector can ignore them.
gc.freeze()
gc.enable()
