"""`/ready` and the pre-traffic hook: a version that cannot answer receives no visitors."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from kefu.bootstrap.pre_traffic import check, handler
from kefu.settings import ConfigurationError, load
from tests.fakes.aws_keys import AwsKeys
from tests.fakes.aws_stack import AwsStack
from tests.fakes.service import Service
from tests.fakes.upstream import ScriptedUpstream

EVENT = {"DeploymentId": "d-1234", "LifecycleEventHookExecutionId": "hook-5678"}
VERSION = "arn:aws:lambda:eu-central-1:123456789012:function:kefu:7"


def test_a_service_that_can_answer_is_ready() -> None:
    with ScriptedUpstream() as upstream, Service(upstream.base_url) as service:
        answer = httpx.get(f"{service.url}/ready")
        assert (answer.status_code, answer.json()) == (200, {"ready": True, "problems": []})
        assert answer.headers["cache-control"] == "no-store"
        assert upstream.journal == []


@pytest.mark.parametrize("path", ["/health", "/ready"])
def test_a_monitor_may_ask_for_the_headers_alone(path: str) -> None:
    """Uptime monitors, `curl --head` and `wget --spider` send HEAD."""
    with ScriptedUpstream() as upstream, Service(upstream.base_url) as service:
        answer = httpx.head(f"{service.url}{path}")
        assert (answer.status_code, answer.content) == (200, b"")
        assert answer.headers["content-length"] == str(len(httpx.get(answer.url).content))


def test_c13_without_keys_ready_is_503_and_says_why_while_health_is_200() -> None:
    with ScriptedUpstream() as upstream, Service(upstream.base_url, keys=(",",)) as service:
        answer = httpx.get(f"{service.url}/ready")
        assert answer.status_code == 503
        assert answer.json() == {
            "ready": False,
            "problems": [
                {"code": "no_api_key", "message": "No API key is set: set KEFU_API_KEYS."}
            ],
        }
        assert httpx.get(f"{service.url}/health").status_code == 200


def test_keys_that_cannot_be_read_are_named_without_their_text() -> None:
    with ScriptedUpstream() as upstream, AwsKeys("sk-canary-never-shown") as aws:
        aws.error = "AccessDeniedException"
        place = {**aws.environment, "LONGCAT_API_KEYS": "ssm:/kefu/keys"}
        with Service(upstream.base_url, keys=(), environment=place) as service:
            answer = httpx.get(f"{service.url}/ready", timeout=20)
        assert answer.status_code == 503
        assert answer.json()["problems"] == [
            {
                "code": "secret_not_read",
                "message": "Reading the API keys failed: AccessDeniedException.",
            }
        ]


def test_a_store_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    store = f"sqlite:///{tmp_path}/file/kefu.db"
    with ScriptedUpstream() as upstream, Service(upstream.base_url, store=store) as service:
        answer = httpx.get(f"{service.url}/ready", timeout=20)
        (problem,) = answer.json()["problems"]
        assert (answer.status_code, problem["code"]) == (503, "store_failed")
        assert problem["message"].startswith("The store fails: ")
        assert len(problem["message"]) > 25


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> AwsStack:
    fake = AwsStack()
    for name, value in fake.environment.items():
        monkeypatch.setenv(name, value)
    return fake


def test_the_hook_lets_a_version_pass_that_is_ready(
    aws: AwsStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KEFU_NEW_VERSION", VERSION)
    with ScriptedUpstream() as upstream, Service(upstream.base_url) as service, aws:
        aws.url = service.url
        assert handler(EVENT, None) == {"ready": True, "problems": []}
        assert aws.told == [
            {
                "deploymentId": "d-1234",
                "lifecycleEventHookExecutionId": "hook-5678",
                "status": "Succeeded",
            }
        ]


def test_the_hook_needs_no_secret_that_kefu_toml_asks_of_the_service(
    aws: AwsStack, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """An error before the hook reports its result would make CodeDeploy wait for an hour."""
    (tmp_path / "kefu.toml").write_text('[model.headers]\napi-key = "env:SECRET_OF_THE_SERVICE"\n')
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigurationError, match="SECRET_OF_THE_SERVICE"):
        load()
    monkeypatch.setenv("KEFU_NEW_VERSION", VERSION)
    with ScriptedUpstream() as upstream, Service(upstream.base_url) as service, aws:
        aws.url = service.url
        handler(EVENT, None)
        assert aws.told[0]["status"] == "Succeeded"


def test_the_hook_stops_a_version_that_is_not_ready(
    aws: AwsStack, capsys: pytest.CaptureFixture[str]
) -> None:
    with ScriptedUpstream() as upstream, Service(upstream.base_url, keys=(",",)) as service, aws:
        aws.url = service.url
        check(EVENT, VERSION, pauses=())
        assert aws.told[0]["status"] == "Failed"
        assert "not ready: No API key is set" in capsys.readouterr().out


def test_the_hook_asks_again_because_a_role_takes_time_to_apply(aws: AwsStack) -> None:
    with ScriptedUpstream() as upstream, Service(upstream.base_url) as service, aws:
        aws.url = service.url
        aws.crashes = True

        def pauses() -> Iterator[float]:
            yield 0
            aws.crashes = False
            yield 0

        assert check(EVENT, VERSION, pauses())["ready"] is True
        assert aws.told[0]["status"] == "Succeeded"


def test_the_hook_stops_a_version_that_does_not_start(aws: AwsStack) -> None:
    with aws:
        aws.crashes = True
        assert "exit status 1" in str(check(EVENT, VERSION, pauses=())["problems"])
        assert aws.told[0]["status"] == "Failed"
