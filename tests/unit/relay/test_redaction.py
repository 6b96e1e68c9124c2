"""T18: known secrets are removed by value, also with JSON escapes. Other words are unchanged."""

from __future__ import annotations

import json

import pytest

from kefu.bootstrap.clock import SystemClock
from kefu.relay.redaction import Secrets
from kefu.web.log import RequestLog
from tests.fakes.growth import assert_linear

PLAIN = "sk-canary-00-5f3c9a7e1b"
AWKWARD = 'quote" back\\slash / é 客服 \x7f'


@pytest.mark.parametrize("secret", [PLAIN, AWKWARD])
@pytest.mark.parametrize("ascii_only", [False, True])
def test_t18_secret_is_hidden_as_it_is_and_inside_json(secret: str, ascii_only: bool) -> None:
    """Also in a JSON text inside a string of another one."""
    text = f"before {secret} after"
    for _ in range(3):
        hidden = Secrets([secret]).hide(text)
        assert "before [key] after" in hidden
        text = json.dumps({"text": text}, ensure_ascii=ascii_only)


def test_t18_secret_stays_hidden_after_a_rotation() -> None:
    secrets = Secrets(["the-old-secret"])
    secrets.add_secrets(["the-new-secret"])
    assert secrets.hide("the-old-secret, the-new-secret, secret") == "[key], [key], secret"


def test_t18_longest_of_two_secrets_with_one_beginning_is_hidden_whole() -> None:
    secrets = Secrets(["sk-canary", "sk-canary-longer"])
    assert secrets.hide("sk-canary-longer sk-canary") == "[key] [key]"


def test_short_keys_of_local_servers_are_words_and_stay() -> None:
    """`LONGCAT_API_KEYS=ollama` is common, and is no secret."""
    text = "How do I install ollama? Is a dummy key or none at all enough?"
    assert Secrets(["ollama", "dummy", "none", "EMPTY"]).hide(text) == text


@pytest.mark.parametrize(
    "credential",
    [
        "Bearer eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc_DEF-123",
        "bearer\t0123456789abcdef0123",
        "sk-proj-0123456789abcdefghij",
    ],
)
def test_t18_log_hides_what_looks_like_a_credential(credential: str) -> None:
    log = RequestLog(SystemClock())
    assert log.redact(f'{{"x":"{credential}"}}') == '{"x":"[key]"}'


@pytest.mark.parametrize(
    "words",
    [
        "pallbearer at the back",
        "Bearer abc.DEF-123",
        "Bearer undefined-undefined-undefined",
        "sk-learning-kit",
        "sk-xxxxxxxxxxxxxxxxxxxxxxxx",
        "task-20260101-final-version-2",
        "desk-lamp-with-2-bulbs-and-a-dimmer",
    ],
)
def test_log_leaves_words_that_are_short_or_have_no_digit(words: str) -> None:
    assert RequestLog(SystemClock()).redact(words) == words


@pytest.mark.parametrize("fragment", ["sk-", "bearer ", "Bearer\t\t", "sk-a", "-sk", "a1"])
def test_t31_search_of_the_log_is_linear(fragment: str) -> None:
    log = RequestLog(SystemClock(), secrets=[PLAIN])
    assert_linear(lambda size: fragment * (size // len(fragment)), log.redact, 1 << 18)
