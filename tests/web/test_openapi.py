"""The service conforms to /openapi.json for random requests, which schemathesis generates.

C4, C8, and the requirement that no input causes a 500 or a request without an end.
"""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.fakes.asking import ask
from tests.fakes.behaviours import answer
from tests.fakes.service import Service
from tests.fakes.upstream import ScriptedUpstream
from tests.web.test_identity import NEW, token

BOUND = "5"
"""Seconds for a whole response; the upstream answers at once."""

CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
    "negative_data_rejection",
    "unsupported_method",
)


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    with (
        ScriptedUpstream() as upstream,
        Service(upstream.base_url, identity_secrets=NEW) as service,
    ):
        upstream.script("*", answer("Yes."))
        yield service


CHATS = """
[parameters]
"path.session_id" = "{kept[0]}"
"header.X-Session-Token" = "{kept[1]}"

[[operations]]
include-path = "/api/sessions"
parameters = {{ "header.X-User-Token" = "{user}" }}

[[operations]]
include-method = "DELETE"
# The second time it is not there any more.
warnings = false
parameters = {{ "path.session_id" = "{other[0]}", "header.X-Session-Token" = "{other[1]}" }}

[[operations]]
include-path-regex = "session_id./(answer|feedback|images/.+)$"
# A made-up id has no answer: 400; and no image: 404.
warnings = false

[[operations]]
include-path-regex = "/v1/chat/completions$"
# Most made-up conversations break a rule between fields, such as a last message of the user: 400.
warnings = false
"""


async def kept_chat(service: Service) -> tuple[str, str]:
    """The id and the token of a stored chat."""
    headers = (await ask(service.url, {"message": "Hello?"})).headers
    return headers["X-Session-Id"], headers["X-Session-Token"]


def test_limits_have_the_words_of_json_schema(service: Service) -> None:
    """pydantic writes those of a union as "ge", which no reader of a description knows."""
    described = httpx.get(f"{service.url}/openapi.json").json()["components"]["schemas"]
    whole = {"minimum": 1, "type": "integer"}
    assert described["ChatRequest"]["properties"]["max_tokens"]["anyOf"][0] == whole
    assert not re.search(r'"[gl][et]":', json.dumps(described))


@pytest.mark.slow
async def test_service_answers_as_its_description_says(service: Service, tmp_path: Path) -> None:
    """Requests that need a chat use an existing one."""
    chats = {"kept": await kept_chat(service), "other": await kept_chat(service)}
    (tmp_path / "schemathesis.toml").write_text(CHATS.format(**chats, user=token(secret=NEW)))
    command = [str(Path(sys.executable).with_name("schemathesis")), "run"]
    command += [f"{service.url}/openapi.json", "--checks", ",".join(CHECKS)]
    command += ["--phases", "examples,coverage,fuzzing", "--max-examples", "40", "--seed", "7"]
    command += ["--max-response-time", BOUND, "--request-timeout", BOUND, "--no-color"]
    done = await asyncio.to_thread(
        subprocess.run,
        command,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-12000:] + done.stderr[-2000:]
    assert "No issues found" in done.stdout, done.stdout[-3000:]
