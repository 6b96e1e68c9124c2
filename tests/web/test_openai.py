"""C7: `/v1` for the official OpenAI clients, streamed or not."""

from __future__ import annotations

import asyncio

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


async def test_c7_the_stream_is_the_same_as_for_the_widget(shared: Stage, question: str) -> None:
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


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "status", "code"),
    [
        (b.eof_after(2), 503, "upstream_service_unavailable"),
        (b.reset_after(2), 503, "upstream_service_unavailable"),
        (b.in_band_error(500, after=2), 503, "upstream_service_unavailable"),
        (b.silent, 504, "gateway_timeout"),
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


@pytest.mark.slow
async def test_c7_collected_answer_that_stalls_is_a_timeout(staged: Staged) -> None:
    """A stall in the middle ends after 10 seconds, thinking before the first content after the
    longest duration.
    """
    running = staged(2, max_duration=12)
    running.script(b.stall_after(2), asking="<stall>")
    running.script(b.headers_then_silence, asking="<thinking>")
    asking = (running.ask(conversation(name), path=PATH) for name in ("<stall>", "<thinking>"))
    for answer in await asyncio.gather(*asking):
        assert (answer.status, answer.error["code"]) == (504, "gateway_timeout")
        assert b"piece" not in answer.raw


async def test_c7_models_lists_the_one_model(shared: Stage) -> None:
    listing = (await get(shared.url, "/v1/models")).json()
    assert listing["object"] == "list"
    [model] = listing["data"]
    assert model["object"] == "model"
    assert model["id"]


@pytest.mark.parametrize("name", ["m", "openai/gpt-4o-mini"])
async def test_c7_the_one_model_is_shown_by_its_name(staged: Staged, name: str) -> None:
    """Clients ask for it to see whether a model exists; `/` may be sent as `%2F`."""
    running = staged(1, model=name)
    [listed] = (await get(running.url, "/v1/models")).json()["data"]
    for path in (name, name.replace("/", "%2F")):
        shown = await get(running.url, f"/v1/models/{path}")
        assert (shown.status_code, shown.json()) == (200, listed)
    other = await get(running.url, "/v1/models/another")
    assert (other.status_code, other.json()["error"]["code"]) == (404, "not_found")
    assert name in other.json()["error"]["message"]


async def test_c7_the_openai_api_can_be_disabled(staged: Staged) -> None:
    running = staged(1, openai_api="off")
    answer = await running.ask(conversation("x"), path=PATH)
    assert (answer.status, answer.error["code"]) == (404, "not_found")
    assert (await get(running.url, "/v1/models")).status_code == 404
    assert (await running.ask()).complete


@pytest.mark.parametrize("path", ["/v1/responses", "/v1/embeddings", "/chat/completions"])
async def test_a_path_that_openai_clients_ask_for_names_those_that_there_are(
    shared: Stage, path: str
) -> None:
    """The last one is that of a client whose base URL has no `/v1`."""
    answer = await shared.ask({"model": "kefu", "input": "Hello?"}, path=path)
    assert (answer.status, answer.error["code"]) == (404, "not_found")
    assert "POST /v1/chat/completions and GET /v1/models" in answer.error["message"]


async def test_c7_bearer_of_the_client_is_no_key(shared: Stage, question: str) -> None:
    """OpenAI's clients must send a key; it is neither checked nor forwarded."""
    mine = {"Authorization": "Bearer client-token-123"}
    answer = await shared.ask(conversation(question), path=PATH, headers=mine)
    assert answer.status == 200
    assert shared.upstream.keys(question)[0] in shared.keys


KEYS = ("first-key-of-a-client-0123456789abcdef", "second-key-of-a-client-0123456789abcde")
WEATHER = {
    "type": "function",
    "function": {"name": "weather", "parameters": {"type": "object", "properties": {}}},
}
CALL = {"id": "call_1", "type": "function", "function": {"name": "weather", "arguments": "{}"}}
DIALOGUE = [
    {"role": "user", "content": "Weather?"},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "call_1", "content": "sunny"},
]


async def test_developer_and_further_system_messages_are_one_system_message(
    shared: Stage, question: str
) -> None:
    body = conversation(question)
    body["messages"].insert(0, {"role": "developer", "content": "Be kind."})
    body["messages"].insert(0, {"role": "system", "content": "Be short."})
    assert (await shared.ask({**body, "stream": True}, path=PATH)).complete
    assert shared.upstream.calls(question)[0].body["messages"] == [
        {"role": "system", "content": "Be short.\n\nBe kind."},
        {"role": "user", "content": question},
    ]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("response_format", {"type": "json_schema", "json_schema": {"name": "x" * 16000}}),
        ("stop", ["a", "b", "c", "d", "e"]),
        ("functions", [{"name": "f"}]),
        ("logprobs", True),
        ("modalities", ["text", "audio"]),
        ("web_search_options", {}),
        ("tools", [WEATHER]),
    ],
)
async def test_an_unsupported_part_is_named(
    shared: Stage, question: str, field: str, value: object
) -> None:
    answer = await shared.ask(conversation(question, **{field: value}), path=PATH)
    assert (answer.status, answer.error["param"]) == (400, field)
    assert answer.error["message"].startswith(f"{field}: ")
    assert shared.upstream.calls(question) == []


@pytest.mark.parametrize("path", [PATH, "/api/chat"])
async def test_a_part_of_a_message_that_is_no_text_is_named(
    shared: Stage, question: str, path: str
) -> None:
    """That of an image is refused where images are off: see test_images.py."""
    audio = {"type": "input_audio", "input_audio": {"data": "", "format": "wav"}}
    body = {"messages": [{"role": "user", "content": [{"type": "text", "text": question}, audio]}]}
    answer = await shared.ask(body, path=path)
    assert (answer.status, answer.error["param"]) == (400, "messages.0.content.1.type")
    assert "'text'" in answer.error["message"]
    assert shared.upstream.calls(question) == []


@pytest.mark.parametrize(
    "field",
    ["tools", "response_format", "logprobs", "modalities", "functions", "n", "stop", "seed"],
)
async def test_a_field_that_asks_for_nothing_is_accepted(
    shared: Stage, question: str, field: str
) -> None:
    body = conversation(question, stream=True, **{field: None})
    assert (await shared.ask(body, path=PATH)).complete


SCHEMA = {"type": "object", "properties": {"days": {"type": "integer", "default": None}}}


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("response_format", {"type": "json_object"}),
        ("response_format", {"type": "json_object", "schema": SCHEMA}),
        ("response_format", {"type": "json_schema", "json_schema": {"schema": SCHEMA}}),
        ("stop", "Observation:"),
        ("stop", ["Observation:"]),
        ("seed", 7),
    ],
)
async def test_the_form_of_an_answer_reaches_the_model(
    shared: Stage, question: str, field: str, value: object
) -> None:
    asked = conversation(question, **{field: value}, logprobs=False, n=1)
    assert (await shared.ask(asked, path=PATH)).status == 200
    body = shared.upstream.calls(question)[0].body
    usual = {"model", "messages", "temperature", "max_tokens", "stream", "stream_options"}
    assert body.keys() == usual | {field}
    assert body[field] == value


async def test_the_usual_form_is_not_sent(shared: Stage, question: str) -> None:
    asked = conversation(question, response_format={"type": "text"})
    assert (await shared.ask(asked, path=PATH)).status == 200
    assert "response_format" not in shared.upstream.calls(question)[0].body


async def test_another_form_is_named_with_those_that_there_are(
    shared: Stage, question: str
) -> None:
    asked = conversation(question, response_format={"type": "grammar"})
    answer = await shared.ask(asked, path=PATH)
    assert (answer.status, answer.error["param"]) == (400, "response_format.type")
    assert "'json_object'" in answer.error["message"]


async def test_a_visitor_of_the_widget_chooses_no_form(shared: Stage, question: str) -> None:
    asked = conversation(question, response_format={"type": "json_object"}, stop="a", seed=7)
    assert (await shared.ask(asked)).complete
    assert not {"response_format", "stop", "seed"} & shared.upstream.calls(question)[0].body.keys()


@pytest.mark.parametrize(
    ("said", "param"),
    [
        ("This response_format type is unavailable now", "response_format"),
        ("registry.ollama.ai/library/x does not support tools", None),
        ("Something else is wrong", None),
    ],
)
async def test_the_field_that_the_model_refuses_is_named(
    shared: Stage, question: str, said: str, param: str | None
) -> None:
    """DeepSeek takes `json_object` alone."""
    shared.script(b.status(400, {"error": {"message": said}}), asking=question)
    asked = conversation(question, response_format={"type": "json_schema", "json_schema": {}})
    answer = await shared.ask(asked, path=PATH)
    assert (answer.status, answer.error["param"]) == (400, param)


async def test_tool_messages_are_named_where_tools_are_off(shared: Stage) -> None:
    answer = await shared.ask({"messages": DIALOGUE}, path=PATH)
    assert (answer.status, answer.error["param"]) == (400, "messages.1")


async def test_tools_calls_and_results_reach_the_model_where_they_are_on(staged: Staged) -> None:
    running = staged(1, openai_api="tools")
    choice = {"type": "function", "function": {"name": "weather"}}
    body = {
        "messages": DIALOGUE,
        "tools": [WEATHER],
        "tool_choice": choice,
        "parallel_tool_calls": False,
        "stream": True,
    }
    assert (await running.ask(body, path=PATH)).complete
    [call] = running.upstream.journal
    assert call.body["messages"] == DIALOGUE
    assert call.body["tools"] == [WEATHER]
    assert (call.body["tool_choice"], call.body["parallel_tool_calls"]) == (choice, False)


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
async def test_the_reasoning_before_calls_goes_back_to_the_model(
    staged: Staged, field: str
) -> None:
    """DeepSeek's and Kimi's thinking models refuse calls without it."""
    running = staged(1, openai_api="tools")
    thought = {"content": None, "tool_calls": [CALL], field: "I should look."}
    messages = [DIALOGUE[0], {"role": "assistant", **thought}, DIALOGUE[2]]
    assert (await running.ask({"messages": messages, "stream": True}, path=PATH)).complete
    [call] = running.upstream.journal
    assert call.body["messages"] == messages


@pytest.mark.parametrize("content", [None, ""])
async def test_a_refusal_in_the_history_is_a_text_of_the_assistant(
    shared: Stage, question: str, content: str | None
) -> None:
    """The official client sends a refusal back in this form."""
    body = conversation(question, stream=True)
    refusal = {"role": "assistant", "content": content, "refusal": "I cannot do that."}
    body["messages"][:0] = [{"role": "user", "content": "Do it."}, refusal]
    assert (await shared.ask(body, path=PATH)).complete
    sent = shared.upstream.calls(question)[0].body["messages"]
    assert sent[1] == {"role": "assistant", "content": "I cannot do that."}


async def test_messages_that_make_no_sense_are_refused(staged: Staged) -> None:
    running = staged(1, openai_api="tools")
    for messages in (
        [{"role": "tool", "content": "sunny"}],
        [{"role": "user", "content": "x", "tool_call_id": "call_1"}],
        [{"role": "user", "content": "x", "tool_calls": [CALL]}],
        [{"role": "user"}],
        [DIALOGUE[0], {"role": "assistant", "content": None}, DIALOGUE[0]],
        DIALOGUE[:2],
        [{"role": "system", "content": "only"}],
    ):
        answer = await running.ask({"messages": messages}, path=PATH)
        assert (answer.status, answer.error["code"]) == (400, "invalid_request"), messages
    assert running.upstream.journal == []


async def test_t18_with_keys_only_their_holders_are_answered_and_no_log_shows_a_key(
    staged: Staged,
) -> None:
    running = staged(1, openai_keys=",".join(KEYS), ip_requests_per_minute=2)

    async def status(authorization: str | None, path: str = PATH) -> int:
        headers = {"Authorization": authorization} if authorization else {}
        asked = conversation("Hello?", stream=True)
        return (await running.ask(asked, path=path, headers=headers)).status

    refused = [
        None,
        "",
        "Bearer",
        f"Bearer {KEYS[0]}x",
        f"Bearer {KEYS[0][:-1]}",
        f"Basic {KEYS[0]}",
    ]
    assert [await status(one) for one in refused] == [401] * len(refused)
    assert running.upstream.journal == []
    # The limit by address is for visitors; `/api/chat` needs no key.
    assert [await status(f"Bearer {key}") for key in KEYS * 3] == [200] * 6
    assert [await status(None, "/api/chat") for _ in range(3)] == [200, 200, 429]
    models = await get(running.url, "/v1/models")
    assert (models.status_code, models.headers["WWW-Authenticate"]) == (401, "Bearer")
    assert models.json()["error"]["code"] == "unauthorized"
    clients = {line["client"] for line in running.service.logs() if "client" in line}
    assert len(clients) == 2
    assert not any(key in running.service.stderr for key in KEYS)


async def test_t1_each_key_has_a_limit_of_its_own(staged: Staged) -> None:
    running = staged(1, openai_keys=",".join(KEYS), openai_requests_per_minute=3)

    async def status(key: str, source: str) -> int:
        headers = {"Authorization": f"Bearer {key}"}
        asked = conversation("Hello?", stream=True)
        return (await running.ask(asked, path=PATH, headers=headers, source=source)).status

    sources = [f"127.0.0.{number}" for number in range(2, 10)]
    assert [await status(KEYS[0], source) for source in sources] == [200] * 3 + [429] * 5
    assert await status(KEYS[1], sources[0]) == 200


async def test_t1_guessing_keys_is_limited_by_address(staged: Staged) -> None:
    running = staged(1, openai_keys=",".join(KEYS))
    guesses = [
        (await running.ask(path=PATH, headers={"Authorization": f"Bearer guess {n}"})).status
        for n in range(15)
    ]
    assert guesses == [401] * 10 + [429] * 5
    good = {"Authorization": f"Bearer {KEYS[0]}"}
    asked = conversation("Hello?", stream=True)
    assert (await running.ask(asked, path=PATH, headers=good)).complete
