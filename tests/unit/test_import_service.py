"""What a start loads, by name: whoever adds to it shall do so knowingly."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from inspect import iscoroutinefunction
from pathlib import Path

import pytest

import kefu
from kefu.assembly import build
from kefu.settings import Settings

FUNCTIONS = Path(kefu.__file__).parents[1]

PROGRAM = """
import sys
sys.path.insert(0, {functions!r})
import {module}
print(*sys.modules)
"""

PLAIN = {
    *("admin_tokens", "admission", "answer", "asgi", "assembly", "chat", "clocks", "completion"),
    *("context", "echo", "errors", "keypool", "lean_typing", "limits", "messages", "model"),
    *("policy", "prompt", "references", "refusal", "relay", "settings", "signing", "sse"),
    *("stores", "stream", "summaries", "system_clock", "tokens", "upstream", "verification", "web"),
}
"""The parts of a service that keeps no chats and has no panel, as it is on AWS by default."""

FOR_SOME = {
    *("kefu.tokens.bpe", "kefu.tokens.repeats"),
    *("kefu.stores.guarded_sessions", "kefu.stores.memory_sessions", "kefu.stores.packed_calls"),
    *("kefu.stores.turns", "kefu.stores.sqlite", "kefu.stores.sqlite_file", "kefu.stores.dynamodb"),
    *("kefu.stores.dynamodb_table", "kefu.web.json_lines", "kefu.web.kept", "kefu.web.panel"),
    *("kefu.web.panel_view", "kefu.web.routes.admin", "kefu.web.routes.sessions"),
    *("kefu.web.transcript", "kefu.upstream.kefu_server", "kefu.upstream.public_web"),
}
"""Modules of those parts that only some services need, or none before it has started."""


@cache
def loaded_by(module: str, **settings: str) -> frozenset[str]:
    environment = {"PATH": os.environ["PATH"], "LONGCAT_API_KEYS": "sk-test", **settings}
    program = PROGRAM.format(functions=str(FUNCTIONS), module=module)
    command = [sys.executable, "-I", "-c", program]
    child = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert (child.returncode, child.stderr) == (0, "")
    return frozenset(child.stdout.split())


def parts(loaded: frozenset[str]) -> set[str]:
    return {name.split(".")[1] for name in loaded if name.startswith("kefu.")}


@pytest.mark.parametrize(
    "settings", [{"KEFU_SESSIONS": "false"}, {"AWS_LAMBDA_FUNCTION_NAME": "kefu"}]
)
def test_a_plain_service_loads_nothing_of_what_only_others_need(
    settings: Mapping[str, str],
) -> None:
    """A cold start waits for every module, and with it a visitor."""
    loaded = loaded_by("kefu.asgi", **settings)
    assert parts(loaded) == PLAIN
    assert not loaded & FOR_SOME
    there = {str(path.relative_to(FUNCTIONS)) for path in FUNCTIONS.glob("kefu/**/*.py")}
    assert {f"{name.replace('.', '/')}.py" for name in FOR_SOME} <= there


def test_where_chats_are_kept_nothing_of_panel_terminal_and_agent_is_loaded() -> None:
    kept = loaded_by("kefu.asgi")
    assert parts(kept) - PLAIN == {
        *("capture", "configs", "hooks", "keeping", "kept_chats", "message_processor", "outcome"),
        *("recording", "session_tokens", "sessions", "turn", "turn_history", "turns", "visible"),
    }
    assert not {name for name in kept if name.startswith(("kefu.web.panel", "kefu.stores.sql"))}


def test_of_other_packages_a_service_loads_only_what_fastapi_loads() -> None:
    """aiohttp, boto3, Powertools and their kind wait until the application starts, or is asked."""
    others = {name.partition(".")[0] for name in loaded_by("kefu.asgi") - loaded_by("fastapi")}
    assert others - sys.stdlib_module_names == {"kefu"}


def test_no_error_is_answered_by_way_of_a_thread() -> None:
    """Where Starlette sends plain functions, and loads anyio's threads for the first of them."""
    settings = {"LONGCAT_API_KEYS": "sk-test", "KEFU_STORE": "memory:", "ADMIN_TOKEN": "t" * 32}
    handlers = build(Settings.model_validate(settings)).app.exception_handlers
    assert len(handlers) > 1
    assert all(map(iscoroutinefunction, handlers.values()))
