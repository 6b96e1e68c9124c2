"""`kefu.asgi:app` for any ASGI server: the application that the environment describes."""

from kefu.assembly import build
from kefu.settings import load

app = build(load())
