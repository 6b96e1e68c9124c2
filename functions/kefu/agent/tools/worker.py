"""The worker process that runs plain functions as tools: `python -m kefu.agent.tools.worker`.

Each line on standard input is a call, and each line on standard output a result, both in JSON. Each
call runs in a forked child, so a crash or a change of state does not affect the next call. The
worker itself only waits. When the worker's parent ends, standard input closes, and the worker kills
the call and exits.
"""

from __future__ import annotations

import importlib
import json
import os
import select
import signal
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from kefu.agent.tools.processes import MAX_RESULT_CHARS
from kefu.errors import ToolFailed

_STDIN, _STDOUT = 0, 1

WorkerReply = dict[str, str]
"""An object with one key.

`text`: the result. `failed`: an error message for the model. `error`: the name of an exception.
`ended`: the signal or exit code of a child that ended without a result."""


def serve() -> None:
    """Serves calls until standard input closes. The worker must lead its process group."""
    replies = os.dup(_STDOUT)
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, _STDOUT)  # a tool may print, and its output must not mix with replies
    for line in iter(sys.stdin.buffer.readline, b""):
        call = json.loads(line)
        try:
            function = imported(call["function"])
        except Exception as error:  # noqa: BLE001 - a tool's module may be foreign code
            reply = _as_json({"error": type(error).__name__})
        else:
            folders = {name: Path(path) for name, path in call["folders"].items()}
            reply = _forked(function, {**call["arguments"], **folders}, nowhere)
        _write(replies, reply + b"\n")


def imported(name: str) -> Callable[..., object]:
    """Imports the function `module:name`."""
    module, _, attribute = name.partition(":")
    function: Callable[..., object] = getattr(importlib.import_module(module), attribute)
    return function


def _forked(
    function: Callable[..., object], arguments: Mapping[str, object], nowhere: int
) -> bytes:
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.dup2(nowhere, _STDIN)  # a tool must not read the following calls
            _write(writing, _as_json(_result(function, arguments)))
        finally:
            os._exit(0)  # skips exit handlers, so that no buffer of the parent is flushed twice
    os.close(writing)
    reply = _read(reading)
    os.close(reading)
    _, status = os.waitpid(child, 0)
    return reply or _as_json({"ended": _how_ended(os.waitstatus_to_exitcode(status))})


def _read(reading: int) -> bytes:
    """Reads the child's reply. Kills this process group if standard input closes meanwhile."""
    reply = bytearray()
    while True:
        ready, _, _ = select.select([_STDIN, reading], [], [])
        if reading not in ready:
            # The parent sends no call before the last result, so standard input has closed.
            os.killpg(0, signal.SIGKILL)
        part = os.read(reading, 65536)
        if not part:
            return bytes(reply)
        reply += part


def _result(function: Callable[..., object], arguments: Mapping[str, object]) -> WorkerReply:
    try:
        text = function(**arguments)
        if not isinstance(text, str):
            raise TypeError("the result of a tool is a text")
    except ToolFailed as failed:
        return {"failed": str(failed)}
    except BaseException as error:  # noqa: BLE001 - a tool may be foreign code
        return {"error": type(error).__name__}
    if len(text) > MAX_RESULT_CHARS:
        return {"failed": f"the result is longer than {MAX_RESULT_CHARS} characters"}
    return {"text": text}


def _as_json(reply: WorkerReply) -> bytes:
    return json.dumps(reply).encode()


def _write(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]


def _how_ended(code: int) -> str:
    return f"by {signal.Signals(-code).name}" if code < 0 else f"with exit code {code}"


if __name__ == "__main__":
    serve()
