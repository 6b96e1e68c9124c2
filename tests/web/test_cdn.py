"""C19, T3: behind a CDN, limits count visitors, and requests that bypass the CDN are refused."""

from __future__ import annotations

import json

import pytest

from kefu.web.caller import VIEWER_HEADER
from tests.fakes import behaviours as b
from tests.fakes.asking import Answer, get
from tests.fakes.aws_keys import AwsKeys
from tests.fakes.fixtures import Staged
from tests.fakes.service import Service
from tests.fakes.stage import FAST, Stage
from tests.fakes.upstream import ScriptedUpstream

SECRET = "only-cloudfront-sends-this-0123456789-abcd"
THROUGH = {"X-Kefu-Origin": SECRET}
LAMBDA = {"AWS_LAMBDA_FUNCTION_NAME": "kefu", "AWS_LAMBDA_RUNTIME_API": "127.0.0.1:9"}


def of(viewer: str) -> dict[str, str]:
    """The headers of CloudFront, and of API Gateway, which sees CloudFront's address."""
    context = json.dumps({"identity": {"sourceIp": "130.176.0.1"}})
    return {**THROUGH, VIEWER_HEADER: viewer, "x-amzn-request-context": context}


@pytest.fixture
def behind_cdn(staged: Staged) -> Stage:
    return staged(
        1, environment=LAMBDA, origin_secret=SECRET, ip_requests_per_minute=2, store="memory:"
    )


async def test_limits_hold_for_each_viewer(behind_cdn: Stage) -> None:
    async def ask(viewer: str) -> int:
        return (await behind_cdn.ask(headers=of(viewer))).status

    assert [await ask("203.0.113.7") for _ in range(3)] == [200, 200, 429]
    assert [await ask("2001:db8::7") for _ in range(3)] == [200, 200, 429]
    assert await ask("2001:DB8:0::7") == 429
    assert await ask("203.0.113.8") == 200


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"X-Kefu-Origin": ""},
        {"X-Kefu-Origin": SECRET[:-1]},
        {VIEWER_HEADER: "203.0.113.9"},
    ],
)
async def test_a_request_round_the_cdn_is_refused(
    behind_cdn: Stage, headers: dict[str, str]
) -> None:
    answer = await behind_cdn.ask(headers=headers)
    assert (answer.status, answer.error["code"]) == (403, "direct_request")
    assert behind_cdn.upstream.journal == []
    assert (await get(behind_cdn.url, "/chat-widget.js")).status_code == 403
    assert (await get(behind_cdn.url, "/health")).status_code == 200


async def test_without_a_secret_no_header_of_a_visitor_is_believed(staged: Staged) -> None:
    running = staged(1, ip_requests_per_minute=2)
    statuses = [
        (await running.ask(headers={VIEWER_HEADER: f"203.0.113.{n}"})).status for n in range(3)
    ]
    assert statuses == [200, 200, 429]


async def ask_with(aws: AwsKeys, headers: dict[str, str]) -> Answer:
    with (
        ScriptedUpstream() as upstream,
        Service(
            upstream.base_url,
            environment=aws.environment,
            origin_secret="secretsmanager:arn:aws:secretsmanager:eu-west-1:1:secret:origin",
            **FAST,
        ) as service,
    ):
        stage = Stage(upstream, service, [SECRET])
        upstream.script("*", b.answer("hello"))
        answer = await stage.ask(headers=headers)
        while answer.status == 503 and not aws.error:  # the import of boto3 took longer
            answer = await stage.ask(headers=headers)
        stage.check_output()
        return answer


async def test_the_secret_is_read_by_reference() -> None:
    with AwsKeys(SECRET) as aws:
        aws.delay = 0.3
        assert (await ask_with(aws, THROUGH)).complete
        assert (await ask_with(aws, {})).status == 403


async def test_while_the_secret_cannot_be_read_nothing_is_answered() -> None:
    with AwsKeys() as aws:
        aws.error = "AccessDeniedException"
        refused = await ask_with(aws, THROUGH)
        assert (refused.status, refused.headers["Retry-After"]) == (503, "1")
