"""G31: `kefu answers` moves answers between a service and a folder of Markdown."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.fixtures import Staged
from tests.fakes.forked import kefu
from tests.fakes.stage import FAST, Stage, stage
from tests.web.test_answers import QUESTION, TOKEN, WRITTEN, answering, as_operator, given, write
from tests.web.test_erase import SignedIn, erase
from tests.web.test_identity import NEW


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with contextlib.ExitStack() as stack:

        def start(keys: int = 1, **options: Any) -> Stage:
            return stack.enter_context(stage(keys, **{**FAST, **options}))

        yield answering(start, tmp_path_factory.mktemp("pages"))


def command(
    running: Stage, *arguments: str, folder: Path | None = None
) -> subprocess.CompletedProcess[str]:
    return running.service.kefu("answers", *arguments, folder=folder)


def listed(running: Stage) -> list[dict[str, object]]:
    found: list[dict[str, object]] = as_operator(running, "GET").json()["answers"]
    return [{**one, "session_id": ""} for one in found]


async def test_g31_exported_answers_are_the_same_on_another_service(
    staged: Staged, tmp_path: Path
) -> None:
    first, fresh = answering(staged, tmp_path), answering(staged, tmp_path)
    write(first, session_id="0" * 32)
    write(
        first, question="可以寄到斯瓦尔巴吗？", text='---\n"Ja": <b>\n\n# x\n', author="", page=""
    )
    files = tmp_path / "answers"
    exported = command(first, "export", str(files))
    assert (exported.returncode, exported.stderr) == (0, "")
    assert sorted(path.name.rpartition("-")[0] for path in files.iterdir()) == [
        "do-you-deliver-to-svalbard",
        "可以寄到斯瓦尔巴吗",
    ]
    assert "0" * 32 not in "".join(path.read_text("utf-8") for path in files.iterdir())
    imported = command(fresh, "import", str(files))
    assert imported.stdout == "Answers read: 2, saved: 2, withdrawn: 0\n", imported.stderr
    assert listed(fresh) == listed(first)
    passages = [await given(running, QUESTION) for running in (first, fresh)]
    assert passages[0] == passages[1]
    assert passages[0][0]["title"] == QUESTION
    again = command(fresh, "import", str(files), "--mirror")
    assert again.stdout == "Answers read: 2, saved: 0, withdrawn: 0\n"


def test_g31_who_keeps_answers_in_git_edits_adds_and_removes_files(
    staged: Staged, tmp_path: Path
) -> None:
    running, files = answering(staged, tmp_path), tmp_path / "answers"
    saved = write(running)
    assert command(running, "export", str(files)).returncode == 0
    [file] = files.iterdir()
    file = file.rename(files / "renamed.md")
    file.write_text(file.read_text("utf-8").replace("ten days", "twelve days"), "utf-8")
    (files / "more").mkdir()
    (files / "more/hats.md").write_text("---\r\nquestion: Do you sell hats?\r\n---\r\nYes.\r\n")
    (files / "README.md").write_text("Our answers.")
    done = command(running, "import", str(files))
    assert done.stdout == "Answers read: 2, saved: 2, withdrawn: 0\n", done.stderr
    hats, edited = sorted(listed(running), key=lambda one: str(one["question"]), reverse=True)
    assert (edited["text"], edited["id"]) == (
        "Yes, to **Longyearbyen** in twelve days.",
        saved["id"],
    )
    assert float(str(edited["updated_at"])) > saved["updated_at"] == edited["created_at"]
    assert (hats["question"], hats["text"], hats["author"]) == ("Do you sell hats?", "Yes.", "")
    file.unlink()
    assert "withdrawn: 1" in command(running, "import", str(files), "--mirror").stdout
    assert [one["id"] for one in listed(running)] == [hats["id"]]
    assert "Do you sell hats?" in command(running).stdout
    exported = command(running, "export", str(files), "--mirror")
    assert exported.returncode == 0
    assert (files / "more/hats.md").is_file()
    withdrawn = command(running, "withdraw", str(hats["id"]), "answer-none")
    assert (withdrawn.returncode, withdrawn.stdout) == (1, "Answers withdrawn: 1\n")
    assert "answer-none" in withdrawn.stderr
    assert "Removed: " in command(running, "export", str(files), "--mirror").stdout
    assert not (files / "more/hats.md").exists()
    assert command(running).stdout == "There is no answer.\n"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("Yes.", "does not begin with"),
        ("---\nauthor: Anna\n---\nYes.", "has no question"),
        ("---\nquestion: Hats?\n---\n", "has no answer"),
        ("---\nquestion: Hats?\nid: a b\n---\nYes.", "id: is not"),
        ("---\nquestion: Hats?\npage: javascript:x\n---\nYes.", "page: is not"),
        ("---\nquestion: Hats?\nupdated: now\n---\nYes.", "is not a time"),
        (f"---\nquestion: {'x' * 501}\n---\nYes.", "longer than 500"),
        ("---\nquestion: Hats?\n---\nDear Kari, write to kari@example.no.", "may name a person"),
    ],
)
def test_g31_a_folder_with_a_wrong_file_changes_nothing(
    content: str, reason: str, kept: Stage, tmp_path: Path
) -> None:
    (tmp_path / "good.md").write_text("---\nquestion: Boots?\n---\nYes.")
    (tmp_path / "wrong.md").write_text(content)
    done = command(kept, "import", str(tmp_path))
    assert (done.returncode, done.stdout) == (1, "")
    assert "wrong.md" in done.stderr
    assert reason in done.stderr
    assert listed(kept) == []


def test_g31_reviewed_answers_are_imported_with_their_addresses(
    staged: Staged, tmp_path: Path
) -> None:
    running = answering(staged, tmp_path)
    write(running, **{**WRITTEN, "text": "Write to shop@example.no.", "reviewed": True})
    files = tmp_path / "answers"
    command(running, "export", str(files))
    fresh = answering(staged, tmp_path)
    assert command(fresh, "import", str(files)).returncode == 1
    assert command(fresh, "import", str(files), "--reviewed").returncode == 0
    assert [one["text"] for one in listed(fresh)] == ["Write to shop@example.no."]


async def test_g31_erasing_a_chat_names_the_answer_made_from_it(
    staged: Staged, tmp_path: Path
) -> None:
    running = answering(
        staged, tmp_path, environment={"ADMIN_TOKEN": TOKEN, "KEFU_IDENTITY_SECRETS": NEW}
    )
    saved = dict[str, str]()
    for user in ("anna", "kari"):
        visitor = SignedIn(running, user)
        assert (await visitor.say(QUESTION)).complete
        saved[user] = write(running, session_id=visitor.session_id)["id"]
    where = running.service.folder, running.service.environment
    done = erase(*where, "anna", "--yes")
    assert done.returncode == 0, done.stderr
    assert f"  {saved['anna']}  {QUESTION}\n" in done.stdout
    assert "The answers stay." in done.stdout
    done = erase(*where, "kari", "--yes", "--answers")
    assert f"  {saved['kari']}  {QUESTION}\nAnswers withdrawn: 1\n" in done.stdout
    assert [one["id"] for one in listed(running)] == [saved["anna"]]


def test_g31_kefu_find_shows_the_answers_that_the_model_would_get(
    staged: Staged, tmp_path: Path
) -> None:
    running = answering(staged, tmp_path)
    saved = write(running)
    for more, expected in (([], True), (["--file", str(tmp_path / "shop.kefu")], False)):
        done = running.service.kefu("find", QUESTION, *more)
        assert done.returncode == 0, done.stderr
        shown = f"[1] {saved['cited_as']} › {QUESTION}\n    {WRITTEN['page']}\n"
        assert done.stdout.startswith(shown) == expected


def test_g31_answers_are_imported_before_the_first_start(tmp_path: Path) -> None:
    (tmp_path / "hats.md").write_text("---\nquestion: Hats?\n---\nYes.")
    for arguments, said in ((["import", "."], "saved: 1"), ([], "Hats?")):
        environment = {"KEFU_STORE": "sqlite:///new.sqlite3"}
        done = kefu("answers", *arguments, folder=tmp_path, environment=environment)
        assert said in done.stdout, done.stderr


def test_g31_answers_to_the_same_question_have_a_file_each(tmp_path: Path) -> None:
    def answers(*arguments: str) -> str:
        environment = {"KEFU_STORE": "sqlite:///new.sqlite3"}
        done = kefu("answers", *arguments, folder=tmp_path, environment=environment)
        return done.stdout + done.stderr

    (tmp_path / "old").mkdir()
    for id in ("delivery-c", "delivery-d", "delivery"):
        (tmp_path / f"old/{id}.md").write_text(f"---\nquestion: Hats?\nid: {id}\n---\nYes.")
    assert "saved: 3" in answers("import", "old")
    answers("export", "new")
    names = {path.name for path in (tmp_path / "new").iterdir()}
    assert len(names) == 3
    assert answers("import", "new", "--mirror") == "Answers read: 3, saved: 0, withdrawn: 0\n"
    answers("export", "new", "--mirror")
    assert names == {path.name for path in (tmp_path / "new").iterdir()}
