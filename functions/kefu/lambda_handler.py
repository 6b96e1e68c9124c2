"""`kefu.lambda_handler.handler`: the same application, answering whole, for `sam local` and
HTTP APIs. REST (v1), HTTP (v2) and Function URL events; streaming goes through the Web Adapter.
"""

import asyncio

from mangum import Mangum

from kefu.asgi import service
from kefu.web.buffered import Buffered

# Mangum runs each event on the thread's current loop; newer Pythons no longer make one by itself.
_loop = asyncio.new_event_loop()
asyncio.set_event_loop(_loop)

# An instance starts once. Mangum would start and stop the application around every event, and
# with it close the store and the connections to the model.
_started = service.app.router.lifespan_context(service.app)
_loop.run_until_complete(_started.__aenter__())

handler = Mangum(Buffered(service.app), lifespan="off")


def _before_snapshot() -> None:
    """SnapStart: no copy of this instance may go on with a connection of the original."""
    _loop.run_until_complete(service.disconnect())


try:
    # In Lambda's own Python runtimes; in no package.
    from snapshot_restore_py import register_after_restore, register_before_snapshot
except ImportError:
    pass
else:
    register_before_snapshot(_before_snapshot)
    register_after_restore(service.reconnect)
