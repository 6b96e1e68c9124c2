"""Several servers on one PostgreSQL database, behind nginx (scale E2)."""

from __future__ import annotations

import asyncio
import contextlib
import random
import shutil
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from kefu.sessions.store.model import LEASE
from tests.fakes import behaviours as b
from tests.fakes.asking import Answer, ask, client
from tests.fakes.chatting import Visitor, new_id
from tests.fakes.fixtures import Staged
from tests.fakes.leaks import leaked
from tests.fakes.stage import ORIGIN, UNHURRIED, Stage
from tests.faults.test_kill import (
    AT_ONCE,
    KEPT,
    LEAVING,
    LEAVING_AT_ONCE,
    Chatty,
    Leaving,
    check_stored,
    check_told,
    echo,
)
from tests.parts.plugin import free_port
from tests.parts.postgresql import Postgres
from tests.web.test_contact import TOKEN, wait_until
from tests.web.test_take_over import Operator, polled


class Front:
    """nginx in front of servers. `url` is the site's address."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._file = folder / "nginx.conf"
        self._process: subprocess.Popen[bytes] | None = None
        self._shown = 0

    def show(self, *servers: Stage) -> None:
        """Send requests to these servers, from when this returns."""
        self._shown += 1
        upstreams = "".join(f"server 127.0.0.1:{one.service.port};\n" for one in servers)
        paths = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        scratch = "".join(f"{name}_temp_path {self.folder}/{name};\n" for name in paths)
        self._file.write_text(
            f"daemon off;\npid {self.folder}/nginx.pid;\nerror_log {self.folder}/errors;\n"
            f"events {{ worker_connections 4096; }}\n"
            f"http {{\naccess_log off;\n{scratch}upstream kefu {{\n{upstreams}}}\n"
            f"server {{\nlisten 127.0.0.1:{self.port};\nlocation / {{\n"
            "proxy_pass http://kefu;\nproxy_http_version 1.1;\nproxy_set_header Host $host;\n"
            "proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;\n}\n"
            f"location = /shown {{\nreturn 200 '{self._shown}';\n}}\n}}\n}}\n"
        )
        if self._process is None:
            self._process = subprocess.Popen(self._command(), stderr=subprocess.DEVNULL)
        else:
            self._process.send_signal(signal.SIGHUP)
        wait_until(self._is_shown)  # a busy machine takes longer than a second for it

    def _is_shown(self) -> bool:
        with contextlib.suppress(OSError), urlopen(f"{self.url}/shown", timeout=10) as reply:
            return int(reply.read()) == self._shown
        return False

    def _command(self) -> list[str]:
        program = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
        assert program
        return [program, "-p", str(self.folder), "-e", "stderr", "-c", str(self._file)]

    def close(self) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait()


@pytest.fixture
def front(tmp_path: Path) -> Iterator[Front]:
    if not (shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")):
        pytest.skip("nginx is not installed: make parts")
    nginx = Front(tmp_path)
    yield nginx
    nginx.close()


Replicas = Callable[..., list[Stage]]


@pytest.fixture
def replicas(staged: Staged, postgresql: Postgres) -> Replicas:
    """Servers with one scripted model and one database."""
    schema = postgresql.new_schema()

    def start(count: int, *, like: Stage | None = None, **settings: Any) -> list[Stage]:
        made = [like] if like else []
        for _ in range(count):
            upstream = made[0].upstream if made else None
            given = {"store": schema, "capture": "off", **UNHURRIED, **settings}
            made.append(staged(4, upstream=upstream, **given))
        return made[1:] if like else made

    return start


class Through(Stage):
    """A site whose requests go through nginx to any of its servers."""

    def __init__(self, front: Front, one: Stage) -> None:
        super().__init__(one.upstream, one.service, one.keys)
        self._front = front

    @property
    def url(self) -> str:
        return self._front.url


@pytest.mark.slow
async def test_e2_a_chat_goes_on_at_any_of_four_servers(front: Front, replicas: Replicas) -> None:
    servers = replicas(4)
    front.show(*servers)
    servers[0].script(echo)
    visitor = Visitor(Through(front, servers[0]))
    for number in range(8):
        assert (await visitor.say(f"<0.{number}>")).complete
    for call in servers[0].upstream.journal:
        check_told(call.body["messages"])
    assert len(servers[0].upstream.journal[-1].body["messages"]) == 15
    assert len(await visitor.shown()) == 16
    for one in servers:
        assert any(record.get("path") == "/api/chat" for record in one.service.logs())


@pytest.mark.slow
async def test_e2_another_server_cancels_an_answer_within_two_seconds(replicas: Replicas) -> None:
    making, other = replicas(2)
    making.script(b.drip(400, delay=0.05))
    id = new_id()
    asked = asyncio.create_task(Visitor(making).say("Hello", client_message_id=id))
    await asyncio.sleep(1.0)
    began = time.monotonic()
    async with client() as browser:
        done = await browser.post(
            f"{other.url}/api/chat/cancel",
            json={"client_message_id": id},
            headers={"Origin": ORIGIN},
        )
    assert done.status_code == 204
    answer = await asked
    assert time.monotonic() - began < 2.0
    assert answer.error["code"] == "answer_cancelled", answer.error


async def answered_slowly(making: Stage) -> tuple[Visitor, asyncio.Task[Answer]]:
    """A visitor whose second answer is in progress, and that answer."""
    making.script(b.answer("First"))
    visitor = Visitor(making)
    await visitor.say("Hello")
    making.script(b.drip(400, delay=0.05))
    asked = asyncio.create_task(visitor.say("And now?"))
    await asyncio.sleep(1.0)
    return visitor, asked


@pytest.mark.slow
async def test_e2_a_deleted_chat_ends_at_another_server(replicas: Replicas) -> None:
    making, other = replicas(2)
    visitor, asked = await answered_slowly(making)
    elsewhere = Visitor(other)
    elsewhere.session_id, elsewhere.token = visitor.session_id, visitor.token
    assert (await elsewhere.look("", "DELETE")).status_code == 204
    answer = await asyncio.wait_for(asked, 2.0)
    assert not answer.complete


@pytest.mark.slow
async def test_e2_a_person_who_takes_over_at_another_server_ends_the_answer(
    replicas: Replicas,
) -> None:
    making, other = replicas(2, environment={"ADMIN_TOKEN": TOKEN})
    visitor, asked = await answered_slowly(making)
    assert Operator(other).turn(visitor, "person").status_code == 200
    answer = await asyncio.wait_for(asked, 2.0)
    assert answer.complete
    assert answer.text


@pytest.mark.slow
async def test_e2_an_answer_is_taken_up_at_another_server(replicas: Replicas) -> None:
    """The model is asked once, and the page that lost its connection has the whole answer."""
    making, other = replicas(2)
    making.script(b.answer("Hello!"))
    visitor, id = Visitor(making), new_id()
    await visitor.say("Hello")
    making.script(b.drip(60, delay=0.05))
    asked = asyncio.create_task(visitor.say("And now?", client_message_id=id))
    assert await making.upstream.until(lambda: len(making.upstream.journal) == 2)
    path = f"/api/sessions/{visitor.session_id}/answer"
    headers = {**visitor.headers, "Origin": ORIGIN}

    async def taken_up() -> Answer:
        return await ask(other.url, {"client_message_id": id}, path=path, headers=headers)

    early = await taken_up()
    assert not early.complete
    assert "Retry-After" in early.headers
    whole = await asked
    again = await taken_up()
    assert (again.complete, again.text) == (True, whole.text.strip())
    assert len(making.upstream.journal) == 2


async def test_e2_a_person_at_another_server_takes_a_chat_over(replicas: Replicas) -> None:
    of_visitor, of_operator = replicas(2, environment={"ADMIN_TOKEN": TOKEN})
    of_visitor.script(b.answer("Hello!"))
    visitor, operator = Visitor(of_visitor), Operator(of_operator)
    await visitor.say("Hello")
    assert operator.turn(visitor, "person").status_code == 200
    assert (await visitor.say("Is somebody there?")).text == ""
    assert operator.say(visitor, "I am.").status_code == 200
    found = await polled(visitor)
    assert (found["state"], [line["content"] for line in found["messages"]]) == (
        "person",
        ["I am."],
    )
    assert len(of_visitor.upstream.journal) == 1


@pytest.mark.slow
async def test_e2_the_budget_of_the_day_is_one_for_all_servers(replicas: Replicas) -> None:
    """T1: what one server spends, another one cannot spend again."""
    budget, cost = 2_000, 400
    servers = replicas(3, daily_tokens=budget, ip_requests_per_minute=0)
    usage = {"prompt_tokens": cost - 10, "completion_tokens": 10, "total_tokens": cost}
    servers[0].script(b.answer("Yes.", usage=usage))
    asked = {"messages": [{"role": "user", "content": "Hello"}], "max_tokens": 10}
    statuses = [(await servers[number % 3].ask(asked)).status for number in range(15)]
    admitted = statuses.count(200)
    assert statuses == [200] * admitted + [429] * (15 - admitted)
    assert (admitted - 1) * cost < budget
    assert admitted >= budget // cost - 1


@pytest.mark.slow
@pytest.mark.parametrize("streams", [40, 200])
async def test_e2_a_rolling_restart_cuts_and_refuses_nobody(
    front: Front, replicas: Replicas, streams: int
) -> None:
    """Four servers are replaced, one after the other. Each drains while streams go on and begin."""
    servers = replicas(4, drain=30, ip_requests_per_minute=0)
    front.show(*servers)
    servers[0].script(b.drip(40, delay=0.05))
    site, is_over = Through(front, servers[0]), asyncio.Event()
    results: Counter[str] = Counter()

    async def keep_asking() -> None:
        await asyncio.sleep(random.random() * 2)
        while not is_over.is_set():
            answer = await ask(
                site.url, {"message": "Hello"}, headers={"Origin": ORIGIN}, timeout=60
            )
            results["whole" if answer.complete else f"{answer.status} {answer.raw[-200:]!r}"] += 1

    asking = [asyncio.create_task(keep_asking()) for _ in range(streams)]
    await asyncio.sleep(2.5)
    for number, old in enumerate(list(servers)):
        # As Kubernetes does: the proxy leaves the server out, and then the server is told to stop.
        # Otherwise connections that wait to be accepted are reset.
        await asyncio.to_thread(front.show, *(one for one in servers if one is not old))
        await asyncio.sleep(1.0)
        old.service.terminate()
        [servers[number]] = await asyncio.to_thread(
            lambda: replicas(1, like=servers[-1], drain=30, ip_requests_per_minute=0)
        )
        await asyncio.to_thread(front.show, *servers)
        assert await asyncio.to_thread(old.service.process.wait, 40) == 0
    is_over.set()
    await asyncio.gather(*asking)
    assert set(results) == {"whole"}, (results, (front.folder / "errors").read_text()[-2000:])
    assert results["whole"] > 2 * streams


@pytest.mark.slow
async def test_e2_a_second_signal_ends_the_answers_at_once(replicas: Replicas) -> None:
    [one] = replicas(1, drain=30)
    one.script(b.drip(400, delay=0.05))
    asked = asyncio.create_task(Visitor(one).say("Hello"))
    await asyncio.sleep(1.0)
    one.service.terminate()
    await asyncio.sleep(1.0)
    assert not asked.done()
    began = time.monotonic()
    one.service.terminate()
    assert not (await asked).complete
    assert await asyncio.to_thread(one.service.process.wait, 10) == 0
    assert time.monotonic() - began < 5


@pytest.mark.slow
@pytest.mark.parametrize("rounds", [2, 40])
async def test_e2_killed_servers_lose_double_and_leak_nothing(
    front: Front, replicas: Replicas, rounds: int
) -> None:
    """One of two servers is killed in each round, while chats go on at the other."""
    servers = replicas(2, **KEPT)
    front.show(*servers)
    servers[0].script(echo)
    servers[0].script(b.answer("Goodbye"), asking=LEAVING)
    upstream, site = servers[0].upstream, Through(front, servers[0])
    visitors = [Chatty(site, number=number) for number in range(AT_ONCE)]
    everybody: list[Chatty | Leaving] = [*visitors]
    everybody += [Leaving(site) for _ in range(LEAVING_AT_ONCE)]
    killed_at = 0.0
    for number in range(rounds):
        killed = asyncio.Event()
        chats = [asyncio.create_task(one.chat(killed)) for one in everybody]
        busy = len(upstream.calls("<")) + 2 * AT_ONCE
        assert await upstream.until(lambda: len(upstream.calls("<")) >= busy, 30)  # noqa: B023
        servers[number % 2].service.kill()
        killed_at = time.time()
        killed.set()
        await asyncio.gather(*chats, return_exceptions=True)
        await asyncio.to_thread(servers[number % 2].service.restart)
        front.show(*servers)
        await asyncio.sleep(0.2)
    for call in upstream.calls("<"):
        check_told(call.body["messages"])
    await asyncio.sleep(LEASE)  # the other server was alone with the killed one's turns
    for visitor in visitors:
        assert (await visitor.say(f"<{visitor.number}.9999>")).complete
        await check_stored(visitor)
    assert sum(len(visitor.answered) for visitor in visitors) > rounds * AT_ONCE / 4
    for one in servers:
        one.service.stop()
    assert await leaked(servers[0], killed_at) == {}
