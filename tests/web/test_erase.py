"""H12: `kefu erase` deletes all chats of one user from the store of a service."""

from __future__ import annotations

import contextlib
import json
import sqlite3
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest

from kefu.sessions.store.model import NewMessage, Retention, SessionId, TurnOutcome
from kefu.sessions.store.ports import Sessions
from kefu.stores.dynamodb.store import DynamoStore
from kefu.stores.sqlite.store import SqliteStore
from tests.cli.pseudo_terminal import PseudoTerminal
from tests.contract.chats import new
from tests.contract.engines import every_item, new_table
from tests.fakes import behaviours as b
from tests.fakes.chatting import FILE, STORE, Visitor, new_id
from tests.fakes.fixtures import Staged
from tests.fakes.forked import kefu
from tests.fakes.stage import Stage
from tests.fakes.throttling_front import ThrottlingFront
from tests.parts.plugin import CREDENTIALS
from tests.web.test_contact import EMAIL, as_operator, in_panel, send, send_alone, settings
from tests.web.test_identity import NEW, token

CANARY = "canary-5f3c"
CHATS = 60


def erase(
    folder: Path, environment: Mapping[str, str], *arguments: str, by: str = "--user"
) -> subprocess.CompletedProcess[str]:
    return kefu("erase", by, *arguments, folder=folder, environment=environment)


class SignedIn(Visitor):
    def __init__(self, stage: Stage, user: str) -> None:
        super().__init__(stage)
        self.user = user

    @property
    def headers(self) -> dict[str, str]:
        return {**super().headers, "X-User-Token": token(self.user)}


def bytes_of(folder: Path) -> bytes:
    """The content of the SQLite file and of its write-ahead log."""
    return b"".join(file.read_bytes() for file in folder.glob(f"{FILE}*"))


async def test_h12_all_chats_of_a_user_are_erased_while_the_service_runs(staged: Staged) -> None:
    """Two chats, a request for a person and the calls; another user and strangers keep theirs."""
    options = settings()
    options["environment"]["KEFU_IDENTITY_SECRETS"] = NEW
    running = staged(1, **options, capture="all")
    running.script(b.answer(f"answer {CANARY}"), asking=CANARY)
    running.script(b.answer("hello"), asking="hi")
    kari, again = SignedIn(running, "auth0|kari"), SignedIn(running, "auth0|kari")
    ola, nobody = SignedIn(running, "auth0|ola"), Visitor(running)
    for visitor, text in ((kari, CANARY), (again, CANARY), (ola, "hi"), (nobody, "hi")):
        assert (await visitor.say(text)).complete
    assert (await send(kari, new_id(), message=CANARY)).status_code == 204
    assert (await send(ola, new_id(), message="hi")).status_code == 204
    folder, environment = running.service.folder, running.service.environment
    assert CANARY.encode() in bytes_of(folder)

    unasked = erase(folder, environment, "auth0|kari")
    assert (unasked.returncode, "--yes" in unasked.stderr) == (2, True)
    assert (await kari.look()).status_code == 200

    done = erase(folder, environment, "auth0|kari", "--yes")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Stored chats of auth0|kari: 2\n")
    assert "\nDeleted chats: 2 of 2\n" in done.stdout
    assert {kari.session_id, again.session_id} == {
        line.removeprefix("Deleted: ")
        for line in done.stdout.splitlines()
        if line.startswith("Deleted: ")
    }
    for visitor, status in ((kari, 404), (again, 404), (ola, 200), (nobody, 200)):
        assert (await visitor.look()).status_code == status
    assert [one["message"] for one in in_panel(running)["requests"]] == ["hi"]
    assert CANARY.encode() not in bytes_of(folder)

    again_done = erase(folder, environment, "auth0|kari", "--yes")
    assert (again_done.returncode, again_done.stdout) == (
        0,
        "No chat of auth0|kari is stored.\n",
    )


async def test_s4_requests_of_an_address_are_erased_with_their_chats(staged: Staged) -> None:
    """S4: who asks for erasure by e-mail had to wait until the request expired."""
    running = staged(1, **settings(), capture="all")
    running.script(b.answer(f"answer {CANARY}"), asking=CANARY)
    running.script(b.answer("hello"), asking="hi")
    kari, ola = Visitor(running), Visitor(running)
    for visitor, text, email in ((kari, CANARY, f"Kari.{CANARY}@x.no"), (ola, "hi", "ola@x.no")):
        assert (await visitor.say(text)).complete
        assert (await send(visitor, new_id(), message=text, email=email)).status_code == 204
    alone = send_alone(running, new_id(), message=CANARY, email=f"kari.{CANARY}@x.no")
    assert alone.status_code == 204
    folder, environment = running.service.folder, running.service.environment
    asked = f"KARI.{CANARY.upper()}@X.NO"

    assert erase(folder, environment, " ", "--yes", by="--email").returncode == 2
    assert erase(folder, environment, asked, by="--email").returncode == 2
    assert len(in_panel(running)["requests"]) == 3
    done = erase(folder, environment, asked, "--yes", by="--email")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(
        f"Requests for a person from {asked}: 2\nChats that they were sent from: 1\n"
    )
    assert "\nDeleted chats and requests: 3 of 3\n" in done.stdout
    assert [one["email"] for one in in_panel(running)["requests"]] == ["ola@x.no"]
    assert ((await kari.look()).status_code, (await ola.look()).status_code) == (404, 200)
    assert CANARY.lower().encode() not in bytes_of(folder).lower()
    again = erase(folder, environment, asked, "--yes", by="--email")
    assert (again.returncode, again.stdout) == (
        0,
        f"No request for a person from {asked} is stored.\n",
    )


async def test_s4_requests_are_erased_where_chats_are_not_stored(staged: Staged) -> None:
    running = staged(1, **{**settings(), "sessions": "false"})
    assert send_alone(running, new_id()).status_code == 204
    folder, environment = running.service.folder, running.service.environment
    done = erase(folder, environment, EMAIL, "--yes", by="--email")
    assert (done.returncode, "\nDeleted chats and requests: 1 of 1\n" in done.stdout) == (0, True)
    assert in_panel(running)["requests"] == []


async def fill(chats: Sessions, user: str, numbers: range) -> None:
    now = time.time()
    for number in numbers:
        session = new(SessionId(f"{number:032x}"), now)._replace(user=user)
        begun = await chats.begin(session, NewMessage(f"{CANARY} of {user}", "id"), now)
        ended = TurnOutcome("ok", f"{CANARY} for {user}")
        await chats.finish(session.id, begun.message.id, ended, now)


@pytest.fixture
async def folder(tmp_path: Path) -> Path:
    store = SqliteStore(tmp_path / FILE, time.time)
    await fill(store.sessions(Retention()), "kari", range(CHATS))
    await fill(store.sessions(Retention()), "ola", range(CHATS, CHATS + 1))
    await store.aclose()
    return tmp_path


ENVIRONMENT = {"KEFU_STORE": STORE, "PATH": ""}


@pytest.mark.parametrize("deleted", [1, 20])
def test_h12_an_erasure_that_is_killed_half_way_is_completed_by_the_next(
    folder: Path, deleted: int
) -> None:
    command = [sys.executable, "-m", "kefu", "erase", "--user", "kari", "--yes"]
    with subprocess.Popen(
        command, cwd=folder, env=ENVIRONMENT, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout
        for _ in range(deleted + 1):
            assert process.stdout.readline()
        process.kill()
    assert CANARY.encode() in bytes_of(folder)
    done = erase(folder, ENVIRONMENT, "kari", "--yes")
    assert done.returncode == 0, done.stderr
    left = int(done.stdout.splitlines()[0].partition(": ")[2])
    assert 0 < left <= CHATS - deleted
    assert f"\nDeleted chats: {left} of {left}\n" in done.stdout
    assert f"{CANARY} of kari".encode() not in bytes_of(folder)
    assert f"{CANARY} for kari".encode() not in bytes_of(folder)
    assert f"{CANARY} of ola".encode() in bytes_of(folder)


def test_h27_a_receipt_says_what_was_deleted_and_a_changed_one_is_none(folder: Path) -> None:
    receipt, began = folder / "kari.json", datetime.now(UTC).replace(microsecond=0)
    unwritable = erase(folder, ENVIRONMENT, "kari", "--yes", "--receipt", "none/kari.json")
    assert (unwritable.returncode, "No such file" in unwritable.stderr) == (2, True)
    assert f"{CANARY} of kari".encode() in bytes_of(folder)
    done = erase(folder, ENVIRONMENT, "kari", "--yes", "--receipt", receipt.name)
    assert done.returncode == 0, done.stderr
    facts = json.loads(receipt.read_text("utf-8"))
    assert sorted(facts["chats"]) == [f"{number:032x}" for number in range(CHATS)]
    assert (facts["found_by"], facts["found_afterwards"]) == ("user", 0)
    assert (facts["requests"], facts["answers"], facts["not_deleted"]) == ([], [], [])
    assert began <= datetime.fromisoformat(facts["erased_at"]) <= datetime.now(UTC)
    assert "backups and exports" in facts["not_reached"]
    assert "kari" not in receipt.read_text("utf-8")
    known = erase(folder, ENVIRONMENT, receipt.name, by="--check")
    assert (known.returncode, "is as this store signed it" in known.stdout) == (0, True)
    wrong: list[object] = [{**facts, "chats": []}, {**facts, "signature": "x"}, [], {"chats": []}]
    for changed in wrong:
        receipt.write_text(json.dumps(changed), "utf-8")
        refused = erase(folder, ENVIRONMENT, receipt.name, by="--check")
        assert (refused.returncode, "was changed" in refused.stderr) == (1, True), refused.stderr
    assert erase(folder, ENVIRONMENT, "none.json", by="--check").returncode == 2


async def test_h27_a_receipt_of_an_address_names_chats_requests_and_what_stays(
    staged: Staged,
) -> None:
    running = staged(1, **settings())
    visitor = Visitor(running)
    assert (await visitor.say("hello")).complete
    sent, alone = new_id(), new_id()
    assert (await send(visitor, sent)).status_code == 204
    assert send_alone(running, alone).status_code == 204
    folder, environment = running.service.folder, running.service.environment
    done = erase(folder, environment, EMAIL, "--yes", "--receipt", "one.json", by="--email")
    assert done.returncode == 0, done.stderr
    facts = json.loads((folder / "one.json").read_text("utf-8"))
    assert facts["chats"] == [visitor.session_id]
    assert sorted(facts["requests"]) == sorted([sent, alone])
    assert (facts["found_by"], facts["found_afterwards"]) == ("email", 0)
    assert EMAIL.encode() not in bytes_of(folder)


async def test_h27_the_panel_gives_a_receipt_of_what_it_deletes(staged: Staged) -> None:
    running = staged(1, **settings())
    visitor = Visitor(running)
    assert (await visitor.say(f"hello {CANARY}")).complete
    sent, alone = new_id(), new_id()
    assert (await send(visitor, sent)).status_code == 204
    assert send_alone(running, alone).status_code == 204
    folder, environment = running.service.folder, running.service.environment
    for path, chats, requests in (
        (f"sessions/{visitor.session_id}", [visitor.session_id], [sent]),
        (f"contacts/{alone}", None, [alone]),
    ):
        answer = as_operator(running, f"{path}?receipt=true", "DELETE")
        facts = answer.raise_for_status().json()
        assert (facts.get("chats"), facts["requests"]) == (chats, requests)
        assert (facts["found_by"], facts["found_afterwards"]) == ("panel", 0)
        (folder / "receipt.json").write_text(answer.text, "utf-8")
        known = erase(folder, environment, "receipt.json", by="--check")
        assert known.returncode == 0, known.stderr
    for gone in (CANARY, EMAIL):
        assert gone.encode() not in bytes_of(folder)


async def test_h12_an_empty_user_is_not_that_of_all_anonymous_chats(folder: Path) -> None:
    """As from a script whose variable is unset."""
    store = SqliteStore(folder / FILE, time.time)
    await fill(store.sessions(Retention()), "", range(100, 101))
    await store.aclose()
    done = erase(folder, ENVIRONMENT, "", "--yes")
    assert (done.returncode, done.stderr) == (2, "kefu: --user is empty\n")
    with contextlib.closing(sqlite3.connect(folder / FILE)) as db:
        assert db.execute("SELECT count(*) FROM sessions").fetchone() == (CHATS + 2,)


@pytest.mark.parametrize(
    ("answer", "said"), [("n", "Nothing was"), ("y", f"Deleted chats: {CHATS} of {CHATS}")]
)
def test_h12_the_operator_is_asked_first(folder: Path, answer: str, said: str) -> None:
    with PseudoTerminal(["erase", "--user", "kari"], ENVIRONMENT, folder) as terminal:
        terminal.until(f"Stored chats of kari: {CHATS}")
        terminal.until("[y/N] ")
        terminal.type(f"{answer}\n")
        terminal.until(said)
        assert terminal.ended() == (0 if answer == "y" else 2)
    assert (f"{CANARY} of kari".encode() in bytes_of(folder)) == (answer == "n")


def test_h12_an_interruption_at_the_question_deletes_nothing(folder: Path) -> None:
    with PseudoTerminal(["erase", "--user", "kari"], ENVIRONMENT, folder) as terminal:
        terminal.until("[y/N] ")
        terminal.type("\x03")
        assert terminal.ended() == 130
    assert f"{CANARY} of kari".encode() in bytes_of(folder)


@pytest.fixture
async def table(dynamodb_local: str, aws_environment: dict[str, str]) -> AsyncIterator[DynamoStore]:
    store = await new_table(dynamodb_local, time.time, with_ttl=False)
    yield store
    await store.aclose()


def on_table(table: DynamoStore, url: str) -> dict[str, str]:
    place = {"KEFU_STORE": f"dynamodb://{table.table}", "AWS_ENDPOINT_URL_DYNAMODB": url}
    return {**CREDENTIALS, **place, "PATH": ""}


async def contents(table: DynamoStore) -> str:
    return repr(await table._table.run(lambda: every_item(table._table.client, table.table)))


@pytest.mark.slow
async def test_h12_chats_that_a_table_refuses_to_delete_are_named_and_deleted_by_the_next(
    table: DynamoStore, dynamodb_local: str, tmp_path: Path
) -> None:
    """The table is read, and refuses everything after the first deletion, with all retries."""
    chats = table.sessions(Retention())
    await fill(chats, "kari", range(2))
    await fill(chats, "ola", range(2, 3))
    with ThrottlingFront(dynamodb_local) as front:
        front.passing = 12
        failed = erase(tmp_path, on_table(table, front.url), "kari", "--yes")
    assert front.refused
    assert failed.returncode == 1, failed.stdout
    assert "\nDeleted chats: 1 of 2\n" in failed.stdout
    [problem] = failed.stderr.splitlines()
    name = problem.removeprefix("kefu: ").split()[0]
    assert name in await contents(table)
    receipt = ("--receipt", "rest.json")
    done = erase(tmp_path, on_table(table, dynamodb_local), "kari", "--yes", *receipt)
    assert (done.returncode, done.stdout.splitlines()[0]) == (0, "Stored chats of kari: 1")
    facts = json.loads((tmp_path / "rest.json").read_text("utf-8"))
    assert (facts["chats"], facts["found_afterwards"]) == ([name], 0)
    left = await contents(table)
    assert f"{CANARY} of kari" not in left
    assert f"{CANARY} for kari" not in left
    assert f"{CANARY} of ola" in left


REFUSED: Sequence[tuple[str, str]] = (
    ("memory:", "not stored"),
    ("sqlite:///x.sqlite3", "does not exist"),
)


@pytest.mark.parametrize(("store", "said"), REFUSED)
def test_h12_a_store_without_chats_is_an_error(tmp_path: Path, store: str, said: str) -> None:
    """Not "no chat": the operator would believe that everything is deleted."""
    done = erase(tmp_path, {"KEFU_STORE": store, "PATH": ""}, "kari", "--yes")
    assert (done.returncode, said in done.stderr) == (2, True), done.stderr
    assert not (tmp_path / "x.sqlite3").exists()
