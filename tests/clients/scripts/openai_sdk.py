"""OpenAI's own client for Python, with its default retries."""

from __future__ import annotations

# It is installed in an environment of its own (requirements/clients.txt), which mypy does not
# check.
from openai import OpenAI  # type: ignore[import-not-found]

from tests.clients.scripts.jobs import (
    JSON_QUESTION,
    TOOL_QUESTION,
    WEATHER,
    Job,
    Outcome,
    Weather,
    run,
)


def ask(job: Job, outcome: Outcome) -> None:
    client = OpenAI(base_url=job.base_url, api_key="unused")
    messages = [{"role": "user", "content": job.question}]
    model = client.models.list().data[0].id
    if job.question == TOOL_QUESTION:
        use_tool(client, model, outcome)
        return
    if job.question == JSON_QUESTION:
        given = client.chat.completions.parse(
            model=model, messages=messages, response_format=Weather
        )
        outcome.text = given.choices[0].message.parsed.model_dump_json()
        return
    if not job.stream:
        choice = client.chat.completions.create(model=model, messages=messages).choices[0]
        outcome.text, outcome.finish = choice.message.content, choice.finish_reason
        return
    for chunk in client.chat.completions.create(model=model, messages=messages, stream=True):
        outcome.text += chunk.choices[0].delta.content or ""
        outcome.finish = chunk.choices[0].finish_reason


def use_tool(client: OpenAI, model: str, outcome: Outcome) -> None:
    messages = [
        {"role": "developer", "content": "Be short."},
        {"role": "user", "content": TOOL_QUESTION},
    ]
    first = client.chat.completions.create(model=model, messages=messages, tools=[WEATHER])
    called = first.choices[0].message
    messages.append(called)
    result = {"role": "tool", "tool_call_id": called.tool_calls[0].id, "content": "sunny"}
    messages.append(result)
    second = client.chat.completions.create(model=model, messages=messages, tools=[WEATHER])
    outcome.text, outcome.finish = second.choices[0].message.content, first.choices[0].finish_reason


if __name__ == "__main__":
    run(ask)
