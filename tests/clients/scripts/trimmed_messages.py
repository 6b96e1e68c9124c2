"""Sends trimmed messages with the official clients to a server that checks them. Prints JSON.

It runs in the clients' environment, with Kefu's sources on the path.
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from random import Random
from typing import Any

import anthropic  # type: ignore[import-not-found]
import openai  # type: ignore[import-not-found]

from kefu.context import trim_messages
from tests.unit.context.wire.formats import (
    FORMATS,
    conversation,
    refused_anthropic,
    refused_chat,
    refused_responses,
)

HISTORIES = 60
RECORDED = Path(__file__).parents[2] / "golden" / "transcripts"
TRANSCRIPTS = {
    "chat completions": ("chat_completions.json", "groq.json"),
    "responses": ("responses.json",),
    "anthropic": ("anthropic.json",),
}
USAGE = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
CHAT = {
    "id": "c",
    "object": "chat.completion",
    "created": 1,
    "model": "m",
    "usage": USAGE,
    "choices": [
        {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "ok"}}
    ],
}
RESPONSE = {
    "id": "r",
    "object": "response",
    "created_at": 1,
    "model": "m",
    "output": [],
    "parallel_tool_calls": True,
    "tool_choice": "auto",
    "tools": [],
}
MESSAGE = {
    "id": "m",
    "type": "message",
    "role": "assistant",
    "model": "m",
    "content": [{"type": "text", "text": "ok"}],
    "stop_reason": "end_turn",
    "stop_sequence": None,
    "usage": {"input_tokens": 1, "output_tokens": 1},
}
ROUTES: dict[str, tuple[str, Callable[[Any, Any], str], Any]] = {
    "/v1/chat/completions": ("messages", refused_chat, CHAT),
    "/v1/responses": ("input", refused_responses, RESPONSE),
    "/v1/messages": ("messages", refused_anthropic, MESSAGE),
}
received: list[Any] = []


class Api(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        field, refused, answer = ROUTES[self.path]
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        received.append(body[field])
        problem = refused(body[field], [])
        status = 400 if problem else 200
        payload = json.dumps({"error": {"message": problem}} if problem else answer).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(payload)))
        self.end_headers()
        self.wfile.write(payload)

    def log_message(self, *_: object) -> None:
        """Log nothing."""


def main() -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Api)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}"
    theirs = openai.OpenAI(api_key="sk-test", base_url=f"{url}/v1", max_retries=0)
    claude = anthropic.Anthropic(api_key="sk-test", base_url=url, max_retries=0)
    send: dict[str, Callable[[Any], object]] = {
        "chat completions": lambda m: theirs.chat.completions.create(model="m", messages=m),
        "responses": lambda m: theirs.responses.create(model="m", input=m),
        "anthropic": lambda m: claude.messages.create(model="m", max_tokens=9, messages=m),
    }
    sent: dict[str, int] = {}
    problems: list[str] = []
    for name, create in send.items():
        for number, whole in enumerate(histories(name)):
            room = Random(number).randrange(20, 600)
            messages = trim_messages(whole, max_tokens=room, reserve=0, counter="bytes4")
            try:
                create(messages)
            except (openai.OpenAIError, anthropic.AnthropicError, TypeError) as error:
                problems.append(f"{name} {number}: {error!r:.300}")
                continue
            sent[name] = sent.get(name, 0) + 1
            if received[-1] != json.loads(json.dumps(messages)):
                problems.append(f"{name} {number}: the client changed the messages")
    server.shutdown()
    json.dump({"sent": sent, "problems": problems}, sys.stdout)


def histories(name: str) -> list[list[Any]]:
    random = [conversation(FORMATS[name].writer, Random(seed)) for seed in range(HISTORIES)]
    for file in TRANSCRIPTS[name]:
        random += json.loads((RECORDED / file).read_text(encoding="utf-8")).values()
    return random


main()
