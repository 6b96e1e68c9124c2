"""Shared by the client scripts: reads jobs from stdin, runs them, prints results as JSON."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

from pydantic import BaseModel


@dataclass(frozen=True)
class Job:
    base_url: str
    question: str
    stream: bool


TOOL_QUESTION = "tool"
"""The question that is asked with a tool, with a system message beside it, and without a stream."""

JSON_QUESTION = "json"
"""The question whose answer is asked for in the form of `Weather`, without a stream."""

WEATHER: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "The weather of a city.",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}},
            "required": ["city"],
        },
    },
}


class Weather(BaseModel):
    city: str


@dataclass
class Outcome:
    text: str = ""
    """All that came, also before an error."""
    finish: str | None = None
    error: list[str] = field(default_factory=list)
    """The class of the exception and its bases; empty without one."""
    status: int | None = None
    code: str | None = None
    message: str = ""


Ask = Callable[[Job, Outcome], None]


def run(ask: Ask) -> None:
    outcomes = [asdict(tried(ask, Job(**job))) for job in json.load(sys.stdin)]
    print(json.dumps(outcomes))


def tried(ask: Ask, job: Job) -> Outcome:
    outcome = Outcome()
    try:
        ask(job, outcome)
    except Exception as error:  # noqa: BLE001 - the test checks the class
        failed(outcome, error)
    return outcome


def failed(outcome: Outcome, error: Any) -> None:
    outcome.error = [kind.__name__ for kind in type(error).__mro__]
    outcome.status = getattr(error, "status_code", None)
    outcome.code = getattr(error, "code", None)
    outcome.message = str(error)
