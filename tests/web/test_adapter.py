"""L1, T3: the address and the deadline come from two headers of the Lambda Web Adapter, and an
event that is no HTTP request is told by one of them.
"""

from __future__ import annotations

import json
import time

import httpx
import pytest

from tests.fakes.asking import get
from tests.fakes.chatting import new_id
from tests.fakes.fixtures import Staged
from tests.fakes.stage import Stage
from tests.fakes.webhook import Webhook

LAMBDA = {"AWS_LAMBDA_FUNCTION_NAME": "kefu", "AWS_LAMBDA_RUNTIME_API": "127.0.0.1:9"}


@pytest.fixture
def behind_adapter(staged: Staged) -> Stage:
    return staged(1, environment=LAMBDA, store="memory:")


@pytest.mark.parametrize("left", [-5, 0, 1.9])
async def test_l1_a_function_with_no_time_left_answers_gateway_timeout(
    behind_adapter: Stage, left: float
) -> None:
    context = json.dumps({"deadline": int((time.time() + left) * 1000)})
    answer = await behind_adapter.ask(headers={"x-amzn-lambda-context": context})
    assert (answer.status, answer.error["code"]) == (504, "gateway_timeout")


@pytest.mark.parametrize("name", ["x-amzn-lambda-context", "x-amzn-request-context"])
async def test_a_context_that_nests_too_deep_is_none(behind_adapter: Stage, name: str) -> None:
    assert (await behind_adapter.ask(headers={name: "[" * 3000})).complete


async def test_the_api_document_is_served_with_the_demo_or_the_openai_api_alone(
    staged: Staged,
) -> None:
    hidden = staged(1, environment=LAMBDA, openai_api="off")
    assert (await get(hidden.url, "/openapi.json")).status_code == 404
    shown = staged(1, environment=LAMBDA, openai_api="on")
    assert (await get(shown.url, "/openapi.json")).status_code == 200


SCHEDULED = {"url": "https://chat.example.com"}
OF_CDN = "only-cloudfront-sends-this-0123456789-abcd"


def passed_on(running: Stage, event: object, context: str = "null") -> httpx.Response:
    """What the adapter sends for an event, or with another context for a request of a client."""
    headers = {"x-amzn-request-context": context}
    return httpx.post(f"{running.url}/events", json=event, headers=headers, timeout=120)


@pytest.mark.slow
def test_h2_the_schedule_delivers_what_is_due_and_the_public_cannot_ask_for_it(
    staged: Staged,
) -> None:
    """Also with a CDN, which the schedule does not go through. A log line would have metrics."""
    with Webhook() as webhook:
        webhook.refusals = 1
        running = staged(
            1,
            environment={**LAMBDA, "ADMIN_TOKEN": "operator-token-5f3c9a7e1b-6d20c81f"},
            store="memory:",
            origin_secret=OF_CDN,
            contact_form="message",
            contact_webhook=webhook.url,
        )
        sent = httpx.post(
            f"{running.url}/api/contact",
            json={"client_message_id": new_id(), "message": "Svalbard?"},
            headers={"X-Kefu-Origin": OF_CDN},
            timeout=120,
        )
        assert sent.status_code == 204
        webhook.wait_for(1)
        for context in ("{}", '{"identity":{}}', "", "NULL"):
            assert passed_on(running, SCHEDULED, context).status_code == 403
        end = time.monotonic() + 60
        while not webhook.accepted():  # in two seconds the request is due again
            assert time.monotonic() < end
            assert passed_on(running, SCHEDULED).status_code == 204
            time.sleep(0.1)
        assert [one.content["panel"] for one in webhook.deliveries] == [
            "/admin#requests",
            "https://chat.example.com/admin#requests",
        ]
        logged = [line for line in running.service.logs() if line.get("path") == "/events"]
        assert [line["status"] for line in logged] == [403] * 4


def test_the_schedule_of_a_service_without_a_form_does_nothing(behind_adapter: Stage) -> None:
    for event in (SCHEDULED, {}):
        assert passed_on(behind_adapter, event).status_code == 204


def test_outside_lambda_there_are_no_events(staged: Staged) -> None:
    assert passed_on(staged(1), SCHEDULED).status_code == 404
