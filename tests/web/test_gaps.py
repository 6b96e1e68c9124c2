"""G29: `kefu gaps` reads the chats of a service and names what visitors asked in vain."""

from __future__ import annotations

import csv
import io
import subprocess
from pathlib import Path

from kefu.stores.sqlite.knowledge.write import Run, write
from tests.fakes import behaviours as b
from tests.fakes.asking import client
from tests.fakes.chatting import STORE, Visitor, new_id
from tests.fakes.fixtures import Staged
from tests.fakes.forked import kefu
from tests.fakes.stage import Stage
from tests.web.test_knowledge import PAGES, SHOP, learn


def gaps_of(running: Stage, *arguments: str) -> subprocess.CompletedProcess[str]:
    return running.service.kefu("gaps", *arguments)


async def test_g29_kefu_gaps_names_questions_in_vain_and_pages_without_use(
    staged: Staged, tmp_path: Path
) -> None:
    file = tmp_path / "a.kefu"
    write(file, Run(PAGES, [], 1.0))
    running = staged(2, knowledge=str(file), store=STORE, capture="off")
    running.script(b.answer("[0] The pages do not say."), asking="hats")
    running.script(b.answer("Thirty days [1]."), asking="boots")
    running.script(b.answer("Hello!"), asking="=1+1")
    await Visitor(running).say("Do you sell hats?")
    second, id = Visitor(running), new_id()
    await second.say("Can boots be sent back?")
    await second.say("selling hats")
    third = Visitor(running)
    await third.say("=1+1 is it?", client_message_id=id)
    async with client() as browser:
        rating = {"client_message_id": id, "rating": "down", "session_id": third.session_id}
        url = f"{running.url}/api/chat/feedback"
        rated = await browser.post(url, json=rating, headers=third.headers)
    assert rated.is_success, rated.text

    shown = gaps_of(running)
    assert shown.returncode == 1, shown.stderr
    assert "3 days" not in shown.stdout
    assert shown.stdout.startswith(
        "2 questions without an answer, in 3 chats\n  2 × selling hats\n"
    )
    assert "rated down, last" in shown.stdout
    uncited = shown.stdout.partition("2 pages that no answer cited\n")[2]
    assert uncited.startswith(f"  {SHOP}/customs\n  {SHOP}/delivery\n")
    assert "older than 3 days" in shown.stderr

    rows = list(csv.DictReader(io.StringIO(gaps_of(running, "--csv").stdout)))
    assert [(row["count"], row["question"]) for row in rows] == [
        ("2", "selling hats"),
        ("1", "'=1+1 is it?"),  # no formula for a spreadsheet
    ]
    assert rows[1]["chat"] == third.session_id


def test_g29_kefu_gaps_says_why_it_cannot_look(tmp_path: Path) -> None:
    learn(tmp_path / "site.kefu")
    for store, said in (("memory:", "not stored"), ("sqlite:///x.sqlite3", "does not exist")):
        done = kefu("gaps", folder=tmp_path, environment={"KEFU_STORE": store})
        assert (done.returncode, said in done.stderr) == (2, True), done.stderr
    assert not (tmp_path / "x.sqlite3").exists()
