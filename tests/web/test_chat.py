"""`POST /api/chat` as a widget uses it: C1 to C6, C8, C11 of the chat service."""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any

import pytest

from tests.fakes import behaviours as b
from tests.fakes.asking import conversation
from tests.fakes.fixtures import Staged
from tests.fakes.stage import ORIGIN, Stage


async def body_sent(running: Stage, marker: str) -> Any:
    """The request body that the upstream received for this question."""
    return (await running.upstream.asked(marker)).body


@pytest.mark.slow
async def test_c5_an_answer_is_streamed_as_it_arrives(shared: Stage, question: str) -> None:
    shared.script(b.answer("a", "b", "c", delay=0.8), asking=question)
    answer = await shared.ask(question)
    assert answer.complete
    assert answer.text == "abc"
    first, last = answer.events[0][0], answer.events[-1][0]
    assert last - first > 0.5
    assert answer.head_at < last - 0.5


async def test_c5_stream_has_its_headers(shared: Stage, question: str) -> None:
    answer = await shared.ask(question)
    headers = answer.headers
    assert headers["Content-Type"] == "text/event-stream; charset=utf-8"
    assert headers["Cache-Control"] == "no-store"
    assert headers["X-Accel-Buffering"] == "no"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert re.fullmatch(r"[0-9a-f-]{16,36}", headers["X-Request-Id"])
    assert "x-request-id" in headers["Access-Control-Expose-Headers"].lower()
    assert "Content-Encoding" not in headers


async def test_c5_request_ids_are_never_the_clients(shared: Stage, question: str) -> None:
    mine = {"X-Request-Id": "chosen-by-me"}
    answers = [await shared.ask(question, headers=mine) for _ in range(3)]
    ids = {answer.headers["X-Request-Id"] for answer in answers}
    assert len(ids) == 3
    assert "chosen-by-me" not in ids


async def test_c5_chunks_are_openai_chunks(shared: Stage, question: str) -> None:
    answer = await shared.ask(question)
    chunks = answer.chunks
    assert len({chunk["id"] for chunk in chunks}) == 1
    assert {chunk["object"] for chunk in chunks} == {"chat.completion.chunk"}
    assert all(isinstance(chunk["created"], int) and chunk["model"] for chunk in chunks)
    assert chunks[0]["choices"][0]["delta"]["role"] == "assistant"
    assert chunks[-1]["choices"][0]["finish_reason"] == "stop"
    assert answer.events[-1][1] == "[DONE]"
    assert answer.foreign == []


USAGE = {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7}


async def test_c5_usage_chunk_comes_when_asked_for(shared: Stage, question: str) -> None:
    shared.script(b.answer("hi", usage=USAGE), asking=question)
    asked = conversation(question, stream_options={"include_usage": True})
    with_usage = await shared.ask(asked)
    assert with_usage.chunks[-1]["choices"] == []
    assert with_usage.chunks[-1]["usage"] == USAGE
    plain = await shared.ask(question)
    assert all(chunk["choices"] for chunk in plain.chunks)
    assert plain.complete


async def test_c1_authorization_of_the_client_is_ignored_and_never_forwarded(
    shared: Stage, question: str
) -> None:
    mine = {"Authorization": "Bearer client-token-123", "Cookie": "a=client-token-123"}
    answer = await shared.ask(question, headers=mine)
    assert answer.complete
    [call] = shared.upstream.calls(question)
    assert call.key in shared.keys
    assert "client-token-123" not in repr(call.headers)


async def test_c1_upstream_gets_none_of_the_clients_headers(shared: Stage, question: str) -> None:
    mine = {"X-Forwarded-For": "9.9.9.9", "User-Agent": "visitor/1", "Referer": "https://x.y/"}
    await shared.ask(question, headers={**mine, "X-Custom": "visitor"})
    [call] = shared.upstream.calls(question)
    known = {"host", "authorization", "content-type", "content-length", "accept"}
    assert set(call.headers) <= known | {"accept-encoding", "user-agent", "connection"}
    assert "visitor" not in repr(call.headers)


async def test_c2_body_is_built_anew_with_the_servers_model(shared: Stage, question: str) -> None:
    asked = conversation(question, model="other", n=50, tools=[], user="me", stream=False)
    answer = await shared.ask(asked)
    assert answer.complete
    sent = await body_sent(shared, question)
    assert set(sent) <= {
        "model",
        "messages",
        "temperature",
        "max_tokens",
        "stream",
        "stream_options",
    }
    assert sent["model"] not in ("other", "")
    assert sent["stream"] is True
    assert sent["messages"] == [{"role": "user", "content": question}]


@pytest.mark.parametrize("stream", [True, False, None, "yes", 0, {"a": 1}])
async def test_c2_any_stream_value_streams(shared: Stage, question: str, stream: Any) -> None:
    answer = await shared.ask(conversation(question, stream=stream))
    assert answer.complete
    assert answer.headers["Content-Type"].startswith("text/event-stream")


@pytest.mark.parametrize(
    ("asked", "sent"), [(None, 0.5), (0, 0), (1, 1), (2, 2), (0.25, 0.25), ("absent", 0.5)]
)
async def test_c2_temperature_is_passed_on_and_half_by_default(
    shared: Stage, question: str, asked: Any, sent: float
) -> None:
    more = {} if asked == "absent" else {"temperature": asked}
    assert (await shared.ask(conversation(question, **more))).complete
    assert (await body_sent(shared, question))["temperature"] == sent


@pytest.mark.parametrize(
    ("more", "sent"),
    [
        ({}, 2048),
        ({"max_tokens": 5}, 5),
        ({"max_tokens": 999_999}, 2048),
        ({"max_completion_tokens": 7}, 7),
        ({"max_completion_tokens": 10**12}, 2048),
        ({"max_tokens": None}, 2048),
    ],
)
async def test_c2_length_is_clamped_to_the_servers_cap(
    shared: Stage, question: str, more: dict[str, Any], sent: int
) -> None:
    assert (await shared.ask(conversation(question, **more))).complete
    assert (await body_sent(shared, question))["max_tokens"] == sent


async def test_c2_content_may_be_a_list_of_text_parts(shared: Stage, question: str) -> None:
    parts = [{"type": "text", "text": "part one"}, {"type": "text", "text": f"two {question}"}]
    body = {"messages": [{"role": "user", "content": parts}]}
    assert (await shared.ask(body)).complete
    sent = shared.upstream.journal[-1].body["messages"][0]["content"]
    text = sent if isinstance(sent, str) else "".join(part["text"] for part in sent)
    assert "part one" in text
    assert f"two {question}" in text


SYSTEM = {"role": "system", "content": "CLIENT-PROMPT"}


@pytest.mark.parametrize(
    ("policy", "server", "status", "system"),
    [
        ("auto", "", 200, ["CLIENT-PROMPT"]),
        ("auto", "SERVER-PROMPT", 200, ["SERVER-PROMPT"]),
        ("append", "", 200, ["CLIENT-PROMPT"]),
        ("append", "SERVER-PROMPT", 200, ["SERVER-PROMPT", "CLIENT-PROMPT"]),
        ("drop", "", 200, []),
        ("drop", "SERVER-PROMPT", 200, ["SERVER-PROMPT"]),
        ("reject", "", 400, []),
        ("reject", "SERVER-PROMPT", 400, []),
    ],
)
async def test_c3_t5_client_system_message_is_treated_as_the_policy_says(
    staged: Staged, policy: str, server: str, status: int, system: list[str]
) -> None:
    running = staged(1, client_system=policy, system_prompt=server)
    body = conversation("Hello?")
    body["messages"].insert(0, SYSTEM)
    answer = await running.ask(body)
    assert answer.status == status
    if status == 400:
        assert answer.error["code"] == "invalid_request"
        assert running.upstream.journal == []
        return
    [call] = running.upstream.journal
    texts = [m["content"] for m in call.body["messages"] if m["role"] == "system"]
    assert re.findall(r"\w+-PROMPT", " ".join(texts)) == system
    roles = [m["role"] for m in call.body["messages"]]
    assert roles == ["system"] * len(texts) + ["user"]


async def test_c4_body_at_its_limit_passes_and_a_byte_more_is_named(
    shared: Stage, question: str
) -> None:
    exact = json.dumps(conversation(question)).encode().ljust(65536)
    assert (await shared.ask(exact)).complete
    answer = await shared.ask(exact + b" ")
    assert (answer.status, answer.error["code"]) == (400, "invalid_request")
    assert "65536" in answer.error["message"] or "64" in answer.error["message"]
    assert len(shared.upstream.calls(question)) == 1


@pytest.mark.parametrize(("count", "status"), [(199, 200), (201, 400)])
async def test_c4_messages_are_counted(
    shared: Stage, question: str, count: int, status: int
) -> None:
    answer = await shared.ask(conversation(*["hm"] * (count - 1), question))
    assert answer.status == status
    if status == 400:
        assert answer.error["code"] == "invalid_request"
        assert "200" in answer.error["message"]
        assert shared.upstream.calls(question) == []


@pytest.mark.parametrize(("extra", "status"), [(0, 200), (1, 400)])
async def test_c4_length_of_a_message_is_limited(
    shared: Stage, question: str, extra: int, status: int
) -> None:
    text = question.ljust(16_000 + extra, "字")
    # 48 KB in UTF-8: below the limit of the body, so only the limit in characters applies.
    body = json.dumps(conversation(text), ensure_ascii=False).encode()
    answer = await shared.ask(body)
    assert answer.status == status
    if status == 400:
        assert "16000" in answer.error["message"].replace(",", "")
        assert shared.upstream.calls(question) == []


@pytest.mark.parametrize(("depth", "status"), [(31, 200), (32, 400)])
async def test_c4_nesting_is_limited(shared: Stage, question: str, depth: int, status: int) -> None:
    nested: list[Any] = []
    for _ in range(depth - 1):
        nested = [nested]
    answer = await shared.ask(conversation(question, unknown=nested))
    assert answer.status == status
    if status == 400:
        assert "32" in answer.error["message"]


async def test_c4_brackets_in_a_text_are_no_nesting(shared: Stage, question: str) -> None:
    text = question + '[[[{"\\"[' * 200
    assert (await shared.ask(text)).complete
    assert (await body_sent(shared, question))["messages"][-1]["content"] == text


async def test_c11_long_history_loses_its_oldest_pairs(shared: Stage, question: str) -> None:
    old = ["old" + "x" * 1997, "older" + "y" * 1995] * 2
    body = conversation(*old, "recent", "reply", question)
    body["messages"].insert(0, {"role": "system", "content": "Be kind."})
    assert (await shared.ask(body)).complete
    sent = (await body_sent(shared, question))["messages"]
    assert [m["content"] for m in sent] == ["Be kind.", *old[2:], "recent", "reply", question]
    assert sum(len(m["content"]) for m in sent) < 6000


async def test_c11_current_message_always_stays(shared: Stage, question: str) -> None:
    text = question.ljust(9000, "z")
    assert (await shared.ask(conversation("old", "older", text))).complete
    sent = (await body_sent(shared, question))["messages"]
    assert [m["content"] for m in sent] == [text]


@pytest.mark.parametrize("door", ["/api/chat", "/v1/chat/completions"])
async def test_cancel_ends_the_answer_with_this_id(shared: Stage, question: str, door: str) -> None:
    """Lambda does not show that a client has disconnected, so the widget sends a request:
    row C4.
    """
    shared.script(b.drip(1000, delay=0.1), asking=question)
    asked = conversation(question, stream=True, client_message_id="message-id-0001")
    running = asyncio.create_task(shared.ask(asked, path=door))
    call = await shared.upstream.asked(question)
    path = "/api/chat/cancel"
    unknown = await shared.ask({"client_message_id": "message-id-0002"}, path=path)
    assert not await shared.upstream.until(lambda: call.closed_at is not None, 0.3)
    answer = await shared.ask({"client_message_id": "message-id-0001"}, path=path)
    assert (answer.status, answer.raw) == (unknown.status, unknown.raw) == (204, b"")
    assert await shared.upstream.until(lambda: call.closed_at is not None)
    stopped = await asyncio.wait_for(running, 20)
    assert not stopped.done
    assert (stopped.status, stopped.error["code"]) == (200, "answer_cancelled")
    assert not stopped.cut


@pytest.mark.parametrize("door", ["/api/chat", "/v1/chat/completions"])
async def test_cancel_before_the_first_word_gets_an_answer_in_the_error_shape(
    shared: Stage, question: str, door: str
) -> None:
    shared.script(b.answer("late", before=5), asking=question)
    mine = f"before-the-first-word-{len(door)}"
    asked = conversation(question, stream=True, client_message_id=mine)
    running = asyncio.create_task(shared.ask(asked, path=door))
    await shared.upstream.asked(question)
    assert (await shared.ask({"client_message_id": mine}, path="/api/chat/cancel")).status == 204
    stopped = await asyncio.wait_for(running, 20)
    assert (stopped.status, stopped.error["code"]) == (409, "answer_cancelled")
    assert stopped.headers["x-should-retry"] == "false"
    assert stopped.headers["Access-Control-Allow-Origin"] == ORIGIN
    assert "ASGI callable" not in shared.service.stderr


async def test_c8_error_has_cors_and_a_request_id(shared: Stage) -> None:
    answer = await shared.ask(b"{}")
    assert answer.status == 400
    assert answer.headers["Access-Control-Allow-Origin"] == ORIGIN
    assert answer.headers["X-Request-Id"]
    assert answer.headers["Content-Type"].startswith("application/json")
