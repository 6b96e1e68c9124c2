"""A scripted model behind the real relay, and an agent session that uses it."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from kefu.agent.events import AgentSessionId, SessionEvent
from kefu.agent.instructions import arguments_of
from kefu.agent.react import AgentDeps, AgentOptions, AgentSession, Piece, create_agent_session
from kefu.agent.tools import Tool, tool_of
from kefu.chat.prompt import Sampling
from kefu.context import CHARACTERS
from kefu.errors import ToolFailed
from kefu.relay import sse
from kefu.relay.key_pool import KeyPool
from kefu.relay.relay import Relay
from kefu.relay.time_limits import NORMAL, RelayOptions
from kefu.stores.memory import MemoryStore
from kefu.tools.tool import Visitor
from kefu.tools.workbench import Limits, Surroundings, Workbench

KEY = "key-of-the-test"


@dataclass(frozen=True)
class Say:
    """One answer of the model."""

    text: str = ""
    usage: tuple[int, int] | None = None
    finish: str | None = "stop"
    status: int = 200
    pieces: int = 7
    """Characters in a chunk."""
    hangs: bool = False
    """It never ends."""
    calls: tuple[Mapping[str, Any], ...] = ()
    """Deltas of native tool calls."""

    def body(self) -> list[bytes]:
        if self.status != 200:
            return [
                json.dumps({"error": {"message": self.text, "code": str(self.status)}}).encode()
            ]
        size = self.pieces
        deltas: list[dict[str, Any]] = [
            {"content": self.text[at : at + size]} for at in range(0, len(self.text), size)
        ]
        deltas += [{"tool_calls": [call]} for call in self.calls]
        events = [_chunk([{"index": 0, "delta": delta}]) for delta in deltas]
        if self.hangs:
            return events
        if self.finish:
            events.append(_chunk([{"index": 0, "delta": {}, "finish_reason": self.finish}]))
        if self.usage:
            prompt, completion = self.usage
            events.append(
                _chunk([], usage={"prompt_tokens": prompt, "completion_tokens": completion})
            )
        return [*events, sse.DONE] if self.finish else events


def _chunk(choices: list[Any], **more: Any) -> bytes:
    return sse.encode(json.dumps({"id": "c", "model": "test-model", "choices": choices, **more}))


class Spoken:
    """An `Upstream` that returns these answers in turn, and then repeats the last one."""

    def __init__(self, *answers: str | Say) -> None:
        self.answers = [Say(a) if isinstance(a, str) else a for a in answers]
        self.asked: list[Any] = []
        """The bodies that came."""
        self.closed = 0

    async def send(self, body: bytes, secret: str) -> SpokenResponse:
        number = min(len(self.asked), len(self.answers) - 1)
        self.asked.append(json.loads(body))
        return SpokenResponse(self, self.answers[number])


class SpokenResponse:
    def __init__(self, spoken: Spoken, say: Say) -> None:
        self.status = say.status
        kind = "text/event-stream" if say.status == 200 else "application/json"
        self.headers: Mapping[str, str] = {"content-type": kind}
        self._spoken = spoken
        self._parts = iter(say.body())
        self._hangs = say.hangs

    async def read(self, timeout: float) -> bytes:
        await asyncio.sleep(0)
        part = next(self._parts, b"")
        if not part and self._hangs:
            await asyncio.sleep(timeout)
            raise TimeoutError
        return part

    async def aclose(self) -> None:
        self._spoken.closed += 1

    def finish(self) -> None:
        """Do nothing: there is no connection to reuse."""


async def until(so: Callable[[], object]) -> None:
    """Let other tasks run until the condition holds."""
    async with asyncio.timeout(10):
        while not so():  # noqa: ASYNC110 - the condition has no event
            await asyncio.sleep(0)


def text_tool(
    name: str, description: str, call: Callable[[str], Awaitable[str]], **fields: Any
) -> Tool:
    """A tool with the argument `text`, made of a function as in docs/agent.md."""

    async def function(text: str) -> str:
        """Does something."""
        return await call(text)

    function.__name__ = name
    return tool_of(function)._replace(description=description, **{"idempotent": False, **fields})


async def result_of(tool: Tool, text: str) -> str:
    """The result of a call with this input, as a model writes it. Raises ToolFailed."""
    limits = Limits(call_seconds=600, seconds=600, result=sys.maxsize, arguments=sys.maxsize)
    around = Surroundings(time.time, time.monotonic)
    bench = Workbench({tool.name: tool}, Visitor(), around, limits=limits)
    [use] = bench.take([(tool.name, arguments_of(tool, text.strip()))], 0)
    if use.state == "running":
        use = await bench.run(use)
    if use.state != "done":
        raise ToolFailed(use.result)
    return use.result


@dataclass
class HandClock:
    """A clock that advances on request, and by a millisecond with each read."""

    time: float = 1_760_000_000.0
    spent: float = 0.0

    def now(self) -> float:
        return self.time + self.monotonic()

    def monotonic(self) -> float:
        self.spent += 0.001
        return self.spent


@dataclass
class Rig:
    """An agent session, with its recorded events and warnings."""

    spoken: Spoken
    session: AgentSession
    events: list[SessionEvent] = field(default_factory=list)
    pieces: list[Piece] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def told(self) -> list[SessionEvent]:
        """The events that are written to the log."""
        return [event for event in self.events if event.type != "assistant_chunk"]

    @property
    def shown(self) -> str:
        """The text of all displayed pieces, of any kind."""
        return "".join(piece.text for piece in self.pieces)

    def types(self) -> list[str]:
        return [event.type for event in self.told()]

    def bodies(self, kind: type[Any]) -> list[Any]:
        return [event.body for event in self.events if isinstance(event.body, kind)]


def rig(
    *answers: str | Say,
    tools: tuple[Tool, ...] = (),
    deps: Mapping[str, Any] | None = None,
    keys: int = 1,
    **options: Any,
) -> Rig:
    """A session with a model that returns these answers. One character counts as one token."""
    spoken = Spoken(*answers)
    clock = HandClock()
    store = MemoryStore(clock.now)
    pool = KeyPool([f"{KEY}-{number}" for number in range(keys)])
    limits = NORMAL._replace(stall=600, max_duration=600)
    relay = Relay(spoken, pool, store, clock, RelayOptions(limits))
    made = Rig(spoken, None, [], [], [])  # type: ignore[arg-type]
    given = AgentDeps(
        relay,
        clock,
        lambda: AgentSessionId("sess_test"),
        CHARACTERS,
        "characters",
        {tool.name: tool for tool in tools},
        (),
        made.events.append,
        made.pieces.append,
        made.warnings.append,
    )
    made.session = create_agent_session(
        replace(given, **(deps or {})), AgentOptions(Sampling("test-model"), **options)
    )
    return made
