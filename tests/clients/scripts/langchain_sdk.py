"""LangChain's ChatOpenAI, with its default retries."""

from __future__ import annotations

# In an environment of its own (requirements/clients.txt), which mypy does not see.
from langchain_openai import ChatOpenAI  # type: ignore[import-not-found]

from tests.clients.scripts.jobs import Job, Outcome, run


def ask(job: Job, outcome: Outcome) -> None:
    model = ChatOpenAI(model="kefu", base_url=job.base_url, api_key="unused")
    if not job.stream:
        answer = model.invoke(job.question)
        outcome.text = answer.content
        outcome.finish = answer.response_metadata["finish_reason"]
        return
    for chunk in model.stream(job.question):
        outcome.text += chunk.content
        outcome.finish = chunk.response_metadata.get("finish_reason", outcome.finish)


if __name__ == "__main__":
    run(ask)
