"""Import times: of the service, which is most of a cold start, and of `kefu.context` alone."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from benchmarks.processes import ROOT
from benchmarks.relay import Row

PROGRAM = """
import sys
from time import perf_counter, process_time
sys.path.append({functions!r})
start, used = perf_counter(), process_time()
import {module}
print(perf_counter() - start, process_time() - used)
"""
PEER = "fastapi"


class Subject(NamedTuple):
    module: str
    flags: tuple[str, ...] = ()
    settings: Mapping[str, str] = MappingProxyType({})


# The library is compared with a module that most programs import anyway. Both run without
# site-packages, because its .pth files may already import parts of either.
BARE = ("-I", "-S")
SUBJECTS = {
    PEER: Subject("fastapi"),
    "kefu.asgi": Subject("kefu.asgi"),
    "no chats kept": Subject("kefu.asgi", settings={"KEFU_SESSIONS": "false"}),
    "typing": Subject("typing", BARE),
    "kefu.context": Subject("kefu.context", BARE),
}
"""The service as it is by default on a machine, and as it is by default on AWS."""


def import_ms(subject: Subject) -> dict[str, float]:
    """Milliseconds of wall time and of processor time, without the interpreter's own start.

    The wall time is longer if the machine is busy.
    """
    ours = ("KEFU_", "LONGCAT_", "PYTHONDONTWRITEBYTECODE")
    env = {k: v for k, v in os.environ.items() if not k.startswith(ours)}
    env |= {"LONGCAT_API_KEYS": "sk-bench", "KEFU_STORE": "memory:", **subject.settings}
    program = PROGRAM.format(functions=str(ROOT / "functions"), module=subject.module)
    command = [sys.executable, *subject.flags, "-c", program]
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=True)
    waited, worked = done.stdout.split()
    return {"import_ms": 1000 * float(waited), "import_cpu_ms": 1000 * float(worked)}


def imports(rounds: int) -> dict[str, Row]:
    rows: dict[str, Row] = {name: defaultdict(list) for name in SUBJECTS}
    for subject in SUBJECTS.values():
        import_ms(subject)  # writes the .pyc files
    for _ in range(rounds):
        for name, row in rows.items():
            for figure, value in import_ms(SUBJECTS[name]).items():
                row[figure].append(value)
    return rows
