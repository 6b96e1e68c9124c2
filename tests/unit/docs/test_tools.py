"""docs/tools.md: its checks of the user's token, its function and its questions are right."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kefu.chat.admission import CARD_RATE, TOOL_RATE
from kefu.chat.limits import Rate
from kefu.evaluation.questions import read
from kefu.tools.python import site_function
from kefu.tools.tool import Visitor
from kefu.tools.use import STORED_RESULT, STORED_STEPS
from kefu.tools.user_token import user_token
from kefu.tools.workbench import APPROVAL_SECONDS, Limits
from kefu.web.steps import STATES
from tests.unit.docs.pages import ROOT, blocks, text_of

PAGE = ROOT / "docs/tools.md"
SECRET, HOST = "s" * 64, "api.shop.example"
ANN = Visitor(user="42", claims={"name": "Ann 安"})

TOKENS: dict[str, tuple[Callable[[float], str], str]] = {
    "right": (lambda now: user_token(ANN, SECRET, HOST, now), "42"),
    "of another secret": (lambda now: user_token(ANN, "t" * 64, HOST, now), ""),
    "for another host": (lambda now: user_token(ANN, SECRET, "shop.example", now), ""),
    "expired": (lambda now: user_token(ANN, SECRET, HOST, now - 100), ""),
    "without a signature": (lambda now: user_token(ANN, SECRET, HOST, now).rpartition(".")[0], ""),
    "empty": (lambda _: "", ""),
}
"""Made when they are used, because a token is valid for a minute. Each with the accepted user."""


def defined(source: str) -> dict[str, Any]:
    names: dict[str, Any] = {}
    exec(compile(source, "tools.md", "exec"), names)
    return names


@pytest.mark.parametrize("name", TOKENS)
def test_a12_the_python_function_accepts_the_signed_user_alone(name: str) -> None:
    make, user = TOKENS[name]
    token = make(time.time())
    chat_user = defined(blocks(PAGE, "python")[0])["chat_user"]
    if user:
        assert chat_user(token, SECRET, HOST) == user
        return
    with pytest.raises(ValueError, match=r"not signed by Kefu|for another host, or expired"):
        chat_user(token, SECRET, HOST)


def test_a12_the_node_function_accepts_the_signed_user_alone(tmp_path: Path) -> None:
    if (node := shutil.which("node")) is None:
        pytest.skip("Node.js is not installed: https://nodejs.org")
    given = json.dumps([make(time.time()) for make, _ in TOKENS.values()])
    file = tmp_path / "user.mjs"
    tried = "try { return chatUser(one, secret, host); } catch { return ''; }"
    file.write_text(
        f"{blocks(PAGE, 'js')[0]}\nconst secret = {SECRET!r}, host = {HOST!r};\n"
        f"console.log(JSON.stringify({given}.map((one) => {{ {tried} }})));\n"
    )
    ran = subprocess.run([node, file], capture_output=True, text=True, check=True)
    assert json.loads(ran.stdout) == [user for _, user in TOKENS.values()]


def test_the_function_of_the_page_is_a_tool() -> None:
    site = site_function(defined(blocks(PAGE, "python")[1])["stock"])
    assert site.properties == {"article": {"type": "string"}}
    assert site.set_by_kefu == {"visit"}


def test_a17_the_questions_of_the_page_are_read(tmp_path: Path) -> None:
    file = tmp_path / "questions.yaml"
    file.write_text(blocks(PAGE, "yaml")[0])
    assert [one.questions[0].says_yes for one in read(file)] == [False, True]


def test_the_limits_and_states_of_the_page_are_those_of_the_code() -> None:
    text, limits = text_of(PAGE), Limits()
    assert f"in an answer | {limits.steps}, then one without" in text
    assert f"side by side | {limits.calls} |" in text
    assert f"{limits.call_seconds:.0f} s a call, {limits.seconds:.0f} s an answer" in text
    assert f"{limits.result:,} characters; {STORED_RESULT:,} of it" in text
    assert f"{STORED_STEPS:,} of all calls" in text
    assert [Rate(60, 600), Rate(5, 3600)] == [TOOL_RATE, CARD_RATE]
    assert APPROVAL_SECONDS == 600  # 10 minutes
    rows = text.partition("| `state` | Meaning |")[2].partition("\n\n")[0]
    assert {line.split("`")[1] for line in rows.splitlines()[2:]} == set(STATES.values())


@pytest.mark.slow
def test_a17_the_questions_of_the_page_pass_without_a_shop(tmp_path: Path) -> None:
    """Sample mode calls the tools of the page; nobody listens at their address."""
    (tmp_path / "kefu.toml").write_text(blocks(PAGE, "toml")[1])
    (tmp_path / "questions.yaml").write_text(blocks(PAGE, "yaml")[0])
    ran = subprocess.run(
        [sys.executable, "-P", "-m", "kefu", "test", "questions.yaml"],
        cwd=tmp_path,
        env={"PATH": os.defpath, "HOME": str(tmp_path), "KEFU_IDENTITY_SECRETS": SECRET},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.returncode, "2 passed" in ran.stdout) == (0, True), ran.stdout + ran.stderr
