"""The contract of every history sink."""

from __future__ import annotations

import os
import stat
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from kefu.agent.events import (
    Action,
    AgentSessionId,
    Assistant,
    EventBody,
    Final,
    HistorySink,
    Observation,
    SessionEvent,
    SessionStart,
    TurnEnd,
    TurnStart,
    read_lines,
)
from kefu.errors import HistoryUnavailable
from kefu.stores.jsonl import JsonlHistorySink, StreamSink
from kefu.stores.legacy_xml import LegacyXmlSink

SESSION = AgentSessionId("sess_01ARZ3NDEKTSV4RRFFQ69G5FAV")
BODIES: list[EventBody] = [
    SessionStart(system_prompt="Be kind."),
    TurnStart("<b> & \x00 \ud800"),
    Assistant('<action tool="read">a</action>'),
    Action("read", "a"),
    Observation("]]> </observation>", tool="read"),
    Assistant("<final>爱 🎉</final>"),
    Final("爱 🎉"),
    TurnEnd(),
]
EVENTS = [SessionEvent(float(at), SESSION, at, body, 1, 0) for at, body in enumerate(BODIES, 1)]


@dataclass
class Kept:
    sink: HistorySink
    contents: Callable[[], Sequence[str]]
    """The stored entries, one text for each message and action."""
    full: Callable[[], None]
    """From now on nothing can be kept."""
    close: Callable[[], None] = lambda: None


def texts(lines: bytes) -> list[str]:
    bodies = [event.body for event in read_lines(lines.splitlines(True)).events]
    return [said for body in bodies if (said := text_of(body))]


def text_of(body: EventBody) -> str:
    if isinstance(body, SessionStart):
        return body.system_prompt or ""
    return body.input if isinstance(body, Action) else getattr(body, "content", None) or ""


def jsonl(folder: Path) -> Kept:
    sink = JsonlHistorySink(folder, SESSION)
    return Kept(sink, lambda: texts(sink.path.read_bytes()), sink.close, sink.close)


def xml(folder: Path) -> Kept:
    path = folder / "new" / "history.xml"

    def full() -> None:
        path.unlink()
        path.mkdir()

    def contents() -> list[str]:
        return [message.text or "" for message in ET.parse(path).getroot()]

    return Kept(LegacyXmlSink(path), contents, full)


def stream(folder: Path) -> Kept:
    file = (folder / "stream").open("wb", buffering=0)
    sink = StreamSink(file, lambda: None)

    def full() -> None:
        other = os.open(folder, os.O_RDONLY)
        os.dup2(other, file.fileno())  # a folder cannot be opened for writing
        os.close(other)

    return Kept(sink, lambda: texts((folder / "stream").read_bytes()), full, file.close)


@pytest.fixture(params=[jsonl, xml, stream])
def kept(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Kept]:
    kept: Kept = request.param(tmp_path)
    yield kept
    kept.close()


def safe(text: str) -> str:
    return text.replace("\x00", "\ufffd").replace("\ud800", "\ufffd")


def names(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


async def test_s20_events_are_kept_in_order_once_it_was_flushed(kept: Kept) -> None:
    for event in EVENTS:
        kept.sink.append(event)
    await kept.sink.flush()
    await kept.sink.flush()
    said = [text_of(body) for body in BODIES if text_of(body)]
    assert [safe(text) for text in kept.contents()] == [safe(text) for text in said]


async def test_s20_a_failed_write_raises_history_unavailable(kept: Kept) -> None:
    kept.sink.append(EVENTS[0])
    await kept.sink.flush()
    kept.full()

    async def keep() -> None:
        kept.sink.append(EVENTS[1])
        await kept.sink.flush()

    with pytest.raises(HistoryUnavailable) as raised:
        await keep()
    assert "\n" not in str(raised.value)


async def test_s20_the_xml_of_a_resumed_session_is_continued(tmp_path: Path) -> None:
    path = tmp_path / "history.xml"
    for event in EVENTS[:2]:
        sink = LegacyXmlSink(path)
        sink.append(event)
        await sink.flush()
    assert [element.tag for element in ET.parse(path).getroot()] == ["message", "message"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize("made_by", [LegacyXmlSink, lambda p: JsonlHistorySink(p.parent, SESSION)])
def test_t22_a_link_in_a_logs_place_is_refused(
    made_by: Callable[[Path], object], tmp_path: Path
) -> None:
    """T22: the file name is a symbolic link in a folder that others can write to. It is not
    followed.
    """
    victim = tmp_path / "victim"
    victim.write_text("theirs")
    path = tmp_path / f"{SESSION}.jsonl"
    path.symlink_to(victim)
    with pytest.raises(HistoryUnavailable, match="a symbolic link is not followed"):
        made_by(path)
    assert victim.read_text() == "theirs"


async def test_t22_a_symbolic_link_next_to_the_xml_is_not_followed(tmp_path: Path) -> None:
    """T22: the new file has a random name, and replaces a symbolic link."""
    victim = tmp_path / "victim"
    victim.write_text("theirs")
    path = tmp_path / "history.xml"
    (tmp_path / ".history.xml.new").symlink_to(victim)
    sink = LegacyXmlSink(path)
    path.symlink_to(victim)
    sink.append(EVENTS[0])
    await sink.flush()
    assert victim.read_text() == "theirs"
    assert not path.is_symlink()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [message.text for message in ET.parse(path).getroot()] == ["Be kind."]
    assert names(tmp_path) == [".history.xml.new", "history.xml", "victim"]


async def test_s20_an_xml_that_cannot_be_kept_leaves_nothing_behind(tmp_path: Path) -> None:
    path = tmp_path / "history.xml"
    sink = LegacyXmlSink(path)
    path.mkdir()
    sink.append(EVENTS[0])
    with pytest.raises(HistoryUnavailable):
        await sink.flush()
    assert names(tmp_path) == ["history.xml"]


def test_k7_a_named_pipe_instead_of_the_xml_file_blocks_nothing(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "history.xml")
    LegacyXmlSink(tmp_path / "history.xml")


async def test_k6_a_closed_pipe_is_reported_once(tmp_path: Path) -> None:
    gone: list[bool] = []
    reading, writing = os.pipe()
    with os.fdopen(writing, "wb", buffering=0) as pipe:
        sink = StreamSink(pipe, lambda: gone.append(True))
        sink.append(EVENTS[0])
        os.close(reading)
        sink.append(EVENTS[1])
        sink.append(EVENTS[2])
    assert gone == [True]
