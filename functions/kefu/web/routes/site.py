"""Serves the widget's script, the demo pages, `/health` and `/ready`."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence

from fastapi import APIRouter, Response

from kefu.web.files import STATIC, TYPES, StaticFile, serve, serve_all
from kefu.web.json_response import JsonResponse, JsonRoute
from kefu.web.openapi import json_response
from kefu.web.schemas import Health, Problem, Ready

NOT_BUILT = (
    "The chat widget is not built, so /chat-widget.js is answered 404. Install Node.js 20.19 or "
    "newer from https://nodejs.org, then run `make setup` in Kefu's source tree, or install Kefu "
    "from a wheel."
)

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

_HASHED = re.compile(r"\.[\w-]{12}\.")
"""Matches file names with a content hash. A hashed file never changes, so caches may keep it."""

# Sent without an Origin too, because a shared cache may reuse the response for other origins.
_FOR_ALL_SITES = {
    "Access-Control-Allow-Origin": "*",
    "Cross-Origin-Resource-Policy": "cross-origin",
}


def widget_is_built() -> bool:
    return (STATIC / "widget" / "chat-widget.js").is_file()


def _page_policy(name: str) -> str:
    # The playground and the gallery load the stage page in their iframes.
    framed_by = "'self'" if name == "stage.html" else "'none'"
    return _PAGE_POLICY.format(frames=_FRAMES.get(name, ""), framed_by=framed_by)


def site_routes(
    health: Callable[[], Health],
    problems: Callable[[], Awaitable[Sequence[Problem]]],
    missing: Callable[[], Awaitable[Sequence[str]]] | None = None,
    *,
    demo: bool,
) -> APIRouter:
    router = APIRouter(tags=["site"], route_class=JsonRoute)

    @router.head("/health", include_in_schema=False)
    @router.get("/health", summary="Is it up, and who answers?")
    async def get_health() -> Health:
        return health()

    @router.head("/ready", include_in_schema=False)
    @router.get(
        "/ready",
        summary="Can it answer a chat now?",
        responses={200: json_response("Ready"), 503: json_response("Ready")},
    )
    async def get_ready() -> Response:
        # `/health` says that the process is alive, also while it waits for its keys.
        found = await problems()
        ready = Ready(ready=not found, problems=list(found))
        if missing and (notes := await missing()):  # chats are answered all the same
            ready["notes"] = list(notes)
        return JsonResponse(ready, 503 if found else 200)

    serve_all(router, "/chat-widget", _widget_files())
    if demo:
        samples = sorted((STATIC / "sample").glob("*.html"))
        pages = {path: STATIC / name for path, name in _PAGES.items()}
        for path, page in {**pages, **{f"/sample/{one.name}": one for one in samples}}.items():
            if page.is_file():  # the gallery is in a source tree alone
                policy = {"Content-Security-Policy": _page_policy(page.name)}
                serve(router, path, StaticFile(page, "no-cache", policy))
        for asset in (*STATIC.glob("*.css"), *STATIC.glob("*.js")):
            serve(router, f"/{asset.name}", StaticFile(asset, "no-cache"))
    return router


def _widget_files() -> dict[str, StaticFile]:
    """The files of the widget by their paths."""
    files = {}
    for built in (STATIC / "widget").glob("chat-widget*.js*"):
        if built.suffix in TYPES:
            hashed = _HASHED.search(built.name)
            cache = "public, max-age=31536000, immutable" if hashed else "public, max-age=3600"
            files[f"/{built.name}"] = StaticFile(built, cache, _FOR_ALL_SITES)
    return files
