"""Formats log lines as JSON with Powertools, and removes secrets from them.

The module is imported when the application starts, because importing Powertools is slow.
"""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Callable, Mapping

from aws_lambda_powertools.logging import Logger
from aws_lambda_powertools.logging.formatter import LambdaPowertoolsFormatter

# Valid inside JSON, but some programs treat them as line breaks or as terminal controls.
_CONTROLS = re.compile("[\x7f-\x9f\u2028\u2029]")


class JsonLines(LambdaPowertoolsFormatter):
    def __init__(self, redact: Callable[[str], str]) -> None:
        # No source location: the message of each line already identifies its place in the code.
        super().__init__(json_default=str, utc=True, use_rfc3339=True, location=None)
        self._redact = redact

    def format(self, record: logging.LogRecord) -> str:
        fields = getattr(record, "fields", None)
        line = super().format(record) if fields is None else self._of(record, fields)
        return _CONTROLS.sub(lambda match: f"\\u{ord(match[0]):04x}", self._redact(line))

    def _of(self, record: logging.LogRecord, fields: Mapping[str, object]) -> str:
        """A line of `RequestLog`, as Powertools writes it.

        Powertools looks into each attribute of each record, which takes longer than a request may.
        """
        body = {
            "level": record.levelname,
            "message": record.msg,
            "timestamp": self.formatTime(record),
            "service": record.name,
            **fields,
        }
        if trace := self._get_latest_trace_id():
            body["xray_trace_id"] = trace
        return self.serialize(body)


def set_up(service: str, redact: Callable[[str], str]) -> logging.Formatter:
    """Configure the logger named `service`. Returns its handler's formatter for other loggers."""
    lines = JsonLines(redact)
    # Powertools replaces the formatter of a handler unless it receives the formatter as well.
    handler = logging.StreamHandler(sys.stderr)
    Logger(service=service, logger_handler=handler, logger_formatter=lines)
    return lines
