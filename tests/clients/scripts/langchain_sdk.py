"""LangChain's ChatOpenAI, with its default retries."""

from __future__ import annotations

# It is installed in an environment of its own (requirements/clients.txt), which mypy does not
# check.
from langchain_core.messages import HumanMessage, SystemMessage, ToolMessage
from langchain_openai import ChatOpenAI  # type: ignore[import-not-found]

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
    model = ChatOpenAI(model="kefu", base_url=job.base_url, api_key="unused")
    if job.question == TOOL_QUESTION:
        use_tool(model, outcome)
        return
    if job.question == JSON_QUESTION:
        found = model.with_structured_output(Weather).invoke(job.question)
        outcome.text = found.model_dump_json()
        return
    if not job.stream:
        answer = model.invoke(job.question)
        outcome.text = answer.content
        outcome.finish = answer.response_metadata["finish_reason"]
        return
    for chunk in model.stream(job.question):
        outcome.text += chunk.content
        outcome.finish = chunk.response_metadata.get("finish_reason", outcome.finish)


def use_tool(model: ChatOpenAI, outcome: Outcome) -> None:
    messages = [SystemMessage("Be short."), HumanMessage(TOOL_QUESTION)]
    bound = model.bind_tools([WEATHER])
    called = bound.invoke(messages)
    result = ToolMessage("sunny", tool_call_id=called.tool_calls[0]["id"])
    outcome.text = bound.invoke([*messages, called, result]).content
    outcome.finish = called.response_metadata["finish_reason"]


if __name__ == "__main__":
    run(ask)
