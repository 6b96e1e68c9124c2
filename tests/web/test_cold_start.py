"""The imports and requests that delay a cold start (design decisions 5 and 8; C15)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import tests.fakes.behaviours as b
from tests.fakes.upstream import ScriptedUpstream
from tests.parts.plugin import CREDENTIALS, free_port

COLLECTIONS = """
import asyncio, gc, json
from kefu.asgi import app
seen = []

def note(phase, info):
    seen.append(info["generation"])

async def main():
    gc.callbacks.append(note)
    async with app.router.lifespan_context(app):
        print(json.dumps([2 in seen, gc.isenabled()]))

asyncio.run(main())
"""

EVENT = Path(__file__).parents[2] / "events/http-chat.json"

# Reports which of the heavy libraries were imported, and the thread that imported each.
PROGRAM = """
import json, sys, threading
brought = {}
HEAVY = ("aiohttp", "aws_lambda_powertools", "boto3", "httpx", "sqlite3", "tiktoken")

def note(event, arguments):
    if event == "import" and arguments[0] in HEAVY:
        brought.setdefault(arguments[0], threading.current_thread().name)

sys.addaudithook(note)
import kefu.asgi
imported = [name for name in HEAVY if name in sys.modules]
from kefu.lambda_handler import handler
answer = handler(json.load(sys.stdin), None)
print(json.dumps([imported, brought, answer["statusCode"], answer["body"]]))
"""


def first_chat(store: str, **environment: str) -> tuple[list[str], dict[str, str]]:
    """The heavy libraries that were imported with the application, and those imported until the end
    of the first chat, with their threads.
    """
    asked: dict[str, Any] = json.loads(EVENT.read_text(encoding="utf-8"))
    with ScriptedUpstream() as upstream:
        upstream.script("*", b.answer("Hello"))
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM],
            input=json.dumps(asked),
            env={
                "PATH": os.defpath,
                "AWS_LAMBDA_FUNCTION_NAME": "kefu",
                "LONGCAT_API_KEYS": "sk-canary-cold",
                "KEFU_UPSTREAM_URL": upstream.base_url,
                "KEFU_ALLOWED_ORIGINS": "https://www.example.com",
                "KEFU_STORE": store,
                "KEFU_DAILY_TOKENS": "0",
                "KEFU_SITE_REQUESTS_PER_MINUTE": "0",
                **environment,
            },
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    imported, brought, status, body = json.loads(done.stdout)
    assert status == 200
    assert "Hello" in body
    return imported, brought


@pytest.mark.slow
def test_a_chat_with_a_memory_store_loads_no_store_and_no_tokenizer() -> None:
    imported, brought = first_chat("memory:")
    assert imported == []
    assert set(brought) == {"aiohttp", "httpx", "aws_lambda_powertools"}


@pytest.mark.slow
def test_slow_imports_run_in_threads_during_the_start() -> None:
    """Also with DynamoDB, although its table does not exist."""
    endpoint = f"http://127.0.0.1:{free_port()}"
    store = "dynamodb://kefu"
    imported, brought = first_chat(store, **CREDENTIALS, AWS_ENDPOINT_URL_DYNAMODB=endpoint)
    assert imported == []
    assert "MainThread" not in brought.values(), brought
    assert brought["boto3"].startswith("kefu-dynamodb")
    assert not {"sqlite3", "tiktoken"} & set(brought)


@pytest.mark.parametrize(("function", "collects"), [("kefu", False), ("", True)])
def test_a_start_on_lambda_makes_no_full_collection(function: str, collects: bool) -> None:
    """Elsewhere it makes one, for a smaller process. The collector is on afterwards."""
    done = subprocess.run(
        [sys.executable, "-c", COLLECTIONS],
        env={
            "PATH": os.defpath,
            "AWS_LAMBDA_FUNCTION_NAME": function,
            "LONGCAT_API_KEYS": "sk-canary-cold",
        },
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert json.loads(done.stdout) == [collects, True]
