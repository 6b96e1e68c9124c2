"""A model that obeys: the worst case of a prompt injection, as a `Behaviour`.

Whatever text it reads last that has the code of an order, it carries out: a visitor's message, a
result, a page, a description of a tool. A code survives every escape, cut and filter, so the tests
do not depend on the words of an injection.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from tests.fakes.behaviours import Behaviour, Exchange, answer
from tests.fakes.choosing import Made, calling
from tests.fakes.in_process_upstream import Exchange as Sent
from tests.fakes.in_process_upstream import Reply, ScriptedResponse

_CODE = re.compile(r"OBEY(\d{3})")


class Order(NamedTuple):
    """What the model does: these calls, one group for each request, and then this text."""

    steps: Sequence[Sequence[Made]] = ()
    says: str = ""
    """Empty: it repeats everything that its prompt has, as far as it fits."""


class Obedient:
    """The behaviour for every request."""

    def __init__(self) -> None:
        self.orders: list[Order] = []
        self.bodies: list[dict[str, Any]] = []
        """The requests."""

    def order(self, *steps: Sequence[Made], says: str = "") -> str:
        """The code of an order, to be put into a text."""
        self.orders.append(Order(steps, says))
        return f"OBEY{len(self.orders) - 1:03}"

    async def __call__(self, exchange: Exchange) -> None:
        self.bodies.append(exchange.body)
        await self._reply(exchange.body)(exchange)

    def _reply(self, body: Mapping[str, Any]) -> Behaviour:
        """It also calls when no tool is offered, or all are forbidden."""
        messages: Sequence[Mapping[str, Any]] = body["messages"]
        texts = [json.dumps(body.get("tools", [])), *(_text(one) for one in messages)]
        for at in range(len(texts) - 1, -1, -1):
            if not (codes := _CODE.findall(texts[at])):
                continue
            order = self.orders[int(codes[-1])]
            asked = max(i for i, one in enumerate(messages) if one["role"] == "user")
            since = messages[max(at - 1, asked) :]
            done = sum(bool(one.get("tool_calls")) for one in since)
            if done < len(order.steps):
                return calling(*order.steps[done], text=order.says)
            return answer(order.says or json.dumps(messages, ensure_ascii=False)[-3000:])
        return answer("I was told nothing.")

    async def send(self, body: bytes, secret: str) -> ScriptedResponse:
        """Implements `kefu.relay.attempt.Upstream`: the same without a socket."""
        kept = _Kept(json.loads(body))
        await self(kept)
        parts = tuple((0.0, part) for part in kept.parts)
        return ScriptedResponse(Reply(parts), Sent(secret, body, 0.0))


def _text(message: Mapping[str, Any]) -> str:
    """What a message tells the model: its own words are no orders."""
    told = message.get("role") != "assistant" or "tool_calls" not in message
    return str(message.get("content") or "") if told else ""


class _Kept:
    """An `Exchange` that keeps the parts of a response."""

    def __init__(self, body: Any) -> None:
        self.body = body
        self.parts: list[bytes] = []

    async def head(self, status: int, headers: Mapping[str, str]) -> None:
        assert status == 200

    async def part(self, octets: bytes) -> None:
        self.parts.append(octets)

    async def end(self) -> None:
        """The parts are the whole response."""

    async def send(self, octets: bytes) -> None:
        raise NotImplementedError

    async def silence(self) -> None:
        raise NotImplementedError

    def reset(self) -> None:
        raise NotImplementedError

    def cut(self) -> None:
        raise NotImplementedError
