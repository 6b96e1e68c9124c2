"""Failures after the start of an answer: rows U15 to U19, U21, U23 to U26, U28, U30."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace

import pytest

from tests.fakes import behaviours as b
from tests.fakes.asking import Answer, conversation
from tests.fakes.fixtures import Staged
from tests.fakes.growth import assert_linear_work
from tests.fakes.stage import UNHURRIED, Stage

MEBI = 1 << 20


def broken_off(answer: Answer, code: str = "upstream_service_unavailable") -> bool:
    """Whether an error event with this code ends the answer, without [DONE] and without
    finish_reason.
    """
    assert (answer.status, answer.done, answer.finish, answer.cut) == (200, False, None, False)
    assert set(answer.error) == {"message", "type", "param", "code"}
    return bool(answer.error["code"] == code)


@pytest.mark.parametrize(
    "fault",
    [
        b.reset_after(3),  # U15
        b.eof_after(3),  # U16
        b.eof_after(3, clean=False),
        b.eof_after(3).then(b.DONE),  # [DONE], yet nothing finished
        b.malformed_json(after=3),  # U19
        b.in_band_error(500, after=3),  # U21
        b.in_band_error("ECHOED-CODE", after=3, message="ECHOED-WORDS"),
        b.eof_after(3).then(b"data: null\n\n", b.DONE),
        b.eof_after(3).then(b"data: [1,2]\n\n", b.DONE),
        b.eof_after(3).then(b'data: {"choices":[{"delta":"?"}]}\n\n', b.DONE),
        b.eof_after(3).then(b'data: {"choices":[7]}\n\n', b.DONE),
        b.eof_after(3).then(b'event: error\ndata: {"message":"ECHOED-WORDS"}\n\n', b.DONE),
        b.eof_after(3).then(b'data: {"x":NaN}\n\n', b.DONE),
        b.eof_after(3).then(b"data: " + b"[" * 100_000 + b"\n\n", b.DONE),
    ],
    ids=lambda _: "",
)
async def test_u15_to_u21_fault_after_text_is_an_error_event_and_no_retry(
    shared: Stage, question: str, fault: b.Stream
) -> None:
    shared.script(fault, asking=question)
    answer = await shared.ask(question)
    assert broken_off(answer)
    assert answer.text == b.pieces_text(3)
    assert len(shared.upstream.calls(question)) == 1
    assert b"MALFORMED" not in answer.raw
    assert b"ECHOED" not in answer.raw


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (429, "rate_limit_exceeded"),
        (504, "gateway_timeout"),
        (503, "upstream_service_unavailable"),
        (401, "upstream_service_unavailable"),
    ],
)
async def test_u21_error_after_text_has_our_code(
    shared: Stage, question: str, code: int, expected: str
) -> None:
    shared.script(b.in_band_error(code, after=2), asking=question)
    answer = await shared.ask(question)
    assert broken_off(answer, expected)
    assert answer.text == b.pieces_text(2)


@pytest.mark.parametrize(
    "fault",
    [
        b.reset_after(0),
        b.eof_after(0),
        b.eof_after(0, clean=False),
        b.malformed_json(),
        b.raw(b":"),
    ],
    ids=lambda _: "",
)
async def test_fault_before_the_first_event_gives_way_to_the_next_key(
    shared: Stage, question: str, fault: b.Stream
) -> None:
    shared.script(fault, b.answer("fine"), asking=question)
    answer = await shared.ask(question)
    assert answer.complete
    assert answer.text == "fine"
    assert len(shared.upstream.calls(question)) == 2


@pytest.mark.parametrize("ending", ["end", "cut", "reset", "silence"])
async def test_u17_finished_answer_without_done_is_complete(
    shared: Stage, question: str, ending: b.Ending
) -> None:
    shared.script(replace(b.answer("all", done=False), ending=ending), asking=question)
    answer = await shared.ask(question)
    assert answer.complete
    assert (answer.text, answer.finish) == ("all", "stop")
    assert answer.events[-1][1] == "[DONE]"
    assert answer.ended_at < 8


async def test_u18_data_after_done_is_ignored(shared: Stage, question: str) -> None:
    more = b.chunk({"content": "MORE"})
    shared.script(b.answer("all").then(more, b.DONE, more), asking=question)
    answer = await shared.ask(question)
    assert answer.complete
    assert answer.text == "all"
    assert [text for _, text in answer.events].count("[DONE]") == 1


@pytest.mark.parametrize("after", [0, 3])
async def test_u23_endless_line_is_cut_off_in_bounded_memory(staged: Staged, after: int) -> None:
    """It is ended by its size, because the time limits are too long to end it."""
    running = staged(4, **UNHURRIED)
    running.script(b.answer("warm"), b.long_line(48 * MEBI, after=after))
    assert (await running.ask()).complete
    before = running.service.memory
    answer = await running.ask("<long>")
    if after:
        assert broken_off(answer)
        assert answer.text == b.pieces_text(3)
    else:
        assert (answer.status, answer.error["code"]) == (503, "upstream_service_unavailable")
    assert b"AAAA" not in answer.raw
    calls = running.upstream.calls("<long>")
    assert len(calls) == (1 if after else 4)
    assert await running.upstream.until(lambda: all(call.closed_at for call in calls))
    assert all(call.sent < 24 * MEBI for call in calls)
    assert running.service.memory - before < 24 * MEBI


TRICKY = 'naïve 你好 🙂👩‍👩‍👧 \u202e\u2028\u0000\r\n\ndata: x \ufeff\\" end'


def body(line_end: str, *, bom: bool = False, ascii_only: bool = False) -> bytes:
    """An event stream with the text TRICKY, comments, unusual fields and this line end."""
    first, second, last = (
        {"choices": [{"delta": {"content": text}, "finish_reason": finish}]}
        for text, finish in ((TRICKY[:10], None), (TRICKY[10:], None), ("", "stop"))
    )
    # One event in two data lines: JSON may contain a line break between two tokens.
    front, comma, back = json.dumps(last).partition(",")
    encoded = [json.dumps(one, ensure_ascii=ascii_only) for one in (first, second)]
    lines = [": comment", "", f"data: {encoded[0]}", "id: 7", "retry: 1", "", ":", "event: message"]
    lines += [f"data:{encoded[1]}", "", f"data: {front}{comma}", f"data: {back}", ""]
    lines += ["data: [DONE]", "", ""]
    return ("\ufeff" if bom else "").encode() + line_end.join(lines).encode()


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"], ids=["lf", "crlf", "cr"])
@pytest.mark.parametrize("bom", [False, True], ids=["plain", "bom"])
async def test_u24_single_bytes_with_any_line_end_make_the_same_text(
    shared: Stage, question: str, line_end: str, bom: bool
) -> None:
    shared.script(b.raw(body(line_end, bom=bom), packet_size=1), asking=question)
    answer = await shared.ask(question)
    assert answer.text == TRICKY
    assert answer.complete


@pytest.mark.slow
async def test_u24_stream_cut_at_every_byte_makes_the_same_text(
    shared: Stage, question: str
) -> None:
    whole = body("\r\n", bom=True)
    limit = asyncio.Semaphore(16)

    async def cut_at(position: int) -> Answer:
        marker = f"{question}<{position}>"
        parts = (whole[:position], whole[position:])
        shared.script(b.Stream(parts, delay=0.005), asking=marker)
        async with limit:
            return await shared.ask(marker)

    answers = await asyncio.gather(*map(cut_at, range(1, len(whole))))
    assert {answer.text for answer in answers} == {TRICKY}
    assert all(answer.complete for answer in answers)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("events", "packet"), [(5000, None), (400, 1)], ids=["one packet", "single bytes"]
)
async def test_u25_work_is_linear_in_the_events_however_they_are_cut(
    shared: Stage, question: str, events: int, packet: int | None
) -> None:
    async def work(count: int) -> float:
        texts = [f"word{number} " for number in range(count)]
        whole = b"".join(b.answer(*texts).parts)
        marker = f"{question}{count}."
        shared.script(b.raw(whole, packet_size=packet), asking=marker)
        before = shared.service.cpu
        for _ in range(3):
            answer = await shared.ask(marker)
            assert answer.complete
            assert answer.text == "".join(texts)
        return shared.service.cpu - before

    await assert_linear_work(work, events)


async def test_u26_odd_chunks_pass(shared: Stage, question: str) -> None:
    call = {"index": 0, "id": "call_1", "type": "function", "function": {"name": "f"}}
    tool = {"tool_calls": [{**call, "function": {"name": "f", "arguments": '{"a"'}}]}
    rest = {"tool_calls": [{"index": 0, "function": {"arguments": ":1}"}}]}
    shared.script(
        b.chunks(
            b.chunk({"role": "assistant", "content": None}),
            b.chunk({"role": "assistant", "content": ""}),
            b.chunk(None),
            b.chunk({"reasoning_content": "think"}),
            b.chunk({"reasoning": "aloud"}),
            b.chunk({"content": "text"}, some_new_field={"x": 1}),
            b.chunk(tool),
            b.chunk(rest),
            b.chunk({"role": "assistant", "content": None}),
            b.chunk({}, finish="tool_calls"),
            b.chunk(None, usage={"prompt_tokens": 5, "completion_tokens": 6, "total_tokens": 11}),
        ),
        asking=question,
    )
    answer = await shared.ask(question)
    assert answer.complete
    assert answer.text == "text"
    assert answer.deltas("reasoning_content") == ["think"]
    assert answer.deltas("reasoning") == ["aloud"]
    calls = answer.deltas("tool_calls")
    assert "".join(one[0]["function"]["arguments"] for one in calls) == '{"a":1}'
    assert answer.finish == "tool_calls"


async def test_c5_chunks_without_their_envelope_get_one(shared: Stage, question: str) -> None:
    """If `id`, `object`, `created` or `model` are missing, they are added, with one `id` for all
    chunks.
    """
    bare = [{"choices": [{"index": 0, "delta": {"content": text}}]} for text in "ab"]
    other = b.chunk({"content": "c"}, id="another-id")
    shared.script(b.chunks(*bare, other, b.chunk({}, finish="stop")), asking=question)
    answer = await shared.ask(question)
    assert (answer.text, answer.complete) == ("abc", True)
    assert len({chunk["id"] for chunk in answer.chunks}) == 1
    assert {chunk["object"] for chunk in answer.chunks} == {"chat.completion.chunk"}
    assert all(isinstance(chunk["created"], int) and chunk["model"] for chunk in answer.chunks)


@pytest.mark.parametrize("path", ["/api/chat", "/v1/chat/completions"])
async def test_c7_answer_of_a_model_that_sends_no_role_has_one(
    shared: Stage, question: str, path: str
) -> None:
    deltas: list[b.Chunk] = [{"content": ""}, {"content": "a"}, {"content": "b"}]
    events = [*map(b.chunk, deltas), b.chunk({}, finish="stop")]
    shared.script(b.chunks(*events), asking=question)
    answer = await shared.ask(conversation(question, stream=True), path=path)
    assert (answer.text, answer.complete) == ("ab", True)
    assert answer.deltas("role") == ["assistant"]


async def test_u28_identity_is_asked_for(shared: Stage, question: str) -> None:
    assert (await shared.ask(question)).complete
    [call] = shared.upstream.calls(question)
    assert call.headers.get("accept-encoding", "identity") == "identity"


async def test_u28_compressed_answer_is_refused_or_read_never_garbled(
    shared: Stage, question: str
) -> None:
    packed = b.gzip_body(b"".join(b.answer("packed").parts))
    shared.script(packed, b.answer("plain"), asking=question)
    answer = await shared.ask(question)
    assert answer.complete
    assert answer.text in ("packed", "plain")


async def test_u28_compressed_bomb_stays_small(shared: Stage, question: str) -> None:
    shared.script(b.gzip_body(b'data: {"x":"' + b"A" * (96 * MEBI)), asking=question)
    before = shared.service.memory
    answer = await shared.ask(question)
    assert answer.error["code"] == "upstream_service_unavailable"
    assert shared.service.memory - before < 24 * MEBI


@pytest.mark.parametrize("reason", ["stop", "length", "content_filter"])
async def test_u30_finish_reason_is_passed_on(shared: Stage, question: str, reason: str) -> None:
    shared.script(b.answer("so far", finish=reason), asking=question)
    answer = await shared.ask(question)
    assert answer.complete
    assert answer.finish == reason


async def test_t11_text_cannot_end_its_event(shared: Stage, question: str) -> None:
    """T11: for text of a model and of a hostile upstream."""
    nasty = 'x\n\nevent: error\ndata: {"error":1}\r\rdata: [DONE]\u2028\u2029\u0085\x0b\x0c\x1c'
    foreign = b"event: ping\nid: 3\nretry: 1\n: upstream comment SECRET\n\n"
    named = b"event: delta\nid: 4\n" + b.event(b.chunk({"content": "named"}))
    parts = b.answer(nasty, done=False, finish=None)
    shared.script(parts.then(foreign, named, b.chunk({}, finish="stop"), b.DONE), asking=question)
    answer = await shared.ask(question)
    assert answer.complete
    assert answer.text == nasty + "named"
    assert answer.foreign == []
    assert b"SECRET" not in answer.raw


async def test_t12_answer_that_never_ends_is_ended(staged: Staged) -> None:
    running = staged(1, max_duration=1.5)
    running.script(b.drip(1000, delay=0.1))
    answer = await running.ask()
    assert broken_off(answer, "gateway_timeout")
    assert 1.3 < answer.ended_at < 20
    [call] = running.upstream.calls()
    assert await running.upstream.until(lambda: call.closed_at is not None)


@pytest.mark.parametrize("path", ["/api/chat", "/v1/chat/completions"])
async def test_t12_model_that_never_ends_is_cut_off_by_length(
    shared: Stage, question: str, path: str
) -> None:
    """The model ignores `max_tokens`. The limit is 64 KiB, and 4 KiB for each requested token."""
    shared.script(b.answer(*["endless "] * 20_000), asking=question)
    answer = await shared.ask(conversation(question, max_tokens=10), path=path)
    assert answer.error["code"] == "upstream_service_unavailable"
    assert not answer.done
    assert len(answer.raw) < 150_000
    call = shared.upstream.calls(question)[0]
    assert await shared.upstream.until(lambda: call.closed_at is not None)


async def test_u22_media_type_of_the_answer_may_have_any_case(shared: Stage, question: str) -> None:
    headers = {"Content-Type": "Text/Event-Stream; Charset=UTF-8"}
    shared.script(replace(b.answer("hi"), headers=headers), asking=question)
    assert (await shared.ask(question)).text == "hi"
