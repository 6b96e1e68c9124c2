"""The summary strategy with a real model behind it: the small local one."""

from __future__ import annotations

import json
from typing import Any

from tests.fakes.asking import ask, conversation
from tests.fakes.service import Service

FACTS = (
    "My name is Ada Miller and I need a visa for Shanghai in May.",
    "You need an S2 visa. It takes four working days and costs 40 dollars.",
    "My passport ends in three months, is that a problem?",
    "Yes. It must be valid for six months, so please renew it first.",
)


async def test_x9_model_itself_tells_what_is_left_out() -> None:
    patience: dict[str, Any] = {
        "first_byte_budget": 90,
        "try_timeout": 90,
        "first_event_timeout": 90,
    }
    settings: dict[str, Any] = {"trim": "summary", "max_prompt_tokens": 80, "summary_wait": 90}
    with Service(
        None, keys=(), log_level="DEBUG", max_output_tokens=40, **settings, **patience
    ) as service:
        talk = conversation(*FACTS, *FACTS, "What did I ask?")
        answer = await ask(service.url, talk, timeout=120)
        assert answer.complete, answer.raw
        service.stop()
        lines = [json.loads(line) for line in service.stderr.split("\n") if line.startswith("{")]
    logged = {line["message"]: line for line in lines}
    sent, record = logged["messages"]["sent"]["messages"], logged["request"]
    told = [m["content"] for m in sent if m["content"].startswith("<conversation_summary>")]
    assert "no_summary" not in record, record
    assert len(told) == 1
    assert len(told[0]) > 60
    assert record["trimmed_because"] == {"summarized": record["trimmed"]}
