"""What a browser loads: the widget's script, the demo page; and `/health`."""

from __future__ import annotations

import re
from collections.abc import Callable

from fastapi import APIRouter, Response
from starlette.responses import JSONResponse

from kefu import __version__
from kefu.web.files import STATIC, TYPES, StaticFile, serve
from kefu.web.openapi import json_response
from kefu.web.schemas import Health, Kind

_PAGES = {
    "/": "demo.html",
    "/playground": "playground.html",
    "/gallery": "gallery.html",
    "/stage": "stage.html",
}
_FRAMES = {"playground.html": "frame-src 'self'; ", "gallery.html": "frame-src 'self'; "}
_PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; {frames}base-uri 'none'; form-action 'none'; frame-ancestors {framed_by}"
)

_HASHED = re.compile(r"\.[0-9a-f]{12}\.")
"""Named by what it holds, and so for good."""

# Always, not only for a request with an Origin: a shared cache may answer one with the other.
_FOR_ALL_SITES = {
    "Access-Control-Allow-Origin": "*",
    "Cross-Origin-Resource-Policy": "cross-origin",
}


def _page_policy(name: str) -> str:
    # The stage is what the playground and the gallery show in their frames.
    framed_by = "'self'" if name == "stage.html" else "'none'"
    return _PAGE_POLICY.format(frames=_FRAMES.get(name, ""), framed_by=framed_by)


def site_routes(health: Callable[[], Health], *, demo: bool) -> APIRouter:
    router = APIRouter(tags=["site"])

    @router.get(
        "/health",
        summary="Is it up, and who answers?",
        responses={200: json_response(Health)},
        response_model=None,
    )
    async def get_health() -> Response:
        return JSONResponse(health())

    for built in sorted((STATIC / "widget").glob("chat-widget*.js*")):
        if built.suffix not in TYPES:
            continue
        hashed = _HASHED.search(built.name)
        cache = "public, max-age=31536000, immutable" if hashed else "public, max-age=300"
        serve(router, f"/{built.name}", StaticFile(built, cache, _FOR_ALL_SITES))
    if demo:
        for path, page in _PAGES.items():
            policy = {"Content-Security-Policy": _page_policy(page)}
            serve(router, path, StaticFile(STATIC / page, "no-cache", policy))
        for asset in (*STATIC.glob("*.css"), *STATIC.glob("*.js")):
            serve(router, f"/{asset.name}", StaticFile(asset, "no-cache"))
    return router


def health_of(*, keys: bool, model: str, upstream: Kind, notice: str, sessions: bool) -> Health:
    return {
        "status": "ok" if keys else "degraded",
        "version": __version__,
        "model": model,
        "upstream": upstream,
        "sessions": sessions,
        "notice": notice,
    }
