"""Checks of a running service at a URL: as a visitor's browser sees it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, cast
from urllib.parse import urlsplit

from kefu.bootstrap.clock import SystemClock
from kefu.bootstrap.doctor.finding import Finding
from kefu.settings import ConfigurationError, load
from kefu.upstream.probe import ProbeResponse, Unanswered, ask

FOREIGN_ORIGIN: Final = "https://kefu-doctor.invalid"
"""An origin that no service has in its list."""

_QUESTION: Final = "Count from 1 to 30, with a new line after each number. Write nothing else."
_MIN_EVENTS: Final = 5
"""With fewer events, the times of a stream prove nothing."""


def check_service(url: str, origin: str | None) -> Sequence[Finding]:
    """`origin`: an origin that the service must accept; None: those that the settings allow."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        return [Finding(f"{url} is not a URL.", "kefu doctor --url https://chat.example.com")]
    base = url.rstrip("/").removesuffix("/api/chat")
    found = list(_health(base))
    if found:
        return found
    return [
        *_ready(base),
        *_space(base),
        *_widget(base),
        *_origins(base, (origin,) if origin else _expected_origins()),
        *_stream(base),
    ]


def _expected_origins() -> Sequence[str]:
    try:
        return load().allowed_origins
    except ConfigurationError:
        return ()  # the local checks report it


def _health(base: str) -> Iterator[Finding]:
    try:
        answer = ask("GET", f"{base}/health")
    except Unanswered as error:
        yield Finding(f"{base} cannot be reached: {error}.", f"curl -v {base}/health")
        return
    if answer.status != 200 or "version" not in _object(answer):
        yield Finding(
            f"{base}/health answers {answer.status}, and not as Kefu does. Is the URL complete? "
            "On AWS it ends with the name of the stage, such as /prod.",
            f"curl -i {base}/health",
        )


def _space(base: str) -> Iterator[Finding]:
    answer = _ask("GET", f"{base}/health")
    if answer and _object(answer).get("reason") == "store_full":
        yield Finding(
            "The store is nearly full: new chats are not stored.",
            "Use a larger disk, or fewer days in kefu.toml:\n[sessions]\ndays = 10",
        )


def _ready(base: str) -> Iterator[Finding]:
    answer = _ask("GET", f"{base}/ready")
    if answer is None or answer.status == 404:
        yield Finding(
            f"{base} has no /ready: it runs an older version of Kefu than this one.",
            "sam build && sam deploy",
            "note",
        )
        return
    for note in cast(Sequence[str], _object(answer).get("notes", [])):
        yield Finding(note, "kefu tools  # on the machine of the service")
    problems = cast(Sequence[Mapping[str, str]], _object(answer).get("problems", []))
    for problem in problems:
        yield Finding(
            f"The service cannot answer chats. {problem.get('message', '')}",
            _FIX_BY_CODE.get(problem.get("code", ""), f"curl -i {base}/ready"),
        )


_FIX_BY_CODE: Mapping[str, str] = {
    "no_api_key": "export KEFU_API_KEYS=...  # and start the service again",
    "secret_not_read": 'aws ssm put-parameter --name NAME --type SecureString --value "key-one"',
    "pages_not_read": "aws s3 cp site.kefu s3://BUCKET/site.kefu",
    "store_failed": "kefu doctor  # on the machine of the service, with its settings",
}


def _widget(base: str) -> Iterator[Finding]:
    answer = _ask("GET", f"{base}/chat-widget.js")
    if answer is None or answer.status != 200:
        status = "nothing" if answer is None else answer.status
        yield Finding(
            f"{base}/chat-widget.js answers {status}: pages show no chat.",
            "make setup  # builds the widget; then start or deploy the service again",
        )
    elif answer.headers.get("access-control-allow-origin") != "*":
        yield Finding(
            f"{base}/chat-widget.js has no Access-Control-Allow-Origin: pages cannot load it with "
            "an integrity hash. A proxy may have removed the header.",
            f"curl -sI {base}/chat-widget.js",
        )


def _origins(base: str, allowed: Sequence[str]) -> Iterator[Finding]:
    if not allowed:
        yield Finding(
            "It was not checked that your pages may use the service: their origin is not known.",
            f"kefu doctor --url {base} --origin https://www.example.com",
            "note",
        )
    for origin in allowed:
        if origin != "*" and not _accepts(base, origin):
            yield Finding(
                f"The service refuses the page {origin}: its visitors get no answer.",
                f'In kefu.toml:\n[chat]\norigins = ["{origin}"]\n'
                "Then start or deploy the service again.",
            )
    if "*" not in allowed and _accepts(base, FOREIGN_ORIGIN):
        yield Finding(
            "The service accepts every page on the Web: anybody can spend your tokens.",
            'In kefu.toml:\n[chat]\norigins = ["https://www.example.com"]  # instead of "*"',
        )


def _accepts(base: str, origin: str) -> bool:
    headers = {
        "Origin": origin,
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "content-type",
    }
    answer = _ask("OPTIONS", f"{base}/api/chat", headers)
    allowed = answer.headers.get("access-control-allow-origin", "") if answer else ""
    return answer is not None and answer.status < 300 and allowed in (origin, "*")


def _stream(base: str) -> Iterator[Finding]:
    """Ask one question, and look when the pieces of the answer arrive."""
    question = {"messages": [{"role": "user", "content": _QUESTION}]}
    try:
        answer = ask("POST", f"{base}/api/chat", json=question, monotonic=SystemClock().monotonic)
    except Unanswered as reason:
        yield Finding(
            f"A question got no answer: {reason}.", f"kefu chat --once --server {base} Hi"
        )
        return
    if answer.status != 200:
        error = cast(Mapping[str, str], _object(answer).get("error", {}))
        needs_visitor = error.get("code") in ("verification_required", "identity_rejected")
        yield Finding(
            f"A question was answered {answer.status}: {error.get('message', 'without a reason')}"
            + (" So the stream of the answer was not checked." if needs_visitor else ""),
            f"kefu chat --once --server {base} Hi",
            "note" if needs_visitor else "problem",
        )
    elif b'"error"' in answer.body and b"[DONE]" not in answer.body:
        yield Finding(
            "The answer to a question broke off with an error.",
            f"kefu chat --once --server {base} Hi",
        )
    elif _in_one_piece(answer.arrivals):
        yield Finding(
            f"The pieces of an answer arrive all at once, after {answer.arrivals[0]:.1f} s: "
            "something between you and the service collects them. Visitors wait for the whole "
            "answer.",
            "nginx: proxy_buffering off;\n"
            "lighttpd: server.stream-response-body = 1\n"
            "AWS: ResponseTransferMode: STREAM and AWS_LWA_INVOKE_MODE: response_stream",
        )


def _in_one_piece(arrivals: Sequence[float]) -> bool:
    """Whether all events arrived together: within 5 % of the time until the first event.

    A model needs more time than that to write the answer, so something has collected the events.
    """
    if len(arrivals) < _MIN_EVENTS or arrivals[0] < 0.5:
        return False
    return arrivals[-1] - arrivals[0] < 0.05 * arrivals[0]


def _ask(method: str, url: str, headers: Mapping[str, str] | None = None) -> ProbeResponse | None:
    try:
        return ask(method, url, headers=headers)
    except Unanswered:
        return None


def _object(answer: ProbeResponse) -> Mapping[str, object]:
    try:
        found = json.loads(answer.body)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
