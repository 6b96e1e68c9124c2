"""`kefu.lambda_handler.handler`: the same application, answering whole, for `sam local` and
HTTP APIs. REST (v1), HTTP (v2) and Function URL events; streaming goes through the Web Adapter.
"""

import asyncio

from mangum import Mangum

from kefu.asgi import app

# Mangum runs each event on the thread's current loop; newer Pythons no longer make one by itself.
asyncio.set_event_loop(asyncio.new_event_loop())

handler = Mangum(app)
