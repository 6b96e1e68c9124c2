"""C20: the files of docs/server.md, with a real nginx in front of the real service."""

from __future__ import annotations

import contextlib
import re
import shutil
import socket
import ssl
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.fakes import behaviours as b
from tests.fakes.asking import conversation
from tests.fakes.fixtures import Staged
from tests.fakes.stage import ORIGIN, Stage

PAGE = (Path(__file__).parents[2] / "docs/server.md").read_text(encoding="utf-8")


def block(language: str) -> str:
    [found] = re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    return str(found)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        port: int = found.getsockname()[1]
    return port


def certificate(folder: Path) -> tuple[Path, Path]:
    key, public = folder / "key.pem", folder / "cert.pem"
    name = ["-subj", "/CN=chat.example.com", "-addext", "subjectAltName=IP:127.0.0.1"]
    kind = ["-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1"]
    command = ["openssl", "req", *kind, *name, "-keyout", str(key), "-out", str(public)]
    subprocess.run(command, check=True, capture_output=True)
    return key, public


def configuration(folder: Path, service: str, port: int) -> str:
    """The page's file, with the ports and the certificate of this test."""
    key, public = certificate(folder)
    server = block("nginx")
    for printed, here in (
        ("listen 443 ssl", f"listen 127.0.0.1:{port} ssl"),
        ("/etc/letsencrypt/live/chat.example.com/fullchain.pem", str(public)),
        ("/etc/letsencrypt/live/chat.example.com/privkey.pem", str(key)),
        ("http://127.0.0.1:8000", service),
    ):
        assert printed in server
        server = server.replace(printed, here)
    paths = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    scratch = "".join(f"{name}_temp_path {folder}/{name};\n" for name in paths)
    head = f"daemon off;\npid {folder}/nginx.pid;\nerror_log stderr;\nevents {{}}\n"
    return f"{head}http {{\naccess_log off;\n{scratch}{server}}}\n"


@contextlib.contextmanager
def nginx(folder: Path, running: Stage) -> Iterator[str]:
    program = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
    if program is None:
        pytest.skip("nginx is not installed: make parts")
    port = free_port()
    file = folder / "nginx.conf"
    file.write_text(configuration(folder, running.url, port))
    command = [program, "-p", str(folder), "-e", "stderr", "-c", str(file)]
    subprocess.run([*command, "-t"], check=True, capture_output=True)
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        try:
            while True:
                try:
                    socket.create_connection(("127.0.0.1", port)).close()
                    break
                except ConnectionRefusedError:
                    assert process.poll() is None
            yield f"https://127.0.0.1:{port}"
        finally:
            process.terminate()


def visitor(folder: Path, source: str = "127.0.0.1") -> httpx.AsyncClient:
    trusting = ssl.create_default_context(cafile=str(folder / "cert.pem"))
    transport = httpx.AsyncHTTPTransport(verify=trusting, local_address=source)
    return httpx.AsyncClient(transport=transport, headers={"Origin": ORIGIN}, timeout=30)


async def test_c20_nginx_passes_each_part_of_an_answer_on(staged: Staged, tmp_path: Path) -> None:
    """The model never ends this answer, so that nothing arrives that waits for the end."""
    running = staged(1)
    running.script(b.stall_after(2))
    with nginx(tmp_path, running) as url:
        async with (
            visitor(tmp_path) as client,
            client.stream("POST", f"{url}/api/chat", json=conversation("Hello?")) as answer,
        ):
            seen = ""
            async for text in answer.aiter_text():
                seen += text
                if "piece1 " in seen:
                    break
            assert answer.status_code == 200
            assert "piece1 " in seen
            assert "[DONE]" not in seen


async def test_c10_behind_nginx_each_visitor_has_a_limit(staged: Staged, tmp_path: Path) -> None:
    hops = tomllib.loads(block("toml"))["server"]["trusted_proxy_hops"]
    running = staged(1, ip_requests_per_minute=1, trusted_proxy_hops=hops)
    statuses = []
    with nginx(tmp_path, running) as url:
        for source in ("127.0.0.2", "127.0.0.2", "127.0.0.3"):
            async with visitor(tmp_path, source) as client:
                forged = {"X-Forwarded-For": "203.0.113.9"}
                answer = await client.post(
                    f"{url}/api/chat", json=conversation("Hello?"), headers=forged
                )
                statuses.append(answer.status_code)
        async with visitor(tmp_path) as client:
            closed = await client.get(f"{url}/v1/models")
    assert statuses == [200, 429, 200]
    assert closed.status_code == 404
