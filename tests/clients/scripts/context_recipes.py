"""Runs the programs of docs/context-recipes.md against a server that checks prompts. Prints JSON.

It runs in the clients' environment, with Kefu's sources on the path.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import ModuleType
from typing import Any

from pydantic_ai.usage import UsageLimits  # type: ignore[import-not-found]

from kefu.context import message_counter
from tests.unit.context.wire.formats import refused_anthropic, refused_chat

PAGE = Path(__file__).parents[3] / "docs" / "context-recipes.md"
STEPS = 60
COUNT = message_counter("tiktoken:gpt-4o").count
CHAT_LIMIT = 6_400
seen: dict[str, Any] = {
    "prompts": 0,
    "summaries_asked": 0,
    "with_summary": 0,
    "cleared": 0,
    "problems": [],
}


class Api(BaseHTTPRequestHandler):
    """A model that calls the tool until it was asked STEPS times, and writes summaries."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        text = json.dumps(body)
        asks_summary = "You condense the older part" in text
        seen["prompts"] += not asks_summary
        seen["summaries_asked"] += asks_summary
        seen["with_summary"] += "<conversation_summary>" in text and not asks_summary
        seen["cleared"] += "[Old tool result cleared]" in text
        chat = self.path.endswith("completions")
        if not asks_summary:
            seen["problems"] += filter(None, [problem(body, chat)])
        tool = bool(body.get("tools")) and not asks_summary and seen["prompts"] % STEPS != 0
        said = "They read some orders." if asks_summary else "An answer of some words. " * 30
        answer = chat_answer(said, body, tool) if chat else anthropic_answer(said, body, tool)
        payload = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(payload)))
        self.end_headers()
        self.wfile.write(payload)

    def log_message(self, *_: object) -> None:
        """Log nothing."""


def problem(body: Any, chat: bool) -> str:
    messages = body["messages"]
    if not chat:
        return refused_anthropic(messages, messages)
    tokens = 3
    for message in messages:
        content = message.get("content") or ""
        parts = [content] if isinstance(content, str) else [part["text"] for part in content]
        tokens += 4 + sum(map(COUNT, parts))
        for call in message.get("tool_calls") or ():
            tokens += COUNT(call["function"]["name"]) + COUNT(call["function"]["arguments"])
    if tokens > CHAT_LIMIT:
        return f"{tokens} tokens"
    return refused_chat(messages, messages)


def chat_answer(said: str, body: Any, tool: bool) -> Any:
    message: dict[str, Any] = {"role": "assistant", "content": None if tool else said}
    if tool:
        name = body["tools"][0]["function"]["name"]
        function = {"name": name, "arguments": json.dumps({"id": str(seen["prompts"])})}
        id = f"call_{seen['prompts']}"
        message["tool_calls"] = [{"id": id, "type": "function", "function": function}]
    tokens = len(json.dumps(body["messages"])) // 5
    usage = {"prompt_tokens": tokens, "completion_tokens": 9, "total_tokens": tokens + 9}
    choice = {"index": 0, "finish_reason": "tool_calls" if tool else "stop", "message": message}
    known = {"id": "c", "object": "chat.completion", "created": 1, "model": "gpt-4o"}
    return {**known, "usage": usage, "choices": [choice]}


def anthropic_answer(said: str, body: Any, tool: bool) -> Any:
    use = {"type": "tool_use", "id": f"t{seen['prompts']}", "name": "look", "input": {"id": "7"}}
    tokens = len(json.dumps(body["messages"])) // 5
    return {
        "id": "m",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [use] if tool else [{"type": "text", "text": said}],
        "stop_reason": "tool_use" if tool else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": tokens, "output_tokens": 1},
    }


def recipes() -> list[dict[str, Any]]:
    """The names that each program of the page defines."""
    found = []
    blocks = re.findall(
        r"^```python\n(.*?)^```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL
    )
    for number, block in enumerate(blocks):
        sys.modules[f"recipe_{number}"] = ModuleType(f"recipe_{number}")
        module = sys.modules[f"recipe_{number}"].__dict__
        exec(compile(block, f"context-recipes.md, {number}", "exec"), module)
        found.append(module)
    return found


async def ask_service(service: dict[str, Any]) -> None:
    for turn in range(STEPS - 1):
        question = service["Question"](chat="1", text=f"Question {turn}. " + "Tell me more. " * 25)
        assert await service["chat"](question)
        await asyncio.gather(*service["writing"].values())


def main() -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Api)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}"
    os.environ |= {"OPENAI_BASE_URL": f"{url}/v1", "ANTHROPIC_BASE_URL": url}
    os.environ |= {"OPENAI_API_KEY": "sk-test", "ANTHROPIC_API_KEY": "sk-test"}
    service, claude, langgraph, pydantic = recipes()
    outcomes = {}
    runs: dict[str, Callable[[], object]] = {
        "fastapi": lambda: asyncio.run(ask_service(service)),
        "anthropic": lambda: claude["work"]("Report on 7.", lambda *_: "It waits. " * 60),
        "langgraph": lambda: langgraph["graph"].invoke(
            {"messages": [("user", "Report on order 7.")]}, {"recursion_limit": 400}
        ),
        "pydantic-ai": lambda: run_pydantic(pydantic["agent"], UsageLimits(request_limit=None)),
    }
    for name, run in runs.items():
        seen.update(prompts=0, summaries_asked=0, with_summary=0, cleared=0, problems=[])
        run()
        outcomes[name] = {**seen}
    server.shutdown()
    json.dump(outcomes, sys.stdout)


def run_pydantic(agent: Any, limits: Any) -> None:
    agent.run_sync("Report on order 7.", usage_limits=limits)


main()
