"""LiteLLM as a library, with its default retries."""

from __future__ import annotations

import os

# Its list of prices would be fetched from the network.
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"

# In an environment of its own (requirements/clients.txt), which mypy does not see.
import litellm  # type: ignore[import-not-found]

from tests.clients.scripts.jobs import Job, Outcome, run


def ask(job: Job, outcome: Outcome) -> None:
    answer = litellm.completion(
        model="openai/kefu",
        api_base=job.base_url,
        api_key="unused",
        messages=[{"role": "user", "content": job.question}],
        stream=job.stream,
    )
    if not job.stream:
        choice = answer.choices[0]
        outcome.text, outcome.finish = choice.message.content, choice.finish_reason
        return
    for chunk in answer:
        outcome.text += chunk.choices[0].delta.content or ""
        outcome.finish = chunk.choices[0].finish_reason


if __name__ == "__main__":
    litellm.suppress_debug_info = True  # it prints on stdout
    run(ask)
