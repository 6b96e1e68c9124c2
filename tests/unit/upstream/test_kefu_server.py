"""S8: nothing is signed with the operator's token for a server that could be another one."""

from __future__ import annotations

import pytest

from kefu.errors import InvalidRequest
from kefu.upstream.kefu_server import KefuServer, ServerVisitor, is_private


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://chat.example.com", True),
        ("http://localhost:8000", True),
        ("http://127.0.0.1:8000", True),
        ("http://127.9.9.9", True),
        ("http://[::1]:8000", True),
        ("http://chat.example.com", False),
        ("http://localhost.example.com", False),
        ("http://127.0.0.1.example.com", False),
        ("http://192.168.0.2:8000", False),
        ("http://[2001:db8::1]", False),
        ("ftp://chat.example.com", False),
    ],
)
def test_s8_only_https_and_this_machine_are_private(url: str, expected: bool) -> None:
    assert is_private(url) is expected


async def test_s8_nothing_is_signed_for_a_server_over_plain_http() -> None:
    signed: list[str] = []

    def sign(kind: str) -> str:
        signed.append(kind)
        return "x"

    server = KefuServer("http://chat.example.com", ServerVisitor(operator=sign))
    with pytest.raises(InvalidRequest, match="https or a loopback address"):
        await server.read("/admin/api/sessions")
    await server.aclose()
    assert signed == []
