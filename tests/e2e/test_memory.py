"""The memory of a server, on a machine that does nothing else."""

from __future__ import annotations

import asyncio
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

from tests.fakes.stage import FAST, stage

MEBI = 1 << 20


@pytest.fixture(scope="module")
def python_of_a_server(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Python with the packages of this environment, but without rich.

    httpx imports rich for its own command line if it is installed. `kefu[server]` and the package
    for Lambda do not contain it.
    """
    folder = tmp_path_factory.mktemp("server")
    venv.create(folder, symlinks=True)
    here = Path(sysconfig.get_path("purelib"))
    there = folder / here.relative_to(sys.prefix)
    for path in here.iterdir():
        if path.name != "rich":
            (there / path.name).symlink_to(path)
    return folder / "bin/python"


@pytest.mark.slow
async def test_service_stays_small_under_load(python_of_a_server: Path) -> None:
    """At most 52 MiB, beside 20 to 21 MiB of libraries: together, the benchmarks count 72."""
    with stage(2, **FAST, python=python_of_a_server) as running:
        for _ in range(5):
            answers = await asyncio.gather(*(running.ask(f"Hello {n}") for n in range(40)))
            assert all(answer.complete for answer in answers)
        assert running.service.own_memory <= 52 * MEBI
