"""The strategy `summary` with a real model, the small local one."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from kefu.upstream import local_model
from tests.fakes.asking import ask, conversation
from tests.fakes.service import Service

FACTS = (
    "My name is Ada Miller and I need a visa for Shanghai in May.",
    "You need an S2 visa. It takes four working days and costs 40 dollars.",
    "My passport ends in three months, is that a problem?",
    "Yes. It must be valid for six months, so please renew it first.",
)


@pytest.mark.slow
async def test_x9_the_model_summarizes_the_dropped_messages() -> None:
    settings: dict[str, Any] = {
        "model": local_model.NAME,
        "trim": "summary",
        "max_prompt_tokens": 80,
    }
    with Service(
        None, keys=(), log_level="DEBUG", max_output_tokens=40, patience="slow", **settings
    ) as service:
        talk = conversation(*FACTS, *FACTS, "What did I ask?")
        logged: dict[str, Any] = {"request": {"no_summary": "not ready"}}
        async with asyncio.timeout(300):  # the model writes the summary in the background
            while "no_summary" in logged["request"]:
                answer = await ask(service.url, talk, timeout=120)
                assert answer.complete, answer.raw
                await asyncio.sleep(5)
                lines = [line for line in service.stderr.splitlines() if line.startswith("{")]
                logged = {one["message"]: one for one in map(json.loads, lines)}
    sent, record = logged["messages"]["sent"]["messages"], logged["request"]
    told = [m["content"] for m in sent if m["content"].startswith("<conversation_summary>")]
    assert "no_summary" not in record, record
    assert len(told) == 1
    assert len(told[0]) > 60
    assert record["trimmed_because"] == {"summarized": record["trimmed"]}
