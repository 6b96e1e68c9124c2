"""`kefu doctor`: prints the errors of an installation, and the command that mends each."""

from __future__ import annotations

import argparse
import json
import sys
import textwrap
from collections.abc import Sequence

from kefu.bootstrap.doctor import Finding, doctor
from kefu.terminal.flags import WrongUse

_LINE_CHARS = 80


def run(options: argparse.Namespace) -> int:
    """Print the findings. Returns the exit code: 1 if there is a problem. Raises WrongUse."""
    if options.origin and not (options.url or options.stack):
        raise WrongUse("--origin is for --url and --stack.")
    findings = doctor(options.url, options.stack, options.origin)
    problems = [one for one in findings if one.level == "problem"]
    if options.json:
        found = [one._asdict() for one in findings]
        sys.stdout.write(json.dumps({"ok": not problems, "findings": found}, indent=2) + "\n")
    else:
        sys.stdout.write(_text(findings, len(problems)))
    return 1 if problems else 0


def _text(findings: Sequence[Finding], problems: int) -> str:
    lines = []
    for one in sorted(findings, key=lambda one: one.level == "note"):
        lines += textwrap.wrap(
            f"{'x' if one.level == 'problem' else '-'} {one.message}",
            _LINE_CHARS,
            subsequent_indent="  ",
            break_long_words=False,
            break_on_hyphens=False,
        )
        # Not wrapped, so that a command can be copied.
        lines += [f"    {line}" for line in one.fix.splitlines()] + [""]
    count = {0: "No problem found.", 1: "1 problem."}.get(problems, f"{problems} problems.")
    return "\n".join([*lines, count]) + "\n"
