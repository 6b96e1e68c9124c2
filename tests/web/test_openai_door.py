"""C7: `/v1` for the official OpenAI clients; the same core, streaming or not as they ask."""

from __future__ import annotations

import pytest

from tests.fakes import behaviours as b
from tests.fakes.asking import conversation, get
from tests.fakes.fixtures import Staged
from tests.fakes.stage import Stage

PATH = "/v1/chat/completions"
USAGE = {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7}


@pytest.mark.parametrize("more", [{}, {"stream": False}, {"stream": None}])
async def test_c7_answer_is_collected_unless_streaming_is_asked_for(
    shared: Stage, question: str, more: dict[str, bool | None]
) -> None:
    shared.script(b.answer("Hel", "lo", reasoning=["h", "m"], usage=USAGE), asking=question)
    answer = await shared.ask(conversation(question, **more), path=PATH)
    assert answer.status == 200
    assert answer.headers["Content-Type"].startswith("application/json")
    whole = answer.json
    assert whole["object"] == "chat.completion"
    assert whole["id"]
    assert whole["model"]
    assert isinstance(whole["created"], int)
    [choice] = whole["choices"]
    assert choice["message"]["role"] == "assistant"
    assert choice["message"]["content"] == "Hello"
    assert choice["message"]["reasoning_content"] == "hm"
    assert choice["finish_reason"] == "stop"
    assert choice["index"] == 0
    assert whole["usage"] == USAGE


async def test_c7_an_answer_with_half_a_character_is_json_all_the_same(
    shared: Stage, question: str
) -> None:
    shared.script(b.answer("Hi \ud83d", "\ude00", " and \ud83d"), asking=question)
    answer = await shared.ask(conversation(question), path=PATH)
    assert answer.json["choices"][0]["message"]["content"] == "Hi 😀 and \ud83d"


async def test_c7_stream_is_the_same_as_at_the_widgets_door(shared: Stage, question: str) -> None:
    shared.script(b.answer("Hel", "lo"), asking=question)
    answer = await shared.ask(conversation(question, stream=True), path=PATH)
    assert answer.complete
    assert answer.text == "Hello"
    assert answer.foreign == []


async def test_c7_tool_calls_are_put_together(shared: Stage, question: str) -> None:
    def part(index: int, **fields: object) -> b.Chunk:
        return b.chunk({"tool_calls": [{"index": index, **fields}]})

    shared.script(
        b.chunks(
            part(0, id="call_a", type="function", function={"name": "f", "arguments": '{"x"'}),
            part(0, function={"arguments": ":1}"}),
            part(1, id="call_b", type="function", function={"name": "g", "arguments": "{}"}),
            b.chunk({}, finish="tool_calls"),
        ),
        asking=question,
    )
    answer = await shared.ask(conversation(question), path=PATH)
    [choice] = answer.json["choices"]
    calls = choice["message"]["tool_calls"]
    assert [call["function"] for call in calls] == [
        {"name": "f", "arguments": '{"x":1}'},
        {"name": "g", "arguments": "{}"},
    ]
    assert [call["id"] for call in calls] == ["call_a", "call_b"]
    assert choice["finish_reason"] == "tool_calls"


@pytest.mark.parametrize(
    ("fault", "status", "code"),
    [
        (b.stall_after(2), 504, "gateway_timeout"),
        (b.eof_after(2), 503, "upstream_service_unavailable"),
        (b.reset_after(2), 503, "upstream_service_unavailable"),
        (b.in_band_error(500, after=2), 503, "upstream_service_unavailable"),
        (b.silent, 504, "gateway_timeout"),
        (b.headers_then_silence, 504, "gateway_timeout"),
    ],
    ids=lambda _: "",
)
async def test_c7_collected_answer_that_breaks_is_an_error_not_half_an_answer(
    shared: Stage, question: str, fault: b.Behaviour, status: int, code: str
) -> None:
    shared.script(fault, asking=question)
    answer = await shared.ask(conversation(question), path=PATH)
    assert (answer.status, answer.error["code"]) == (status, code)
    assert b"piece" not in answer.raw


async def test_c7_models_lists_the_one_model(shared: Stage) -> None:
    listing = (await get(shared.url, "/v1/models")).json()
    assert listing["object"] == "list"
    [model] = listing["data"]
    assert model["object"] == "model"
    assert model["id"]


async def test_c7_door_can_be_shut(staged: Staged) -> None:
    running = staged(1, openai_api="false")
    answer = await running.ask(conversation("x"), path=PATH)
    assert (answer.status, answer.error["code"]) == (404, "not_found")
    assert (await get(running.url, "/v1/models")).status_code == 404
    assert (await running.ask()).complete


async def test_c7_bearer_of_the_client_is_no_key(shared: Stage, question: str) -> None:
    """OpenAI clients must send one; it is neither checked nor forwarded."""
    mine = {"Authorization": "Bearer client-token-123"}
    answer = await shared.ask(conversation(question), path=PATH, headers=mine)
    assert answer.status == 200
    assert shared.upstream.keys(question)[0] in shared.keys
