"""Whose request is it? Never what a client can write itself."""

from __future__ import annotations

from starlette.requests import Request


def client_address(request: Request, trusted_hops: int) -> str:
    """The address limits are counted by.

    Behind API Gateway it is the request context's (Mangum puts it into the scope), else the
    peer's. With `trusted_hops` own proxies in front it is that entry of X-Forwarded-For, counted
    from the right: everything further left is the client's word.
    """
    if trusted_hops and "aws.event" not in request.scope:
        chain = ",".join(request.headers.getlist("x-forwarded-for")).split(",")
        hops = [part.strip() for part in chain if part.strip()]
        if len(hops) >= trusted_hops:
            return hops[-trusted_hops]
    return request.client.host if request.client else "unknown"
