"""The client of MCP's official SDK at `POST /mcp`. Prints what it has read, as JSON.

Arguments: the address, and `auto` (the newest revision) or `legacy` (the handshake).
"""

from __future__ import annotations

import asyncio
import json
import sys

# It is installed in an environment of its own (requirements/clients.txt), which mypy does not
# check.
from mcp import Client, MCPError  # type: ignore[import-not-found]


async def main(url: str, mode: str) -> None:
    async with Client(url, mode=mode) as client:
        tools = (await client.list_tools()).tools
        found = await client.call_tool(
            "search_pages", {"query": "How long does it take to Norway?"}
        )
        page = found.structured_content["passages"][0]["page"]
        read = await client.call_tool("read_page", {"page": page})
        wrong = await client.call_tool("read_page", {"page": "nowhere"})
        try:
            await client.call_tool("delete_all", {})
            unknown = 0
        except MCPError as error:
            unknown = error.error.code
        seen = {
            "version": client.protocol_version,
            "reads": {tool.name: tool.annotations.read_only_hint for tool in tools},
            "text": read.structured_content["text"],
            "wrong": wrong.is_error,
            "unknown": unknown,
        }
        print(json.dumps(seen))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
