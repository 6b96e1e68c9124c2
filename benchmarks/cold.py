"""Cold starts: the time from the start of the Lambda package's process to its first answer.

The peer follows AWS's sample for streaming from FastAPI: all imports at module level, packaged as
by `sam build`, without bytecode. Neither can write bytecode, because /var/task is read-only.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from http.client import HTTPException
from pathlib import Path
from urllib.request import urlopen

from benchmarks.knowledge import site
from benchmarks.processes import ROOT, free_port
from benchmarks.relay import Row
from build import PYTHON, find_python
from kefu.knowledge.learning import Learnt
from kefu.stores.sqlite.knowledge.write import Run, write

PEER = "sample"

SAMPLE = """\
import json

import boto3
from fastapi import FastAPI
from fastapi.responses import StreamingResponse
from openai import AsyncOpenAI
from pydantic import BaseModel

app = FastAPI()
table = boto3.resource("dynamodb").Table("sessions")
client = AsyncOpenAI()


class Question(BaseModel):
    message: str


@app.get("/health")
def health() -> dict[str, str]:
    return {"status": "ok"}


@app.post("/api/chat")
async def chat(question: Question) -> StreamingResponse:
    async def events():
        asked = [{"role": "user", "content": question.message}]
        stream = await client.chat.completions.create(model="m", messages=asked, stream=True)
        async for chunk in stream:
            yield f"data: {json.dumps(chunk.model_dump())}\\n\\n"

    return StreamingResponse(events(), media_type="text/event-stream")
"""

SAMPLE_RUN = 'exec python3 -m uvicorn --port "$AWS_LWA_PORT" app:app\n'

FIRST_EVENT = """
import json, sys
from kefu.lambda_handler import handler
assert handler(json.load(sys.stdin), None)["statusCode"] == 200
"""

ENVIRONMENT = {
    "PYTHONDONTWRITEBYTECODE": "1",
    "AWS_LAMBDA_FUNCTION_NAME": "kefu",
    "AWS_ACCESS_KEY_ID": "local",
    "AWS_SECRET_ACCESS_KEY": "local",
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_EC2_METADATA_DISABLED": "true",
    "LONGCAT_API_KEYS": "sk-bench",
    "OPENAI_API_KEY": "sk-bench",
}
# Nobody serves this object: this measures the client of S3 during the start.
IN_S3 = {"KEFU_KNOWLEDGE": "s3://kefu/site.kefu", "AWS_ENDPOINT_URL_S3": "http://127.0.0.1:9"}
# No table exists at this address: this measures the import of boto3 during the start.
DYNAMODB = {
    "KEFU_STORE": "dynamodb://kefu",
    "AWS_ENDPOINT_URL_DYNAMODB": "http://127.0.0.1:9",
}


@dataclass(frozen=True)
class Starter:
    name: str
    folder: Path
    environment: Mapping[str, str] = field(default_factory=dict)


class NoPython(Exception):
    """The Python version of Lambda is not installed."""


def cold_starts(folder: Path, rounds: int) -> dict[str, Row]:
    """Build the packages in `folder` and start the contenders in turn. Raises NoPython."""
    python = find_python()
    if python is None:
        raise NoPython(f"cold: needs Python {PYTHON}, as Lambda has it")
    sample, compiled, kefu = folder / "sample", folder / "compiled", folder / "kefu"
    make_sample(sample, python)
    shutil.copytree(sample, compiled)
    subprocess.run([python, "-m", "compileall", "-q", compiled], check=True)
    make_package(kefu)
    starters = (
        Starter(PEER, sample),
        Starter("sample, compiled", compiled),
        Starter("kefu", kefu),
        Starter("kefu, DynamoDB", kefu, DYNAMODB),
        Starter("kefu, learnt pages", kefu, {"KEFU_KNOWLEDGE": str(make_pages(folder))}),
        Starter("kefu, DynamoDB, pages in S3", kefu, DYNAMODB | IN_S3),
    )
    rows: dict[str, Row] = {
        starter.name: {"cold_ms": [], "cold_cpu_ms": []} for starter in starters
    }
    rows["kefu"]["event_ms"] = []
    for starter in starters:
        start_ms(starter, python)  # so that the files are in the disk's cache
    for _ in range(rounds):
        for starter in starters:
            waited, worked = start_ms(starter, python)
            rows[starter.name]["cold_ms"].append(waited)
            rows[starter.name]["cold_cpu_ms"].append(worked)
        rows["kefu"]["event_ms"].append(first_event_ms(kefu, python))
    return rows


def make_pages(folder: Path) -> Path:
    """A file of learnt pages of 3 MB."""
    path = folder / "site.kefu"
    pages = [Learnt(page, {}) for page in site(600, "en").pages]
    write(path, Run(pages, [], 0.0))
    return path


def make_sample(folder: Path, python: str) -> None:
    uv = Path(sys.executable).with_name("uv")
    pins = ROOT / "requirements/clients.txt"
    command: list[Path | str] = [uv, "pip", "install", "--quiet"]
    command += ["--python", python, "--target", folder]
    command += ["--constraint", pins, "boto3", "fastapi", "openai", "uvicorn"]
    subprocess.run(command, check=True)
    (folder / "app.py").write_text(SAMPLE)
    (folder / "run.sh").write_text(SAMPLE_RUN)


def make_package(folder: Path) -> None:
    """Build the same package as `sam build`, for this machine's processor."""
    arch = "arm64" if platform.machine() in ("arm64", "aarch64") else "x86_64"
    build = ROOT / "functions/build.py"
    subprocess.run(
        [sys.executable, build, folder, "--arch", arch], check=True, stdout=subprocess.DEVNULL
    )


def start_ms(starter: Starter, python: str) -> tuple[float, float]:
    """From the start of the process to an answer of /health: waited, and worked (Linux).

    With other work on the machine the first is longer.
    """
    port = free_port()
    began = time.perf_counter()
    process = subprocess.Popen(
        ["/bin/sh", "run.sh"],
        cwd=starter.folder,
        env={**environment_of(python), "AWS_LWA_PORT": str(port), **starter.environment},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_until_healthy(port, process)
        waited = time.perf_counter() - began
        clock = ~process.pid << 3 | 2  # the clock id as in clock_getcpuclockid(3)
        return 1000 * waited, 1000 * time.clock_gettime(clock)
    finally:
        process.kill()
        process.wait()


def wait_until_healthy(port: int, process: subprocess.Popen[bytes]) -> None:
    while process.poll() is None:
        with suppress(OSError, HTTPException):
            with urlopen(f"http://127.0.0.1:{port}/health", timeout=5) as answer:
                assert answer.status == 200
            return
        time.sleep(0.002)
    raise RuntimeError(f"ended by itself: {process.args!r}")


def first_event_ms(folder: Path, python: str) -> float:
    """Milliseconds from the start of the process to the handler's response to an event."""
    event = (ROOT / "events/rest-health.json").read_bytes()
    began = time.perf_counter()
    subprocess.run(
        [python, "-c", FIRST_EVENT],
        cwd=folder,
        env=environment_of(python),
        input=event,
        check=True,
        capture_output=True,
    )
    return 1000 * (time.perf_counter() - began)


def environment_of(python: str) -> dict[str, str]:
    return {**ENVIRONMENT, "PATH": f"{Path(python).parent}:{os.defpath}"}
