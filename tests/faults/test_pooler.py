"""PgBouncer between a server and PostgreSQL (scale E2)."""

from __future__ import annotations

import getpass
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kefu.errors import StoreUnavailable
from kefu.stores.postgresql.store import PostgresStore
from tests.parts.plugin import free_port
from tests.parts.postgresql import Postgres, until_ready

Pooler = Callable[[str], str]


@pytest.fixture
def pooler(postgresql: Postgres, tmp_path: Path) -> Iterator[Pooler]:
    """Starts a PgBouncer in a mode, and returns the address of a database behind it."""
    program = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")
    if program is None:
        pytest.skip("PgBouncer is not installed. Try: make parts")
    started = list[subprocess.Popen[bytes]]()

    def start(mode: str) -> str:
        port, file = free_port(), tmp_path / "pgbouncer.ini"
        settings = {
            "listen_addr": "127.0.0.1",
            "listen_port": port,
            "unix_socket_dir": "",
            "auth_type": "any",
            "pool_mode": mode,
            "min_pool_size": 4,
        }
        if getpass.getuser() == "root":  # which PgBouncer refuses to run as
            settings["user"] = "postgres"
        lines = "".join(f"{name} = {value}\n" for name, value in settings.items())
        place = f"host=127.0.0.1 port={postgresql.port} dbname=postgres user=postgres"
        file.write_text(f"[databases]\nkefu = {place}\n[pgbouncer]\n{lines}")
        started.append(subprocess.Popen([program, "-q", file]))
        return f"postgresql://postgres@127.0.0.1:{port}/kefu"

    yield start
    for one in started:
        one.terminate()
        one.wait(10)


async def test_e2_a_pooler_in_session_mode_serves(pooler: Pooler) -> None:
    """It refuses `options` in an address, so the time limits are set after the connection."""
    address = pooler("session")
    until_ready(address)
    store = PostgresStore(address, time.time)
    try:
        assert await store.cooldowns() == {}
    finally:
        await store.aclose()


async def test_e2_a_pooler_in_transaction_mode_is_named(pooler: Pooler) -> None:
    """A lock would stay with a process that another server gets, and notifications be lost."""
    address = pooler("transaction")
    until_ready(address)
    store = PostgresStore(address, time.time)
    try:
        with pytest.raises(StoreUnavailable, match="session mode"):
            await store.cooldowns()
    finally:
        await store.aclose()
