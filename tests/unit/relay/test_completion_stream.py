"""An answer after its first content: pings, silence, breaks, its end, and closed connections."""

from __future__ import annotations

import pytest

from kefu.errors import GatewayTimeout, KefuError, RateLimited, UpstreamUnavailable
from kefu.relay.chunks import Usage
from kefu.relay.time_limits import NORMAL, SLOW, TimeLimits
from tests.fakes import in_process_upstream as up
from tests.fakes.in_process_upstream import Reply
from tests.fakes.relaying import PING, Result, Rig, in_virtual_time

THREE = up.STREAM.then(up.text("a"), up.text("b"), up.text("c"))


async def ask(reply: Reply, limits: TimeLimits = NORMAL) -> tuple[Result, Rig]:
    """Ask a relay with two keys; the second one must not be used."""
    rig = Rig({"only": reply, "never": up.answer("no")}, limits=limits)
    result = await rig.ask()
    assert [secret for secret, _ in rig.asked] == ["only"]
    assert result.refused is None
    assert await rig.cooling() == {}
    return result, rig


@in_virtual_time
async def test_chunks_arrive_in_order_as_they_come() -> None:
    paced = up.STREAM.then(up.text("a"), up.text("b") + up.text("c"), up.STOP, up.DONE, after=1)
    result, rig = await ask(paced)
    assert result.pieces == [(1, "a"), (2, "bc"), (3, "")]
    assert result.whole
    assert rig.upstream.exchanges[0].finished


@pytest.mark.parametrize(
    ("name", "reply", "error", "outcome"),
    [
        ("U15-reset", THREE.then(up.LOST), UpstreamUnavailable, "cut"),
        ("U16-end", THREE, UpstreamUnavailable, "cut"),
        ("U16-done", THREE.then(up.DONE), UpstreamUnavailable, "cut"),
        ("U19", THREE.then(b"data: {no\n\n"), UpstreamUnavailable, "cut"),
        ("U23", THREE.then(b"data: " + b"A" * (1 << 20)), UpstreamUnavailable, "cut"),
        ("U21-500", THREE.then(up.in_band(code=500)), UpstreamUnavailable, "cut_http_500"),
        ("U21-401", THREE.then(up.in_band(code=401)), UpstreamUnavailable, "cut_http_401"),
        ("U21-400", THREE.then(up.in_band(code=400)), UpstreamUnavailable, "cut_http_400"),
        ("U21-429", THREE.then(up.in_band(code=429)), RateLimited, "cut_http_429"),
        ("U21-504", THREE.then(up.in_band(code=504)), GatewayTimeout, "cut_http_504"),
        ("U14", THREE.then_silence(), GatewayTimeout, "stalled"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
@in_virtual_time
async def test_broken_answer_keeps_its_text_and_ends_with_an_error(
    name: str, reply: Reply, error: type[KefuError], outcome: str
) -> None:
    """No other key is asked, no key cools down, and no finish_reason is added."""
    result, rig = await ask(reply)
    assert (result.text, type(result.broken)) == ("abc", error)
    assert result.error.retry_after == (None if error is GatewayTimeout else 1)
    assert result.call.completion.finish_reason is None
    assert result.outcomes == [outcome]
    assert rig.failing == ["only"]
    assert [dict(counted) for counted in rig.pool.outcomes.values()] == [{outcome: 1}]
    assert rig.open == [] or rig.upstream.exchanges[0].finished


@in_virtual_time
async def test_text_before_a_bad_event_in_the_same_bytes_is_given_out() -> None:
    result, _ = await ask(up.STREAM.then(up.text("a"), up.text("b") + b"data: {no\n\n"))
    assert (result.text, type(result.broken)) == ("ab", UpstreamUnavailable)


BAD = b"data: {no\n\n"


@pytest.mark.parametrize(
    "reply",
    [
        THREE.then(up.STOP, BAD),
        THREE.then(up.STOP + BAD),
        THREE.then(up.STOP, up.in_band(code=503)),
        THREE.then(up.STOP, b"data: " + b"A" * (1 << 20)),
    ],
    ids=["malformed", "at once", "error", "endless"],
)
@in_virtual_time
async def test_u17_a_bad_tail_of_a_finished_answer_is_not_missed(reply: Reply) -> None:
    result, _ = await ask(reply)
    assert (result.text, result.whole, result.outcomes) == ("abc", True, ["ok"])


@in_virtual_time
async def test_u14_answer_that_stalls_ends_after_ten_seconds_of_silence() -> None:
    """The ten seconds start with the last bytes. The connection is closed at their end."""
    result, rig = await ask(THREE.then(up.text("d"), after=7).then_silence())
    assert result.text == "abcd"
    assert isinstance(result.broken, GatewayTimeout)
    assert result.ended_at == pytest.approx(17)
    assert rig.upstream.exchanges[0].closed_at == pytest.approx(17)


@pytest.mark.parametrize(("pause", "whole"), [(9.9, True), (10.1, False)])
@in_virtual_time
async def test_u14_pause_of_less_than_ten_seconds_breaks_nothing(pause: float, whole: bool) -> None:
    reply = up.STREAM.then(up.text("a")).then(up.text("b"), after=pause).then(up.STOP, up.DONE)
    result, _ = await ask(reply)
    assert result.whole is whole


@in_virtual_time
async def test_client_gets_a_ping_after_each_2_5_seconds_without_a_chunk() -> None:
    reply = up.STREAM.then(up.text("a")).then(up.text("b"), after=6).then(up.STOP, after=4)
    result, _ = await ask(reply)
    assert result.pieces == [
        (0, "a"),
        (pytest.approx(2.5), PING),
        (pytest.approx(5), PING),
        (6, "b"),
        (pytest.approx(8.5), PING),
        (10, ""),
    ]


@in_virtual_time
async def test_upstreams_comments_keep_an_answer_alive_and_become_no_chunks() -> None:
    """The client gets Kefu's own pings instead of the comments."""
    comments = up.STREAM.then(up.text("a")).then(*[b": ping\n\n"] * 10, after=1.9)
    result, _ = await ask(comments.then(up.STOP, up.DONE))
    assert (result.text, result.whole) == ("a", True)
    assert result.ended_at == pytest.approx(19)
    assert result.pings == [2.5, 5, 7.5, 10, 12.5, 15, 17.5]


@in_virtual_time
async def test_answer_that_never_ends_is_cut_after_two_minutes() -> None:
    """The two minutes start with the client's request."""
    endless = Rig({"only": up.STREAM.then(*[up.text("x")] * 500, after=1)})
    result = await endless.ask(endless.call(waited=3))
    assert isinstance(result.broken, GatewayTimeout)
    assert endless.failing == []  # the key is not the cause of an answer that is too long
    assert result.ended_at == pytest.approx(117)
    assert len(result.text) == 116
    assert endless.open == []


@in_virtual_time
async def test_a_slow_models_answer_may_pause_a_minute_and_take_ten() -> None:
    endless = Rig({"only": up.STREAM.then(*[up.text("x")] * 500, after=59)}, limits=SLOW)
    result = await endless.ask()
    assert isinstance(result.broken, GatewayTimeout)
    assert result.ended_at == pytest.approx(600)
    assert result.text == "x" * 10
    stalled = Rig({"only": up.STREAM.then(up.text("x")).then_silence()}, limits=SLOW)
    assert (await stalled.ask()).ended_at == pytest.approx(60)
    finished = up.STREAM.then(up.text("x"), up.STOP).then_silence()
    assert (await Rig({"only": finished}, limits=SLOW).ask()).ended_at == pytest.approx(10)


@in_virtual_time
async def test_silence_past_the_two_minutes_is_not_waited_for() -> None:
    reply = up.STREAM.then(*[up.text("x")] * 24, after=4.9).then_silence()
    result, _ = await ask(reply)
    assert isinstance(result.broken, GatewayTimeout)
    assert result.ended_at == pytest.approx(120)


SAID = up.STREAM.then(up.text("a"), up.STOP)


@pytest.mark.parametrize(
    ("reply", "end"),
    [
        (SAID, 0),
        (SAID.then_silence(), 2),
        (SAID.then(up.LOST, after=1), 1),
        (SAID.then(up.DONE, after=1.9), 1.9),
        (SAID.then(up.usage(3, 4), after=1.5).then_silence(), 3.5),
        (SAID.then(up.DONE, up.text("MORE")), 0),
    ],
    ids=["end", "silence", "reset", "late-done", "usage-then-silence", "U18"],
)
@in_virtual_time
async def test_u17_finished_answer_is_whole_however_the_connection_ends(
    reply: Reply, end: float
) -> None:
    """After the finish, the relay waits two seconds for further data such as the usage."""
    result, _ = await ask(reply)
    assert (result.text, result.whole) == ("a", True)
    assert result.ended_at == pytest.approx(end)


@in_virtual_time
async def test_usage_after_the_finish_is_read() -> None:
    result, _ = await ask(SAID.then(up.usage(30, 4), after=1.5).then_silence())
    assert result.call.usage(99) == Usage(30, 4)


@in_virtual_time
async def test_finished_answer_that_goes_on_is_whole_after_two_minutes() -> None:
    reply = SAID.then(*[b": ping\n\n"] * 200, after=1)
    result, rig = await ask(reply)
    assert result.whole
    assert result.ended_at == pytest.approx(120)
    assert rig.open == []
