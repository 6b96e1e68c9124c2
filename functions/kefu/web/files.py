"""Serves the static files of the package with ETags, and compressed if the build did this."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path

from fastapi import APIRouter, Request, Response

from kefu.errors import NotFound

STATIC = Path(__file__).parent / "static"

TYPES = {
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".json": "application/json",
}

_CODINGS = {"br": ".br", "gzip": ".gz"}
"""File suffixes of the compressed variants that the widget's build makes, smallest first."""


class StaticFile:
    """A static file with its compressed variants. Each is read on first use and then cached."""

    def __init__(self, path: Path, cache: str, headers: Mapping[str, str] | None = None) -> None:
        self._headers = headers or {}
        self._path = path
        self._cache = cache
        self._read: dict[str, tuple[bytes, str]] = {}

    @cached_property
    def _codings(self) -> list[str]:
        return [name for name, end in _CODINGS.items() if _packed(self._path, end).is_file()]

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
        return Response(content, headers=headers, media_type=TYPES[self._path.suffix])

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


def serve_all(router: APIRouter, prefix: str, files: Mapping[str, StaticFile]) -> None:
    """Serve files by their paths, which begin with `prefix`, in one route, to start faster."""

    async def get(request: Request) -> Response:
        file = files.get(request.scope["path"])
        if file is None:
            raise NotFound("There is nothing here.")
        return file.response(request)

    path = f"{prefix}{{rest:path}}"
    router.add_route(path, get, methods=["GET", "HEAD"], include_in_schema=False)


def serve(router: APIRouter, path: str, file: StaticFile) -> None:
    async def get(request: Request) -> Response:
        return file.response(request)

    # A Starlette route, because FastAPI would inspect the function's signature.
    router.add_route(router.prefix + path, get, methods=["GET", "HEAD"], include_in_schema=False)


def _packed(path: Path, end: str) -> Path:
    return path.with_name(path.name + end)
