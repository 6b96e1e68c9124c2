"""Reads the API keys from AWS, and asks the model once with each, for an answer of one token."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from kefu.bootstrap.clock import SystemClock
from kefu.bootstrap.doctor.finding import Finding
from kefu.chat.prompt import Sampling, request_body
from kefu.messages import Message
from kefu.relay.attempt import is_stream
from kefu.relay.failures import status_said
from kefu.relay.key_pool import fingerprint
from kefu.relay.parameters import Parameters, refused_parameter
from kefu.relay.redaction import Secrets
from kefu.relay.time_limits import NORMAL
from kefu.settings.endpoint import Endpoint
from kefu.stores.referenced_keys import cause_of, secrets_in
from kefu.upstream.probe import ProbeResponse, Unanswered, ask


class CheckedProvider(NamedTuple):
    endpoint: Endpoint
    sampling: Sampling
    variable: str
    """The environment variable of the keys."""
    table: str
    """The table of kefu.toml that names the model and the URL."""
    patience: float = NORMAL.first_byte
    """Seconds for which a chat waits for the headers of an answer."""


def check_keys(provider: CheckedProvider, keys: Sequence[str]) -> Iterator[Finding]:
    for key in keys:
        finding = _check(provider, key)
        if finding:
            yield finding
            if finding.message.startswith("The model"):
                return  # the result would be the same with every key


def _check(provider: CheckedProvider, key: str) -> Finding | None:
    question = request_body([Message("user", "Hi")], provider.sampling)
    answer = _asked(provider, key, question)
    if isinstance(answer, Finding):
        return answer
    refused = refused_parameter(_json(answer)) if answer.status in (400, 422) else ""
    otherwise = Parameters()
    if refused and otherwise.learn(question, refused):
        answer = _asked(provider, key, otherwise.apply(question))
    return answer if isinstance(answer, Finding) else _finding(provider, key, answer)


def _asked(provider: CheckedProvider, key: str, question: bytes) -> ProbeResponse | Finding:
    """The answer to a question, asked as the service asks."""
    endpoint = provider.endpoint
    url = endpoint.url.rstrip("/")
    headers = {"Accept": "text/event-stream", "Accept-Encoding": "identity"}
    if key:
        headers["Authorization"] = f"Bearer {key}"
    try:
        return ask(
            "POST",
            f"{url}/chat/completions",
            headers={**headers, **endpoint.headers},
            json=json.loads(question),
            query=endpoint.query or None,
            monotonic=SystemClock().monotonic,
        )
    except Unanswered as error:
        return Finding(
            f"The model's server {url} cannot be reached: {error}.", f"curl -v {url}/models"
        )


def _finding(provider: CheckedProvider, key: str, answer: ProbeResponse) -> Finding | None:
    url, model = provider.endpoint.url.rstrip("/"), provider.sampling.model
    error_text = _error_text(answer, Secrets([key, *provider.endpoint.secrets]))
    name = f"the API key {fingerprint(key)}" if key else "a request without an API key"
    match status_said(answer.status, answer.body.decode("utf-8", "replace")):
        case 200 if not is_stream(answer.headers, answer.body):
            return Finding(
                f"The model's server {url} answers 200 without an event stream{error_text}",
                f"# If it can stream, its URL is another one. In kefu.toml:\n[{provider.table}]\n"
                'url = "..."',
            )
        case 200:
            return _late(provider, answer.headers_after)
        case 401 | 402 | 403:
            return Finding(
                f"The model's provider refuses {name}: {answer.status}{error_text}",
                f"export {provider.variable}=...  # without this key",
            )
        case 404:
            return Finding(
                f"The model's server {url} does not know the model {model}, or the URL is wrong: "
                f"404{error_text}",
                f'In kefu.toml:\n[{provider.table}]\nname = "..."\nurl = "..."',
            )
        case 429:
            return Finding(
                f"For {name} the provider's limit is reached: 429{error_text}",
                "Wait, or raise the limit at the provider.",
            )
        case status:
            return Finding(
                f"The model's server {url} answers {status}{error_text}", f"curl -v {url}/models"
            )


def _late(provider: CheckedProvider, seconds: float) -> Finding | None:
    """`seconds`: from the question to the headers of the answer."""
    if seconds <= provider.patience:
        return None
    return Finding(
        f"The model {provider.sampling.model} sent its headers after {seconds:.1f} s, and chats "
        f"wait for {provider.patience:g} s: they are answered 504.",
        'In kefu.toml:\n[model]\npatience = "slow"',
    )


def _json(answer: ProbeResponse) -> dict[str, object]:
    try:
        body = json.loads(answer.body)
    except ValueError:
        return {}
    if isinstance(body, list) and body:  # Gemini's errors
        body = body[0]
    return body if isinstance(body, dict) else {}


def _error_text(answer: ProbeResponse, secrets: Secrets) -> str:
    """The provider's own words, without secrets; "." if there are none."""
    error = _json(answer).get("error")
    message = error.get("message") if isinstance(error, dict) else error
    if message is None:
        return "."
    text = " ".join(secrets.hide(str(message)).split())[:200]
    return f", “{text}”."


def read_keys(
    reference: str, read: Callable[[str], str], what: str = "The API keys"
) -> tuple[tuple[str, ...], Sequence[Finding]]:
    """Return the keys, and a finding if there are none. `what` names them there."""
    try:
        keys = secrets_in(read(reference))
        cause = "it contains no key"
    except Exception as error:  # noqa: BLE001 - whatever boto3 raises is the finding
        keys, cause = (), cause_of(error)
    if keys:
        return keys, []
    message = f"{what} cannot be read from {reference}: {cause}."
    return (), [Finding(message, _how_to_store(reference))]


def _how_to_store(reference: str) -> str:
    service, _, name = reference.partition(":")
    if service == "ssm":
        return (
            f"aws ssm put-parameter --name {name} --type SecureString --overwrite "
            '--value "key-one,key-two"'
        )
    return f'aws secretsmanager put-secret-value --secret-id {name} --secret-string "key-one"'
