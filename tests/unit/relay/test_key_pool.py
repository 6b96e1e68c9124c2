import pytest

from kefu.errors import KefuError, RateLimited, UpstreamUnavailable
from kefu.relay.key_pool import (
    Cooldown,
    Cooldowns,
    KeyPool,
    Reason,
    exhausted,
    fingerprint,
    keys_in,
)

NOW = 1_800_000_000.0


def cooling(pool: KeyPool, **reasons: tuple[float, Reason]) -> Cooldowns:
    return {
        fingerprint(secret): Cooldown(NOW + seconds, reason)
        for secret, (seconds, reason) in reasons.items()
    }


def names(pool: KeyPool, cooldowns: Cooldowns, now: float = NOW) -> list[str]:
    return [key.secret for key in pool.candidates(cooldowns, now)]


def test_least_recently_used_key_comes_first() -> None:
    """Requirement C14."""
    pool = KeyPool(["a", "b", "c"])
    for expected in ("a", "b", "c", "a"):
        key = pool.candidates({}, NOW)[0]
        assert key.secret == expected
        pool.mark_used(key)


def test_cooling_key_is_left_out_until_its_time() -> None:
    """C14, D4: an expired entry has no effect."""
    pool = KeyPool(["a", "b"])
    view = cooling(pool, a=(60, Reason.RATE_LIMITED))
    assert names(pool, view) == ["b"]
    assert names(pool, view, NOW + 60) == ["a", "b"]


def test_same_key_twice_is_one_key() -> None:
    """Requirement C13."""
    assert len(KeyPool(["a", "a", "b"]).keys) == 2


def test_deadline_that_a_jumped_clock_wrote_is_ignored() -> None:
    """L8: otherwise the key would stay disabled for a very long time."""
    pool = KeyPool(["a"])
    assert names(pool, cooling(pool, a=(3600 * 2, Reason.FAILING))) == ["a"]
    assert names(pool, cooling(pool, a=(3600, Reason.INVALID))) == []


@pytest.mark.parametrize(
    ("reasons", "error", "wait"),
    [
        ({"a": (59.2, Reason.RATE_LIMITED), "b": (30.4, Reason.RATE_LIMITED)}, RateLimited, 31),
        ({"a": (59.2, Reason.FAILING), "b": (30.4, Reason.FAILING)}, UpstreamUnavailable, 31),
        ({"a": (10, Reason.FAILING), "b": (20, Reason.RATE_LIMITED)}, RateLimited, 10),
        ({"a": (3600, Reason.INVALID), "b": (20, Reason.FAILING)}, UpstreamUnavailable, 20),
        ({"a": (3600, Reason.INVALID), "b": (3500, Reason.INVALID)}, UpstreamUnavailable, 3500),
        ({"a": (0.01, Reason.RATE_LIMITED), "b": (0.01, Reason.RATE_LIMITED)}, RateLimited, 1),
    ],
)
def test_exhausted_pool_says_when_the_first_key_is_free(
    reasons: dict[str, tuple[float, Reason]], error: type[KefuError], wait: int
) -> None:
    """Faults U3, U4 and U5."""
    pool = KeyPool(["a", "b"])
    said = exhausted(pool.keys, cooling(pool, **reasons), NOW)
    assert type(said) is error
    assert said.retry_after == wait
    assert said.should_retry is False


def test_pool_without_keys_says_so() -> None:
    """Fault L5."""
    assert isinstance(exhausted([], {}, NOW), UpstreamUnavailable)


def test_r1_failing_key_is_listed_last_until_it_answers() -> None:
    pool = KeyPool(["a", "b", "c"])
    bad, other, _ = pool.keys
    pool.mark_failing(bad, NOW)
    assert names(pool, {}) == ["b", "c", "a"]
    assert names(pool, {}, NOW + 3600) == ["b", "c", "a"]
    pool.mark_failing(other, NOW + 20)
    assert names(pool, {}, NOW + 31) == ["c", "a", "b"], "a may be tried again"
    pool.mark_answering(bad)
    assert names(pool, {}, NOW + 31) == ["a", "c", "b"]


def test_r1_each_failure_doubles_the_time_until_a_key_is_tried_again() -> None:
    pool, now, periods = KeyPool(["a", "b"]), NOW, []
    for _ in range(7):
        pool.mark_failing(pool.keys[0], now)
        state, _ = pool.states({}, now)
        periods.append(state.seconds_left)
        assert pool.to_try_again({}, now + periods[-1] - 1) is None
        now += periods[-1]
        assert pool.to_try_again({}, now) == pool.keys[0]
    assert periods == [30, 60, 120, 240, 480, 600, 600]
    assert pool.to_try_again({}, NOW - 3600) == pool.keys[0], "the clock was set back"
    pool.mark_answering(pool.keys[0])
    pool.mark_failing(pool.keys[0], now)
    assert pool.states({}, now)[0].seconds_left == 30


def test_r1_key_whose_answer_broke_off_is_good_after_a_whole_one() -> None:
    pool = KeyPool(["a", "b"])
    pool.mark_failing(pool.keys[0], NOW, cuts=True)
    pool.mark_answering(pool.keys[0])
    assert pool.failing
    assert pool.to_try_again({}, NOW + 3600) is None
    pool.mark_answering(pool.keys[0], whole=True)
    assert not pool.failing


def test_replaced_keys_keep_their_place_in_the_order_of_use() -> None:
    pool = KeyPool(["a", "b", "c"])
    pool.mark_used(pool.keys[0])
    pool.mark_used(pool.keys[1])
    pool.replace(["b", "a", "d"])
    assert names(pool, {}) == ["d", "a", "b"]


def test_states_tell_failing_keys_from_cooling_ones() -> None:
    pool = KeyPool(["a", "b", "c", "d"])
    for key in pool.keys[:2]:
        pool.mark_failing(key, NOW)
    view = cooling(pool, b=(60, Reason.FAILING), c=(60, Reason.INVALID))
    states = [(state.status, state.seconds_left) for state in pool.states(view, NOW + 10)]
    assert states == [("failing", 20), ("cooldown", 50), ("invalid", 50), ("active", 0)]


def test_fingerprint_is_twelve_hex_digits_and_hides_the_key() -> None:
    """Requirement T18."""
    assert len(fingerprint("sk-secret")) == 12
    assert int(fingerprint("sk-secret"), 16) >= 0
    assert "sk-secret" not in repr(KeyPool(["sk-secret"]).keys)


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("sk-a", ("sk-a",)),
        (" sk-a ,\tsk-b\n", ("sk-a", "sk-b")),
        ("sk-a,,sk-b,", ("sk-a", "sk-b")),
        ("sk-b,sk-a,sk-b", ("sk-b", "sk-a")),
        ("sk-a\nsk-b,\r\n\r\nsk-c\r", ("sk-a", "sk-b", "sk-c")),
        ("", ()),
        (" , ", ()),
    ],
)
def test_a_list_of_keys_is_read_in_its_order_without_duplicates(
    text: str, keys: tuple[str, ...]
) -> None:
    assert keys_in(text) == keys


@pytest.mark.parametrize("text", ["sk-你", "sk-a\x00", "sk-a,sk\x7f", "a\tb"])
def test_a_character_that_no_key_has_is_refused_without_the_key(text: str) -> None:
    with pytest.raises(ValueError, match="holds a character that no API key has"):
        keys_in(text)


@pytest.mark.parametrize("wrong", ['"sk-b"', "'sk-b'", "sk-b;sk-c", '["sk-b"'])
def test_keys_with_quotes_are_refused_and_those_before_stay(wrong: str) -> None:
    """A parameter in AWS may hold the quotes of the command that stored it."""
    pool = KeyPool(["sk-a"])
    with pytest.raises(ValueError, match="without quotes") as refused:
        pool.replace(["sk-a", wrong])
    assert "sk-b" not in str(refused.value)
    assert [key.secret for key in pool.keys] == ["sk-a"]


@pytest.mark.parametrize(
    ("outcomes", "refused"),
    [
        ("", False),
        ("a:http_401", False),
        ("a:http_401 b:http_500", False),
        ("a:http_401 b:http_402", True),
        ("a:http_401 b:http_403", True),
        ("a:http_401 b:http_402 b:http_429", True),
        ("a:http_401 b:http_402 b:ok", False),
        ("a:ok b:ok a:http_401 b:http_401", True),
    ],
)
def test_all_keys_are_refused_until_one_answers(outcomes: str, refused: bool) -> None:
    pool = KeyPool(["a", "b"])
    for one in outcomes.split():
        key, _, outcome = one.partition(":")
        pool.count_outcome(fingerprint(key), outcome)
    assert pool.all_refused is refused
    pool.replace([])
    assert pool.all_refused is False
