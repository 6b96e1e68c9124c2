"""Starts PostgreSQL's server for tests, and makes empty databases in it."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import psycopg

SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "fsync": "off",
    "full_page_writes": "off",
    "max_connections": "300",
    "shared_buffers": "64MB",
    "autovacuum_naptime": "10min",
}
"""For tests: a killed server process loses nothing without fsync, only a machine would."""


def programs() -> Path | None:
    """The folder of PostgreSQL's programs; Debian's package does not put them on the PATH."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    named = shutil.which("initdb")
    return found[-1].parent if found else Path(named).parent if named else None


class Postgres(NamedTuple):
    """A server in a folder of its own."""

    bin: Path
    folder: Path
    port: int

    @property
    def url(self) -> str:
        return f"postgresql://postgres@127.0.0.1:{self.port}/postgres"

    def init(self) -> None:
        self.folder.chmod(0o755)
        if _is_root():
            shutil.chown(self.folder, "postgres")
        self._run("initdb", "--auth=trust", "--username=postgres", "--no-sync", "-E", "UTF8")
        lines = [f"{name} = {value!r}\n" for name, value in SETTINGS.items()]
        with (self.folder / "data/postgresql.conf").open("a") as file:
            file.writelines(
                [
                    *lines,
                    f"port = {self.port}\n",
                    f"unix_socket_directories = {str(self.folder)!r}\n",
                ]
            )

    def start(self) -> None:
        self._run("pg_ctl", "start", "-w", "-l", str(self.folder / "log"))

    def stop(self, mode: str = "immediate") -> None:
        """`immediate`: as after a crash."""
        self._run("pg_ctl", "stop", "-m", mode)

    @contextmanager
    def running(self) -> Iterator[Postgres]:
        """Make new data, and start and stop the server."""
        self.init()
        self.start()
        try:
            yield self
        finally:
            self.stop()

    def new_schema(self) -> str:
        """The address of a new, empty schema, which separates the tests as a database would.

        Its name is also that of the application, by which a test finds its connections.
        """
        name = f"kefu_{uuid.uuid4().hex}"
        with psycopg.connect(self.url, autocommit=True) as db:
            db.execute(f"CREATE SCHEMA {name}".encode())
        return f"{self.url}?options=-csearch_path%3D{name}&application_name={name}"

    def _run(self, program: str, *arguments: str) -> None:
        command: Sequence[str] = [
            str(self.bin / program),
            "-D",
            str(self.folder / "data"),
            *arguments,
        ]
        if _is_root():  # the server refuses to run as root
            command = ["runuser", "-u", "postgres", "--", *command]
        done = subprocess.run(
            command,
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr


def _is_root() -> bool:
    return os.getuid() == 0


def until_ready(url: str, seconds: float = 20.0) -> None:
    """Wait until the server answers."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            psycopg.connect(url, connect_timeout=2).close()
        except psycopg.OperationalError:
            assert time.monotonic() < deadline, "PostgreSQL does not answer"
            time.sleep(0.1)
        else:
            return
