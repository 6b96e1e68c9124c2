"""The monthly costs on AWS by service: `python -m benchmarks.costs [--conversations N ...]`.

Sizes and units are measured (see docs/aws/costs.md). Prices are list prices without free tiers. The
bill of the model's provider is not included.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

MILLION = 1e6
GB = 1e9


@dataclass(frozen=True)
class Prices:
    """Dollars in us-east-1, November 2026, at the first tier; docs/aws/costs.md has the sources."""

    lambda_gb_second: float = 0.0000133334
    """On arm64."""
    lambda_requests: float = 0.20
    """A million; so are the next three."""
    gateway_requests: float = 3.50
    """Of a REST API; each 10 MB of an answer counts as one."""
    read_units: float = 0.125
    write_units: float = 0.625
    storage_gb: float = 0.25
    """A month, of the table; so is the next one."""
    backup_gb: float = 0.20
    """Of point-in-time recovery."""
    logs_gb: float = 0.50
    metric: float = 0.30
    """A month, for each metric and each value of its dimensions."""
    alarm: float = 0.10
    transfer_gb: float = 0.09
    """Out to the internet."""
    provisioned_gb_second: float = 0.0000033334
    """Of an instance that is always started, on arm64, beside the time that it answers."""
    snapshot_gb_second: float = 0.0000015046
    """Of each version with a snapshot, for as long as the version exists."""
    snapshot_restore_gb: float = 0.0001397998
    secret: float = 0.40
    firewall: float = 6.00
    """A web ACL and its rule."""
    firewall_requests: float = 0.60
    """A million."""


@dataclass(frozen=True)
class Month:
    """The use of a site in a month. The first seven values depend on the site."""

    conversations: float = 10_000
    turns: float = 4
    """Questions in a conversation."""
    answer_tokens: float = 300
    tokens_per_second: float = 50
    first_token_seconds: float = 0.8
    script_loads: float = 10
    """Times the widget is fetched for each conversation; browsers keep it."""
    kept: float = 0
    """1 where chats are kept."""
    memory_mb: float = 1024
    cold_share: float = 0.02
    """Of the requests; assumed."""
    cold_seconds: float = 1.4
    """To the end of the first answer, with 1 GB: `python -m benchmarks sizes`."""
    other_seconds: float = 0.02
    """For a preflight or a file."""
    bytes_per_token: float = 202
    script_bytes: float = 2_480
    chat_bytes: float = 26_300
    """The file of the chat and its file for answers, once for each conversation."""
    log_bytes: float = 960
    """A request's line of 700 bytes, and Lambda's own."""
    reads: float = 0.5
    writes: float = 4
    """DynamoDB units for each question, with the limits that are on by default."""
    kept_reads: float = 6
    kept_writes: float = 8
    """Units more for each question in a kept chat."""
    kept_bytes: float = 3_000
    """Of each, in the table."""
    kept_days: float = 30
    metrics: float = 6
    alarms: float = 6
    looks: float = 34
    """Requests after an answer for a person who may have come: docs/contact.md."""
    look_reads: float = 2
    look_writes: float = 1
    """Units for each of these requests."""
    panel_hours: float = 176
    """Of an open panel: eight hours on 22 days."""
    waits_seconds: float = 4.5
    """Between two requests for who waits; the next two are read units for two of them, and for
    the newest twenty chats every `list_seconds`."""
    waits_reads: float = 3
    list_reads: float = 11
    list_seconds: float = 20
    schedule_seconds: float = 300
    """Between two looks for what is due, of a stack with a panel."""
    schedule_reads: float = 2
    """Read units for a look that finds nothing."""
    schedule_log_bytes: float = 260
    """Lambda's own lines; Kefu writes none."""

    @property
    def memory_gb(self) -> float:
        return self.memory_mb / 1024

    @property
    def questions(self) -> float:
        return self.conversations * self.turns

    @property
    def others(self) -> float:
        """Requests other than questions: preflights, `/health` and files."""
        return self.conversations * (self.script_loads + 4 + self.kept)

    @property
    def stored(self) -> float:
        """Bytes in the table when as many expire as are added."""
        return self.questions * self.kept * self.kept_bytes * self.kept_days / 30


def bill(month: Month, prices: Prices) -> dict[str, float]:
    """Dollars for each service."""
    questions, requests = month.questions, month.questions + month.others
    answer_seconds = month.first_token_seconds + month.answer_tokens / month.tokens_per_second
    seconds = questions * answer_seconds + month.others * month.other_seconds
    seconds += requests * month.cold_share * month.cold_seconds
    sent = questions * month.answer_tokens * month.bytes_per_token
    sent += month.conversations * (month.script_loads * month.script_bytes + month.chat_bytes)
    read_units = questions * (month.reads + month.kept * month.kept_reads)
    write_units = questions * (month.writes + month.kept * month.kept_writes)
    return {
        "Lambda, time": seconds * month.memory_gb * prices.lambda_gb_second,
        "Lambda, requests": requests / MILLION * prices.lambda_requests,
        "API Gateway": requests / MILLION * prices.gateway_requests,
        "DynamoDB, units": (read_units * prices.read_units + write_units * prices.write_units)
        / MILLION,
        "DynamoDB, storage": month.stored / GB * (prices.storage_gb + prices.backup_gb),
        "CloudWatch Logs": requests * month.log_bytes / GB * prices.logs_gb,
        "CloudWatch metrics, alarms": month.metrics * prices.metric + month.alarms * prices.alarm,
        "Data transfer": sent / GB * prices.transfer_gb,
    }


SECONDS: int = 730 * 3600
"""Of a month."""


COLD_SECONDS = {512: 2.9, 1024: 1.4, 1769: 0.8}
"""By megabytes of memory: `python -m benchmarks sizes`."""


def sizes_table(months: Sequence[Month], prices: Prices) -> str:
    """A Markdown table of whole bills by the memory of the function."""
    totals = [
        {
            f"`MemorySize={size}`, a cold start of {seconds} s": sum(
                bill(replace(month, memory_mb=size, cold_seconds=seconds), prices).values()
            )
            for size, seconds in COLD_SECONDS.items()
        }
        for month in months
    ]
    return _rows("dollars a month, together", months, totals)


def extras(month: Month, prices: Prices) -> dict[str, float]:
    """Dollars more for what is off by default."""
    requests = month.questions + month.others
    loads = month.conversations * month.script_loads
    restores = requests * month.cold_share * month.memory_gb * prices.snapshot_restore_gb
    return {
        "`WarmStart=1`": SECONDS * month.memory_gb * prices.provisioned_gb_second,
        "`WarmStart=snapshot`, each version that exists": SECONDS
        * month.memory_gb
        * prices.snapshot_gb_second,
        "and its restores": restores,
        "`WafRequestsPerFiveMinutes`": prices.firewall
        + requests / MILLION * prices.firewall_requests,
        "`Cdn=on`": prices.secret
        - loads * _request(month, prices)
        - bill(month, prices)["Data transfer"],
        "`data-contact`, if the panel stays open for ten minutes once": month.conversations
        * month.looks
        * (_request(month, prices) + _look_units(month, prices)),
        "The panel, open for eight hours on 22 days": _panel(month, prices),
        "its schedule, every five minutes": _schedule(month, prices),
    }


def _panel(month: Month, prices: Prices) -> float:
    seconds = month.panel_hours * 3600
    waits, lists = seconds / month.waits_seconds, seconds / month.list_seconds
    units = waits * month.waits_reads + lists * month.list_reads
    return (waits + lists) * _request(month, prices) + units * prices.read_units / MILLION


def _schedule(month: Month, prices: Prices) -> float:
    """Dollars for the function's looks, which do not go through the gateway."""
    look = (
        prices.lambda_requests / MILLION
        + month.other_seconds * month.memory_gb * prices.lambda_gb_second
        + month.schedule_log_bytes / GB * prices.logs_gb
        + month.schedule_reads * prices.read_units / MILLION
    )
    return SECONDS / month.schedule_seconds * look


def _request(month: Month, prices: Prices) -> float:
    """Dollars for a request that streams no answer."""
    return (
        (prices.gateway_requests + prices.lambda_requests) / MILLION
        + month.other_seconds * month.memory_gb * prices.lambda_gb_second
        + month.log_bytes / GB * prices.logs_gb
    )


def _look_units(month: Month, prices: Prices) -> float:
    units = month.look_reads * prices.read_units + month.look_writes * prices.write_units
    return units / MILLION


def extras_table(months: Sequence[Month], prices: Prices) -> str:
    """The same for what is off by default."""
    return _rows("dollars a month more", months, [extras(month, prices) for month in months])


def table(months: Sequence[Month], prices: Prices) -> str:
    """A Markdown table with a column for each month. The last row adds the costs of stored
    chats.
    """
    bills = [bill(month, prices) for month in months]
    lines = [_rows("dollars a month", months, bills)]
    totals = " | ".join(f"**{sum(each.values()):,.2f}**" for each in bills)
    lines.append(f"| **together** | {totals} |")
    if not any(month.kept for month in months):
        kept = [sum(bill(replace(month, kept=1), prices).values()) for month in months]
        lines.append("| with stored chats | " + " | ".join(f"{each:,.2f}" for each in kept) + " |")
    return "\n".join(lines)


def _rows(what: str, months: Sequence[Month], bills: Sequence[dict[str, float]]) -> str:
    head = [f"{month.conversations:,.0f} conversations" for month in months]
    lines = [f"| {what} | " + " | ".join(head) + " |", "|---" * (len(months) + 1) + "|"]
    lines += [
        f"| {name} | " + " | ".join(f"{each[name]:,.2f}" for each in bills) + " |"
        for name in bills[0]
    ]
    return "\n".join(lines)


EXAMPLES = [Month(conversations=1_000), Month(conversations=10_000), Month(conversations=100_000)]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.costs", description=__doc__)
    for kind in (Month, Prices):
        for field in fields(kind):
            option = f"--{field.name.replace('_', '-')}"
            default = f"default {field.default}"
            parser.add_argument(option, type=float, default=field.default, help=default)
    given = vars(parser.parse_args())
    month = Month(**{field.name: given[field.name] for field in fields(Month)})
    prices = Prices(**{field.name: given[field.name] for field in fields(Prices)})
    print(table([month], prices), extras_table([month], prices), sep="\n\n")


if __name__ == "__main__":
    main()
