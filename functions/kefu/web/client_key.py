"""The keys of clients that are no browsers: of `/v1`, and of assistants that search the pages."""

from __future__ import annotations

from starlette.requests import Request

from kefu.auth.client_keys import ClientKeys
from kefu.errors import Unauthorized
from kefu.web.caller import bearer_of
from kefu.web.request_record import record_of
from kefu.web.running import ChatRuntime


async def client_of(request: Request, runtime: ChatRuntime, keys: ClientKeys) -> str:
    """Return the name of the client's key; "" if no key is needed.

    Raises Unauthorized, and RateLimited after too many wrong keys from one address.
    """
    if not keys:
        return ""
    name = keys.name_of(bearer_of(request))
    if name is None:
        await runtime.admission.admit_wrong_key(runtime.gateway.address(request))
        raise Unauthorized("Send a valid key: `Authorization: Bearer ...`.")
    record_of(request.scope).facts["client"] = name
    return name
