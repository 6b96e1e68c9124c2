"""`kefu.lambda_handler.handler`: the application with buffered responses, for `sam local` and for
HTTP APIs, which cannot stream.

Accepts events of REST APIs (v1), HTTP APIs (v2) and function URLs. Deployments that stream use the
Lambda Web Adapter instead.
"""

import asyncio

from mangum import Mangum

from kefu.asgi import service
from kefu.web.buffered import Buffered

# Mangum uses the current event loop of the thread. Python 3.14 no longer creates one implicitly.
_loop = asyncio.new_event_loop()
asyncio.set_event_loop(_loop)

# The application starts once per process. Mangum's own lifespan would start and stop it for each
# event, which closes the store and the upstream connections.
_started = service.app.router.lifespan_context(service.app)
_loop.run_until_complete(_started.__aenter__())

handler = Mangum(Buffered(service.app), lifespan="off")


def _before_snapshot() -> None:
    """SnapStart: close the connections, because restored processes cannot share them."""
    _loop.run_until_complete(service.disconnect())


try:
    # `snapshot_restore_py` exists only in the Python runtimes of Lambda.
    from snapshot_restore_py import register_after_restore, register_before_snapshot
except ImportError:
    pass
else:
    register_before_snapshot(_before_snapshot)
    register_after_restore(service.reconnect)
