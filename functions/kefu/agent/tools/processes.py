"""Runs plain functions in another process, so that they can be killed at any time.

On the event loop, a function that computes or reads a file would block time-outs and Ctrl-C. A
thread cannot be killed, and a C function in it can hold the interpreter lock for minutes. The
kernel can always kill a process.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
from asyncio.subprocess import Process
from collections.abc import Mapping

from kefu.errors import ToolFailed
from kefu.upstream.child_environment import child_environment

MAX_RESULT_CHARS = 1_000_000
"""Maximum characters of a plain function's result. The loop cuts the result further."""
_MAX_REPLY_BYTES = 12 * MAX_RESULT_CHARS + 1024
"""Maximum bytes of a reply: JSON escapes a character in at most twelve bytes."""
_END_WITHIN = 1.0
"""Seconds to wait for killed processes. A process blocked on a network drive may take longer."""


class ToolProcesses:
    """A pool of processes. Concurrent calls use separate processes.

    A process is started when no idle one exists, and is kept for the next call.
    """

    def __init__(self) -> None:
        self._idle: list[Process] = []
        self._all: list[Process] = []

    async def run(
        self, function: str, arguments: Mapping[str, object], folders: Mapping[str, str]
    ) -> str:
        """Call the function `module:name` and return its result.

        `arguments` are passed as they are, `folders` as `Path`. Raises ToolFailed. Cancellation
        kills the process at once.
        """
        call = {"function": function, "arguments": arguments, "folders": folders}
        process = await self._free()
        try:
            reply = await _answer(process, json.dumps(call).encode() + b"\n")
        except BaseException:
            _kill(process)
            raise
        if not reply.endswith(b"\n"):
            _kill(process)
            raise ToolFailed("The tool's process was ended.")
        self._idle.append(process)
        return _text(json.loads(reply))

    async def _free(self) -> Process:
        while self._idle:
            process = self._idle.pop()
            if process.returncode is None:
                return process
        self._all = [process for process in self._all if process.returncode is None]
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-m", "kefu.agent.tools.worker"),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env=child_environment(),
            limit=_MAX_REPLY_BYTES,
            # A separate process group does not receive Ctrl-C. The chat handles the signal instead.
            start_new_session=True,
        )
        self._all.append(process)
        return process

    async def aclose(self) -> None:
        """Kill all processes and the calls in progress. A later call starts a new process."""
        ended, self._all, self._idle = self._all, [], []
        for process in ended:
            _kill(process)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_END_WITHIN):
                for process in ended:
                    await process.wait()


async def _answer(process: Process, call: bytes) -> bytes:
    """The reply as one line. The line has no line feed at its end if the process has ended."""
    assert process.stdin
    assert process.stdout
    with contextlib.suppress(OSError):
        process.stdin.write(call)
        await process.stdin.drain()
    return await process.stdout.readline()


def _text(reply: Mapping[str, str]) -> str:
    match reply:
        case {"text": text}:
            return text
        case {"failed": sentence}:
            raise ToolFailed(sentence)
        case {"error": name}:
            raise ToolFailed(f"The tool failed: {name}.")
        case _:
            raise ToolFailed(f"The tool's process ended {reply['ended']}.")


def _kill(process: Process) -> None:
    """Kill the process group: the process and all processes that the tool started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
