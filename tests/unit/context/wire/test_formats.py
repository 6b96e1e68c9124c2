"""`trim_messages` on the messages of each API."""

from __future__ import annotations

import json
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest

from kefu.context import BYTES4, Budget, Message, trim_messages
from tests.fakes.growth import assert_linear
from tests.unit.context.wire.agent_run import GOAL, PROMPT, parallel, steps
from tests.unit.context.wire.fuzz import ALL_FORMATS, trimmed_wrongly

HISTORIES = 600


@pytest.mark.slow
@pytest.mark.parametrize("name", ALL_FORMATS)
def test_x22_no_prompt_is_one_that_the_api_refuses(name: str) -> None:
    """X19: for every format and strategy. `python -m benchmarks.validity` checks 50,000."""
    wrong = {seed: trimmed_wrongly(name, seed) for seed in range(HISTORIES)}
    assert {seed: reason for seed, reason in wrong.items() if reason} == {}


LONG = "x" * 400


def asks(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def test_kept_messages_are_the_given_objects_with_fields_that_nobody_knows() -> None:
    kept = {
        "role": "assistant",
        "content": None,
        "refusal": None,
        "reasoning_content": "hm",
        "x_cost": {"eur": 0.1},
        "tool_calls": [
            {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}, "x": 1}
        ],
    }
    system = {"role": "developer", "content": [{"type": "text", "text": "Be brief."}]}
    result = {"role": "tool", "tool_call_id": "a", "content": [{"type": "text", "text": "ok"}]}
    whole = [system, asks(LONG), {"role": "assistant", "content": LONG}, asks("now"), kept, result]
    before = json.dumps(whole)
    sent = trim_messages(whole, max_tokens=60, reserve=0, counter=BYTES4)
    assert [id(m) for m in sent] == [id(m) for m in (system, whole[3], kept, result)]
    assert [id(m) for m in sent.dropped] == [id(whole[1]), id(whole[2])]
    assert json.dumps(whole) == before
    assert json.loads(json.dumps(sent)) == [system, whole[3], kept, result]


def test_values_of_the_official_clients_are_read_like_dicts() -> None:
    call = SimpleNamespace(
        id="a", type="function", function=SimpleNamespace(name="f", arguments='{"q": 1}')
    )
    answer = SimpleNamespace(role="assistant", content=None, tool_calls=[call])
    whole: list[Any] = [asks(LONG), asks("q"), answer]
    whole += [{"role": "tool", "tool_call_id": "a", "content": "ok"}, asks("next")]
    sent = trim_messages(whole, max_tokens=20, reserve=0, counter=BYTES4)
    assert sent == whole[1:]
    assert sent[1] is answer


def test_anthropic_thinking_and_parallel_results_stay_together() -> None:
    used = {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "which?", "signature": "s"},
            {"type": "tool_use", "id": "1", "name": "f", "input": {"q": 1}},
            {"type": "tool_use", "id": "2", "name": "f", "input": {}},
        ],
    }
    results = [
        {"type": "tool_result", "tool_use_id": "2", "content": LONG},
        {"type": "tool_result", "tool_use_id": "1", "content": [{"type": "text", "text": "ok"}]},
    ]
    answered = {"role": "user", "content": results}
    last = {"role": "assistant", "content": "Done."}
    whole = [asks("q"), used, answered, last, asks("more")]
    everything = trim_messages(whole, max_tokens=500, reserve=0, counter=BYTES4)
    assert everything == whole
    short = trim_messages(whole, max_tokens=100, reserve=0, counter=BYTES4)
    assert short == [asks("more")]
    assert short.left_out == ((0, 4, "budget"),)


def test_a_tool_call_without_all_of_its_results_goes_in_every_format() -> None:
    """Requirements X9 and X12."""
    use = {"type": "tool_use", "id": "1", "name": "f", "input": {}}
    broken: dict[str, list[Any]] = {
        "anthropic": [{"role": "assistant", "content": [use]}],
        "responses": [{"type": "function_call", "call_id": "1", "name": "f", "arguments": "{}"}],
        "stray": [{"type": "function_call_output", "call_id": "9", "output": "?"}],
    }
    for items in broken.values():
        whole = [asks("q"), *items, asks("next")]
        sent = trim_messages(whole, max_tokens=500, reserve=0, counter=BYTES4)
        assert sent == [asks("q"), asks("next")]
        assert sent.left_out == ((1, 2, "broken_tool_group"),)


def test_reasoning_goes_with_the_item_that_it_led_to() -> None:
    thought = {"type": "reasoning", "id": "rs", "summary": [], "encrypted_content": "g" * 400}
    call = {"type": "function_call", "call_id": "1", "name": "f", "arguments": "{}"}
    output = {"type": "function_call_output", "call_id": "1", "output": "ok"}
    whole = [asks("q"), thought, call, output, asks("next")]
    assert trim_messages(whole, max_tokens=100, reserve=0, counter=BYTES4) == whole
    sent = trim_messages(whole, max_tokens=20, reserve=0, counter=BYTES4)
    assert sent == [asks("next")]


def test_what_is_sent_beside_the_messages_takes_its_room() -> None:
    tools = [{"type": "function", "function": {"name": "f", "description": "d" * 390}}]
    whole = [asks("a" * 40), asks("b" * 40), asks("c")]
    alone = trim_messages(whole, max_tokens=120, reserve=0, counter=BYTES4)
    beside = trim_messages(
        whole, max_tokens=120, reserve=0, counter=BYTES4, tools=tools, system="s" * 20
    )
    assert (len(alone), len(beside)) == (3, 1)
    assert beside.limit == 120
    assert 110 < beside.tokens <= 120
    schema = {"type": "json_schema", "json_schema": {"name": "n", "schema": {"x": "y" * 400}}}
    assert (
        len(trim_messages(whole, max_tokens=120, reserve=0, counter=BYTES4, response_format=schema))
        == 1
    )


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ([{"text": "hi"}], "kefu.context.Message"),
        ([{"role": "bot", "content": "hi"}], "Convert others into chat completions"),
        ([{"role": ["user"], "content": "hi"}], "kefu.context.Message"),
        (["hi"], "This is not a message that trim_messages reads: 'hi'"),
        (
            [asks("hi"), {"type": ["x"]}, *[{"role": "assistant", "content": "Yes."}] * 2],
            "{'type': ['x']}",
        ),
    ],
)
def test_what_is_no_message_is_said_with_what_to_pass(given: list[Any], says: str) -> None:
    with pytest.raises(TypeError) as failure:
        trim_messages(given, max_tokens=10)
    assert says in str(failure.value)


def test_wrong_arguments_are_said_with_what_to_pass() -> None:
    """The error message says what to pass instead."""
    whole = [asks("hi")]
    with pytest.raises(TypeError, match="model='gpt-4o', max_tokens=8000, or a Budget"):
        trim_messages(whole)
    with pytest.raises(TypeError, match="either a Budget, or max_tokens"):
        trim_messages(whole, Budget(10), max_tokens=5)
    with pytest.raises(ValueError, match=r"There are: fifo, sliding_window, .*summary"):
        trim_messages(whole, max_tokens=5, strategy="newest")
    with pytest.raises(ValueError, match="There is no token counter 'gpt'"):
        trim_messages(whole, max_tokens=5, counter="gpt")
    wrong: Any = 5
    with pytest.raises(TypeError, match="Pass a name such as 'calibrated'"):
        trim_messages(whole, max_tokens=5, counter=wrong)
    with pytest.raises(TypeError, match="by its name: max_tokens=5"):
        trim_messages(whole, wrong)
    one: Any = whole[0]
    with pytest.raises(TypeError, match=r"Pass a list of messages, not one: \[\{'role'"):
        trim_messages(one, max_tokens=5)
    with pytest.raises(ValueError, match="The last stage must be DropTurns"):
        trim_messages(whole, max_tokens=5, strategy=())


def test_keep_pins_messages_of_any_format_with_their_question() -> None:
    """保留重要消息, X9."""
    number = {"role": "assistant", "content": "Your order is A4711."}
    whole = [asks("Which order?"), number, asks(LONG), asks(LONG), asks("And now?")]
    sent = trim_messages(
        whole, max_tokens=60, reserve=0, counter=BYTES4, keep=lambda m: "A4711" in m["content"]
    )
    assert sent == [whole[0], number, whole[4]]


def test_keep_pins_the_question_before_a_message_and_no_other() -> None:
    number = {"role": "assistant", "content": "Your order is A4711."}
    whole = [asks("first"), {"role": "assistant", "content": LONG}]
    whole += [asks("Which order?"), number, asks(LONG), asks("And now?")]
    sent = trim_messages(
        whole, max_tokens=60, reserve=0, counter=BYTES4, keep=lambda m: "A4711" in m["content"]
    )
    assert sent == [*whole[2:4], whole[5]]


def test_own_messages_are_trimmed_by_the_same_call() -> None:
    whole = [Message("system", "S"), Message("user", LONG), Message("user", "q")]
    sent = trim_messages(whole, max_tokens=20, reserve=0, counter="bytes4")
    assert sent == [whole[0], whole[2]]
    assert sent[0] is whole[0]


def test_only_messages_that_may_be_kept_are_read() -> None:
    """X17: of the others only those are read that show whose state it is, so few of a thousand."""
    read = set()

    class Old(dict[str, Any]):
        def get(self, *given: Any) -> Any:
            read.add(id(self))
            return super().get(*given)

    old = [Old(asks(f"old {n}")) for n in range(1000)]
    whole = [asks("first"), *old, *(asks(LONG) for _ in range(4))]
    sent = trim_messages(whole, max_tokens=250, reserve=0, counter=BYTES4, trim_step=0.2)
    assert len(sent) == 2
    assert len(read) <= 10


def test_user_messages_in_a_row_are_joined_where_that_is_asked_for() -> None:
    """Bedrock and strict chat templates refuse them. The given messages are not changed."""
    picture = {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}
    parts = {"role": "user", "content": [picture], "name": "Ann"}
    answer = {"role": "assistant", "content": "A"}
    whole = [asks("1"), asks("2"), answer, asks("3"), parts]
    sent = trim_messages(whole, max_tokens=9000, alternate=True)
    assert sent == [
        asks("1\n\n2"),
        answer,
        {"role": "user", "name": "Ann", "content": [{"type": "text", "text": "3"}, picture]},
    ]
    assert whole[0] == asks("1")
    assert sent[1] is answer
    result = {"type": "tool_result", "tool_use_id": "1", "content": "ok"}
    use = {"type": "tool_use", "id": "1", "name": "f", "input": {}}
    tools = [asks("q"), {"role": "assistant", "content": [use]}]
    tools += [{"role": "user", "content": [result]}, asks("and?")]
    assert trim_messages(tools, max_tokens=9000, alternate=True) == tools
    own = [Message("user", "1"), Message("user", "2")]
    assert trim_messages(own, max_tokens=90, alternate=True) == [Message("user", "1\n\n2")]


UNKNOWN: dict[str, Any] = {
    "unknown item": {"type": "anything", "content": "Hello"},
    "unknown part": {"role": "user", "content": [{"words": "Hello"}]},
    "a LangChain message to remove": {"type": "remove", "content": "", "id": "1"},
    "a result of no call": {"role": "tool", "content": "rain"},
    "number": {"role": "user", "content": 5},
    "object": {"role": "user", "content": {"text": "Hello"}},
    "an answer of unknown fields": {"role": "assistant", "blocks": [{"words": "Hello"}]},
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_x22_messages_of_unread_formats_are_refused(name: str) -> None:
    """Never in silence, counted as nothing, or split from their results."""
    whole = [UNKNOWN[name], asks("And now?")]
    with pytest.raises(TypeError, match=r"Bedrock's Converse.*Convert others"):
        trim_messages(whole, max_tokens=1000)


def test_m15_arguments_may_be_an_object() -> None:
    """Clients of Ollama and Mistral give them parsed."""
    call = {"id": "1", "function": {"name": "weather", "arguments": {"city": "Bergen"}}}
    whole = [
        asks("Rain?"),
        {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "1", "content": "yes"},
    ]
    assert list(trim_messages(whole, max_tokens=1000)) == whole


def nested(depth: int) -> Any:
    value: Any = "rain"
    for _ in range(depth):
        value = [value]
    return value


RING: list[Any] = []
RING.append(RING)


@pytest.mark.parametrize(
    "arguments", [nested(3000), RING, {1: {2}}, b"?", 5, None, float("nan")], ids=range(7)
)
def test_x25_no_arguments_crash(arguments: Any) -> None:
    """In the format of a chat completion, of Anthropic and of Gemini."""
    call = {"id": "1", "function": {"name": "weather", "arguments": arguments}}
    use = {"type": "tool_use", "id": "1", "name": "weather", "input": arguments}
    gemini = [{"functionCall": {"name": "weather", "args": arguments}}]
    for made in (
        {"role": "assistant", "tool_calls": [call]},
        {"role": "assistant", "content": [use]},
        {"role": "model", "parts": gemini},
    ):
        assert list(trim_messages([asks("Rain?"), made], max_tokens=9000)) == [asks("Rain?"), made]


@pytest.mark.parametrize("make", [parallel, lambda count: [PROMPT, GOAL, *steps(count)]])
def test_x25_time_is_proportional_to_the_tool_calls(make: Any) -> None:
    """Parallel ones, and ones that follow each other, all of which fit."""

    def trim(whole: list[dict[str, Any]]) -> None:
        trim_messages(whole, max_tokens=10**8, counter=BYTES4, strategy="agent")

    assert_linear(make, trim, 3000)


@pytest.mark.parametrize("name", ["reasoning_content", "reasoning"])
def test_what_a_model_thought_is_counted_without_a_content_too(name: str) -> None:
    function = {"name": "f", "arguments": "{}"}
    call = {"role": "assistant", "tool_calls": [{"id": "1", "function": function}]}
    thought = {**call, name: LONG}
    tokens = [
        trim_messages([asks("q"), one], max_tokens=900, counter=BYTES4).tokens
        for one in (call, thought)
    ]
    assert tokens[1] - tokens[0] == len(LONG) // 4


def test_x22_a_result_with_a_name_answers_a_call_with_an_id() -> None:
    """Gemini and Ollama give calls ids, and programs answer by name."""
    call = {"functionCall": {"id": "x", "name": "look", "args": {}}}
    done = {"functionResponse": {"name": "look", "response": {"output": "ok"}}}
    gemini = [
        {"role": "user", "parts": [{"text": "q"}]},
        {"role": "model", "parts": [call, call]},
        {"role": "user", "parts": [done, done]},
        {"role": "user", "parts": [{"text": "and?"}]},
    ]
    assert list(trim_messages(gemini, max_tokens=900)) == gemini
    ollama = [
        asks("q"),
        {"role": "assistant", "tool_calls": [{"function": {"name": "look", "arguments": {}}}]},
        {"role": "tool", "tool_call_id": "x", "tool_name": "look", "content": "ok"},
        asks("and?"),
    ]
    assert list(trim_messages(ollama, max_tokens=900)) == ollama


def test_x22_a_new_summary_is_in_the_format_of_the_conversation() -> None:
    texts = [f"question {at}" for at in range(40)]
    bedrock = [{"role": "user", "content": [{"text": text}]} for text in texts]
    gemini = [{"role": "user", "parts": [{"text": text}]} for text in texts]
    prompts = [{"part_kind": "user-prompt", "content": text} for text in texts]
    pydantic = [{"kind": "request", "parts": [prompt]} for prompt in prompts]
    parts = [[{"type": "text", "text": text}] for text in texts]
    interface = [{"role": "user", "parts": part} for part in parts]
    for whole in (bedrock, gemini, pydantic, interface):
        first = trim_messages(whole, max_tokens=60, reserve=0, counter=BYTES4, strategy="summary")
        assert first.to_summarize
        state = first.to_summarize.with_summary("They asked.", first.state)
        sent = trim_messages(
            whole, max_tokens=60, reserve=0, counter=BYTES4, strategy="summary", state=state
        )
        assert "They asked." in str(sent[0])
        assert str(sent[0]).partition("<conv")[0] == str(whole[0]).partition("question")[0]


SEARCHED = {
    "ai sdk": [
        {"type": "tool-call", "toolCallId": "s", "toolName": "search", "providerExecuted": True},
        {
            "type": "tool-result",
            "toolCallId": "s",
            "toolName": "search",
            "output": {"type": "json", "value": [LONG]},
        },
    ],
    "bedrock": [
        {"toolUse": {"toolUseId": "s", "name": "nova_grounding", "input": {}}},
        {"toolResult": {"toolUseId": "s", "content": [{"text": LONG}]}},
    ],
}


@pytest.mark.parametrize("name", SEARCHED)
def test_an_answer_with_a_tool_that_the_provider_runs_is_kept(name: str) -> None:
    """The call and its result are in the assistant's message."""
    answer = {"role": "assistant", "content": [*SEARCHED[name], {"text": "It is open."}]}
    whole = [asks("open?"), answer, asks("until?")]
    sent = trim_messages(whole, max_tokens=200, reserve=0, counter=BYTES4)
    assert sent == whole
    assert sent.tokens > len(LONG) // 4
    assert trim_messages(whole, max_tokens=60, reserve=0, counter=BYTES4) == whole[2:]


def test_a_call_whose_result_the_provider_owes_does_not_hide_its_neighbours() -> None:
    """A program that runs at the provider calls the site's tool, and ends in the next message."""
    ran = {"type": "tool-call", "toolCallId": "p", "toolName": "run", "providerExecuted": True}
    call = {"type": "tool-call", "toolCallId": "c", "toolName": "look", "input": {}}
    looked = {"type": "tool-result", "toolCallId": "c", "output": {"type": "text", "value": "1"}}
    ended = {"type": "tool-result", "toolCallId": "p", "output": {"type": "text", "value": "2"}}
    whole = [
        asks("count"),
        {"role": "assistant", "content": [ran, call]},
        {"role": "tool", "content": [looked]},
        {"role": "assistant", "content": [ended, {"type": "text", "text": "two"}]},
        asks("again"),
    ]
    assert trim_messages(whole, max_tokens=200, reserve=0, counter=BYTES4) == whole


def test_a_visitors_approval_of_a_tool_is_read() -> None:
    """The AI SDK's: the approval comes before the result, and is at the end at first."""
    call = {"type": "tool-call", "toolCallId": "c", "toolName": "pay", "input": {}}
    request = {"type": "tool-approval-request", "approvalId": "a", "toolCallId": "c"}
    response = {"type": "tool-approval-response", "approvalId": "a", "approved": True}
    paid = {"type": "tool-result", "toolCallId": "c", "output": {"type": "text", "value": "paid"}}
    whole = [
        asks(LONG),
        asks("pay"),
        {"role": "assistant", "content": [call, request]},
        {"role": "tool", "content": [response]},
        {"role": "tool", "content": [paid]},
        asks("thanks"),
    ]
    for end in (4, 5, 6):
        sent = trim_messages(whole[:end], max_tokens=60, reserve=0, counter=BYTES4)
        assert sent == whole[1:end]
    assert trim_messages(whole, max_tokens=5, reserve=0, counter=BYTES4) == whole[5:]


def test_messages_that_were_added_up_from_a_stream_are_read() -> None:
    """LangChain's chunks: `gathered += chunk` gives an `AIMessageChunk`."""
    call = {"name": "f", "args": {"q": 1}, "id": "a"}
    gathered = SimpleNamespace(type="AIMessageChunk", content="", tool_calls=[call])
    result = SimpleNamespace(type="ToolMessageChunk", content="ok", tool_call_id="a")
    asked = SimpleNamespace(type="HumanMessageChunk", content="q")
    whole = [asks(LONG), asked, gathered, result]
    assert trim_messages(whole, max_tokens=20, reserve=0, counter=BYTES4) == whole[1:]
    assert trim_messages([asked, gathered, asks("next")], max_tokens=99) == [asked, asks("next")]


def test_geminis_own_tools_are_read() -> None:
    """With `include_server_side_tool_invocations`, the answer has their calls and responses."""
    found = {"toolType": "GOOGLE_SEARCH_WEB", "response": {"a": LONG}, "id": "s"}
    for searched in ({"toolResponse": found}, {"tool_response": found}):
        parts = [{"toolCall": {"toolType": "GOOGLE_SEARCH_WEB", "id": "s"}}, searched]
        whole = [
            {"role": "user", "parts": [{"text": "q"}]},
            {"role": "model", "parts": [*parts, {"text": "found"}]},
            {"role": "user", "parts": [{"text": "next"}]},
        ]
        sent = trim_messages(whole, max_tokens=400, reserve=0, counter=BYTES4)
        assert sent == whole
        assert sent.tokens > len(LONG) // 4


def test_an_answer_with_nothing_in_it_is_read() -> None:
    """It was stopped, for safety or for its length. JSON leaves out what is empty."""
    gemini = {"role": "user", "parts": [{"text": "q"}]}
    empty: list[tuple[Any, Any]] = [
        (gemini, {"role": "model", "parts": []}),
        (gemini, {"role": "model"}),
        (gemini, SimpleNamespace(role="model", parts=[])),
        (gemini, SimpleNamespace(role="model", parts=None)),
        (asks("q"), {"role": "assistant", "annotations": []}),
    ]
    for asked, answer in empty:
        whole = [asked, answer, asked]
        assert trim_messages(whole, max_tokens=99) == whole


def test_additional_tools_are_the_developers_or_of_the_models_step() -> None:
    """OpenAI's Responses API: as input they stand like a system prompt, else among the items."""
    tool = {"type": "function", "name": "look", "parameters": {}, "description": LONG}
    given = {"type": "additional_tools", "role": "developer", "tools": [tool]}
    thought = {"type": "reasoning", "id": "rs", "summary": []}
    found = {"type": "additional_tools", "role": "tool", "id": "at", "tools": [tool]}
    call = {"type": "function_call", "call_id": "1", "name": "look", "arguments": "{}"}
    output = {"type": "function_call_output", "call_id": "1", "output": "ok"}
    step = [thought, found, call, output]
    whole = [given, asks("q"), *step, asks("next")]
    sent = trim_messages(whole, max_tokens=400, reserve=0, counter=BYTES4)
    assert sent == whole
    assert sent.tokens > 2 * len(LONG) // 4
    sent = trim_messages(whole, max_tokens=200, reserve=0, counter=BYTES4)
    assert sent == [given, asks("next")]


@dataclass
class Speech:
    """Like pydantic-ai's `SpeechPart`."""

    speaker: str
    transcript: str
    part_kind: str = "speech"


@dataclass
class Request:
    """Like pydantic-ai's `ModelRequest` and `ModelResponse`."""

    parts: list[Speech]
    kind: str = "request"


def spoken(text: str) -> dict[str, Any]:
    part = {"part_kind": "speech", "speaker": "user", "transcript": text}
    return {"kind": "request", "parts": [part]}


def test_what_the_user_spoke_is_a_question() -> None:
    """A pydantic-ai session of speech, as objects and as JSON; a summary is in its format."""
    said = {"part_kind": "speech", "speaker": "assistant", "transcript": LONG}
    answer = {"kind": "response", "parts": [said]}
    texts = [spoken("first"), answer, spoken("second"), answer, spoken("third"), answer]
    for whole in (texts, [objects(message) for message in texts]):
        options: Any = {"max_tokens": 150, "reserve": 0, "counter": BYTES4}
        sent = trim_messages(whole, **options)
        assert sent == whole[4:]
        assert sent.tokens > len(LONG) // 4
        options["max_tokens"] = 300
        first = trim_messages(whole, strategy="summary", **options)
        assert first.to_summarize
        state = first.to_summarize.with_summary("They asked.", first.state)
        sent = trim_messages(whole, strategy="summary", state=state, **options)
        assert "They asked." in str(sent[0])
        assert sent[1:] == whole[4:]


def objects(message: dict[str, Any]) -> Any:
    """The message as an object with parts as objects."""
    return Request([Speech(**part) for part in message["parts"]], message["kind"])


def test_bedrocks_changes_of_the_tools_are_read() -> None:
    tool = {"tool": {"type": "function", "name": "look"}}
    for change in ({"toolAddition": tool}, {"toolRemoval": tool}):
        system = {"role": "system", "content": [change]}
        whole = [{"role": "user", "content": [{"text": "q"}]}, system]
        sent = trim_messages(whole, max_tokens=99, counter=BYTES4)
        assert sent == whole
        assert sent.tokens > trim_messages(whole[:1], max_tokens=99, counter=BYTES4).tokens


def test_the_trigger_of_a_compaction_stays_at_the_end() -> None:
    """OpenAI's Responses API refuses it in any other place."""
    trigger = {"type": "compaction_trigger"}
    whole = [asks(LONG), asks("q"), trigger]
    assert trim_messages(whole, max_tokens=40, reserve=0, counter=BYTES4) == whole[1:]


BESIDE: dict[str, tuple[list[Any], Any]] = {
    "anthropic": (
        [
            asks("goal"),
            {"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "f"}]},
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "1", "content": "ok"},
                    {"type": "text", "text": "Do this instead."},
                ],
            },
        ],
        {"role": "assistant", "content": LONG},
    ),
    "bedrock": (
        [
            {"role": "user", "content": [{"text": "goal"}]},
            {"role": "assistant", "content": [{"toolUse": {"toolUseId": "1", "name": "f"}}]},
            {
                "role": "user",
                "content": [
                    {"toolResult": {"toolUseId": "1", "content": [{"text": "ok"}]}},
                    {"text": "Do this instead."},
                ],
            },
        ],
        {"role": "assistant", "content": [{"text": LONG}]},
    ),
    "gemini": (
        [
            {"role": "user", "parts": [{"text": "goal"}]},
            {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {}}}]},
            {
                "role": "user",
                "parts": [
                    {"functionResponse": {"name": "f", "response": {"output": "ok"}}},
                    {"text": "Do this instead."},
                ],
            },
        ],
        {"role": "model", "parts": [{"text": LONG}]},
    ),
    "pydantic-ai": (
        [
            {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "goal"}]},
            {
                "kind": "response",
                "parts": [{"part_kind": "tool-call", "tool_name": "f", "tool_call_id": "1"}],
            },
            {
                "kind": "request",
                "parts": [
                    {"part_kind": "tool-return", "tool_call_id": "1", "content": "ok"},
                    {"part_kind": "user-prompt", "content": "Do this instead."},
                ],
            },
        ],
        {"kind": "response", "parts": [{"part_kind": "text", "content": LONG}]},
    ),
}


@pytest.mark.parametrize("strategy", ["fifo", "sliding_window", "agent", "summary"])
@pytest.mark.parametrize("name", BESIDE)
def test_what_the_user_says_beside_a_tool_result_is_kept(name: str, strategy: str) -> None:
    """With the result's call, and after the first question, as APIs ask for."""
    asked, answer = BESIDE[name]
    for answers in (5, 100):  # the question is looked for near the end first
        whole = [*asked, *[answer] * answers]
        sent = trim_messages(
            whole, max_tokens=250, reserve=0, counter=BYTES4, strategy=strategy, trim_step=0.2
        )
        assert sent[:3] == asked
        assert 3 < len(sent) < 6
        assert not sent.over_budget


def test_what_a_program_reminds_the_model_of_beside_a_tool_result_may_go() -> None:
    """Claude Code writes such texts itself, in the place of the user's."""
    result = {"type": "tool_result", "tool_use_id": "1", "content": "ok"}
    note = {"type": "text", "text": "\n<system-reminder>A file was changed.</system-reminder>"}
    asked, answer = BESIDE["anthropic"]
    whole = [*asked[:2], {"role": "user", "content": [result, note]}, *[answer] * 5]
    sent = trim_messages(whole, max_tokens=250, reserve=0, counter=BYTES4)
    assert sent == [asked[0], answer, answer]


def test_a_summary_stands_between_the_question_and_what_was_said_beside_a_result() -> None:
    asked, answer = BESIDE["anthropic"]
    whole = [*asked, *[answer] * 5]
    first = trim_messages(whole, max_tokens=250, reserve=0, counter=BYTES4, strategy="summary")
    assert first.to_summarize
    assert asked[2] in first.to_summarize.messages
    state = first.to_summarize.with_summary("They asked.", first.state)
    sent = trim_messages(
        whole, max_tokens=250, reserve=0, counter=BYTES4, strategy="summary", state=state
    )
    assert "They asked." in str(sent[1])
    assert [sent[0], *sent[2:4]] == asked


class Unread:
    """The value of an old tool result, which must not be looked at."""

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"an old result was read: {name}")


def step_of(name: str, output: Any) -> list[Any]:
    """A tool call and its result, in the user's role where the format has it so."""
    call, result = {"name": "f", "args": {}}, {"name": "f", "response": output}
    told = {"part_kind": "tool-return", "tool_call_id": "1", "content": output}
    block = {"type": "tool_result", "tool_use_id": "1", "content": output}
    return {
        "anthropic": [
            {"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "f"}]},
            {"role": "user", "content": [block]},
        ],
        "bedrock": [
            {"role": "assistant", "content": [{"toolUse": {"toolUseId": "1", "name": "f"}}]},
            {"role": "user", "content": [{"toolResult": {"toolUseId": "1", "content": output}}]},
        ],
        "gemini": [
            {"role": "model", "parts": [{"functionCall": call}]},
            {"role": "user", "parts": [{"functionResponse": result}]},
        ],
        "pydantic-ai": [
            {
                "kind": "response",
                "parts": [{"part_kind": "tool-call", "tool_name": "f", "tool_call_id": "1"}],
            },
            {"kind": "request", "parts": [told]},
        ],
    }[name]


@pytest.mark.parametrize("name", BESIDE)
def test_x17_the_old_results_of_a_long_run_are_not_read(name: str) -> None:
    """The question is found by the kinds of the parts, though results have the user's role."""
    question = BESIDE[name][0][0]
    old = [message for _ in range(200) for message in step_of(name, Unread())]
    new = [message for _ in range(80) for message in step_of(name, LONG)]
    sent = trim_messages([question, *old, *new], max_tokens=250, reserve=0, counter=BYTES4)
    assert sent[0] is question
    assert 1 < len(sent) < 80
    assert not sent.over_budget
