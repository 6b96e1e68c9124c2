"""A service in front of a scripted upstream, with checks that apply to every test."""

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

FAST: dict[str, Any] = {"body_timeout": 1.0, "write_timeout": 1.5}
"""Time limits of clients, short enough for tests. Those of the model are the real ones."""

UNHURRIED: dict[str, Any] = {
    "patience": "slow",
    "body_timeout": 20.0,
    "write_timeout": 20.0,
    "store_timeout": 10.0,
}
"""For tests of anything but time limits that have a machine do much at once."""


def api_keys(count: int) -> list[str]:
    """Made-up keys. Answers and logs must not contain them."""
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
        """Ask as a visitor of an allowed page. The answer is checked by `check_answer`."""
        answer = await ask(self.url, body, headers={"Origin": ORIGIN, **(headers or {})}, **options)
        self.check_answer(answer)
        return answer

    def check_answer(self, answer: Answer) -> None:
        """T18, C6, T11: the answer contains no key, and only `data:` lines and comments."""
        seen = answer.raw.decode() + repr(answer.headers)
        assert not [key for key in self.keys if key in seen]
        if answer.status == 200 and answer.headers["content-type"].startswith("text/event-stream"):
            # str.splitlines() also splits at characters such as U+2028, as some clients do.
            lines = answer.raw.decode().splitlines()
            assert [line for line in lines if line and not line.startswith(("data: ", ":"))] == []

    def check_output(self) -> None:
        """T18, C20: all output is JSON, and contains no key and no traceback."""
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
    """A running service with so many keys. `url`: another upstream than the scripted one."""
    names = api_keys(keys)
    with contextlib.ExitStack() as stack:
        scripted = upstream or stack.enter_context(ScriptedUpstream())
        service = stack.enter_context(Service(url or scripted.base_url, names, **settings))
        running = Stage(scripted, service, names)
        yield running
        running.check_output()
