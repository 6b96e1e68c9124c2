"""JSON log lines, made by Powertools. Loaded when the application starts, not when imported."""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Callable

from aws_lambda_powertools.logging import Logger
from aws_lambda_powertools.logging.formatter import LambdaPowertoolsFormatter

# Valid inside JSON, yet ends of lines to some readers, or commands to a terminal.
_AWKWARD = re.compile("[\x7f-\x9f\u2028\u2029]")


class JsonLines(LambdaPowertoolsFormatter):
    def __init__(self, redact: Callable[[str], str]) -> None:
        # Each line is written in one place, which its message names better than a number.
        super().__init__(json_default=str, utc=True, use_rfc3339=True, location=None)
        self._redact = redact

    def format(self, record: logging.LogRecord) -> str:
        line = self._redact(super().format(record))
        return _AWKWARD.sub(lambda found: f"\\u{ord(found[0]):04x}", line)


def set_up(service: str, redact: Callable[[str], str]) -> logging.Formatter:
    """Give the logger of this name its lines; the formatter is for others' lines, too."""
    lines = JsonLines(redact)
    # Of a handler alone Powertools would replace the formatter.
    handler = logging.StreamHandler(sys.stderr)
    Logger(service=service, logger_handler=handler, logger_formatter=lines)
    return lines
