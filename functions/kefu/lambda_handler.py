"""`kefu.lambda_handler.handler`: the same application, answering whole, for `sam local` and
HTTP APIs. REST (v1), HTTP (v2) and Function URL events; streaming goes through the Web Adapter.
"""

import asyncio

from mangum import Mangum

from kefu.asgi import app

# Mangum runs each event on the thread's current loop; newer Pythons no longer make one by itself.
_loop = asyncio.new_event_loop()
asyncio.set_event_loop(_loop)

# An instance starts once. Mangum would start and stop the application around every event, and
# with it close the store and the connections to the model.
_started = app.router.lifespan_context(app)
_loop.run_until_complete(_started.__aenter__())

handler = Mangum(app, lifespan="off")
