"""H4 on the emulated Lambda: a talk goes through several instances, and through none in between."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from kefu.stores.dynamodb.store import DynamoStore
from tests.aws_lambda.conftest import Deploy
from tests.fakes import behaviours as b
from tests.fakes.chatting import Visitor, new_id

pytestmark = pytest.mark.slow

TOKEN = "operator-token-5f3c9a7e1b-6d20c81f"


async def test_h4_a_person_takes_over_and_hands_back_on_dynamodb(
    deploy: Deploy, table: DynamoStore, dynamodb_local: str, aws_environment: dict[str, str]
) -> None:
    site = deploy(
        store=f"dynamodb://{table.table}",
        sessions="true",
        freezing=True,
        environment={
            **aws_environment,
            "AWS_ENDPOINT_URL_DYNAMODB": dynamodb_local,
            "ADMIN_TOKEN": TOKEN,
        },
    )
    visitor = Visitor(site)
    site.upstream.script("*", b.answer("hi"), b.answer("again"))
    assert (await visitor.say("Hello")).text == "hi"

    async def post(rest: str, body: dict[str, Any]) -> httpx.Response:
        url = f"{site.url}/admin/api/sessions/{visitor.session_id}{rest}"
        async with httpx.AsyncClient(timeout=60) as panel:
            headers = {"Authorization": f"Bearer {TOKEN}"}
            return await panel.post(url, json={"operator": "Ingrid", **body}, headers=headers)

    assert (await post("/state", {"state": "person"})).status_code == 200
    site.front.instances[0].kill("the next instance reads the state from the table")
    quiet = await visitor.say("Is anybody there?")
    assert (quiet.complete, quiet.text) == (True, "")
    line = {"text": "Yes.", "client_message_id": new_id()}
    assert (await post("/lines", line)).json() == (await post("/lines", line)).json()
    found = (await visitor.look("/person")).json()
    assert (found["state"], found["operator"]) == ("person", "Ingrid")
    assert [one["content"] for one in found["messages"]] == ["Yes."]
    assert (await post("/state", {"state": "bot"})).status_code == 200
    assert (await visitor.say("Good.")).text == "again"
    told = [one["content"] for one in site.upstream.calls()[-1].body["messages"]]
    assert told == ["Hello", "hi", "Is anybody there?", "Yes.", "Good."]
    site.front.stop()
