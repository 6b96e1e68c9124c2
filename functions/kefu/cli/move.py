"""`kefu move`: copies the store of the settings into another database."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kefu.bootstrap.clock import SystemClock
from kefu.bootstrap.stores import choose_store
from kefu.settings import ConfigurationError, Settings, load
from kefu.terminal.flags import WrongUse, read_settings
from kefu.terminal.progress import ProgressLine

if TYPE_CHECKING:
    from kefu.stores.sql.moving import Difference

SQL = ("sqlite:", "postgresql:")


def run(options: argparse.Namespace) -> int:
    """Copy the store, and compare both. Returns the exit code.

    Raises WrongUse, StoreUnavailable.
    """
    source = read_settings()
    try:
        target = load({"KEFU_STORE": options.target})
    except ConfigurationError as error:
        raise WrongUse(str(error)) from None
    for one in (source, target):
        if not one.store.startswith(SQL):
            raise WrongUse(f"{one.store} is neither sqlite:///FILE nor postgresql://…")
    if source.store == target.store:
        raise WrongUse("the target is the store of the settings")
    progress = ProgressLine()
    try:
        differences = asyncio.run(_move(source, target, progress))
    finally:
        progress.erase()
    for found in differences:
        rows = f"{found.source.rows} rows here, {found.target.rows} there"
        sys.stdout.write(f"{found.table} differs: {rows}\n")
    if differences:
        return 1
    sys.stdout.write("All rows are there. Set KEFU_STORE to the new address, and start Kefu.\n")
    return 0


async def _move(source: Settings, target: Settings, progress: ProgressLine) -> Sequence[Difference]:
    from kefu.stores.sql.moving import move
    from kefu.stores.sql.store import SqlStore

    clock = SystemClock()
    stores = [choose_store(one, clock) for one in (source, target)]
    try:
        here, there = [one.database for one in stores if isinstance(one, SqlStore)]
        return await move(here, there, lambda table, rows: progress.show(f"{table}: {rows} rows …"))
    finally:
        for one in stores:
            await one.aclose()
