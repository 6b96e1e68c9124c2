"""Ends an asyncio server without a socket that stays open."""

from __future__ import annotations

import asyncio


async def stop_accepting(server: asyncio.Server) -> None:
    """Close a server. Every socket that it has accepted has its transport after this.

    asyncio closes no socket that it accepted just before its server was closed, and a socket that
    nobody has closed fails a later test of the same process.
    """
    loop = asyncio.get_running_loop()
    for listening in server.sockets:
        loop.remove_reader(listening.fileno())
    await turns()
    server.close()


async def turns() -> None:
    """What is due now is done, and what it leads to at once."""
    for _ in range(5):
        await asyncio.sleep(0)
