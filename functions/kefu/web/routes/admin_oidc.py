"""`/admin/api/oidc`: an operator signs in with the owner's OpenID provider (H24)."""

from __future__ import annotations

from collections.abc import Awaitable
from urllib.parse import urlsplit

from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse

from kefu.auth.oidc import OidcSignIn
from kefu.errors import KefuError, NotAnOperator, StoreUnavailable, UpstreamUnavailable
from kefu.web.admin.panel import Panel
from kefu.web.json_response import JsonRoute
from kefu.web.request_record import record_of

PATH = "/admin/api/oidc"
COOKIE = "kefu-sign-in"
COOKIE_SECONDS = 600


def oidc_routes(panel: Panel, sign_in: OidcSignIn, own_url: str) -> APIRouter:
    """`own_url`: the public address of this service."""
    router = APIRouter(prefix=PATH, route_class=JsonRoute, include_in_schema=False)
    own_url = own_url.rstrip("/")
    redirect, is_secure = f"{own_url}{PATH}/callback", own_url.startswith("https:")
    cookie_path = f"{urlsplit(own_url).path}{PATH}"

    def leading_to(place: str) -> RedirectResponse:
        headers = {"Cache-Control": "no-store", "Referrer-Policy": "no-referrer"}
        return RedirectResponse(place, 303, headers)

    async def or_refused(request: Request, work: Awaitable[RedirectResponse]) -> RedirectResponse:
        """The response, or one that leads to the panel's sign-in, which says why.

        The address has only the error's code: it could be a link that somebody else has made.
        """
        try:
            return await work
        except (KefuError, StoreUnavailable) as failure:
            error = failure
            if not isinstance(error, KefuError):
                error = UpstreamUnavailable(str(failure), retry_after=1)
            record_of(request.scope).failed(error)
            panel.runtime.log.notice(f"A sign-in was refused: {error}")
            return leading_to(f"{own_url}/admin#refused={error.code}")

    async def begun() -> RedirectResponse:
        state = await panel.new_state()
        answer = leading_to(await sign_in.address(state, redirect))
        answer.set_cookie(
            *(COOKIE, state, COOKIE_SECONDS),
            path=cookie_path,
            secure=is_secure,
            httponly=True,
            samesite="lax",  # the way back comes from the provider's site
        )
        return answer

    async def ended(request: Request) -> RedirectResponse:
        query = request.query_params
        state = query.get("state", "")
        await panel.check_state(request, state, request.cookies.get(COOKIE, ""))
        if refusal := query.get("error"):
            raise NotAnOperator(f"The provider has refused: {refusal[:100]}.")
        holder = await sign_in.holder(query.get("code", ""), state, redirect)
        answer = leading_to(f"{own_url}/admin#ticket={panel.ticket_for(holder)}")
        answer.delete_cookie(COOKIE, cookie_path)
        return answer

    @router.get("")
    async def begin(request: Request) -> RedirectResponse:
        return await or_refused(request, begun())

    @router.get("/callback")
    async def callback(request: Request) -> RedirectResponse:
        """The way back from the provider. The panel exchanges the ticket as that of a link."""
        return await or_refused(request, ended(request))

    return router
