"""docs/aws/costs.md has the figures of the calculator."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.costs import (
    COLD_SECONDS,
    EXAMPLES,
    Month,
    Prices,
    bill,
    extras,
    extras_table,
    sizes_table,
    table,
)
from tests.fakes import behaviours as b
from tests.fakes.stage import stage

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/aws/costs.md"
WIDGET = ROOT / "functions/kefu/web/static/widget"


def test_the_page_shows_the_results_of_the_calculator() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert table(EXAMPLES, Prices()) in page
    assert extras_table(EXAMPLES, Prices()) in page
    assert sizes_table(EXAMPLES, Prices()) in page


def test_what_an_owner_turns_on_is_worked_out_by_hand() -> None:
    """aws m1, m5: a month has 730 hours; an instance that is started has 1 GB."""
    dollars = extras(Month(conversations=100_000), Prices())
    assert dollars["`WarmStart=1`"] == pytest.approx(2_628_000 * 0.0000033334)
    assert dollars["`WarmStart=snapshot`, each version that exists"] == pytest.approx(
        2_628_000 * 0.0000015046
    )
    request = (3.50 + 0.20) / 1e6 + 0.02 * 0.0000133334 + 960e-9 * 0.50
    look = request + (2 * 0.125 + 0.625) / 1e6
    [talk] = [value for name, value in dollars.items() if name.startswith("`data-contact`")]
    assert talk == pytest.approx(100_000 * 34 * look)
    assert dollars["The panel, open for eight hours on 22 days"] == pytest.approx(
        (140_800 + 31_680) * request + (140_800 * 3 + 31_680 * 11) * 0.125e-6
    )
    look = 0.20e-6 + 0.02 * 0.0000133334 + 260e-9 * 0.50 + 2 * 0.125e-6
    assert dollars["its schedule, every five minutes"] == pytest.approx(8_760 * look)


def test_the_default_memory_has_the_cold_start_that_was_measured() -> None:
    template = (ROOT / "template.yaml").read_text(encoding="utf-8")
    default = re.search(r"  MemorySize: {[^}]*Default: (\d+)", template)
    assert default
    assert int(default[1]) == Month().memory_mb
    assert COLD_SECONDS[int(default[1])] == Month().cold_seconds


def test_the_price_of_a_warm_start_stands_where_it_is_set() -> None:
    """aws M2: in the template, and in both languages of the page that deploys."""
    template = (ROOT / "template.yaml").read_text(encoding="utf-8")
    described = re.search(r'  WarmStart: {\n +Description: "(.+)"', template)
    assert described
    assert "$4 a month" in described[1]
    for page in ("docs/aws/deploy.md", "docs/zh/aws.md"):
        [row] = re.findall(r"\n(\|.*`WarmStart`.*)", (ROOT / page).read_text(encoding="utf-8"))
        assert "costs.md#what-costs-more" in row


def test_a_bill_worked_out_by_hand() -> None:
    month = Month(
        conversations=1_000_000,
        turns=1,
        script_loads=0,
        first_token_seconds=1,
        answer_tokens=50,
        tokens_per_second=50,
        cold_share=0,
        other_seconds=0,
        bytes_per_token=200,
        chat_bytes=0,
        log_bytes=1000,
    )
    dollars = bill(month, Prices())
    assert dollars["Lambda, time"] == pytest.approx(2_000_000 * 0.0000133334)
    assert dollars["Lambda, requests"] == pytest.approx(5 * 0.20)
    assert dollars["API Gateway"] == pytest.approx(5 * 3.50)
    assert dollars["DynamoDB, units"] == pytest.approx(0.5 * 0.125 + 4 * 0.625)
    assert dollars["DynamoDB, storage"] == 0
    assert dollars["CloudWatch Logs"] == pytest.approx(5 * 0.50)
    assert dollars["Data transfer"] == pytest.approx(10 * 0.09)


def test_the_extra_cost_of_stored_chats_matches_a_manual_calculation() -> None:
    plain = Month(conversations=1_000_000, turns=1)
    without, kept = (bill(month, Prices()) for month in (plain, replace(plain, kept=1)))
    more = {service: kept[service] - without[service] for service in kept}
    assert more["DynamoDB, units"] == pytest.approx(6 * 0.125 + 8 * 0.625)
    assert more["DynamoDB, storage"] == pytest.approx(3 * (0.25 + 0.20))
    assert more["API Gateway"] == pytest.approx(3.50)


def test_the_widget_is_as_large_as_the_calculator_says() -> None:
    """The size with brotli, and 400 bytes of headers."""
    month = Month()
    counted = {
        ("chat-widget.js.br",): month.script_bytes,
        ("chat-widget-open.*.js.br", "chat-widget-answer.*.js.br"): month.chat_bytes,
    }
    for patterns, counts in counted.items():
        sizes = [file.stat().st_size + 400 for name in patterns for file in WIDGET.glob(name)]
        assert len(sizes) == len(patterns)
        assert sum(sizes) == pytest.approx(counts, rel=0.1), patterns


async def test_an_answer_and_its_line_in_the_log_are_as_long_as_the_calculator_says() -> None:
    usage = {"prompt_tokens": 12, "completion_tokens": 300, "total_tokens": 312}
    month = Month()
    with stage(environment={"AWS_LAMBDA_FUNCTION_NAME": "kefu-ChatFunction"}) as running:
        running.script(b.answer(*["word "] * 300, usage=usage))
        answer = await running.ask()
        request_id = answer.headers["X-Request-Id"]
        await running.service.logged(request_id=request_id, message="request")
        [line] = [each for each in running.service.stderr.splitlines() if request_id in each]
    assert len(answer.raw) / month.answer_tokens == pytest.approx(month.bytes_per_token, rel=0.05)
    own = 260  # an estimate for Lambda's own log lines
    assert len(line) + own == pytest.approx(month.log_bytes, rel=0.05)


@pytest.mark.parametrize("memory", [512, 2048])
def test_memory_is_paid_in_proportion(memory: float) -> None:
    month = Month()
    usual, other = (bill(m, Prices()) for m in (month, replace(month, memory_mb=memory)))
    assert other["Lambda, time"] == pytest.approx(usual["Lambda, time"] * memory / 1024)
