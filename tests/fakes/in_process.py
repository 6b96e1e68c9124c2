"""Stored chats in the process of the test, without sockets and without waiting."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import count
from types import MappingProxyType
from typing import Any

import pytest

from kefu.auth.bot_check import Proof
from kefu.chat.admission import Admission, Allowance
from kefu.chat.completion import Chat
from kefu.chat.presets import Config, Configs
from kefu.chat.prompt import PromptPolicy
from kefu.chat.summaries import Summaries, SummaryPolicy
from kefu.relay.completion_stream import Clock, Upstream
from kefu.relay.key_pool import KeyPool
from kefu.relay.relay import Relay
from kefu.sessions.background import BackgroundWriter
from kefu.sessions.call_log import Recording
from kefu.sessions.hooks import HOOKS, HookConfig, Hooks, loaded
from kefu.sessions.message_processor import MessageProcessor
from kefu.sessions.model import Sessions
from kefu.sessions.recorder import PersistenceDeps
from kefu.sessions.service import IncomingMessage, SessionDeps, SessionService, Signer
from kefu.sessions.turn import KeptConversation
from kefu.stores.memory.store import MemoryStore
from kefu.web.answers import ChatResponse
from kefu.web.caller import Caller
from kefu.web.log import RequestLog
from kefu.web.request_record import Record
from kefu.web.runtime import ChatRuntime


@dataclass
class Answer:
    """A response, piece by piece."""

    status: int
    headers: dict[str, str]
    body: str
    events: list[dict[str, Any]] = field(init=False)
    """Those that are JSON objects."""

    def __post_init__(self) -> None:
        lines = self.body.split("\n")
        self.events = [json.loads(line[6:]) for line in lines if line.startswith("data: {")]

    @property
    def complete(self) -> bool:
        return self.status == 200 and self.body.endswith("data: [DONE]\n\n")

    @property
    def text(self) -> str:
        choices = [event["choices"][0]["delta"] for event in self.events if "choices" in event]
        return "".join(delta.get("content", "") for delta in choices)

    @property
    def code(self) -> str:
        """The code of the error: in the body of an error status, or in the last event."""
        whole = self.events[-1] if self.status == 200 else json.loads(self.body)
        return str(whole["error"]["code"])


class Process:
    """One of several service processes that may share a store and a model."""

    def __init__(
        self,
        store: Sessions,
        model: Upstream,
        clock: Clock,
        *,
        key: str = "one key",
        hooks: Mapping[str, Mapping[str, object]] = MappingProxyType({}),
        policy: PromptPolicy | None = None,
        redact: Callable[[str], str] = str,
    ) -> None:
        """`hooks`: the names of the enabled hooks with their options."""
        policy = policy or PromptPolicy()
        relay = Relay(model, KeyPool([key]), MemoryStore(clock.now), clock)
        admission = Admission(MemoryStore(clock.now), clock, Allowance())
        self.clock = clock
        summaries = Summaries(relay, admission, "m", clock, SummaryPolicy(wait=10))
        made = [loaded(name, HOOKS[name](HookConfig(given))) for name, given in hooks.items()]
        chat = Chat(relay, policy, "m", clock, summaries)
        self.runtime = ChatRuntime(chat, admission, RequestLog(clock), prefetch=lambda: None)
        recording = Recording("all", redact, "h")
        persistence = PersistenceDeps(
            store, BackgroundWriter(pytest.fail), clock, recording, MessageProcessor()
        )
        configs = Configs({"default": Config("default", "m", 0.5, 500, policy)})
        entropy = count(1)
        self.turns = SessionService(
            SessionDeps(persistence, configs, Hooks(made, pytest.fail), summaries.write),
            Signer(store, ["secret"], "", 86400),
            lambda size: next(entropy).to_bytes(size, "big"),
        )

    async def ask(self, text: str, after: Answer | None = None, **more: Any) -> Answer:
        """Send a message. `after`: an earlier answer of the same chat; None starts a new chat."""
        if after:
            more["session_id"] = after.headers["x-session-id"]
            more["token"] = after.headers["x-session-token"]
        incoming = IncomingMessage(text, "1.2.3.4", "request", **more)
        record = Record("request", "POST", "/api/chat", self.clock.monotonic())
        conversation = KeptConversation(self.turns, incoming, record.started)
        exchange = ChatResponse(self.runtime, Caller("1.2.3.4", Proof()), conversation)
        scope = {"type": "http", "method": "POST", "state": {"record": record}}
        sent: list[Any] = []

        async def send(message: Any) -> None:
            sent.append(message)

        async def receive() -> dict[str, Any]:
            await asyncio.Event().wait()
            return {}

        await exchange(scope, receive, send)
        body = b"".join(message.get("body", b"") for message in sent)
        # In the service, the middleware `Edge` adds these headers.
        headers = {name.lower(): value for name, value in record.answer_headers.items()}
        return Answer(sent[0]["status"], headers, body.decode())
