import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kefu.relay.chunks import Completion, InBandError, MalformedChunk, error_status
from kefu.relay.collected import Collected
from kefu.relay.sse import Event


def reading() -> Completion:
    return Completion("chatcmpl-ours", "m", 1_800_000_000)


def chunk(**fields: object) -> Event:
    whole = {
        "id": "chatcmpl-theirs",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "m",
        "choices": [{"index": 0, "delta": {"content": "hi"}, "finish_reason": None}],
    }
    return Event(json.dumps({**whole, **fields}))


def test_complete_chunk_passes_as_it_came() -> None:
    """Requirement C5."""
    completion = reading()
    completion.read(chunk())
    second = chunk()
    read = completion.read(second)
    assert read is not None
    assert read.text == second.data


@pytest.mark.parametrize(
    ("text", "as_it_came"),
    [
        ("hi", True),
        (r"\n", True),
        (r"\u4f60", True),
        ("\u4f60", True),
        (r"\u0068i", False),
        (r"a\/b", False),
        ("\u2028", False),
        ("\x7f", False),
    ],
)
def test_a_chunk_in_which_a_key_could_hide_is_written_anew(text: str, as_it_came: bool) -> None:
    """An escaped key would not be found, and some clients end a line at U+2028."""
    completion = reading()
    completion.read(chunk())
    data = chunk().data.replace("hi", text)
    read = completion.read(Event(data))
    assert read is not None
    assert (read.text == data) is as_it_came
    assert json.loads(read.text) == json.loads(data)
    assert "\\u0068" not in read.text
    assert "\u2028" not in read.text


def test_all_chunks_carry_the_id_of_the_first() -> None:
    """Requirement C5."""
    completion = reading()
    read = [completion.read(chunk(id=name)) for name in ("one", "two", "")]
    assert {json.loads(each.text)["id"] for each in read if each} == {"one"}


def test_missing_fields_are_filled_in() -> None:
    read = reading().read(Event('{"choices": [{"delta": {"content": "hi"}}]}'))
    assert read is not None
    assert json.loads(read.text) == {
        "id": "chatcmpl-ours",
        "object": "chat.completion.chunk",
        "created": 1_800_000_000,
        "model": "m",
        "choices": [{"delta": {"content": "hi", "role": "assistant"}}],
    }


ROLE = {"role": "assistant"}
TOOL = {"tool_calls": [{"index": 0, "id": "c", "function": {"name": "f", "arguments": ""}}]}


@pytest.mark.parametrize(
    ("deltas", "read"),
    [
        ([{"content": "a"}, {"content": "b"}], [{"content": "a", **ROLE}, {"content": "b"}]),
        ([{"content": ""}, {"content": "a"}], [{"content": ""}, {"content": "a", **ROLE}]),
        ([{"content": "a", "role": None}], [{"content": "a", **ROLE}]),
        ([{"reasoning": "a"}, {"content": "b"}], [{"reasoning": "a", **ROLE}, {"content": "b"}]),
        ([TOOL, TOOL], [{**TOOL, **ROLE}, TOOL]),
        ([ROLE, {"content": "a"}], [ROLE, {"content": "a"}]),
        (
            [{"content": "a", **ROLE}, {"content": "b"}],
            [{"content": "a", **ROLE}, {"content": "b"}],
        ),
    ],
)
def test_first_content_has_a_role_if_no_earlier_chunk_had_one(
    deltas: list[object], read: list[object]
) -> None:
    """C7: OpenAI's JavaScript client refuses a streamed answer without a role."""
    completion = reading()
    chunks = [completion.read(chunk(choices=[{"index": 0, "delta": delta}])) for delta in deltas]
    bodies = [json.loads(each.text) for each in chunks if each]
    assert [body["choices"] for body in bodies] == [[{"index": 0, "delta": one}] for one in read]


@pytest.mark.parametrize("error", [{"code": 0, "message": ""}, {"code": None}, {}, None])
def test_an_error_that_says_nothing_is_no_error_and_no_client_sees_it(error: object) -> None:
    read = reading().read(chunk(error=error))
    assert read is not None
    assert not json.loads(read.text).get("error")


USAGE = {"prompt_tokens": 5, "completion_tokens": 2}


@pytest.mark.parametrize(
    "event",
    [
        chunk(choices=None, usage=USAGE),
        Event(json.dumps({"usage": USAGE})),
        chunk(choices=[{"index": 0, "delta": {}, "finish_reason": "stop", "usage": USAGE}]),
    ],
    ids=["null", "without", "in the choice"],
)
def test_usage_is_noted_wherever_it_stands(event: Event) -> None:
    """Gateways send `"choices": null` or leave it out, and Moonshot's usage is in the choice."""
    completion = reading()
    read = completion.read(event)
    assert completion.usage == (5, 2)
    assert read is not None
    assert isinstance(json.loads(read.text)["choices"], list)


THOUGHT = {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "Hm"}]}]}
IN_PARTS = {"content": [{"type": "text", "text": "Hel"}, {"type": "text", "text": "lo"}]}
CITED = {"content": [{"type": "reference", "reference_ids": [1]}, {"type": "thinking"}]}


def test_content_in_parts_is_text_and_reasoning() -> None:
    """Mistral's models that think send lists of parts, and texts after them."""
    completion, deltas = reading(), (THOUGHT, IN_PARTS, CITED, {"content": "!"})
    read = []
    for delta in deltas:
        found = completion.read(chunk(choices=[{"index": 0, "delta": delta}]))
        assert found is not None
        read.append(json.loads(found.text)["choices"][0]["delta"])
        assert completion.has_text, "it is the first content, as any other reasoning"
    assert read == [
        {"content": "", "reasoning_content": "Hm", **ROLE},
        {"content": "Hello"},
        {"content": ""},
        {"content": "!"},
    ]


def test_answer_that_is_only_a_finish_reason_has_a_role() -> None:
    """C7."""
    choice = {"index": 0, "delta": {}, "finish_reason": "content_filter"}
    read = reading().read(chunk(choices=[choice]))
    assert read is not None
    assert json.loads(read.text)["choices"] == [{**choice, "delta": ROLE}]


def test_a_delta_that_is_null_ends_an_answer_as_an_empty_one_does() -> None:
    """Gateways in Go and Java write a null for each empty field."""
    completion = reading()
    completion.read(chunk())
    choice = {"index": 0, "delta": None, "finish_reason": "stop"}
    read = completion.read(chunk(choices=[choice]))
    assert read is not None
    assert json.loads(read.text)["choices"] == [{**choice, "delta": {}}]
    assert completion.finish_reason == "stop"


@pytest.mark.parametrize("awkward", ["\u2028", "\u2029", "\x85", "\x1b", "\\ud800"])
def test_text_that_some_clients_split_lines_at_leaves_escaped(awkward: str) -> None:
    """Requirement T11."""
    completion = reading()
    completion.read(chunk())
    data = chunk().data.replace("hi", awkward)
    try:
        read = completion.read(Event(data))
    except MalformedChunk:  # control characters must be escaped in JSON
        return
    assert read is not None
    assert read.text.isascii()
    assert read.text.isprintable()
    assert json.loads(read.text)["choices"] == json.loads(data)["choices"]


@pytest.mark.parametrize(
    "data",
    [
        *(" ", "{", "[]", "null", "1", '"text"', "{} {}", "[" * 100_000),
        *('{"choices": [1]}', '{"choices": [{"delta": 3}]}', '{"a": NaN}'),
    ],
)
def test_what_is_no_chunk_is_refused(data: str) -> None:
    """Fault U19."""
    with pytest.raises(MalformedChunk):
        reading().read(Event(data))


@given(st.text())
def test_no_text_raises_anything_else(data: str) -> None:
    try:
        reading().read(Event(data))
    except (MalformedChunk, InBandError):
        return


@pytest.mark.parametrize(
    ("error", "status"),
    [
        ({"code": 429}, 429),
        ({"code": "500"}, 500),
        ({"status": 502}, 502),
        ({"code": "rate_limit_exceeded"}, 429),
        ({"type": "insufficient_quota"}, 429),
        ({"type": "invalid_request_error", "code": "context_length_exceeded"}, 400),
        ({"type": "authentication_error"}, 401),
        ({"message": "boom"}, 503),
        ("boom", 503),
        ({"code": 200}, 503),
        ({"code": 10**30}, 503),
        ({"code": 400}, 400),
        ({"code": 599}, 599),
        ({"code": 399}, 503),
        ({"code": 600}, 503),
        ({"status_code": "418"}, 418),
        ({"code": "too_many_requests"}, 429),
        ({"code": "model_overloaded", "type": "server_error"}, 503),
        ({"code": "invalid_api_key"}, 401),
        ({"type": "permission_error"}, 403),
        ({"type": "invalid_request_error"}, 400),
    ],
)
def test_in_band_error_stands_for_a_status(error: object, status: int) -> None:
    """Fault U20."""
    assert error_status({"error": error}) == status
    with pytest.raises(InBandError) as raised:
        reading().read(Event(json.dumps({"error": error})))
    assert raised.value.status == status


@pytest.mark.parametrize("end", ["[DONE]", " [DONE] "])
def test_end_and_reason_are_noted_and_what_follows_is_ignored(end: str) -> None:
    """Faults U17, U18 and U30."""
    completion = reading()
    completion.read(chunk(choices=[{"index": 0, "delta": {}, "finish_reason": "length"}]))
    assert (completion.finish_reason, completion.done) == ("length", False)
    completion.read(Event(end))
    assert completion.done
    assert completion.read(Event("anything")) is None


def test_collected_chunks_make_one_answer() -> None:
    """Requirement C7 and fault U26."""
    completion, collected = reading(), Collected()
    calls = [{"index": 0, "id": "c", "function": {"name": "f", "arguments": "{"}}]
    deltas: list[object] = [
        {"role": "assistant", "content": None},
        {"role": "assistant", "content": ""},
        {"reasoning_content": "because"},
        {"content": "he"},
        {"content": "llo"},
        {"tool_calls": calls},
        {"tool_calls": [{"index": 0, "function": {"arguments": "}"}}]},
    ]
    for delta in deltas:
        read = completion.read(chunk(choices=[{"index": 0, "delta": delta}]))
        assert read is not None
        collected.add(read)
    usage = {"prompt_tokens": 5, "completion_tokens": 2}
    last = completion.read(chunk(choices=[], usage=usage))
    assert last is not None
    collected.add(last)
    answer = collected.response(completion)
    assert answer["choices"] == [
        {
            "index": 0,
            "message": {
                "role": "assistant",
                "content": "hello",
                "reasoning_content": "because",
                "tool_calls": [
                    {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
                ],
            },
            "finish_reason": None,
        }
    ]
    assert answer["usage"] == {**usage, "total_tokens": 7}
