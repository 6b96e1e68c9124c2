import pytest

from kefu.errors import KefuError, RateLimited, UpstreamUnavailable
from kefu.keypool import Cooldown, Cooldowns, KeyPool, Reason, fingerprint

NOW = 1_800_000_000.0


def resting(pool: KeyPool, **reasons: tuple[float, Reason]) -> Cooldowns:
    return {
        fingerprint(secret): Cooldown(NOW + seconds, reason)
        for secret, (seconds, reason) in reasons.items()
    }


def names(pool: KeyPool, cooldowns: Cooldowns, now: float = NOW) -> list[str]:
    return [key.secret for key in pool.active(cooldowns, now)]


def test_least_recently_used_key_comes_first() -> None:
    """C14."""
    pool = KeyPool(["a", "b", "c"])
    for expected in ("a", "b", "c", "a"):
        key = pool.active({}, NOW)[0]
        assert key.secret == expected
        pool.used(key)


def test_resting_key_is_left_out_until_its_time() -> None:
    """C14, D4: the time counts, not the entry."""
    pool = KeyPool(["a", "b"])
    view = resting(pool, a=(60, Reason.RATE_LIMITED))
    assert names(pool, view) == ["b"]
    assert names(pool, view, NOW + 60) == ["a", "b"]


def test_same_key_twice_is_one_key() -> None:
    """C13."""
    assert len(KeyPool(["a", "a", "b"]).keys) == 2


def test_deadline_that_a_jumped_clock_wrote_is_ignored() -> None:
    """L8: no key rests for ever."""
    pool = KeyPool(["a"])
    assert names(pool, resting(pool, a=(3600 * 2, Reason.FAILING))) == ["a"]
    assert names(pool, resting(pool, a=(3600, Reason.INVALID))) == []


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
    """U3, U4, U5."""
    pool = KeyPool(["a", "b"])
    said = pool.exhausted(resting(pool, **reasons), NOW)
    assert type(said) is error
    assert said.retry_after == wait
    assert said.should_retry is False


def test_pool_without_keys_says_so() -> None:
    """L5."""
    assert isinstance(KeyPool([]).exhausted({}, NOW), UpstreamUnavailable)


def test_probe_lets_one_request_through_in_each_interval() -> None:
    pool = KeyPool(["a", "b"], probe_interval=5)
    view = resting(pool, a=(60, Reason.RATE_LIMITED), b=(60, Reason.RATE_LIMITED))
    assert len(names(pool, view)) == 1
    assert names(pool, view, NOW + 4.9) == []
    assert len(names(pool, view, NOW + 5)) == 1


def test_probe_leaves_invalid_keys_alone() -> None:
    pool = KeyPool(["a"], probe_interval=5)
    assert names(pool, resting(pool, a=(60, Reason.INVALID))) == []


def test_fingerprint_is_twelve_hex_digits_and_hides_the_key() -> None:
    """T18."""
    assert len(fingerprint("sk-secret")) == 12
    assert int(fingerprint("sk-secret"), 16) >= 0
    assert "sk-secret" not in repr(KeyPool(["sk-secret"]).keys)
