"""The tokens of a request: prompts sent, tokens reported, tokens estimated."""

from __future__ import annotations

import pytest

from kefu.relay.chunks import Usage
from tests.fakes import in_process_upstream as up
from tests.fakes.in_process_upstream import Reply
from tests.fakes.relaying import Rig, in_virtual_time

PROMPT = 1000
SILENT_200 = up.STREAM.then_silence()


@pytest.mark.parametrize(
    ("replies", "prompts", "usage", "spent"),
    [
        ([up.refusal(429)], 0, Usage(0, 0), 0),
        ([up.REFUSED, up.refusal(500)], 0, Usage(0, 0), 0),
        ([up.SILENT], 1, Usage(PROMPT, 0), PROMPT),
        ([up.SILENT, up.SILENT], 2, Usage(PROMPT, 0), 2 * PROMPT),
        ([up.answer("four")], 1, Usage(PROMPT, 4), PROMPT + 4),
        ([up.REFUSED, up.answer("four")], 1, Usage(PROMPT, 4), PROMPT + 4),
        ([up.RESET, up.answer("four")], 2, Usage(PROMPT, 4), 2 * PROMPT + 4),
        ([SILENT_200, up.answer("four")], 2, Usage(PROMPT, 4), 2 * PROMPT + 4),
    ],
)
@in_virtual_time
async def test_c19_request_costs_each_prompt_that_was_read_and_the_answer(
    replies: list[Reply], prompts: int, usage: Usage, spent: int
) -> None:
    """An upstream that refused by its status, or was not reached, bills nothing."""
    rig = Rig({f"key-{number}": reply for number, reply in enumerate(replies)})
    call = rig.call(estimate=len)
    await rig.ask(call)
    assert call.prompts_sent == prompts
    assert (call.usage(PROMPT), call.spent(PROMPT)) == (usage, spent)


REPORT = up.usage(900, 50)
LONG = up.text("x" * 60)


@pytest.mark.parametrize(
    ("parts", "usage"),
    [
        ([LONG, up.STOP, REPORT, up.DONE], Usage(900, 50)),
        ([LONG, up.STOP, up.DONE], Usage(PROMPT, 60)),
        ([REPORT, LONG, up.LOST], Usage(900, 60)),
        ([REPORT, up.text("short"), up.LOST], Usage(900, 50)),
        ([LONG, up.LOST], Usage(PROMPT, 60)),
        ([up.chunk({"reasoning_content": "hm"}), up.text("a"), up.LOST], Usage(PROMPT, 3)),
    ],
    ids=["reported", "not-reported", "cut-after-report", "cut-shorter", "cut", "reasoning"],
)
@in_virtual_time
async def test_c19_tokens_are_as_reported_else_as_estimated(
    parts: list[bytes | Exception], usage: Usage
) -> None:
    """An answer that broke off counts as the larger of the two numbers."""
    rig = Rig({"only": up.STREAM.then(*parts)})
    call = rig.call(estimate=len)
    await rig.ask(call)
    assert call.usage(PROMPT) == usage
    assert call.spent(PROMPT) == usage.prompt + usage.completion


@in_virtual_time
async def test_c19_earlier_prompts_are_added_to_a_reported_usage() -> None:
    whole = up.STREAM.then(LONG, up.STOP, REPORT, up.DONE)
    rig = Rig({"a": up.RESET, "b": up.STREAM, "c": whole})
    call = rig.call(estimate=len)
    assert (await rig.ask(call)).whole
    assert call.prompts_sent == 3
    assert call.spent(PROMPT) == 950 + 2 * PROMPT
