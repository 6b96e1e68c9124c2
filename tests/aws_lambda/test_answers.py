"""G31 on the emulated Lambda: an answer of a person in DynamoDB, and a new instance."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest

from kefu.stores.dynamodb.store import DynamoStore
from tests.aws_lambda.conftest import Deploy, Deployed
from tests.fakes import behaviours as b
from tests.fakes.chatting import Visitor
from tests.web.test_answers import QUESTION, TOKEN, WRITTEN
from tests.web.test_knowledge import learn, passages

pytestmark = pytest.mark.slow


async def as_operator(
    site: Deployed, method: str, path: str = "", body: object = None
) -> httpx.Response:
    async with httpx.AsyncClient(timeout=60) as panel:
        url, headers = f"{site.url}/admin/api/answers{path}", {"Authorization": f"Bearer {TOKEN}"}
        return await panel.request(method, url, json=body, headers=headers)


async def given(site: Deployed, question: str) -> tuple[list[Any], Any]:
    """The passages for a question of a new visitor, and the sources that the visitor sees."""
    answer = await Visitor(site).say(question, sources=True)
    assert answer.complete
    content = site.upstream.calls(question)[-1].body["messages"][-1]["content"]
    return [one["title"] for one in passages(content)], answer.chunks[0]["sources"]


def withdraw(
    id: str, folder: Path, environment: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "kefu", "answers", "withdraw", id],
        cwd=folder,
        env=dict(environment),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


async def test_g31_an_answer_is_found_named_and_gone_when_withdrawn(
    deploy: Deploy,
    table: DynamoStore,
    dynamodb_local: str,
    aws_environment: dict[str, str],
    tmp_path: Path,
) -> None:
    environment = {**aws_environment, "AWS_ENDPOINT_URL_DYNAMODB": dynamodb_local}
    site = deploy(
        store=f"dynamodb://{table.table}",
        sessions="true",
        freezing=True,
        knowledge=str(learn(tmp_path / "shop.kefu")),
        environment={**environment, "ADMIN_TOKEN": TOKEN},
    )
    site.upstream.script("*", b.answer("[0]"), b.answer("Ten days [1]."))
    first = Visitor(site)
    assert (await first.say(QUESTION, sources=True)).chunks[-1]["answered"] is False
    body = {**WRITTEN, "session_id": first.session_id}
    saved = (await as_operator(site, "POST", "", body)).raise_for_status().json()
    began = time.monotonic()
    titles, sources = await given(site, QUESTION)
    assert time.monotonic() - began < 2
    assert titles[0] == QUESTION
    assert sources[0] == {"number": 1, "title": saved["cited_as"], "url": WRITTEN["page"]}

    site.front.instances[-1].kill("the next instance reads the answers from the table")
    assert (await given(site, "sending things to svalbard"))[0][0] == QUESTION
    done = withdraw(
        saved["id"], tmp_path, {**environment, "KEFU_STORE": f"dynamodb://{table.table}"}
    )
    assert done.stdout == "Answers withdrawn: 1\n", done.stderr
    end = time.monotonic() + 2
    while QUESTION in (await given(site, QUESTION))[0]:
        assert time.monotonic() < end
    assert (await as_operator(site, "GET")).json()["answers"] == []
    site.front.stop()
