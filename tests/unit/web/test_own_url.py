"""The public address of the service, as a trusted party names it, for links into the panel."""

from __future__ import annotations

import json
from typing import Any

import pytest
from starlette.requests import Request

from kefu.web.caller import Gateway

API = "abc123.execute-api.us-east-1.amazonaws.com"


def asked(path: str, headers: dict[str, str], **scope: Any) -> Request:
    raw = [(name.encode(), value.encode()) for name, value in headers.items()]
    return Request({"type": "http", "path": path, "headers": raw, **scope})


def context(path: str, domain: str = API) -> dict[str, str]:
    return {"x-amzn-request-context": json.dumps({"domainName": domain, "path": path})}


def url_of(request: Request, **gateway: bool) -> str:
    return Gateway(lambda: 0.0, **gateway).own_url(request)


@pytest.mark.parametrize(
    ("headers", "url"),
    [
        (context("/live/api/chat"), f"https://{API}/live"),
        (context("/api/chat", "chat.example.com"), "https://chat.example.com"),
        (context("/other"), ""),
        ({"x-amzn-request-context": "[]"}, ""),
        ({"host": "evil.example"}, ""),
    ],
)
def test_h2_behind_the_adapter_api_gateway_names_it(headers: dict[str, str], url: str) -> None:
    assert url_of(asked("/api/chat", headers), behind_adapter=True) == url


def test_h2_with_a_cdn_the_distribution_names_it() -> None:
    headers = {**context("/live/api/chat"), "x-kefu-host": "d1.cloudfront.net"}
    named = asked("/api/chat", headers)
    assert url_of(named, behind_adapter=True, behind_cdn=True) == "https://d1.cloudfront.net"
    unnamed = asked("/api/chat", context("/live/api/chat"))
    assert url_of(unnamed, behind_adapter=True, behind_cdn=True) == ""


def test_h2_no_header_of_a_client_names_it() -> None:
    """A visitor could lead the operator to a copy of the panel, which asks for the token."""
    headers = {
        **context("/api/chat", "evil.example"),
        "host": "evil.example",
        "x-forwarded-host": "evil.example",
        "x-kefu-host": "evil.example",
    }
    request = asked("/api/chat", headers)
    assert url_of(request) == ""
    assert url_of(request, behind_cdn=True) == ""
    behind_lambda = asked("/api/chat", {"x-kefu-host": "evil.example", **context("/live/api/chat")})
    assert url_of(behind_lambda, behind_adapter=True) == f"https://{API}/live"


def test_h2_for_sam_local_the_event_names_it() -> None:
    event = {"requestContext": {"domainName": API, "path": "/prod/api/chat"}}
    assert url_of(asked("/api/chat", {}, **{"aws.event": event})) == f"https://{API}/prod"
