"""What a browser loads: the widget's script, the demo page; and `/health`."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path

from fastapi import APIRouter, Request, Response
from starlette.responses import JSONResponse

from kefu import __version__
from kefu.web.openapi import json_response
from kefu.web.schemas import Health

_STATIC = Path(__file__).parent.parent / "static"
_TYPES = {
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".json": "application/json",
}
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

_CODINGS = {"br": ".br", "gzip": ".gz"}
"""What the widget's build has packed already, best first."""


# Always, not only for a request with an Origin: a shared cache may answer one with the other.
_FOR_ALL_SITES = {
    "Access-Control-Allow-Origin": "*",
    "Cross-Origin-Resource-Policy": "cross-origin",
}


class _File:
    """A file of the package and its packed siblings, each read once, served with its ETag."""

    def __init__(self, path: Path, cache: str, headers: Mapping[str, str] | None = None) -> None:
        self._headers = headers or {}
        self._path = path
        self._cache = cache
        self._codings = [name for name, end in _CODINGS.items() if _packed(path, end).is_file()]
        self._read: dict[str, tuple[bytes, str]] = {}

    def response(self, request: Request) -> Response:
        coding = self._coding(request.headers.get("accept-encoding", ""))
        content, etag = self._content(coding)
        headers = {"ETag": etag, "Cache-Control": self._cache, **self._headers}
        if self._codings:
            headers["Vary"] = "Accept-Encoding"
        if request.headers.get("if-none-match") == etag:
            return Response(status_code=304, headers=headers)
        if coding:
            headers["Content-Encoding"] = coding
        if self._path.suffix == ".html":
            headers["Content-Security-Policy"] = _page_policy(self._path.name)
        return Response(content, headers=headers, media_type=_TYPES[self._path.suffix])

    def _coding(self, accepted: str) -> str:
        offers = [part.replace(" ", "").lower().partition(";q=") for part in accepted.split(",")]
        names = {name for name, _, weight in offers if weight.strip("0.") or not weight}
        return next((coding for coding in self._codings if coding in names), "")

    def _content(self, coding: str) -> tuple[bytes, str]:
        if coding not in self._read:
            content = _packed(self._path, _CODINGS.get(coding, "")).read_bytes()
            etag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
            self._read[coding] = (content, etag)
        return self._read[coding]


def _page_policy(name: str) -> str:
    # The stage is what the playground and the gallery show in their frames.
    framed_by = "'self'" if name == "stage.html" else "'none'"
    return _PAGE_POLICY.format(frames=_FRAMES.get(name, ""), framed_by=framed_by)


def _packed(path: Path, end: str) -> Path:
    return path.with_name(path.name + end)


def site_routes(health: Callable[[], Health], *, demo: bool) -> APIRouter:
    router = APIRouter(tags=["site"])

    @router.get(
        "/health",
        summary="Is it up, and who answers?",
        responses={200: json_response(Health)},
        response_model=None,
    )
    async def get_health() -> Response:
        return JSONResponse(health().model_dump())

    def serve(path: str, file: _File) -> None:
        async def get(request: Request) -> Response:
            return file.response(request)

        router.add_api_route(
            path, get, methods=["GET", "HEAD"], response_model=None, include_in_schema=False
        )

    for built in sorted((_STATIC / "widget").glob("chat-widget*.js*")):
        if built.suffix not in _TYPES:
            continue
        hashed = built.name.count(".") > 1
        cache = "public, max-age=31536000, immutable" if hashed else "public, max-age=300"
        serve(f"/{built.name}", _File(built, cache, _FOR_ALL_SITES))
    if demo:
        for path, page in _PAGES.items():
            serve(path, _File(_STATIC / page, "no-cache"))
        for asset in (*_STATIC.glob("*.css"), *_STATIC.glob("*.js")):
            serve(f"/{asset.name}", _File(asset, "no-cache"))
    return router


def health_of(*, keys: bool, model: str, upstream: str, notice: str, sessions: bool) -> Health:
    return Health.model_validate(
        {
            "status": "ok" if keys else "degraded",
            "version": __version__,
            "model": model,
            "upstream": upstream,
            "sessions": sessions,
            "notice": notice,
        }
    )
