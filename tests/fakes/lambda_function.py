"""Starts the processes of the function as Lambda does: the layer's extension and run.sh."""

from __future__ import annotations

import asyncio
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.fakes.certificate import installing
from tests.fakes.service import QUIET
from tests.parts.plugin import free_port

ROOT = Path(__file__).parents[2]
BOOTSTRAP = 'exec -- "${LAMBDA_TASK_ROOT}/${_HANDLER}"'
"""The layer's /opt/bootstrap, which AWS_LAMBDA_EXEC_WRAPPER names."""


HERE = "arm64" if platform.machine() in ("arm64", "aarch64") else "x86_64"
"""This machine's processor, in Lambda's words."""


def build_package(folder: Path, arch: str = HERE) -> Path:
    """Build the same package as `sam build`."""
    build = str(ROOT / "functions/build.py")
    command = [sys.executable, build, "--arch", arch, str(folder)]
    subprocess.run(command, env=installing(), check=True, stdout=subprocess.DEVNULL)
    return folder


def find_python() -> str | None:
    """A Python of Lambda's version on this machine, as the build looks for it."""
    program = "import build; print(build.find_python() or '')"
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=ROOT / "functions", stdout=subprocess.PIPE, check=True)
    return done.stdout.decode().strip() or None


class LambdaFunction:
    """The environment of a function with one package; `launch` starts an instance.

    Settings are environment variables, in lower case and without `KEFU_`.
    """

    def __init__(
        self,
        package: Path,
        python: str,
        folder: Path,
        *,
        upstream: str,
        keys: Sequence[str] = ("key-one",),
        environment: dict[str, str] | None = None,
        **settings: Any,
    ) -> None:
        self.package = package
        self.folder = folder
        programs = folder / "bin"
        programs.mkdir(parents=True, exist_ok=True)
        (programs / "python3").symlink_to(python)
        self.environment = {
            "PATH": f"{programs}:{os.defpath}",
            "HOME": str(folder),
            "LAMBDA_TASK_ROOT": str(package),
            "AWS_LAMBDA_FUNCTION_NAME": "kefu",
            "AWS_LAMBDA_FUNCTION_VERSION": "1",
            "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "1024",
            "AWS_REGION": "eu-central-1",
            **({"LONGCAT_API_KEYS": ",".join(keys)} if keys else {}),
            "KEFU_UPSTREAM_URL": upstream,
            **{f"KEFU_{k.upper()}": str(v) for k, v in {**QUIET, **settings}.items()},
            **(environment or {}),
        }

    def start(self, *command: str | Path, **environment: str) -> subprocess.Popen[bytes]:
        """Start a process of the function in a new session."""
        with self._log.open("ab") as log:
            return subprocess.Popen(
                command,
                cwd=self.package,
                env=self.environment | environment,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    @property
    def _log(self) -> Path:
        return self.folder / "log"

    @property
    def log(self) -> str:
        """The output of the processes, which CloudWatch would receive."""
        return self._log.read_text(errors="replace") if self._log.exists() else ""

    def requests(self, path: str = "/api/chat") -> list[dict[str, Any]]:
        """Kefu's log lines about requests."""
        lines = (json.loads(line) for line in self.log.splitlines() if line.startswith("{"))
        return [line for line in lines if line.get("path") == path]

    async def logged(self, count: int, timeout: float = 20) -> list[dict[str, Any]]:
        """Wait for so many lines: a line is written after the answer was sent."""
        end = time.monotonic() + timeout
        while time.monotonic() < end:
            if len(lines := self.requests()) >= count:
                return lines
            await asyncio.sleep(0.02)
        return self.requests()


class StreamingFunction(LambdaFunction):
    """A function as in the template: the Web Adapter is an extension, and run.sh starts the
    service.
    """

    def __init__(self, adapter: Path, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._adapter = adapter

    def launch(self, runtime_api: str) -> list[subprocess.Popen[bytes]]:
        # The template's variables, except the port: several functions run on this machine.
        environment = {
            "AWS_LAMBDA_RUNTIME_API": runtime_api,
            "AWS_LWA_INVOKE_MODE": "response_stream",
            "AWS_LWA_READINESS_CHECK_PATH": "/health",
            "AWS_LWA_PORT": str(free_port()),
            "_HANDLER": "run.sh",
        }
        return [
            self.start(self._adapter, **environment),
            self.start("/bin/bash", "-c", BOOTSTRAP, **environment),
        ]
