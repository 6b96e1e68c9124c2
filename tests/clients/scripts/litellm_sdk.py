"""LiteLLM as a library, with its default retries."""

from __future__ import annotations

import os

# LiteLLM would download its list of prices.
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"

# It is installed in an environment of its own (requirements/clients.txt), which mypy does not
# check.
import litellm  # type: ignore[import-not-found]

from tests.clients.scripts.jobs import TOOL_QUESTION, WEATHER, Job, Outcome, run


def ask(job: Job, outcome: Outcome) -> None:
    if job.question == TOOL_QUESTION:
        use_tool(job, outcome)
        return
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


def use_tool(job: Job, outcome: Outcome) -> None:
    model = {"model": "openai/kefu", "api_base": job.base_url, "api_key": "unused"}
    messages = [
        {"role": "system", "content": "Be short."},
        {"role": "user", "content": TOOL_QUESTION},
    ]
    first = litellm.completion(messages=messages, tools=[WEATHER], **model).choices[0]
    call = first.message.tool_calls[0]
    result = {"role": "tool", "tool_call_id": call.id, "content": "sunny"}
    messages = [*messages, first.message, result]
    second = litellm.completion(messages=messages, tools=[WEATHER], **model)
    outcome.text, outcome.finish = second.choices[0].message.content, first.finish_reason


if __name__ == "__main__":
    litellm.suppress_debug_info = True  # LiteLLM prints on stdout
    run(ask)
