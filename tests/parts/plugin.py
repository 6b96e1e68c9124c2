"""Fixtures that start these programs once per session; `tests/conftest.py` registers this
module.
"""

from __future__ import annotations

import contextlib
import secrets
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.parts.fetch import folder_of

if TYPE_CHECKING:
    from tests.parts.postgresql import Postgres

CREDENTIALS = {
    "AWS_ACCESS_KEY_ID": "local",
    "AWS_SECRET_ACCESS_KEY": "local",
    "AWS_DEFAULT_REGION": "eu-central-1",
    "AWS_EC2_METADATA_DISABLED": "true",
}
"""The environment that boto3 needs, also for child processes."""


def free_port() -> int:
    """A free port, for a process that binds it a moment later.

    It is outside of the range that the system uses for outgoing connections, because concurrent
    tests open thousands of those.
    """
    while True:
        port = secrets.choice(range(12_000, 32_000))
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


@pytest.fixture(scope="session")
def shared_loader() -> Iterator[None]:
    """All sessions of boto3 share its descriptions of services: each one would read them again, for
    60 ms.
    """
    # Not at the top, because every run of the tests imports this module.
    import botocore.session

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(botocore.session, "create_loader", cache(botocore.session.create_loader))
        yield


@pytest.fixture
def aws_environment(
    monkeypatch: pytest.MonkeyPatch, home: Path, shared_loader: None
) -> dict[str, str]:
    """Made-up AWS credentials in the environment of this process and its children."""
    for name, value in CREDENTIALS.items():
        monkeypatch.setenv(name, value)
    return dict(CREDENTIALS)


@pytest.fixture(scope="session")
def dynamodb_local(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of Amazon's DynamoDB Local, in memory."""
    lib = _part("dynamodb-local", "java") / "lib"
    with started_dynamodb_local(lib, tmp_path_factory.mktemp("dynamodb-local")) as address:
        yield address


@contextlib.contextmanager
def started_dynamodb_local(lib: Path, folder: Path) -> Iterator[str]:
    """Start it. `lib`: the folder of its Java libraries; `folder`: the folder for its output."""

    def command(port: int) -> list[str]:
        main = "com.amazonaws.services.dynamodbv2.local.main.ServerRunner"
        start = ["java", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
        start += [f"-Djava.library.path={lib}", "-cp", f"{lib}/*", main]
        return [*start, "-inMemory", "-sharedDb", "-disableTelemetry", "-port", str(port)]

    with _server(command, folder) as address:
        _warm(address)
        yield address


@pytest.fixture(scope="session")
def dynalite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of dynalite. It has no TTL, and returns no item when a condition fails."""
    program = str(_part("dynalite", "node") / "node_modules/dynalite/cli.js")

    def command(port: int) -> list[str]:
        start = ["node", "--no-deprecation", program, "--host", "127.0.0.1", "--port", str(port)]
        return [*start, "--createTableMs", "0"]

    with _server(command, tmp_path_factory.mktemp("dynalite")) as address:
        yield address


@pytest.fixture(scope="session")
def postgresql() -> Iterator[Postgres]:
    """A PostgreSQL server, with data of its own."""
    with _postgresql() as server:
        yield server


@pytest.fixture
def own_postgresql() -> Iterator[Postgres]:
    """A PostgreSQL server that the test stops and starts."""
    with _postgresql() as server:
        yield server


@contextlib.contextmanager
def _postgresql() -> Iterator[Postgres]:
    # Not at the top, because every run of the tests imports this module.
    from tests.parts.postgresql import Postgres, programs

    found = programs()
    if found is None:
        pytest.skip("PostgreSQL is not installed. Try: make parts")
    # Directly in /tmp, because the server's own user cannot enter pytest's folder.
    with (
        tempfile.TemporaryDirectory(prefix="kefu-postgresql-") as folder,
        Postgres(found, Path(folder), free_port()).running() as server,
    ):
        yield server


def slow(*values: object) -> object:
    """A set of parameters that runs with CI=true alone: every day the others stand for it."""
    return pytest.param(*values, marks=pytest.mark.slow)


def daily(cases: Iterable[str], *chosen: str) -> list[object]:
    """The cases as parameters: the chosen ones run every day, all of them with CI=true."""
    return [case if case in chosen else slow(case) for case in cases]


def each(*kinds: str) -> list[object]:
    """Kinds of stores as parameters, DynamoDB Local marked as slow. The two emulators of DynamoDB
    find most of the same defects, and dynalite is there without `make parts`.
    """
    return daily(kinds, *(kind for kind in kinds if not kind.endswith("dynamodb_local")))


@pytest.fixture(scope="session", params=each("dynamodb_local", "dynalite"))
def dynamodb_endpoint(request: pytest.FixtureRequest) -> str:
    """The address of a DynamoDB. A test with this fixture runs with each engine."""
    address: str = request.getfixturevalue(request.param)
    return address


def _warm(endpoint: str) -> None:
    """Send some requests, because the first responses of a JVM take longer than a store's
    time-out.
    """
    # Not at the top, because every run of the tests imports this module.
    import boto3
    from botocore.config import Config

    session = boto3.Session("local", "local", region_name="eu-central-1")
    client = session.client(
        "dynamodb", endpoint_url=endpoint, config=Config(read_timeout=60, connect_timeout=60)
    )
    client.create_table(
        TableName="warm",
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
    )
    for _ in range(20):
        client.update_item(
            TableName="warm",
            Key={"pk": {"S": "one"}},
            UpdateExpression="ADD n :one",
            ConditionExpression="attribute_not_exists(n) OR n < :many",
            ExpressionAttributeValues={":one": {"N": "1"}, ":many": {"N": "1000"}},
        )
        client.get_item(TableName="warm", Key={"pk": {"S": "one"}})
    client.delete_table(TableName="warm")
    client.close()


def installed_part(part: str) -> Path:
    """The folder of a part. Without it, the test is skipped."""
    folder = folder_of(part)
    if folder is None:
        pytest.skip(f"{part} is not in .parts/. Try: make parts")
    return folder


def _part(part: str, program: str) -> Path:
    folder = installed_part(part)
    if shutil.which(program) is None:
        pytest.skip(f"{part} needs {program}, which is not installed")
    return folder


@contextlib.contextmanager
def _server(command: Callable[[int], Sequence[str]], folder: Path) -> Iterator[str]:
    """Start a process on a free port; if another program takes the port first, try another one."""
    log = folder / "output.txt"
    for _ in range(3):
        port = free_port()
        with log.open("w") as output:
            process = subprocess.Popen(
                command(port), cwd=folder, stdout=output, stderr=subprocess.STDOUT
            )
        if _listens(process, port):
            break
    else:
        raise AssertionError(f"{folder.name} did not start:\n{log.read_text()}")
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(10)


def _listens(process: subprocess.Popen[bytes], port: int) -> bool:
    deadline = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < deadline:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return True
        time.sleep(0.05)
    process.kill()
    process.wait()
    return False
