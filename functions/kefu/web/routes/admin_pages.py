"""`POST /admin/api/pages`: learns one address now, such as for the save hook of a CMS (G34)."""

from __future__ import annotations

from fastapi import APIRouter, Depends, Request

from kefu.errors import NotFound
from kefu.web.admin.panel import Panel, panel_router
from kefu.web.admin.view import Json
from kefu.web.body import JsonBody
from kefu.web.options import BodyLimits
from kefu.web.schemas import PageBody


def pages_routes(panel: Panel) -> APIRouter:
    router = panel_router(panel, "/pages")
    limits = BodyLimits(4096, 2, panel.runtime.options.body.seconds)
    body = Depends(JsonBody(PageBody, limits).read)

    @router.post("")
    async def learn(request: Request, page: PageBody = body) -> Json:
        if panel.learn_page is None:
            raise NotFound("This server has no file of learnt pages that it may add to.")
        panel.audit(request, "learn page")
        kind, reason = await panel.learn_page(page.url)
        return {"url": page.url, "outcome": kind, "reason": reason}

    return router
