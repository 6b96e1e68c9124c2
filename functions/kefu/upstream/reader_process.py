"""The child process that reads foreign bytes: `python -m kefu.upstream.reader_process CPU MEMORY`.

A call on standard input is a line of JSON and the bytes, and the reply on standard output is a line
of JSON. The process ends when standard input closes, and at the limit of one call.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress

from kefu.knowledge.extract.feed import read_feed
from kefu.knowledge.extract.files import Unreadable, read_file
from kefu.upstream.crawl.site_files import allows, read_rules, read_sitemap

_FUNCTIONS: Mapping[str, Callable[..., object]] = {
    "allows": allows,
    "feed": read_feed,
    "page": read_file,
    "rules": read_rules,
    "sitemap": read_sitemap,
}


_LONGEST_REASON = 200
"""Characters. The messages of some parsers quote the file."""


def serve(cpu_seconds: int, memory: int) -> None:
    """Serve calls until standard input closes."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C ends a parser in C, too
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what a library prints must not mix with replies
    with suppress(OSError, ValueError):  # macOS has no limit of the address space
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    for line in iter(sys.stdin.buffer.readline, b""):
        call = json.loads(line)
        data = sys.stdin.buffer.read(call["size"])
        _limit(cpu_seconds)
        replies.write(_reply(call["function"], data, call["arguments"]) + b"\n")
        replies.flush()


def _limit(cpu_seconds: int) -> None:
    """Let the process use these seconds more. After these seconds the kernel sends SIGXCPU."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    until = int(used.ru_utime + used.ru_stime) + 1 + cpu_seconds
    resource.setrlimit(resource.RLIMIT_CPU, (until, resource.RLIM_INFINITY))


def _reply(function: str, data: bytes, arguments: Mapping[str, object]) -> bytes:
    try:
        return json.dumps(("result", _FUNCTIONS[function](data, **arguments))).encode()
    except Unreadable as error:
        return json.dumps(("unreadable", str(error))).encode()
    except MemoryError:
        return b'["memory", "cannot be read: it needs too much memory"]'
    except Exception as error:  # noqa: BLE001 - parsers raise many kinds for damaged bytes
        reason = f"cannot be read ({type(error).__name__}: {error})"
        return json.dumps(("unreadable", reason[:_LONGEST_REASON])).encode()


if __name__ == "__main__":
    serve(int(sys.argv[1]), int(sys.argv[2]))
