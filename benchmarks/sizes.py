"""Cold starts under the share of a processor that Lambda gives for a size of memory.

Lambda gives a function a processor for each 1,769 MB, and a share of one below. A control group of
Linux limits each start likewise, so this needs root. A start is that of the package, with DynamoDB
Local; it ends with the first answer of a model that answers at once. Lambda's own part of a cold
start is missing, as is the extra processor that it may give for the first seconds.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from subprocess import DEVNULL, Popen

import httpx

from benchmarks.cold import environment_of, make_package, wait_until_healthy
from benchmarks.processes import Server, free_port
from build import PYTHON, find_python
from tests.contract.engines import new_table
from tests.parts.fetch import folder_of
from tests.parts.plugin import CREDENTIALS, started_dynamodb_local

SIZES = (512, 1024, 1769)
WHOLE = 1769
"""Megabytes for a whole processor, as AWS's page on the memory of functions says."""
PERIOD_US = 20_000
V1, V2 = Path("/sys/fs/cgroup/cpu"), Path("/sys/fs/cgroup")
QUESTION = {"messages": [{"role": "user", "content": "bench:first:0:30"}]}


@contextmanager
def share(megabytes: int) -> Iterator[Path]:
    """The file that takes the numbers of processes that get a share of a processor."""
    quota = PERIOD_US * megabytes // WHOLE
    is_v1 = V1.is_dir()
    group = (V1 if is_v1 else V2) / f"kefu-{os.getpid()}-{megabytes}"
    group.mkdir()
    try:
        if is_v1:
            (group / "cpu.cfs_period_us").write_text(f"{PERIOD_US}")
            (group / "cpu.cfs_quota_us").write_text(f"{quota}")
            (group / "cpu.shares").write_text("262144")  # so that no other work takes of it
        else:
            (group / "cpu.max").write_text(f"{quota} {PERIOD_US}")
            (group / "cpu.weight").write_text("10000")
        yield group / "cgroup.procs"
    finally:
        group.rmdir()


def start(package: Path, environment: dict[str, str], group: Path) -> tuple[float, float]:
    """The seconds to an answer of /health, and to the end of the first answer."""
    port = free_port()
    environment = {**environment, "AWS_LWA_PORT": str(port)}
    began = time.perf_counter()
    process = Popen(
        ["/bin/sh", "-c", 'echo $$ >"$1"; exec /bin/sh run.sh', "sh", group],
        cwd=package,
        env=environment,
        stdout=DEVNULL,
        stderr=DEVNULL,
    )
    try:
        wait_until_healthy(port, process)
        healthy = time.perf_counter() - began
        url = f"http://127.0.0.1:{port}/api/chat"
        answer = httpx.post(url, json=QUESTION, timeout=30, trust_env=False)
        assert answer.text.rstrip().endswith("[DONE]"), answer.text
        return healthy, time.perf_counter() - began
    finally:
        process.kill()
        process.wait()


def measured(folder: Path, rounds: int) -> str:
    python = find_python()
    part = folder_of("dynamodb-local")
    assert python, f"sizes: needs Python {PYTHON}, as Lambda has it"
    assert part, "DynamoDB Local is not in .parts/. Try: make parts"
    make_package(folder / "package")
    times: dict[int, list[tuple[float, float]]] = {size: [] for size in SIZES}
    with ExitStack() as stack:
        endpoint = stack.enter_context(started_dynamodb_local(part / "lib", folder))
        command = [sys.executable, "-m", "benchmarks.upstream"]
        upstream = Server(command, {}, folder / "upstream.log")
        stack.callback(upstream.stop)
        os.environ.update(CREDENTIALS)
        table = asyncio.run(_table(endpoint))
        environment = environment_of(python) | {
            "KEFU_STORE": f"dynamodb://{table}",
            "AWS_ENDPOINT_URL_DYNAMODB": endpoint,
            "KEFU_UPSTREAM_URL": f"http://127.0.0.1:{upstream.port}/v1",
        }
        for number in range(rounds + 1):
            for size in SIZES:
                with share(size) as group:
                    spent = start(folder / "package", environment, group)
                if number:  # the first round brings the files into the disk's cache
                    times[size].append(spent)
    lines = [f"{'seconds from the start of the process':40}{'to /health':>12}{'first answer':>14}"]
    for size, seen in times.items():
        healthy, answered = map(median, zip(*seen, strict=True))
        lines.append(
            f"{f'{size:,} MB, {size / WHOLE:.2f} processors':40}{healthy:12.2f}{answered:14.2f}"
        )
    return "\n".join(lines)


async def _table(endpoint: str) -> str:
    store = await new_table(endpoint, time.time, with_ttl=True)
    await store.aclose()
    return store.table


def sizes(rounds: int) -> str:
    """The table as text."""
    with tempfile.TemporaryDirectory(prefix="kefu-bench-") as folder:
        return measured(Path(folder), rounds)
