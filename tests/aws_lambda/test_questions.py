"""H10: `kefu test` asks the built package as a Lambda function, behind its gateway."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import jwt
import pytest

from kefu.stores.dynamodb.store import DynamoStore
from tests.aws_lambda.conftest import Deploy, Deployed
from tests.fakes.shop import GOOD_PROMPT, QUESTIONS, from_its_prompt
from tests.fakes.stage import ORIGIN

pytestmark = pytest.mark.slow

SECRET = "site-secret-" + "s" * 48
USER = {"sub": "user-1", "aud": "kefu", "exp": int(time.time()) + 3600}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "questions.yaml").write_text(QUESTIONS)
    (tmp_path / "kefu.toml").write_text(f'[chat]\nsystem_prompt = "{GOOD_PROMPT}"\n')
    return tmp_path


@pytest.fixture
def deployed(
    deploy: Deploy, table: DynamoStore, dynamodb_local: str, aws_environment: dict[str, str]
) -> Callable[[str], Deployed]:
    """Deploys the package with a system prompt. The next question may reach another instance."""

    def start(prompt: str) -> Deployed:
        site = deploy(
            store=f"dynamodb://{table.table}",
            system_prompt=prompt,
            sessions="true",
            identity_secrets=SECRET,
            environment={**aws_environment, "AWS_ENDPOINT_URL_DYNAMODB": dynamodb_local},
        )
        site.upstream.script("*", from_its_prompt)
        return site

    return start


def asked(folder: Path, site: Deployed, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {
        "HOME": str(folder),
        "KEFU_UPSTREAM_URL": site.upstream.base_url,
        "LONGCAT_API_KEYS": "key-one",
    }
    return subprocess.run(
        [sys.executable, "-m", "kefu", "test", "questions.yaml", "--jobs", "1", *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_same_file_passes_here_and_on_lambda_and_fails_with_a_wrong_prompt(
    deployed: Callable[[str], Deployed], folder: Path
) -> None:
    right = deployed(GOOD_PROMPT)
    here = asked(folder, right)
    assert here.returncode == 0, here
    requests = [call.raw_body for call in right.upstream.journal]
    there = asked(folder, right, "--server", right.url, "--origin", ORIGIN)
    assert there.returncode == 0, there
    assert "2 passed, 0 failed" in there.stdout
    assert [call.raw_body for call in right.upstream.journal[len(requests) :]] == requests
    wrong = deployed("We are open from 9:00.")
    failed = asked(folder, wrong, "--server", wrong.url, "--origin", ORIGIN)
    assert failed.returncode == 1, failed
    assert 'turn 2: contains: "closed" is not in the answer' in failed.stdout
    assert "FAIL" in failed.stdout
    assert "shipping" in failed.stdout


def test_questions_of_a_signed_in_user_are_asked_with_the_users_token(
    deployed: Callable[[str], Deployed], folder: Path
) -> None:
    """The second question of a case is in the stored chat of that user."""
    site = deployed(GOOD_PROMPT)
    at = ("--server", site.url, "--origin", ORIGIN, "--user-token")
    ran = asked(folder, site, *at, jwt.encode(USER, SECRET, "HS256"))
    assert ran.returncode == 0, ran
    roles = [[m["role"] for m in call.body["messages"]] for call in site.upstream.journal]
    # On a busy machine another key may join the first one, so a request may come twice.
    assert ["system", "user", "assistant", "user"] in roles
    forged = asked(folder, site, *at, jwt.encode(USER, "x" * 60, "HS256"))
    assert forged.returncode == 1, forged
    assert "0 passed, 0 failed, 2 without an answer" in forged.stdout
    assert "HTTP 403" in forged.stdout
