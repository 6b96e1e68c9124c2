"""Kept chats as a process of the service answers them, without a socket and without waiting."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import count
from types import MappingProxyType
from typing import Any

import pytest

from kefu.admission import Admission, Allowance
from kefu.answer import Clock, Upstream
from kefu.chat import Chat
from kefu.configs import Config, Configs
from kefu.hooks import HOOKS, Given
from kefu.keeping import Keeper
from kefu.keypool import KeyPool
from kefu.message_processor import MessageProcessor
from kefu.outcome import Writing
from kefu.prompt import PromptPolicy
from kefu.recording import Recording
from kefu.relay import Relay
from kefu.sessions import Sessions
from kefu.stores.memory import MemoryStore
from kefu.summaries import Summaries, SummaryPolicy
from kefu.turn import Asking, Ways
from kefu.turns import Signer, Turns
from kefu.verification import Proof
from kefu.web.caller import Caller
from kefu.web.desk import Desk
from kefu.web.kept import Kept
from kefu.web.log import RequestLog
from kefu.web.record import Record


@dataclass
class Answer:
    """What was sent, piece by piece."""

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
        """Of an error, as status or as an event."""
        whole = self.events[-1] if self.status == 200 else json.loads(self.body)
        return str(whole["error"]["code"])


class Process:
    """One of several that may share a store and ask one model."""

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
        """`hooks`: the names of those that are switched on, with their options."""
        policy = policy or PromptPolicy()
        relay = Relay(model, KeyPool([key]), MemoryStore(clock.now), clock)
        admission = Admission(MemoryStore(clock.now), clock, Allowance())
        self.clock = clock
        summaries = Summaries(relay, admission, "m", clock, SummaryPolicy(wait=10))
        made = [HOOKS[name](Given(options, summaries.write)) for name, options in hooks.items()]
        chat = Chat(relay, policy, "m", clock, summaries)
        self.desk = Desk(chat, admission, RequestLog(clock), prefetch=lambda: None)
        recording = Recording("all", redact, "h")
        writing = Writing(store, Keeper(pytest.fail), clock, recording, MessageProcessor())
        configs = Configs({"default": Config("default", "m", 0.5, 500, policy)})
        entropy = count(1)
        self.turns = Turns(
            Ways(writing, configs, made, pytest.fail),
            Signer(store, ["secret"], "", 86400),
            lambda size: next(entropy).to_bytes(size, "big"),
        )

    async def ask(self, text: str, after: Answer | None = None, **more: Any) -> Answer:
        """`after`: an answer of the chat that this message belongs to."""
        if after:
            more["session_id"] = after.headers["x-session-id"]
            more["token"] = after.headers["x-session-token"]
        asking = Asking(text, "1.2.3.4", "request", **more)
        kept = Kept(self.desk, Caller("1.2.3.4", Proof()), self.turns, asking)
        record = Record("request", "POST", "/api/chat", self.clock.monotonic())
        scope = {"type": "http", "method": "POST", "state": {"record": record}}
        sent: list[Any] = []

        async def send(message: Any) -> None:
            sent.append(message)

        async def receive() -> dict[str, Any]:
            await asyncio.Event().wait()
            return {}

        await kept(scope, receive, send)
        body = b"".join(message.get("body", b"") for message in sent)
        # The outermost layer would send them.
        headers = {name.lower(): value for name, value in record.answer_headers.items()}
        return Answer(sent[0]["status"], headers, body.decode())
