"""H11: hooks of a site in the real service, also when they fail, hang or return nonsense."""

from __future__ import annotations

import json
import re
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.fakes import behaviours as b
from tests.fakes.chatting import STORE, Visitor, new_id
from tests.fakes.fixtures import Staged
from tests.fakes.running import HttpServer
from tests.fakes.stage import ORIGIN, Stage
from tests.parts.plugin import daily
from tests.web.test_contact import wait_until

PAGE = (Path(__file__).parents[2] / "docs/hooks.md").read_text(encoding="utf-8")


def started(staged: Staged, folder: Path, code: str, **environment: str) -> Stage:
    (folder / "kefu.toml").write_text("[hooks.site_hooks]")
    (folder / "site_hooks.py").write_text(code)
    return staged(
        2,
        config=str(folder / "kefu.toml"),
        store=STORE,
        environment={"PYTHONPATH": str(folder), "KEFU_CONTACT_FORM": "message", **environment},
    )


async def rate(visitor: Visitor, id: str, rating: str, comment: str = "") -> None:
    async with httpx.AsyncClient(timeout=30) as browser:
        answer = await browser.post(
            f"{visitor.stage.url}/api/chat/feedback",
            json={
                "client_message_id": id,
                "session_id": visitor.session_id,
                "rating": rating,
                "comment": comment,
            },
            headers={**visitor.headers, "Origin": ORIGIN},
        )
    assert answer.status_code == 204, answer.text


async def ask_for_person(visitor: Visitor) -> None:
    async with httpx.AsyncClient(timeout=30) as browser:
        answer = await browser.post(
            f"{visitor.stage.url}/api/sessions/{visitor.session_id}/contact",
            json={"client_message_id": new_id(), "message": "Call me."},
            headers={**visitor.headers, "Origin": ORIGIN},
        )
    assert answer.status_code == 204, answer.text


class Shop(HttpServer):
    """The service of the page's example: orders, and a chat room."""

    def __init__(self) -> None:
        self.room: list[str] = []
        shop = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self._reply(json.dumps({"path": self.path, "state": "left Bergen"}).encode())

            def do_POST(self) -> None:
                shop.room.append(self.rfile.read(int(self.headers["Content-Length"])).decode())
                self._reply(b"")

            def _reply(self, body: bytes) -> None:
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name
                """Logs nothing."""

        super().__init__(Handler)


@pytest.mark.slow
async def test_h11_the_hook_of_the_page_answers_from_an_http_service(
    staged: Staged, tmp_path: Path
) -> None:
    code = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)[0]
    assert len(code.splitlines()) <= 40
    with Shop() as shop:
        running = started(staged, tmp_path, code, SHOP_URL=shop.address)
        visitor, id = Visitor(running), new_id()
        assert (await visitor.say("<hello>")).complete
        assert "records" not in await system_prompt(running, "<hello>")
        answer = await visitor.say("<where> is order 12345?", client_message_id=id)
        assert answer.complete
        prompt = await system_prompt(running, "<where>")
        assert "Order 12345, from the shop's own records" in prompt
        assert '"path": "/orders/12345", "state": "left Bergen"' in prompt
        # A later question belongs to the same order.
        assert (await visitor.say("<when> does it arrive?")).complete
        assert "left Bergen" in await system_prompt(running, "<when>")
        await rate(visitor, id, "up")
        await rate(visitor, id, "down")
        wait_until(lambda: bool(shop.room))
        assert shop.room == [f"<where> is order 12345?\n\n{answer.text}"]
    # The shop is closed now, and chats go on.
    assert (await visitor.say("<closed> order 12345?")).complete
    assert "records" not in await system_prompt(running, "<closed>")
    assert "site_hooks: context raised URLError in line" in running.service.stderr


async def system_prompt(running: Stage, question: str) -> str:
    sent: Any = (await running.upstream.asked(question)).body
    system = [one["content"] for one in sent["messages"] if one["role"] == "system"]
    assert len(system) <= 1
    return "".join(system)


RECORDS = """
import json
def note(**facts):
    with open("hooks.jsonl", "a") as file:
        file.write(json.dumps(facts) + "\\n")
def after(turn):
    note(step="after", question=turn.question, answer=turn.answer, status=turn.status,
         rating=turn.rating, answered=turn.answered)
async def rated(turn):
    note(step="rated", question=turn.question, answer=turn.answer, status=turn.status,
         rating=turn.rating, comment=turn.comment, answered=turn.answered)
def contact(request):
    note(step="contact", message=request.message, session=request.session_id)
"""


def noted(running: Stage) -> list[dict[str, Any]]:
    file = running.service.folder / "hooks.jsonl"
    return [json.loads(one) for one in file.read_text().splitlines()] if file.exists() else []


async def test_h11_hooks_follow_turns_ratings_and_requests(staged: Staged, tmp_path: Path) -> None:
    running = started(staged, tmp_path, RECORDS)
    visitor, id = Visitor(running), new_id()
    running.script(b.answer("It is ", "open."), asking="open")
    running.script(b.status(400), asking="broken")
    assert (await visitor.say("open?", client_message_id=id)).complete
    assert not (await visitor.say("broken?")).complete
    wait_until(lambda: len(noted(running)) == 2)
    await rate(visitor, id, "down", "Which days?")
    wait_until(lambda: len(noted(running)) == 3)
    await ask_for_person(visitor)
    wait_until(lambda: len(noted(running)) == 4)
    turn = {"question": "open?", "answer": "It is open.", "status": "ok", "answered": None}
    ended, broken, rated, contact = noted(running)
    assert ended == {"step": "after", **turn, "rating": None}
    assert (broken["question"], broken["answer"], broken["status"]) == ("broken?", "", "failed")
    assert rated == {"step": "rated", **turn, "rating": "down", "comment": "Which days?"}
    assert contact == {"step": "contact", "message": "Call me.", "session": visitor.session_id}


STEPS = {
    "user_message": "text, visit",
    "history": "history, visit",
    "context": "question, visit",
    "output": "visit",
    "after": "turn",
    "rated": "turn",
    "contact": "request",
}

WRONG = {
    "raising": "raise RuntimeError('canary')",
    "nonsense": "return 5",
    "sleeping": "time.sleep(30)",
    "sleeping, asynchronous": "await asyncio.sleep(30)",
    "blocking, asynchronous": "time.sleep(30)",
    "a filter that raises": "raise RuntimeError('canary')",
    "a filter that sleeps": "time.sleep(30)",
    "a filter that returns nonsense": "return b'5'",
}


def module(case: str) -> str:
    code, lines = WRONG[case], ["import asyncio, time"]
    if case.startswith("a filter"):
        lines += ["class Own:", f"    def feed(self, text): {code}", f"    def close(self): {code}"]
        lines += ["def output(visit): return Own()"]
        return "\n".join(lines)
    for step, arguments in STEPS.items():
        is_async = "asynchronous" in case and step != "output"
        body = code if is_async else code.replace("await asyncio.sleep", "time.sleep")
        lines.append(f"{'async ' if is_async else ''}def {step}({arguments}): {body}")
    return "\n".join(lines)


@pytest.mark.slow
@pytest.mark.parametrize(
    "case", daily(WRONG, "raising", "sleeping, asynchronous", "a filter that sleeps")
)
async def test_h11_chats_go_on_with_hooks_that_fail_in_each_step(
    case: str, staged: Staged, tmp_path: Path
) -> None:
    running = started(staged, tmp_path, module(case))
    running.script(*[b.answer("It ", "is ", "open.") for _ in range(4)], asking="<")
    visitor, id = Visitor(running), new_id()
    for number in range(4):
        answer = await visitor.say(f"<{number}>", client_message_id=id if not number else new_id())
        assert answer.complete
        assert answer.text == "It is open."
    sent = (await running.upstream.asked("<3>")).body["messages"]
    assert [one["role"] for one in sent] == [*["user", "assistant"] * 3, "user"]
    assert [one["content"] for one in sent[::2]] == ["<0>", "<1>", "<2>", "<3>"]
    assert [status for _, _, status in await visitor.shown()] == ["ok"] * 8
    await rate(visitor, id, "down")
    await ask_for_person(visitor)
    steps = ["output"] if case.startswith("a filter") else ["user_message", "history", "output"]
    for step in steps:
        assert f"a hook failed: site_hooks: {step}" in running.service.stderr
    assert "canary" not in running.service.stderr.replace("sk-canary", "")


async def test_d1_the_context_of_a_hook_leaves_the_chat_its_history(
    staged: Staged, tmp_path: Path
) -> None:
    """X5: `v1` counts the conversation alone."""
    code = 'def context(question, visit):\n    return "c" * 5900\n'
    running = started(staged, tmp_path, code, KEFU_SYSTEM_PROMPT="short")
    visitor = Visitor(running)
    for question in ("My order is B1234.", "Where is it?"):
        running.script(b.answer("On its way."))
        await visitor.say(question)
    told = (await running.upstream.asked("Where is it?")).body["messages"]
    assert [one["content"] for one in told] == [
        "short\n\n" + "c" * 5900,
        "My order is B1234.",
        "On its way.",
        "Where is it?",
    ]
