"""Every command of the docs runs as it is printed, or needs something that no test has."""

from __future__ import annotations

import asyncio
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.fakes.asking import ask
from tests.fakes.behaviours import answer
from tests.fakes.service import Service
from tests.fakes.upstream import ScriptedUpstream
from tests.unit.docs.pages import GUIDES, ROOT, blocks, name_of

NEEDS: Mapping[str, str] = {
    "an AWS account": r"\baws |\bsam |--stack\b|\$URL",
    "a package registry": r"\bpip install|\bpip wheel|\buvx |\bgit pull|\bnpm ",
    "a server": r"\bsystemctl|\bjournalctl|\buseradd|\bdocker |\bkubectl |\bhelm |@db\.|/opt/kefu"
    "|/var/lib/kefu &&",
    "a site with HTTPS": r"https://(?:chat|www)\.example\.com(?!/docs/)|\bcertbot",
}
"""What a command needs, and how it is recognised. All other commands run."""

MAKE = re.compile(r"\bmake ([a-z]+)")

SETTINGS = """
[presets.sales]
temperature = 0.2

[presets.a]
[presets.b]

[server]
store = "sqlite:///kefu.sqlite3"
"""
OPENAPI = """
openapi: "3.1.0"
info: {title: Shop, version: "1"}
servers: [{url: https://api.shop.example}]
paths:
  /orders/{id}:
    get:
      operationId: getOrder
      summary: State of an order
      parameters: [{name: id, in: path, required: true, schema: {type: string}}]
      responses: {"200": {description: The order}}
"""
QUESTIONS = "cases:\n  - ask: Hello\n    expect: {contains: Hello}\n"


class Printed(NamedTuple):
    page: str
    block: int
    commands: tuple[str, ...]


def commands_of(block: str) -> Iterator[str]:
    """The commands of a block; one may have several lines."""
    lines: list[str] = []
    for line in block.splitlines():
        lines.append(line)
        text = "\n".join(lines)
        try:
            whole = not line.endswith("\\") and shlex.split(text, comments=True)
        except ValueError:  # a quotation that goes on
            continue
        if whole:
            yield text
        if whole is not False:
            lines = []


def printed() -> list[Printed]:
    return [
        Printed(name_of(page), number, tuple(commands_of(block)))
        for page in GUIDES
        if "zh" not in page.parts and not page.name.endswith("zh-CN.md")  # compared with these
        for number, block in enumerate(blocks(page, "sh"))
    ]


def needed_by(command: str) -> str:
    return next((what for what, sign in NEEDS.items() if re.search(sign, command)), "")


def run(command: str, folder: Path, environment: Mapping[str, str]) -> None:
    ran = subprocess.run(
        ["bash", "-o", "pipefail", "-ec", command],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ran.returncode == 0, f"{command}\n{ran.stdout}\n{ran.stderr}"


def serve(command: str, folder: Path, environment: Mapping[str, str]) -> None:
    """Run a command that ends only on a signal, until it says that it is ready."""
    with subprocess.Popen(
        ["bash", "-ec", f"{command} --port 0"],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        assert process.stdout
        try:
            assert any(line.startswith("Kefu is ready: ") for line in process.stdout)
        finally:
            os.killpg(process.pid, 15)


def latest_session(folder: Path) -> str:
    """The last four characters of its id, as the docs write one."""
    logs = sorted((folder / "history").glob("*.jsonl"))
    return logs[-1].stem[-4:] if logs else "9K2A"


@pytest.fixture(scope="module")
def upstream() -> Iterator[ScriptedUpstream]:
    """A model that greets, and that finds every answer good as a judge."""
    with ScriptedUpstream() as running:
        running.script("*", answer('{"pass": true}'), asking="<rubric>")
        yield running


@pytest.fixture(scope="module")
def service(upstream: ScriptedUpstream) -> Iterator[Service]:
    with Service(upstream.base_url) as running:
        yield running


@pytest.fixture
def environment(upstream: ScriptedUpstream, home: Path) -> dict[str, str]:
    programs = Path(sys.executable).parent
    return {
        "HOME": str(home),
        "PATH": f"{programs}:{os.environ['PATH']}",
        "KEFU_UPSTREAM_URL": upstream.base_url,
        "KEFU_API_KEYS": "key-one",
    }


@pytest.fixture
def folder(tmp_path: Path, environment: dict[str, str], request: pytest.FixtureRequest) -> Path:
    """A folder with everything that the commands of a page name."""
    (tmp_path / "kefu.toml").write_text(SETTINGS)
    (tmp_path / "questions.yaml").write_text(QUESTIONS)
    (tmp_path / "questions.txt").write_text("When are your opening hours?\nTwo?\nThree?\n")
    (tmp_path / "functions").symlink_to(ROOT / "functions")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/help.md").write_text("# Opening hours\n\nWe are open from 9 to 17.\n")
    shown: Printed = request.node.callspec.params["shown"]
    text = "\n".join(shown.commands)
    if "find" in text or "gaps" in text:
        run("kefu learn docs/", tmp_path, environment)
    for _ in range(2 if "9K2A" in text else 0):
        run("kefu chat --json < questions.txt", tmp_path, environment)
    if "gaps" in text or "erase" in text or "kefu answers" in text:
        with Service(
            environment["KEFU_UPSTREAM_URL"], store=f"sqlite:///{tmp_path}/kefu.sqlite3"
        ) as running:
            asked = asyncio.run(ask(running.url, {"message": "When are you open?"}))
            assert asked.complete
    if "kefu tools" in text:
        environment["PYTHONPATH"] = str(ROOT)
        (tmp_path / "kefu.toml").write_text((ROOT / "sample/kefu.toml").read_text("utf-8"))
        (tmp_path / "shop.yaml").write_text(OPENAPI)
    if "git " in text:
        run("git init --quiet", tmp_path, environment)
    if "/var/backups" in text:
        run("python3 -c \"import sqlite3; sqlite3.connect('kefu.sqlite3')\"", tmp_path, environment)
    return tmp_path


@pytest.mark.parametrize("shown", printed(), ids=lambda one: f"{one.page}-{one.block}")
@pytest.mark.slow
def test_every_command_runs_as_it_is_printed(
    shown: Printed, folder: Path, environment: dict[str, str], service: Service
) -> None:
    for command in shown.commands:
        if needed_by(command):
            continue
        if MAKE.search(command):
            target = MAKE.search(command)
            assert target
            run(f"make --dry-run {target[1]}", ROOT, environment)
            continue
        here = command.replace("http://127.0.0.1:8000", service.url)
        here = here.replace("9K2A", latest_session(folder))
        here = here.replace("/var/lib/kefu/", "").replace("/var/backups/", "backup-")
        if here.startswith(("kefu init", ".venv/bin/kefu init")):
            (folder / "new").mkdir()
            run(f"cd new && {here.removeprefix('.venv/bin/')}", folder, environment)
        elif "kefu serve" in here:
            serve(here, folder, environment)
        else:
            run(here, folder, environment)


def test_a_backup_of_a_database_that_is_not_there_fails(tmp_path: Path) -> None:
    """An empty copy every night would look like a backup."""
    [text] = (one for shown in printed() for one in shown.commands if "/var/backups" in one)
    here = text.replace("/var/lib/kefu/", "").replace("/var/backups/", "backup-")
    ran = subprocess.run(["/bin/sh", "-c", here], cwd=tmp_path, capture_output=True, check=False)
    assert b"unable to open database file" in ran.stderr
    assert not list(tmp_path.iterdir())


PROMPTED = re.compile(r"^(?:\$ )?(?:kefu|aws|sam|make|curl|pip|git|docker|[A-Z_]+=\S+ \w)")


@pytest.mark.parametrize("page", GUIDES, ids=name_of)
def test_a_command_is_in_a_block_that_runs(page: Path) -> None:
    """A block `sh` runs here. A block `text` may show a command with its output."""
    first = [block.strip().split("\n")[0] for block in blocks(page, "", "bash", "console", "shell")]
    assert [line for line in first if PROMPTED.match(line)] == []


def test_most_blocks_with_kefu_run_here() -> None:
    """The signs of `NEEDS` do not hide what could run."""
    commands = [command for shown in printed() for command in shown.commands]
    of_kefu = [command for command in commands if "kefu " in command]
    assert len(commands) > 80
    assert sum(not needed_by(command) for command in of_kefu) > 25
