"""A service in front of a scripted upstream, and what must hold of both whatever the test does."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

from tests.fakes.asking import Answer, ask
from tests.fakes.behaviours import Behaviour
from tests.fakes.service import Service
from tests.fakes.upstream import ScriptedUpstream

ORIGIN = "https://shop.example"
"""A page that may embed the widget: `service.QUIET` allows it."""

FAST: dict[str, Any] = {
    "try_timeout": 0.5,
    "first_byte_budget": 1.0,
    "first_event_timeout": 1.0,
    "stall_timeout": 1.0,
    "ping_interval": 0.3,
    "body_timeout": 1.0,
    "write_timeout": 1.5,
}
"""Time limits short enough for tests, long enough for a busy machine."""


def api_keys(count: int) -> list[str]:
    """Made-up keys; nothing outside an Authorization header may ever hold one."""
    return [f"sk-canary-{number:02}-5f3c9a7e1b" for number in range(count)]


class Stage:
    def __init__(self, upstream: ScriptedUpstream, service: Service, keys: list[str]) -> None:
        self.upstream = upstream
        self.service = service
        self.keys = keys

    @property
    def url(self) -> str:
        return self.service.url

    def script(self, *behaviours: Behaviour, key: str = "*", asking: str = "") -> None:
        self.upstream.script(key, *behaviours, asking=asking)

    async def ask(
        self, body: Any = "Hello?", *, headers: Mapping[str, str] | None = None, **options: Any
    ) -> Answer:
        """Ask as a visitor of an allowed page; every answer is searched for keys."""
        answer = await ask(self.url, body, headers={"Origin": ORIGIN, **(headers or {})}, **options)
        self.check_answer(answer)
        return answer

    def check_answer(self, answer: Answer) -> None:
        """T18, C6, T11: no key, nothing but `data:` and comments, for the strictest of readers."""
        seen = answer.raw.decode() + repr(answer.headers)
        assert not [key for key in self.keys if key in seen]
        assert "Bearer" not in seen
        if answer.status == 200 and answer.headers["content-type"].startswith("text/event-stream"):
            # str.splitlines() also breaks lines where some careless clients do, as at U+2028.
            lines = answer.raw.decode().splitlines()
            assert [line for line in lines if line and not line.startswith(("data: ", ":"))] == []

    def check_output(self) -> None:
        """T18, C20: all that was written is JSON, without a key and without a traceback."""
        output = self.service.stderr + self.service.stdout
        assert not [key for key in self.keys if key in output]
        assert "Bearer sk-" not in output
        assert "Traceback" not in output, output
        assert all(isinstance(record, dict) for record in self.service.logs())


@contextlib.contextmanager
def stage(
    keys: int = 1,
    *,
    upstream: ScriptedUpstream | None = None,
    url: str | None = None,
    **settings: Any,
) -> Iterator[Stage]:
    """A running service with so many keys; `url` sends it elsewhere than to the upstream."""
    names = api_keys(keys)
    with contextlib.ExitStack() as stack:
        scripted = upstream or stack.enter_context(ScriptedUpstream())
        service = stack.enter_context(Service(url or scripted.base_url, names, **settings))
        running = Stage(scripted, service, names)
        yield running
        running.check_output()
