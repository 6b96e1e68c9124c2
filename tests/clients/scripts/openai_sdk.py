"""OpenAI's own client for Python, with its default retries."""

from __future__ import annotations

# In an environment of its own (requirements/clients.txt), which mypy does not see.
from openai import OpenAI  # type: ignore[import-not-found]

from tests.clients.scripts.jobs import Job, Outcome, run


def ask(job: Job, outcome: Outcome) -> None:
    client = OpenAI(base_url=job.base_url, api_key="unused")
    messages = [{"role": "user", "content": job.question}]
    model = client.models.list().data[0].id
    if not job.stream:
        choice = client.chat.completions.create(model=model, messages=messages).choices[0]
        outcome.text, outcome.finish = choice.message.content, choice.finish_reason
        return
    for chunk in client.chat.completions.create(model=model, messages=messages, stream=True):
        outcome.text += chunk.choices[0].delta.content or ""
        outcome.finish = chunk.choices[0].finish_reason


if __name__ == "__main__":
    run(ask)
