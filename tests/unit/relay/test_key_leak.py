"""T18: a key is found in any division into chunks, and other text is not delayed."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kefu.relay import sse
from kefu.relay.attempt import Stream
from kefu.relay.chunks import Completion, MalformedChunk
from kefu.relay.key_leak import MIN_KEY_SIZE, KeyLeakDetector
from tests.fakes import in_process_upstream as up
from tests.fakes.relaying import Rig, in_virtual_time

KEY = 'sk-sk-sk-A1/b"2\\sk-sk-C3'
"""It begins again and again inside of itself, and JSON escapes some of it."""

Delta = dict[str, Any]


class Pieces:
    """An `UpstreamResponse` with these reads."""

    status = 200
    headers: Mapping[str, str] = {}

    def __init__(self, reads: Sequence[bytes]) -> None:
        self._reads = iter(reads)

    async def read(self, timeout: float) -> bytes:
        return next(self._reads, b"")

    async def aclose(self) -> None:
        """Do nothing: there is no connection."""

    def finish(self) -> None:
        """Do nothing: there is no connection."""


def chunk(delta: Delta, finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return sse.encode(json.dumps({"id": "c", "model": "m", "choices": [choice]}))


async def let_out(
    deltas: Sequence[Delta], key: str = KEY, *, end: bool = True
) -> list[list[Delta]]:
    """The released text of each delta; an error ends it. A chunk with only the role was before."""
    completion = Completion("c", "m", 1)
    completion.read(sse.Event('{"id": "c", "choices": [{"delta": {"role": "assistant"}}]}'))
    reads = [chunk(delta) for delta in deltas] + ([chunk({}, "stop"), sse.DONE] if end else [])
    stream = Stream(Pieces(reads), completion, key)
    out: list[list[Delta]] = []
    while not stream.over:
        try:
            chunks = stream.feed(await stream.response.read(1))
        except MalformedChunk:
            out.append([{"error": True}])
            return out
        out.append([json.loads(one.text)["choices"][0]["delta"] for one in chunks])
    return out


def content(text: str) -> Delta:
    return {"content": text}


def thought(text: str) -> Delta:
    return {"reasoning_content": text}


def argument(text: str) -> Delta:
    return {"tool_calls": [{"index": 1, "function": {"arguments": text}}]}


def parts(text: str) -> Delta:
    return {"content": [{"type": "text", "text": text[:2]}, {"type": "text", "text": text[2:]}]}


def cut(text: str, places: Sequence[int]) -> list[str]:
    ends = sorted({place % (len(text) + 1) for place in places} | {0, len(text)})
    return [text[a:b] for a, b in itertools.pairwise(ends)]


CUTS = st.lists(st.integers(0, 200), max_size=40)
AROUND = st.text("sk-A1 x", max_size=30)


@pytest.mark.parametrize("say", [content, thought, argument, parts])
@given(before=AROUND, after=AROUND, places=CUTS, between=st.sampled_from([None, content("."), {}]))
async def test_t18_a_key_is_withheld_wherever_it_is_cut(
    say: Any, before: str, after: str, places: list[int], between: Delta | None
) -> None:
    """Chunks without text in between make no difference. Of the key, only a prefix such as `sk-` is
    sent.
    """
    deltas = [say(piece) for piece in cut(before + KEY + after, places)]
    if between is not None and not (between and say in (content, parts)):
        deltas = [one for delta in deltas for one in (delta, between)]
    out = await let_out(deltas)
    assert out[-1] == [{"error": True}]
    seen = "".join(map(texts_in, (one for read in out for one in read)))
    assert seen.count(KEY[:MIN_KEY_SIZE]) <= (before + KEY[: MIN_KEY_SIZE - 1]).count(
        KEY[:MIN_KEY_SIZE]
    )


def texts_in(value: object) -> str:
    """All strings in the value, except `type` fields and lone dots."""
    if isinstance(value, dict):
        return "".join(texts_in(part) for name, part in value.items() if name != "type")
    if isinstance(value, list):
        return "".join(map(texts_in, value))
    return value if isinstance(value, str) and value != "." else ""


@given(pieces=st.lists(st.text('sk-A1/b"2\\C3', min_size=1, max_size=9), max_size=40))
async def test_what_only_begins_like_the_key_comes_whole_and_in_its_order(
    pieces: list[str],
) -> None:
    whole = "".join(pieces)
    out = await let_out([content(piece) for piece in pieces])
    said = [delta["content"] for read in out for delta in read if delta.get("content")]
    if KEY in whole or any(whole.endswith(KEY[:n]) for n in range(len(KEY) // 2 + 1, len(KEY))):
        assert out[-1] == [{"error": True}]
    else:
        assert said == pieces


async def test_nothing_waits_but_what_may_be_the_key() -> None:
    """Each of these texts is released with the read that contained it."""
    texts = ["The task", "s: ", "s", "sk", "-sk-s", "x", "pass", " ", KEY[: MIN_KEY_SIZE - 1], "?"]
    out = await let_out([content(text) for text in texts])
    assert out[: len(texts)] == [[content(text)] for text in texts]
    begun = await let_out([content("a"), content(KEY[:MIN_KEY_SIZE]), content("A"), content("b")])
    held = [content(KEY[:MIN_KEY_SIZE])]
    assert begun[:4] == [[content("a")], [], [*held, content("A")], [content("b")]]


@pytest.mark.parametrize(("size", "known"), [(MIN_KEY_SIZE, True), (12, True), (13, False)])
async def test_an_answer_may_end_with_the_beginning_of_the_key_not_with_most_of_it(
    size: int, known: bool
) -> None:
    """Many keys begin with `sk-proj-`, so this beginning may be the end of an answer."""
    out = await let_out([content("It begins "), content(KEY[:size])])
    said = [delta for read in out for delta in read]
    end = [content(KEY[:size]), {}] if known else [{"error": True}]
    assert said == [content("It begins "), *end]


async def test_of_an_answer_that_breaks_off_within_the_key_the_rest_is_dropped() -> None:
    out = await let_out([content("It is "), content(KEY[:-1])], end=False)
    assert [delta for read in out for delta in read] == [content("It is ")]


@in_virtual_time
async def test_an_answer_whose_last_chunk_has_the_key_is_no_whole_answer() -> None:
    last = up.chunk({"content": "sk-the-key-of-this-test"}, "stop")
    rig = Rig({"sk-the-key-of-this-test": up.STREAM.then(up.text("a"), last, up.DONE)})
    result = await rig.ask()
    assert (result.text, result.whole, result.outcomes) == ("a", False, ["cut"])


async def test_a_key_too_short_to_be_secret_is_ordinary_text() -> None:
    """`local` is the placeholder for an upstream without keys."""
    assert await let_out([content("lo"), content("cal")], "local") == [
        [content("lo")],
        [content("cal")],
        [{}],
        [],
    ]


@pytest.mark.parametrize(
    ("delta", "end"),
    [
        ({"content": ["s", None, 7, ["k", "ey: ", KEY[:9], KEY[9:]]], "x": True}, "error"),
        ({"tool_calls": [None, 1, {"index": {}, "function": KEY[:3]}]}, "whole"),
        ({"tool_calls": 7, "content": None, "x": {"y": {"z": KEY[:9]}}, "y": KEY[9:]}, "whole"),
    ],
)
async def test_odd_deltas_are_no_trouble(delta: Delta, end: str) -> None:
    said = [one for read in await let_out([delta]) for one in read]
    assert said == ([{"error": True}] if end == "error" else [delta, {}])


def test_json_of_any_depth_is_no_trouble() -> None:
    deep: Any = KEY
    for _ in range(5000):
        deep = {"x": [deep]}
    detector = KeyLeakDetector(KEY)
    detector.feed([{"delta": deep}, {"delta": None}, None])
    assert not detector.found
