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


def oidc_routes(panel: Panel, provider: OidcSignIn, own_url: str) -> APIRouter:
    """`own_url`: the public address of this service."""
    router = APIRouter(prefix=PATH, route_class=JsonRoute, include_in_schema=False)
    sign_in = _SignIn(panel, provider, own_url.rstrip("/"))

    @router.get("")
    async def begin(request: Request) -> RedirectResponse:
        return await sign_in.or_refused(request, sign_in.begun())

    @router.get("/callback")
    async def callback(request: Request) -> RedirectResponse:
        """The way back from the provider. The panel exchanges the ticket as that of a link."""
        return await sign_in.or_refused(request, sign_in.ended(request))

    return router


class _SignIn:
    """The redirects of a sign-in."""

    def __init__(self, panel: Panel, provider: OidcSignIn, own_url: str) -> None:
        self._panel = panel
        self._provider = provider
        self._own_url = own_url
        self._redirect = f"{own_url}{PATH}/callback"
        self._cookie_path = f"{urlsplit(own_url).path}{PATH}"

    async def begun(self) -> RedirectResponse:
        state = await self._panel.new_state()
        answer = _leading_to(await self._provider.address(state, self._redirect))
        answer.set_cookie(
            *(COOKIE, state, COOKIE_SECONDS),
            path=self._cookie_path,
            secure=self._own_url.startswith("https:"),
            httponly=True,
            samesite="lax",  # the way back comes from the provider's site
        )
        return answer

    async def ended(self, request: Request) -> RedirectResponse:
        query = request.query_params
        state = query.get("state", "")
        await self._panel.check_state(request, state, request.cookies.get(COOKIE, ""))
        if refusal := query.get("error"):
            raise NotAnOperator(f"The provider has refused: {refusal[:100]}.")
        holder = await self._provider.holder(query.get("code", ""), state, self._redirect)
        answer = _leading_to(f"{self._own_url}/admin#ticket={self._panel.ticket_for(holder)}")
        answer.delete_cookie(COOKIE, self._cookie_path)
        return answer

    async def or_refused(
        self, request: Request, work: Awaitable[RedirectResponse]
    ) -> RedirectResponse:
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
            self._panel.runtime.log.notice(f"A sign-in was refused: {error}")
            return _leading_to(f"{self._own_url}/admin#refused={error.code}")


def _leading_to(place: str) -> RedirectResponse:
    headers = {"Cache-Control": "no-store", "Referrer-Policy": "no-referrer"}
    return RedirectResponse(place, 303, headers)
