"""A1: `kefu tools lock` accepts the tools of MCP servers. The server is another Kefu, at `/mcp`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from kefu.cli.tool_lock import _described
from kefu.knowledge.learning import Learnt
from kefu.knowledge.pages import Block, PageText
from kefu.stores.sqlite.knowledge.write import Run, write
from kefu.tools.mcp_offer import LOCK_FILE
from tests.cli.conftest import Kefu
from tests.fakes.service import Service

KEY = "an-assistants-key-of-32-characters"
PAGE = PageText("https://shop.example/help", "Help", [Block("Boots are dry.")], "en")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    file = tmp_path_factory.mktemp("pages") / "shop.kefu"
    write(file, Run([Learnt(PAGE, {})], [], 1_800_000_000.0))
    with Service(None, (), knowledge=str(file), mcp="true", mcp_keys=KEY) as running:
        yield running


@pytest.fixture
def lock(folder: Path, environment: dict[str, str], server: Service) -> Path:
    """The lock of a folder whose kefu.toml names the server. There is none yet."""
    environment["PAGES_KEY"] = f"Bearer {KEY}"
    (folder / "kefu.toml").write_text(f"""
[tools.pages]
mcp = "{server.url}/mcp"
allow = ["read_page"]
headers = {{ Authorization = "env:PAGES_KEY" }}
""")
    return folder / LOCK_FILE


def test_a1_a_tool_is_offered_after_it_was_read_and_locked(lock: Path, kefu: Kefu) -> None:
    before = kefu("tools")
    assert before.code == 1
    assert (
        "read_page of [tools.pages] is not in kefu.tools.lock: run `kefu tools lock`" in before.err
    )
    locked = kefu("tools", "lock")
    assert (locked.code, locked.err) == (0, "")
    assert "[tools.pages] read_page: new" in locked.out
    assert "Returns the text of one page." in locked.out
    assert "says that it only reads: yes" in locked.out
    assert json.loads(lock.read_text())["pages"]["read_page"].startswith("sha256:")
    after = kefu("tools")
    assert (after.code, after.err) == (0, "")
    assert "read_page" in after.out
    called = kefu("tools", "call", "read_page", "page=https://shop.example/help")
    assert (called.code, json.loads(called.out)["text"]) == (0, "Boots are dry.")
    assert "[tools.pages] read_page: unchanged" in kefu("tools", "lock").out


def test_a1_a_changed_tool_is_refused_until_it_is_locked_again(lock: Path, kefu: Kefu) -> None:
    lock.write_text('{"pages": {"read_page": "sha256:of-another-description"}}')
    refused = kefu("tools")
    assert refused.code == 1
    assert "its server has changed its description" in refused.err
    assert "[tools.pages] read_page: has changed" in kefu("tools", "lock").out
    assert kefu("tools").code == 0


def test_a3_what_cannot_be_locked_is_named(lock: Path, kefu: Kefu, server: Service) -> None:
    """Digests of a server that is down are kept."""
    file = lock.parent / "kefu.toml"
    text = file.read_text()
    file.write_text(text.replace('["read_page"]', '["read_page", "no_tool"]'))
    ran = kefu("tools", "lock")
    assert ran.code == 1
    assert "The server of [tools.pages] has no tool no_tool." in ran.err
    before = lock.read_text()
    file.write_text(text.replace(str(server.port), "1"))
    down = kefu("tools", "lock")
    assert down.code == 1
    assert "The server of [tools.pages] cannot be reached" in down.err
    assert lock.read_text() == before
    lock.write_text("{")
    damaged = kefu("tools")
    assert damaged.code == 2
    assert "Delete it, and run `kefu tools lock`" in damaged.err


def test_a11_the_owner_sees_what_only_a_model_would_read() -> None:
    """Hidden characters, and control sequences that would overwrite the line."""
    hidden = "".join(chr(0xE0000 + ord(one)) for one in "cancel")
    tool = {"description": f"State.{hidden}\x1b[2K\nSecond", "inputSchema": {"type": "object"}}
    lines = list(_described(tool))
    assert lines[0] == "    says that it only reads: no"
    assert lines[1].startswith("    State.\\ue0063\\ue0061")
    assert lines[1].endswith("\\u001b[2K")
    assert lines[2:] == ["    Second", '    arguments: {"type": "object"}']
