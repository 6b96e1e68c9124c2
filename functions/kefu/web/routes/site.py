"""What a browser loads: the widget's script, the demo page; and `/health`."""

from __future__ import annotations

import hashlib
from pathlib import Path

from fastapi import APIRouter, Request, Response
from starlette.responses import JSONResponse

from kefu import __version__
from kefu.errors import NotFound
from kefu.web.openapi import json_response
from kefu.web.schemas import Health

_STATIC = Path(__file__).parent.parent / "static"
_TYPES = {
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".svg": "image/svg+xml",
}
_PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


class _File:
    """A file of the package, read once, served with its ETag."""

    def __init__(self, path: Path, cache: str) -> None:
        self._path = path
        self._cache = cache
        self._content: bytes | None = None
        self._etag = ""

    def response(self, request: Request) -> Response:
        if self._content is None:
            if not self._path.is_file():
                raise NotFound(f"{self._path.name} is not built; run `make setup`.")
            self._content = self._path.read_bytes()
            self._etag = f'"{hashlib.sha256(self._content).hexdigest()[:32]}"'
        headers = {"ETag": self._etag, "Cache-Control": self._cache}
        if request.headers.get("if-none-match") == self._etag:
            return Response(status_code=304, headers=headers)
        if self._path.suffix == ".html":
            headers["Content-Security-Policy"] = _PAGE_POLICY
        return Response(self._content, headers=headers, media_type=_TYPES[self._path.suffix])


def site_routes(health: Health, *, demo: bool) -> APIRouter:
    router = APIRouter(tags=["site"])

    @router.get(
        "/health",
        summary="Is it up, and who answers?",
        responses={200: json_response(Health)},
        response_model=None,
    )
    async def get_health() -> Response:
        return JSONResponse(health.model_dump())

    def serve(path: str, file: _File) -> None:
        async def get(request: Request) -> Response:
            return file.response(request)

        router.add_api_route(
            path, get, methods=["GET", "HEAD"], response_model=None, include_in_schema=False
        )

    for built in sorted((_STATIC / "widget").glob("*.js")):
        hashed = built.name != "chat-widget.js"
        cache = "public, max-age=31536000, immutable" if hashed else "public, max-age=300"
        serve(f"/{built.name}", _File(built, cache))
    if demo:
        serve("/", _File(_STATIC / "demo.html", "no-cache"))
        for asset in (*_STATIC.glob("demo*.css"), *_STATIC.glob("demo*.js")):
            serve(f"/{asset.name}", _File(asset, "no-cache"))
    return router


def health_of(*, keys: bool, model: str, upstream: str, notice: str) -> Health:
    return Health.model_validate(
        {
            "status": "ok" if keys else "degraded",
            "version": __version__,
            "model": model,
            "upstream": upstream,
            "notice": notice,
        }
    )
