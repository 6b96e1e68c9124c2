"""Each example of docs/models.md works with a stand-in that refuses what its provider refuses (D8).

The stand-ins are made after the providers' own documentation and error messages.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import pytest

from tests.fakes import behaviours as b
from tests.fakes.asking import ask
from tests.fakes.service import Service
from tests.fakes.upstream import ScriptedUpstream

PAGE = Path(__file__).parents[2] / "docs/models.md"
SECRET = "secret-canary-of-the-provider"

EXAMPLES = dict(
    zip(
        (
            "openai",
            "azure",
            "azure with a version",
            "anthropic",
            "bedrock",
            "ollama",
            "llama.cpp",
            "openrouter",
            "deepseek",
            "qwen",
            "moonshot",
        ),
        re.findall(r"```toml\n(\[model\]\n.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL),
        strict=True,
    )
)
KEYLESS = ("azure with a version", "ollama", "llama.cpp")


def error(message: str, **facts: str) -> dict[str, Any]:
    return {"error": {"message": message, "type": "invalid_request_error", **facts}}


def unsupported(name: str, code: str, text: str) -> dict[str, Any]:
    return error(text, param=name, code=code)


LIMIT = unsupported(
    "max_tokens",
    "unsupported_parameter",
    "Unsupported parameter: 'max_tokens' is not supported with this model. "
    "Use 'max_completion_tokens' instead.",
)
TEMPERATURE = unsupported(
    "temperature",
    "unsupported_value",
    "Unsupported value: 'temperature' does not support 0.5 with this model. "
    "Only the default (1) value is supported.",
)
DEPRECATED = {**error("`temperature` is deprecated for this model."), "type": "error"}
ONLY_ONE = error("invalid temperature: only 1 is allowed for this model")
NO_KEY = error("Access denied due to invalid subscription key.", code="401")


class Rule(NamedTuple):
    """A request with this field is refused."""

    field: str
    body: dict[str, Any]


REFUSED: dict[str, list[Rule]] = {
    "openai": [Rule("max_tokens", LIMIT), Rule("temperature", TEMPERATURE)],
    "azure": [Rule("max_tokens", LIMIT), Rule("temperature", TEMPERATURE)],
    "anthropic": [Rule("temperature", DEPRECATED)],
    "moonshot": [Rule("temperature", ONLY_ONE)],
}

HELD: dict[str, Callable[[dict[str, Any]], bool]] = {
    "bedrock": lambda body: body["reasoning_effort"] == "low",
    "llama.cpp": lambda body: (
        body["top_k"] == 20 and body["chat_template_kwargs"] == {"enable_thinking": False}
    ),
    "deepseek": lambda body: body["thinking"] == {"type": "disabled"},
    "qwen": lambda body: body["enable_thinking"] is False,
    "moonshot": lambda body: body["thinking"] == {"type": "disabled"},
    "openai": lambda body: body["max_completion_tokens"] == 8000 and "max_tokens" not in body,
}


def stand_in(provider: str) -> b.Behaviour:
    """Answers a right request, and refuses another one as the provider does."""
    answers = b.answer("Hi")

    async def answer(exchange: b.Exchange) -> None:
        body = exchange.body
        for rule in REFUSED.get(provider, ()):
            if rule.field in body:
                await b.status(400, rule.body)(exchange)
                return
        await answers(exchange)

    return answer


def local(example: str, upstream: ScriptedUpstream) -> tuple[str, str]:
    """The example with the address of the stand-in, and the path that it should be asked at."""
    found = re.search(r'url = "([^"]+)"', example)
    assert found
    parts = urlsplit(found[1])
    there = parts._replace(scheme="http", netloc=urlsplit(upstream.base_url).netloc)
    query = f"?{parts.query}" if parts.query else ""
    path = f"{parts.path.rstrip('/')}/chat/completions{query}"
    return example.replace(found[1], there.geturl()), path


async def asked(
    provider: str, example: str, tmp_path: Path, *, times: int = 1
) -> tuple[ScriptedUpstream, list[dict[str, Any]], str]:
    """The upstream, the lines of the log, and the path that is right."""
    with ScriptedUpstream() as upstream:
        upstream.script("*", stand_in(provider))
        text, path = local(example, upstream)
        file = tmp_path / "kefu.toml"
        file.write_text(text)
        environment = {"KEFU_CONFIG": str(file), "AZURE_KEY": SECRET}
        keys = () if provider in KEYLESS else (SECRET,)
        with Service(None, keys=keys, environment=environment, sessions="true") as service:
            for number in range(times):
                answer = await ask(service.url, {"message": f"question {number}"})
                assert (answer.status, answer.text) == (200, "Hi"), answer.raw
            assert service.stop() == 0
            assert SECRET not in service.stderr + service.stdout
            lines = [one for one in service.logs() if one.get("path") == "/api/chat"]
        return upstream, lines, path


@pytest.mark.parametrize("provider", EXAMPLES)
async def test_d8_example_of_the_page_is_answered_by_its_provider(
    provider: str, tmp_path: Path
) -> None:
    upstream, _, path = await asked(provider, EXAMPLES[provider], tmp_path)
    call = upstream.journal[-1]
    assert call.path == path
    if provider in KEYLESS:
        assert "authorization" not in call.headers
        assert call.headers.get("api-key", "") == (SECRET if "azure" in provider else "")
    else:
        assert call.headers["authorization"] == f"Bearer {SECRET}"
    assert call.body["stream"] is True
    assert HELD.get(provider, bool)(call.body)
    # The example says what the model refuses; only a name of a deployment does not tell the model.
    assert len(upstream.journal) == (2 if provider == "azure" else 1)
    if provider == "openrouter":
        assert call.headers["http-referer"] == "https://www.example.com"
        assert call.headers["x-title"] == "Example shop"


@pytest.mark.parametrize("provider", REFUSED)
async def test_d4_provider_that_refuses_a_parameter_is_asked_in_its_manner_without_settings(
    provider: str, tmp_path: Path
) -> None:
    """A plain `[model]`: one refusal for all messages of the process, and the log says it."""
    plain = re.sub(r"^(temperature|parameters) = .*\n", "", EXAMPLES[provider], flags=re.MULTILINE)
    upstream, lines, _ = await asked(provider, plain, tmp_path, times=3)
    assert len(upstream.journal) == 4
    assert ["adapted" in line for line in lines] == [True, False, False]
    assert "the model refuses" in lines[0]["adapted"]
    assert [line["attempts"] for line in lines] == [2, 1, 1]
    assert all("misconfigured" not in line for line in lines)
