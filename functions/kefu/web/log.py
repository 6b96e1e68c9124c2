"""Logs as JSON lines, with every secret taken out by its value, and metrics inside the lines."""

from __future__ import annotations

import json
import logging
import re
import sys
from collections.abc import Callable, Iterable
from typing import Literal

from kefu.answer import Clock
from kefu.web.record import Record

_BEARER = re.compile(r"(?i)bearer\s+[\w.~+/=-]+|\bsk-[\w-]{8,}")

Redact = Callable[[str], str]


class Redactor:
    """Replaces the known keys, and whatever looks like one, in a text."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._known: set[str] = set()
        self._pattern: re.Pattern[str] | None = None
        self.learn(secrets)

    def learn(self, secrets: Iterable[str]) -> None:
        """More keys. Those that were known stay so: a line may still hold one."""
        self._known.update(secret for secret in secrets if len(secret) >= 4)
        if self._known:
            longest_first = sorted(self._known, key=len, reverse=True)
            self._pattern = re.compile("|".join(map(re.escape, longest_first)))

    def __call__(self, text: str) -> str:
        text = self._pattern.sub("[key]", text) if self._pattern else text
        return _BEARER.sub("[key]", text)


class _Text(logging.Formatter):
    """For a person at a terminal: time, what, how long."""

    def __init__(self, redact: Redact) -> None:
        super().__init__("%(asctime)s  %(message)s", "%H:%M:%S")
        self._redact = redact

    def format(self, record: logging.LogRecord) -> str:
        fields = vars(record)
        text = super().format(record)
        if "duration_ms" in fields:
            shown = ("method", "path", "status", "code", "duration_ms", "ttft_ms", "tokens")
            text += "".join(f"  {name}={fields[name]}" for name in shown if fields.get(name))
        # ESC and its kind could drive the terminal.
        return self._redact(re.sub(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", " ", text))


class RequestLog:
    """One line a request."""

    def __init__(
        self,
        clock: Clock,
        *,
        level: str = "INFO",
        style: Literal["json", "text"] = "json",
        secrets: Iterable[str] = (),
        metrics: str = "",
    ) -> None:
        """`metrics`: the function's name where metrics are wanted, by which they are told apart."""
        self._clock = clock
        self._level = level
        self._style = style
        self.redactor = Redactor(secrets)
        self._metrics = metrics
        self._log = logging.getLogger("kefu")

    def open(self) -> None:
        """Set up the process's logging: before the first line, off the event loop."""
        # The server's own loggers, tracebacks among them, go the same way.
        server = logging.StreamHandler(sys.stderr)
        logging.basicConfig(handlers=[server], level=logging.WARNING, force=True)
        if self._style == "json":
            from kefu.web.json_lines import set_up

            server.setFormatter(set_up(self._log.name, self.redactor))
        else:
            server.setFormatter(_Text(self.redactor))
        self._log.setLevel(self._level)

    def request(self, record: Record) -> None:
        fields = record.fields(self._clock.monotonic())
        fields |= self._metrics_of(_values(record, fields), by_code=True)
        self._write(logging.INFO, "request", fields)

    def messages(self, record: Record) -> None:
        """What the visitor and the model were told; only at DEBUG."""
        if record.dialogue and self._log.isEnabledFor(logging.DEBUG):
            body = json.loads(record.dialogue.call.body)
            self._log.debug("messages", extra={"request_id": record.request_id, "sent": body})

    def notice(self, text: str) -> None:
        """Something that the person running it should look at."""
        self._log.warning(text)

    def degraded(self, what: str) -> None:
        """The store failed, and Kefu goes on without it."""
        metrics = self._metrics_of({"store_degraded": 1})
        self._write(logging.WARNING, f"store degraded: {what}", metrics)

    def crashed(self, record: Record) -> None:
        self._log.exception("a request crashed", extra={"request_id": record.request_id})

    def _write(self, level: int, text: str, fields: dict[str, object]) -> None:
        """Where metrics are wanted also below the level: a line held back is an alarm held back."""
        if self._metrics or self._log.isEnabledFor(level):
            name = self._log.name
            line = self._log.makeRecord(name, level, "", 0, text, (), None, extra=fields)
            self._log.handle(line)

    def _metrics_of(self, values: dict[str, object], *, by_code: bool = False) -> dict[str, object]:
        """CloudWatch's embedded metric format, version 0: the log line is the metric."""
        if not self._metrics:
            return {}
        metrics = [{"Name": name, "Unit": _UNITS.get(name, "Count")} for name in values]
        dimensions = [["function"], ["function", "code"]] if by_code else [["function"]]
        directive = {"Namespace": "Kefu", "Dimensions": dimensions, "Metrics": metrics}
        timestamp = int(self._clock.now() * 1000)
        values = {**values, "function": self._metrics}
        return {**values, "_aws": {"Timestamp": timestamp, "CloudWatchMetrics": [directive]}}


_UNITS = {"ttft_ms": "Milliseconds", "duration_ms": "Milliseconds"}


def _values(record: Record, fields: dict[str, object]) -> dict[str, object]:
    """The metrics in a request's log line."""
    values: dict[str, object] = {"requests": 1}
    values |= {name: fields[name] for name in ("attempts", "tokens", *_UNITS) if name in fields}
    if record.code:
        values["errors"] = 1
    if record.dialogue:
        attempts = record.dialogue.call.attempts
        values["cooldowns"] = sum(attempt.rested for attempt in attempts)
        values["all_keys_cooling"] = int(record.code != "" and not attempts)
    return values
