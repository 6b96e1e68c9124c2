import pytest
from hypothesis import given
from hypothesis import strategies as st

from kefu.relay.sse import Event, EventTooLarge, Parser, encode

STREAM = (
    '\ufeff: a comment\r\ndata: {"text": "你好，世界"}\r\n\r\n'
    "event: error\rdata: first\rdata: second\r\rid: 7\nretry: 9\ndata:no space\n\ndata\n\n"
    "data: never ended\n"
).encode()
EVENTS = [
    Event('{"text": "你好，世界"}'),
    Event("first\nsecond", "error"),
    Event("no space"),
    Event(""),
]


def parsed(*parts: bytes) -> list[Event]:
    parser = Parser()
    return [event for part in parts for event in parser.feed(part)]


def feed_often(parser: Parser, part: bytes, times: int) -> None:
    for _ in range(times):
        parser.feed(part)


def test_parser_reads_every_line_end_comments_and_a_bom() -> None:
    assert parsed(STREAM) == EVENTS


@pytest.mark.parametrize("cut", range(len(STREAM) + 1))
def test_parser_reads_the_same_wherever_the_stream_is_cut(cut: int) -> None:
    """Fault U24."""
    assert parsed(STREAM[:cut], STREAM[cut:]) == EVENTS


def test_parser_reads_the_same_byte_by_byte() -> None:
    """Faults U24 and U25."""
    assert parsed(*(STREAM[i : i + 1] for i in range(len(STREAM)))) == EVENTS


@given(st.lists(st.text(st.characters(exclude_categories=["Cs", "Cc"]))), st.data())
def test_parser_gives_back_what_was_encoded(texts: list[str], data: st.DataObject) -> None:
    stream = b"".join(map(encode, texts))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=8)))
    parts = [stream[a:b] for a, b in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
    assert [event.data for event in parsed(*parts)] == texts


@pytest.mark.parametrize("packet", [1, 64 * 1024])
def test_parser_refuses_a_line_that_never_ends(packet: int) -> None:
    """U23, T12: its buffer is bounded."""
    parser = Parser(max_event=10_000)
    with pytest.raises(EventTooLarge):
        feed_often(parser, b"x" * packet, times=100_000 // packet + 1)


def test_parser_refuses_an_event_of_many_lines() -> None:
    parser = Parser(max_event=10_000)
    with pytest.raises(EventTooLarge):
        feed_often(parser, b"data: and another line\n", times=1_000)


def test_parser_counts_a_line_once_however_it_comes() -> None:
    line = encode("x" * 9_000)
    parser = Parser(max_event=10_000)
    events = [event for i in range(len(line)) for event in parser.feed(line[i : i + 1])]
    assert len(events) == 1
