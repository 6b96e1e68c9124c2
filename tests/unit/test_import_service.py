"""Lists the modules that the start imports, so that every new import is deliberate."""

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
from kefu.bootstrap.service import build
from kefu.settings import Settings

FUNCTIONS = Path(kefu.__file__).parents[1]

PROGRAM = """
import sys
sys.path.insert(0, {functions!r})
import {module}
print(*sys.modules)
"""

PLAIN = {
    *("asgi", "auth", "auth.admin_tokens", "auth.bot_check", "auth.client_keys"),
    "auth.signing",
    *("bootstrap", "bootstrap.base", "bootstrap.clock", "bootstrap.constants"),
    *("bootstrap.options", "bootstrap.readiness"),
    *("bootstrap.knowledge", "bootstrap.lifecycle", "bootstrap.relay"),
    *("bootstrap.secrets", "bootstrap.service", "bootstrap.stores", "bootstrap.upstream"),
    *("chat", "chat.admission", "chat.answer"),
    *("chat.completion", "chat.conversation", "chat.limits", "chat.own_cooldowns"),
    *("chat.output_filter", "chat.prompt", "chat.services", "chat.state", "chat.trim_memory"),
    *("chat.summaries", "chat.summary_prompt", "context"),
    *(
        "errors",
        "knowledge",
        "knowledge.sources",
        "messages",
        "relay",
        "relay.attempt",
        "relay.call",
        "relay.chunks",
    ),
    *("relay.collected", "relay.failures", "relay.key_leak"),
    *("relay.key_pool", "relay.key_search", "relay.parameters"),
    *("relay.redaction", "relay.relay", "relay.sse", "relay.time_limits"),
    *("stores", "upstream"),
    *("settings", "settings.access", "settings.all", "settings.chat", "settings.fields"),
    *(
        "settings.contact",
        "settings.endpoint",
        "settings.file",
        "settings.knowledge",
        "settings.loading",
        "settings.model",
    ),
    *("settings.server", "settings.sessions", "web"),
}
"""The modules of a service without stored chats and panel, as by default on AWS."""

FOR_SOME = {
    *("kefu.chat.grounding", "kefu.stores.sqlite.knowledge.reloading"),
    *("kefu.context.tokens.bpe", "kefu.context.tokens.repeats", "kefu.stores.dynamodb.store"),
    *("kefu.stores.dynamodb.table", "kefu.stores.guarded.sessions"),
    *("kefu.stores.folded_calls", "kefu.stores.packed_calls", "kefu.stores.sqlite.file"),
    *("kefu.stores.sqlite.store", "kefu.stores.turns", "kefu.upstream.kefu_server"),
    "kefu.upstream.aiohttp_transport",
    *("kefu.upstream.public_web", "kefu.web.admin.panel", "kefu.web.admin.view"),
    *("kefu.web.json_lines", "kefu.web.routes.admin", "kefu.web.routes.sessions"),
    *("kefu.web.session_chat", "kefu.web.transcript"),
}
"""Modules of these packages that are imported only with certain settings, or after the start."""


@cache
def loaded_by(module: str, **settings: str) -> frozenset[str]:
    environment = {"PATH": os.environ["PATH"], "LONGCAT_API_KEYS": "sk-test", **settings}
    program = PROGRAM.format(functions=str(FUNCTIONS), module=module)
    command = [sys.executable, "-I", "-c", program]
    child = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert (child.returncode, child.stderr) == (0, "")
    return frozenset(child.stdout.split())


WHOLE = {"context", "stores", "upstream", "web"}
"""Packages that are named as a whole; of the others every module is."""


def parts(loaded: frozenset[str]) -> set[str]:
    found = [name.split(".")[1:3] for name in loaded if name.startswith("kefu.")]
    return {part[0] if part[0] in WHOLE else ".".join(part) for part in found}


@pytest.mark.parametrize(
    "settings", [{"KEFU_SESSIONS": "false"}, {"AWS_LAMBDA_FUNCTION_NAME": "kefu"}]
)
def test_a_plain_service_imports_no_module_of_a_disabled_feature(
    settings: Mapping[str, str],
) -> None:
    """Each module makes a cold start slower, for which a visitor waits."""
    loaded = loaded_by("kefu.asgi", **settings)
    assert parts(loaded) == PLAIN
    assert not loaded & FOR_SOME
    there = {str(path.relative_to(FUNCTIONS)) for path in FUNCTIONS.glob("kefu/**/*.py")}
    assert {f"{name.replace('.', '/')}.py" for name in FOR_SOME} <= there


def test_a_service_with_stored_chats_imports_no_panel_terminal_or_agent() -> None:
    kept = loaded_by("kefu.asgi")
    assert parts(kept) - PLAIN == {
        *("auth.identity", "bootstrap.hooks", "bootstrap.sessions", "chat.presets"),
        *("sessions", "sessions.hooks", "sessions.store", "sessions.turn"),
    }
    assert not {name for name in kept if name.startswith("kefu.web.admin")}


def test_a_service_with_chats_in_dynamodb_imports_no_sqlite() -> None:
    kept = loaded_by("kefu.asgi", KEFU_STORE="dynamodb://kefu")
    assert "kefu.stores.dynamodb.sessions" in kept
    assert not {name for name in kept if "sqlite" in name}


def test_a_service_imports_only_the_packages_that_fastapi_imports() -> None:
    """httpx, boto3 and Powertools are imported when the application starts, or later."""
    others = {name.partition(".")[0] for name in loaded_by("kefu.asgi") - loaded_by("fastapi")}
    assert others - sys.stdlib_module_names == {"kefu"}


def test_every_error_handler_is_a_coroutine_function() -> None:
    """Starlette runs other handlers in a thread, and imports anyio's thread support for that."""
    settings = {"LONGCAT_API_KEYS": "sk-test", "KEFU_STORE": "memory:", "ADMIN_TOKEN": "t" * 32}
    handlers = build(Settings.model_validate(settings)).app.exception_handlers
    assert len(handlers) > 1
    assert all(map(iscoroutinefunction, handlers.values()))
