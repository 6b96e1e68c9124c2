"""Stored chats in the process of the test, without sockets and without waiting."""

from __future__ import annotations

import asyncio
import json
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import count
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import pytest

from kefu.chat.admission import Admission, Allowance
from kefu.chat.answer import make_answer
from kefu.chat.completion import Chat, Question
from kefu.chat.conversation import RequestedConversation, Stateless
from kefu.chat.presets import Config, Configs
from kefu.chat.prompt import PromptPolicy, Sampling
from kefu.chat.services import Services
from kefu.chat.state import Answer as MadeAnswer
from kefu.chat.summaries import Summaries, SummaryPolicy
from kefu.messages import Message
from kefu.relay.attempt import Upstream
from kefu.relay.call import Clock
from kefu.relay.key_pool import KeyPool
from kefu.relay.relay import Relay
from kefu.sessions.hooks import HOOKS, Hook, HookConfig, Hooks, loaded
from kefu.sessions.store.capacity import UNLIMITED, Capacity
from kefu.sessions.store.model import SessionId
from kefu.sessions.store.ports import Sessions
from kefu.sessions.turn.call_log import Recording
from kefu.sessions.turn.message import KeptConversation
from kefu.sessions.turn.message_processor import MessageProcessor
from kefu.sessions.turn.saving import BackgroundWriter
from kefu.sessions.turn.service import IncomingMessage, SessionDeps, SessionService
from kefu.sessions.turn.tokens import SessionTokens
from kefu.stores.memory import MemoryStore
from kefu.web.buffered import Buffered
from kefu.web.caller import Gateway
from kefu.web.log import RequestLog
from kefu.web.options import WebOptions
from kefu.web.request_record import Record
from kefu.web.running import ChatRuntime
from kefu.web.schemas import ResumeRequest
from kefu.web.sending import AnswerResponse
from kefu.web.session_chat import resumed

if TYPE_CHECKING:
    from kefu.chat.grounding import Grounder
    from kefu.tools.toolbox import Toolbox


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
        choices = [event["choices"][0]["delta"] for event in self.events if event.get("choices")]
        return "".join(delta.get("content") or "" for delta in choices)

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
        hooks: Mapping[str, Mapping[str, object] | Hook] = MappingProxyType({}),
        policy: PromptPolicy | None = None,
        redact: Callable[[str], str] = str,
        capacity: Capacity = UNLIMITED,
        allowance: Allowance | None = None,
        grounder: Grounder | None = None,
        toolbox: Toolbox | None = None,
        on_unsaved: Callable[[str], None] = pytest.fail,
    ) -> None:
        """`hooks`: the names of the enabled hooks with their options, or a hook of the site."""
        policy = policy or PromptPolicy()
        relay = Relay(model, KeyPool([key]), MemoryStore(clock.now), clock)
        self.admission = Admission(MemoryStore(clock.now), clock, allowance or Allowance())
        self.clock = clock
        summaries = Summaries(relay, self.admission, Sampling("m"), clock, SummaryPolicy(wait=10))
        made = [
            # On the loop of the test, so that virtual time waits for a hook of the site, too.
            loaded(name, one)._replace(is_ours=True)
            if isinstance(one, Hook)
            else loaded(name, HOOKS[name](HookConfig(one)))
            for name, one in hooks.items()
        ]
        chat = Chat(relay, policy, Sampling("m"), clock, summaries)
        self.runtime = ChatRuntime(
            Services(self.admission, chat, prefetches=(), grounder=grounder),
            RequestLog(clock),
            Gateway(clock.now),
            WebOptions(),
        )
        recording = Recording("all", redact, "h")
        configs = Configs({"default": Config("default", Sampling("m", 0.5, 500), policy)})
        entropy = count(1)
        self.sessions = SessionService(
            SessionDeps(
                store,
                BackgroundWriter(on_unsaved),
                clock,
                recording,
                MessageProcessor(),
                configs,
                Hooks(made, pytest.fail),
                summaries,
                toolbox=toolbox,
                capacity=capacity,
            ),
            SessionTokens(["secret"], 86400),
            lambda size: next(entropy).to_bytes(size, "big"),
        )

    async def ask(self, text: str, after: Answer | None = None, **more: Any) -> Answer:
        """Send a message. `after`: an earlier answer of the same chat; None starts a new chat."""
        return await self.connect(text, after, **more).answer()

    def connect(
        self,
        text: str,
        after: Answer | None = None,
        seconds: float | None = None,
        largest: int | None = None,
        **more: Any,
    ) -> Connection:
        """As `ask`, without waiting for the answer, which must end after `seconds`.

        `largest`: the limit of bytes of an integration that does not stream; None: it streams.
        """
        if after:
            more["session_id"] = after.headers["x-session-id"]
            more["token"] = after.headers["x-session-token"]
        incoming = IncomingMessage(text, "1.2.3.4", "request", **more)
        record = Record("request", "POST", "/api/chat", self.clock.monotonic())
        conversation = KeptConversation(self.sessions, incoming, record.started)
        answer = answer_to(record, incoming.client_message_id)
        if seconds is not None:
            answer.deadline = asyncio.get_running_loop().time() + seconds
        return self._connection(answer, conversation, record, largest=largest)

    def stateless(self, text: str, *, stream: bool = True, id: str | None = None) -> Connection:
        """Ask a question that is not stored."""
        record = Record("request", "POST", "/v1/chat/completions", self.clock.monotonic())
        conversation = Stateless(Question([Message("user", text)], Sampling("m", 0.5, 100)))
        return self._connection(answer_to(record, id), conversation, record, stream=stream)

    def _connection(
        self,
        answer: MadeAnswer,
        conversation: RequestedConversation,
        record: Record,
        *,
        stream: bool = True,
        largest: int | None = None,
    ) -> Connection:
        events = make_answer(answer, conversation, self.runtime.services)
        response = AnswerResponse(self.runtime, answer, events, stream)
        return Connection(response, record, largest)

    def cancel(self, client_message_id: str) -> bool:
        """Cancel an answer, as its visitor does. False if this process does not make it."""
        return self.runtime.running.cancel(client_message_id)

    async def delete(self, session_id: str) -> None:
        """Delete a chat with its answers in progress, as its visitor does."""
        self.runtime.running.cancel_session(session_id)
        await self.sessions.forget(SessionId(session_id))

    def close(self) -> None:
        """Stop the server."""
        self.runtime.close()

    async def resume(self, session_id: str, client_message_id: str) -> Connection:
        """Take up the answer to a message of a stored chat."""
        session = await self.sessions.deps.store.session(SessionId(session_id))
        assert session
        record = Record("another request", "POST", "/answer", self.clock.monotonic())
        answer, body = answer_to(record, None), ResumeRequest(client_message_id=client_message_id)
        events = resumed(self.runtime, self.sessions, answer, session, body)
        return Connection(AnswerResponse(self.runtime, answer, events), record)


def answer_to(record: Record, client_message_id: str | None) -> MadeAnswer:
    answer = MadeAnswer(record.request_id, record.started, "1.2.3.4")
    answer.client_message_id = client_message_id
    answer.wants_steps = True
    return answer


class Connection:
    """A request whose response is received while the test goes on."""

    def __init__(
        self, response: AnswerResponse, record: Record, largest: int | None = None
    ) -> None:
        self.record = record
        self.response = weakref.ref(response)
        self.reads = asyncio.Event()
        """Cleared: the client reads nothing."""
        self.reads.set()
        self._left, self._news = asyncio.Event(), asyncio.Event()
        self._sent: list[Any] = []
        scope = {"type": "http", "method": "POST", "state": {"record": record}}
        app = response if largest is None else Buffered(response, largest)
        self._task = asyncio.create_task(app(scope, self._receive, self._send))

    async def _send(self, message: Any) -> None:
        if self._left.is_set():
            return  # as uvicorn does
        await self.reads.wait()
        self._sent.append(message)
        self._news.set()

    async def _receive(self) -> dict[str, Any]:
        await self._left.wait()
        return {"type": "http.disconnect"}

    def leave(self) -> None:
        """Disconnect."""
        self._left.set()
        self.reads.set()

    @property
    def body(self) -> str:
        """What has arrived so far."""
        return b"".join(message.get("body", b"") for message in self._sent).decode()

    async def until(self, words: str) -> None:
        """Wait until the client has received these words."""
        while words not in self.body:
            self._news.clear()
            await self._news.wait()

    async def ended(self) -> None:
        await self._task

    async def answer(self) -> Answer:
        """The whole response."""
        await self.ended()
        start = self._sent[0]
        headers = {name.decode(): value.decode() for name, value in start["headers"]}
        # In the service, the middleware `Edge` adds these headers.
        headers |= {name.lower(): value for name, value in self.record.answer_headers.items()}
        return Answer(start["status"], headers, self.body)
