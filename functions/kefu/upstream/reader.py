"""Reads foreign bytes in a child process, with limits of processor time, time and memory.

A page of a few kilobytes can keep a parser busy for hours, fill the memory or crash a library in C.
A crash ends the child process alone, and becomes one line of the report.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Sequence
from threading import Timer
from typing import Any

from kefu.knowledge.extract.files import Unreadable
from kefu.knowledge.extract.html import Html
from kefu.knowledge.pages import Block, PageText
from kefu.upstream.child_environment import child_environment

CPU_SECONDS = 20
"""Maximum seconds of the processor for one page."""

PAGE_SECONDS = 60.0
"""Maximum seconds for one page, on a busy machine."""

MEMORY_BYTES = 1 << 30
"""Bytes of address space, Python and the parsers included. Only Linux enforces the limit."""

LARGEST_REPLY = 64 << 20
"""Bytes of the text of one page, with its links."""


class PageReader:
    """At most one child process, started for the first page and again after a failure.

    The methods block, and raise Unreadable with the reason for the report.
    """

    def __init__(
        self,
        cpu_seconds: int = CPU_SECONDS,
        seconds: float = PAGE_SECONDS,
        memory: int = MEMORY_BYTES,
    ) -> None:
        self._cpu_seconds = cpu_seconds
        self._seconds = seconds
        self._memory = memory
        self._process: subprocess.Popen[bytes] | None = None

    def close(self) -> None:
        """Kill the process. The next call starts another process."""
        if self._process:
            self._process.kill()
            self._process.communicate()
            self._process = None

    def page(self, data: bytes, end: str, url: str, *, charset: str = "") -> tuple[Html, str]:
        """Read a page or a file. `end`: the end of the file's name, such as `.html`. `charset`: the
        character set in the HTTP header. The second part of the result is a remark for the report.
        """
        reply, remark = self._ask("page", data, end=end, url=url, charset=charset)
        read = Html(*reply)
        links, translations = tuple(read.links), tuple(read.translations)
        page = _page(read.page)
        return read._replace(page=page, links=links, translations=translations), str(remark)

    def feed(
        self, data: bytes, end: str, url: str, *, charset: str = ""
    ) -> tuple[list[PageText], str]:
        """The items of a feed, each as a page, and a remark: see `read_feed`."""
        pages, remark = self._ask("feed", data, end=end, url=url, charset=charset)
        return [_page(one) for one in pages], str(remark)

    def rules(self, robots: bytes, agent: str) -> tuple[float, list[str]]:
        """The seconds between two requests, 0 if robots.txt has no delay; and the sitemaps."""
        delay, sitemaps = self._ask("rules", robots, agent=agent)
        return delay, sitemaps

    def allows(self, robots: bytes, agent: str, url: str) -> bool:
        """Whether robots.txt allows an address."""
        return bool(self._ask("allows", robots, agent=agent, url=url))

    def sitemap(self, data: bytes) -> tuple[bool, list[list[str]]]:
        """Whether the addresses are those of other sitemaps, and entries: see `read_sitemap`."""
        is_index, entries = self._ask("sitemap", data)
        return is_index, entries

    def _ask(self, function: str, data: bytes, **arguments: object) -> Any:
        process = self._process = self._process or self._started()
        call = {"function": function, "size": len(data), "arguments": arguments}
        timer = Timer(self._seconds, process.kill)
        timer.start()
        try:
            line = _reply(process, json.dumps(call).encode() + b"\n" + data)
            if not line.endswith(b"\n"):
                raise Unreadable(self._how_ended(process, len(line)))
        except BaseException:
            self.close()
            raise
        finally:
            timer.cancel()
        kind, result = json.loads(line)
        if kind == "memory":
            self.close()  # a new process has all of the memory again
        if kind != "result":
            raise Unreadable(result)
        return result

    def _started(self) -> subprocess.Popen[bytes]:
        limits = (str(self._cpu_seconds), str(self._memory))
        return subprocess.Popen(  # noqa: S603 - constant arguments
            (sys.executable, "-P", "-m", "kefu.upstream.reader_process", *limits),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=child_environment(),
        )

    def _how_ended(self, process: subprocess.Popen[bytes], size: int) -> str:
        if size >= LARGEST_REPLY:
            return f"has more than {LARGEST_REPLY >> 20} MB of text"
        code = process.wait()
        if code == -signal.SIGXCPU:
            return f"cannot be read in {self._cpu_seconds} s"
        if code == -signal.SIGKILL:
            return f"cannot be read in {self._seconds:g} s, or in the memory of this machine"
        ended = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        return f"cannot be read: its parser ended with {ended}"


def _page(fields: Sequence[Any]) -> PageText:
    page = PageText(*fields)
    return page._replace(blocks=[Block(*one) for one in page.blocks])


def _reply(process: subprocess.Popen[bytes], call: bytes) -> bytes:
    """The reply as one line. The line has no line feed at its end if the process has ended."""
    assert process.stdin
    assert process.stdout
    try:
        process.stdin.write(call)
        process.stdin.flush()
    except BrokenPipeError:
        return b""
    return process.stdout.readline(LARGEST_REPLY)
