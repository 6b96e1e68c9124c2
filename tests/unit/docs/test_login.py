"""docs/login.md: the tokens that its two functions sign are accepted."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from kefu.auth.identity import Identities
from tests.fakes.service import Service
from tests.fakes.upstream import ScriptedUpstream
from tests.unit.docs.pages import ROOT, blocks

PAGE = ROOT / "docs/login.md"
SECRET = "s" * 64


def check(token: str) -> None:
    visitor = asyncio.run(Identities((SECRET,), "kefu").visitor(token))
    assert (visitor.name, visitor.profile) == ("42", {"name": "Ann 安"})


def test_the_token_of_the_python_function_is_accepted() -> None:
    names: dict[str, Any] = {}
    [source] = blocks(PAGE, "python")
    exec(compile(source, "login.md", "exec"), names)
    check(names["chat_token"]("42", "Ann 安", SECRET))


def test_the_command_to_try_it_shows_that_a_forged_token_is_refused() -> None:
    command = blocks(PAGE, "sh")[-1]
    assert "curl" in command
    with ScriptedUpstream() as upstream:
        for secrets, expected in ((SECRET, "identity_rejected"), ("", "[DONE]")):
            with Service(upstream.base_url, identity_secrets=secrets) as service:
                here = command.replace("https://chat.example.com", service.url)
                ran = subprocess.run(["sh", "-c", here], capture_output=True, text=True, check=True)
                assert expected in ran.stdout


def test_the_token_of_the_node_function_is_accepted(tmp_path: Path) -> None:
    if (node := shutil.which("node")) is None:
        pytest.skip("Node.js is not installed: https://nodejs.org")
    source = blocks(PAGE, "js")[0]
    file = tmp_path / "token.mjs"
    file.write_text(f'{source}\nconsole.log(chatToken("42", "Ann 安", "{SECRET}"));\n')
    ran = subprocess.run([node, file], capture_output=True, text=True, check=True)
    check(ran.stdout.strip())
