"""L1, T3: the address and the deadline come from two headers of the Lambda Web Adapter."""

from __future__ import annotations

import json
import time

import pytest

from tests.fakes.asking import get
from tests.fakes.fixtures import Staged
from tests.fakes.stage import Stage

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
