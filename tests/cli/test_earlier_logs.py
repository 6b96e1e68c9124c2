"""Session logs of an earlier version: `kefu sessions` shows the same, and `kefu chat` goes on."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.cli.conftest import Kefu
from tests.fakes.behaviours import answer
from tests.fakes.upstream import ScriptedUpstream
from tests.fixtures.earlier import FOLDER, VERSIONS, copy_file

HISTORY, DATABASE = "history", "sqlite:///logs.sqlite3"


@pytest.fixture(params=VERSIONS)
def version(request: pytest.FixtureRequest, folder: Path) -> str:
    """The logs of a version in the working directory."""
    shutil.copytree(FOLDER / request.param / HISTORY, folder / HISTORY)
    copy_file(request.param, folder, "logs.sqlite3")
    return str(request.param)


@pytest.mark.parametrize("place", [HISTORY, DATABASE])
def test_session_logs_of_an_earlier_version_open_and_go_on(
    kefu: Kefu, upstream: ScriptedUpstream, version: str, place: str
) -> None:
    """Those of a database are imported first."""
    at = ("--log-dir", HISTORY if place == HISTORY else "imported")
    if place == DATABASE:
        taken = kefu("sessions", "import", *at, "logs.sqlite3")
        assert taken.code == 0, taken.err
    said = json.loads((FOLDER / version / "logs.json").read_text())[place]
    listed = [line.split()[0] for line in kefu("sessions", "list", *at).out.splitlines()]
    assert sorted(listed) == sorted(said)
    for id, shown in said.items():
        assert kefu("sessions", "show", *at, id).out == shown
    upstream.script("*", answer("Rome."))
    capitals = min(said)
    ran = kefu("chat", *at, "--resume", capitals, typed="And of Italy?\n")
    assert ran.code == 0, ran.err
    sent = upstream.calls("And of Italy?")[0].body["messages"]
    assert [one["content"] for one in sent if one["role"] == "assistant"][:1] == ["Paris. 巴黎。"]
    assert kefu("sessions", "show", *at, capitals).out == (
        f"{said[capitals]}\nYou:\nAnd of Italy?\n\nKefu:\nRome.\n"
    )


def test_the_sessions_of_a_database_that_are_missing_are_imported(
    kefu: Kefu, version: str, folder: Path
) -> None:
    at = ("--log-dir", "imported")
    paths = kefu("sessions", "import", *at, "logs.sqlite3").out.splitlines()
    (folder / paths[-1]).unlink()
    again = kefu("sessions", "import", *at, "logs.sqlite3")
    assert (again.code, again.out) == (1, f"{paths[-1]}\n")
    assert again.err.count("already exists") == len(paths) - 1 > 0
