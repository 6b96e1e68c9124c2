"""A second upstream is asked when the first has no key left."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import pytest

from kefu.errors import CertificateRejected, GatewayTimeout, InvalidRequest, RateLimited
from kefu.relay.key_pool import Reason
from kefu.relay.parameters import Parameters
from kefu.relay.time_limits import SLOW
from tests.fakes import in_process_upstream as up
from tests.fakes.in_process_upstream import Reply
from tests.fakes.relaying import Rig, in_virtual_time

GOOD = {"spare": up.answer("spare")}
KEYS = ("a", "b", "c", "d", "e")
THINKS = up.STREAM.then_silence()

Script = Mapping[str, Reply | Sequence[Reply]]


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5])
@pytest.mark.parametrize(
    ("name", "reply"),
    [
        ("429", up.refusal(429)),
        ("500", up.refusal(500)),
        ("401", up.refusal(401)),
        ("refused", up.REFUSED),
        ("reset", up.STREAM.then(up.LOST)),
        ("silent", up.SILENT),
        ("slow-429", up.refusal(429).late(1)),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
@in_virtual_time
async def test_second_upstream_answers_when_all_keys_of_the_first_fail(
    name: str, reply: Reply, count: int
) -> None:
    """Within 4.5 seconds and with at most three retries. No key is asked twice."""
    rig = Rig(dict.fromkeys(KEYS[:count], reply), second=GOOD)
    result = await rig.ask()
    assert (result.text, result.whole) == ("spare", True)
    assert result.head_at < 4.5
    asked = [secret for secret, _ in rig.asked]
    assert asked[-1] == "spare"
    assert len(asked) == len(set(asked)) <= 4
    assert result.call.answered_by == "fallback"
    assert rig.open == []


@pytest.mark.parametrize("retries", [0, 1, 2, 3, 4])
@in_virtual_time
async def test_all_attempts_but_the_last_are_for_the_first_upstream(retries: int) -> None:
    """The first attempt is always for it."""
    rig = Rig(dict.fromkeys(KEYS, up.refusal(500)), second=GOOD, max_retries=retries)
    await rig.ask()
    asked = [secret for secret, _ in rig.asked]
    assert asked == ([*KEYS[:retries], "spare"] if retries else ["a"])


@in_virtual_time
async def test_the_last_attempt_is_for_the_first_upstream_if_the_other_one_has_no_key() -> None:
    rig = Rig(dict.fromkeys(KEYS, up.refusal(500)), second=GOOD)
    await rig.cool("spare", 60)
    await rig.ask()
    assert [secret for secret, _ in rig.asked] == [*KEYS[:4]]


@in_virtual_time
async def test_first_upstream_answers_while_it_has_a_key() -> None:
    rig = Rig({"a": up.refusal(429), "b": up.answer("b")}, second=GOOD)
    for _ in range(3):
        result = await rig.ask()
        assert (result.text, result.call.answered_by) == ("b", "primary")
    assert rig.second.exchanges == []


@in_virtual_time
async def test_silent_key_is_joined_by_another_of_the_first_upstream() -> None:
    rig = Rig({"a": up.SILENT, "b": up.answer("b")}, second=GOOD)
    result = await rig.ask()
    assert result.text == "b"
    assert result.head_at == pytest.approx(2.5)
    assert rig.second.exchanges == []


@in_virtual_time
async def test_two_silent_keys_leave_a_second_to_the_other_upstream() -> None:
    """The second upstream's key replaces the first key, because at most two are asked at once."""
    rig = Rig({"a": up.SILENT, "b": up.SILENT, "c": up.SILENT}, second=GOOD)
    result = await rig.ask()
    assert rig.asked == [("a", 0), ("b", 2.5), ("spare", 3.5)]
    assert result.outcomes == ["silent", "silent", "ok"]
    assert rig.upstream.exchanges[0].closed_at == pytest.approx(3.5)


@in_virtual_time
async def test_thinking_upstream_is_not_replaced() -> None:
    """It has answered with status 200, so it works."""
    rig = Rig({"a": up.SILENT, "b": up.answer("b", after=5).late(0.5)}, second=GOOD)
    assert (await rig.ask()).text == "b"
    assert rig.second.exchanges == []


@in_virtual_time
async def test_after_an_outage_is_noticed_the_second_upstream_answers_at_once() -> None:
    rig = Rig({"a": up.SILENT, "b": up.SILENT}, second=GOOD)
    waits = [(await rig.ask()).ended_at for _ in range(20)]
    assert waits[0] == pytest.approx(3.5)
    assert waits[1:] == [0] * 19


@in_virtual_time
async def test_cooling_keys_of_the_first_upstream_are_not_asked() -> None:
    rig = Rig({"a": up.answer("a")}, second=GOOD)
    await rig.cool("a", 60, Reason.RATE_LIMITED)
    assert (await rig.ask()).text == "spare"
    assert rig.upstream.exchanges == []


@pytest.mark.parametrize("status", [400, 413, 422])
@in_virtual_time
async def test_error_of_the_request_never_falls_over(status: int) -> None:
    rig = Rig({"a": up.refusal(status)}, second=GOOD)
    assert isinstance((await rig.ask()).refused, InvalidRequest)
    assert rig.second.exchanges == []


@pytest.mark.parametrize(
    "reply", [up.refusal(404), up.refusal(307), Reply(error=CertificateRejected("certificate"))]
)
@in_virtual_time
async def test_wrong_url_or_model_of_the_first_falls_over(reply: Reply) -> None:
    """The other keys of the first upstream are not asked."""
    rig = Rig({"a": reply, "b": up.answer("b")}, second=GOOD)
    assert (await rig.ask()).text == "spare"
    assert rig.asked == [("a", 0), ("spare", 0)]


@in_virtual_time
async def test_cooldowns_of_both_upstreams_are_shared_by_fingerprint() -> None:
    rig = Rig({"a": up.refusal(429)}, second={"spare": up.refusal(500)})
    result = await rig.ask()
    assert isinstance(result.refused, RateLimited)
    assert await rig.cooling() == {
        "a": (Reason.RATE_LIMITED, 60),
        "spare": (Reason.FAILING, 60),
    }
    again = await rig.ask()
    assert (again.error.status, again.error.retry_after) == (429, 60)
    assert again.call.all_keys_cooling
    assert len(rig.asked) == 2


@in_virtual_time
async def test_everything_silent_ends_in_504_in_time() -> None:
    rig = Rig({"a": up.SILENT, "b": up.SILENT}, second={"x": up.SILENT, "y": up.SILENT})
    result = await rig.ask()
    assert isinstance(result.refused, GatewayTimeout)
    assert result.head_at == pytest.approx(4.5)
    assert rig.open == []


@pytest.mark.parametrize(("model", "asked"), [("other", "other"), ("", "m")])
@in_virtual_time
async def test_second_upstream_is_asked_for_its_own_model(model: str, asked: str) -> None:
    rig = Rig({"a": up.refusal(500)}, second=GOOD, parameters=Parameters(model))
    call = rig.call()
    call.body = b'{"model": "m", "messages": [{"role": "user", "content": "\\u4f60"}]}'
    await rig.ask(call)
    [exchange] = rig.second.exchanges
    sent = json.loads(exchange.body)
    assert sent == {**json.loads(call.body), "model": asked}
    assert rig.upstream.exchanges[0].body == call.body


@in_virtual_time
async def test_slow_upstream_is_waited_for_before_the_second_is_asked() -> None:
    rig = Rig({"a": up.answer("a").late(14), "b": up.SILENT}, second=GOOD, limits=SLOW)
    assert (await rig.ask()).text == "a"
    assert rig.second.exchanges == []


@in_virtual_time
async def test_attempts_name_their_upstream() -> None:
    rig = Rig({"a": up.refusal(500)}, second=GOOD)
    result = await rig.ask()
    assert [attempt.upstream for attempt in result.call.attempts] == ["primary", "fallback"]
    alone = await Rig({"a": up.answer()}).ask()
    assert [attempt.upstream for attempt in alone.call.attempts] == [""]
    assert alone.call.answered_by == ""
