"""Writes one log line a request, without secrets, and with CloudWatch metrics inside it."""

from __future__ import annotations

import json
import logging
import re
import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Literal

from kefu.relay.call import Clock
from kefu.relay.redaction import PLACEHOLDER, Secrets
from kefu.web.request_record import Record

if TYPE_CHECKING:
    from kefu.sessions.store.capacity import Level
    from kefu.web.prometheus import Counters
    from kefu.web.traces import Traces

_CREDENTIAL = re.compile(
    r"\b(?:(?i:bearer)\s{1,8}|sk-)(?=[\w.~+/=-]{0,99}\d)[\w.~+/=-]{20,}", re.ASCII
)
"""Matches strings that look like a credential, because Kefu does not know every secret.

Credentials have at least 20 characters and a digit among the first 100. The bounds keep the search
linear."""

Redact = Callable[[str], str]


_SHOWN = ("method", "path", "status", "code", "duration_ms", "ttft_ms", "tokens", "bot_check")
_SHOWN_OF_FAILURES = (
    "origin",
    "limit",
    "refused",
    "keys",
    "all_keys_cooling",
    "adapted",
    "misconfigured",
    "hint",
)


class _Text(logging.Formatter):
    """Formats a line for a terminal: time, message and the most important fields."""

    def __init__(self, redact: Redact) -> None:
        super().__init__("%(asctime)s  %(message)s", "%H:%M:%S")
        self._redact = redact

    def format(self, record: logging.LogRecord) -> str:
        fields = getattr(record, "fields", {})
        text = super().format(record)
        if "duration_ms" in fields:
            told = {"adapted", "misconfigured"} & fields.keys()
            failed = fields.get("code") != "ok" or told
            names = _SHOWN + _SHOWN_OF_FAILURES * bool(failed)
            text += "".join(
                f"  {name}={_short(fields[name])}" for name in names if fields.get(name)
            )
        # Control characters such as ESC could control the terminal.
        return self._redact(re.sub(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", " ", text))


def _short(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


class RequestLog:
    """Writes the log: one line for each request, and notices of the service."""

    def __init__(
        self,
        clock: Clock,
        *,
        level: str = "INFO",
        style: Literal["json", "text"] = "json",
        secrets: Iterable[str] = (),
        metrics: str = "",
    ) -> None:
        """`metrics`: the name of the Lambda function, as a metric dimension; empty: no metrics."""
        self._clock = clock
        self._level = level
        self._style = style
        self.secrets = Secrets(secrets)
        """The secrets that are removed from log lines and from stored chats."""
        self._metrics = metrics
        self._log = logging.getLogger("kefu")
        self.counters: Counters | None = None
        """Receives the metrics, too; None: nobody asks for them."""
        self.traces: Traces | None = None

    def open(self) -> None:
        """Configure logging for the process. Call it in a thread, because it blocks."""
        # The root handler also redacts the lines of other loggers, such as tracebacks of uvicorn.
        server = logging.StreamHandler(sys.stderr)
        logging.basicConfig(handlers=[server], level=logging.WARNING, force=True)
        if self._style == "json":
            from kefu.web.json_lines import set_up

            server.setFormatter(set_up(self._log.name, self.redact))
        else:
            server.setFormatter(_Text(self.redact))
        self._log.setLevel(self._level)

    def redact(self, text: str) -> str:
        """Replace configured secrets, and strings that look like a credential, in a log line."""
        return _CREDENTIAL.sub(PLACEHOLDER, self.secrets.hide(text))

    def request(self, record: Record) -> None:
        fields = record.fields(self._clock.monotonic())
        values = _values(record, fields)
        if self.counters:
            seconds = self._clock.monotonic() - record.started
            self.counters.request(values, record.code or "ok", seconds)
        if self.traces:
            self.traces.ended(record)
        fields |= self._embedded(values)
        self._write(logging.INFO, "request", fields)

    def messages(self, record: Record) -> None:
        """Log the request that was sent to the model, and refusals; only at level DEBUG."""
        if not (record.dialogue and self._log.isEnabledFor(logging.DEBUG)):
            return
        call = record.dialogue.call
        fields: dict[str, object] = {"request_id": record.request_id}
        self._log.debug("messages", extra={**fields, "sent": json.loads(call.body)})
        for attempt in call.attempts:
            if attempt.said:
                said = {"key": attempt.key, "outcome": attempt.outcome, "said": attempt.said}
                self._log.debug("refused by the upstream", extra={**fields, **said})

    def notice(self, text: str) -> None:
        """Log a warning for the operator."""
        self._log.warning(text)

    def audit(self, action: str, operator: str, session_id: str = "") -> None:
        """Log an operator's access to stored chats, at every level: see `Panel.audit`."""
        fields: dict[str, object] = {"action": action, "operator": operator}
        if session_id:
            fields["session_id"] = session_id
        text = f"audit: {action} {session_id}".rstrip()
        self._log.handle(
            self._log.makeRecord(self._log.name, logging.INFO, "", 0, text, (), None, extra=fields)
        )

    def hook_failed(self, what: str) -> None:
        """Log that a hook failed and that the chat went on without it."""
        metrics = self._metrics_of({"hooks_failed": 1})
        self._write(logging.WARNING, f"a hook failed: {what}", metrics)

    def degraded(self, what: str) -> None:
        """Log that the store failed and that Kefu continues without it."""
        metrics = self._metrics_of({"store_degraded": 1})
        self._write(logging.WARNING, f"store degraded: {what}", metrics)

    def store_level(self, level: Level) -> None:
        """Log a change of the store's level, which says how much of its space is used."""
        metrics = self._metrics_of({"store_full": int(level in ("no_new_chats", "full"))})
        self._write(logging.WARNING, f"store: {_LEVELS[level]}", {"store_level": level, **metrics})

    def crashed(self, record: Record) -> None:
        self._log.exception("a request crashed", extra={"request_id": record.request_id})

    def _write(self, level: int, text: str, fields: dict[str, object]) -> None:
        """Write a line. With metrics the level is ignored, because alarms depend on the line."""
        if self._metrics or self._log.isEnabledFor(level):
            name = self._log.name
            extra = {"fields": fields}
            line = self._log.makeRecord(name, level, "", 0, text, (), None, extra=extra)
            self._log.handle(line)

    def _metrics_of(self, values: dict[str, float]) -> dict[str, object]:
        """Return the fields for metrics with these values; empty without metrics."""
        if self.counters:
            self.counters.add(values)
        return self._embedded(values)

    def _embedded(self, values: dict[str, float]) -> dict[str, object]:
        if not self._metrics:
            return {}
        from kefu.web.metrics import embedded

        return embedded(values, self._metrics, self._clock.now())


_LEVELS: dict[Level, str] = {
    "ok": "there is room again",
    "no_bodies": "80 % of its space is used; requests and responses are not kept",
    "no_new_chats": "90 % of its space is used; new chats are not kept",
    "full": "all its space is used; no message is kept",
}

_MEASURED = ("tokens", "ttft_ms")


def _values(record: Record, fields: dict[str, object]) -> dict[str, float]:
    """Return the metrics of a request by name."""
    values: dict[str, float] = {"requests": 1}
    for name in _MEASURED:
        if isinstance(value := fields.get(name), int | float):
            values[name] = value
    if record.code:
        values["errors"] = 1
    if record.dialogue:
        attempts = record.attempts
        values["cooldowns"] = sum(attempt.cooled_down for attempt in attempts)
        if failing := sum(attempt.failing for attempt in attempts):
            values["keys_failing"] = failing
        values["all_keys_cooling"] = int(record.dialogue.call.all_keys_cooling)
    return values
