"""The file of learnt pages: search, atomic replacement, and refusal of other files."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from kefu.knowledge.finding import LARGE_SITE_PASSAGES, MAX_RANKED_PASSAGES
from kefu.knowledge.learning import Learnt
from kefu.knowledge.pages import Block, PageText
from kefu.stores.sqlite.knowledge import schema
from kefu.stores.sqlite.knowledge.changes import changes, note_changes, page_texts
from kefu.stores.sqlite.knowledge.last_run import read_back
from kefu.stores.sqlite.knowledge.read import KnowledgeFile
from kefu.stores.sqlite.knowledge.reloading import LOOK_AFTER, ReloadingKnowledge
from kefu.stores.sqlite.knowledge.schema import CannotRead
from kefu.stores.sqlite.knowledge.write import NOTHING_OWN, PageProblem, Run, write

SITE = "https://www.example.com"


def page(path: str, title: str, *blocks: Block, language: str = "en") -> PageText:
    return PageText(f"{SITE}/{path}", title, blocks, language)


PAGES = [
    page(
        "delivery",
        "Delivery",
        Block("Norway", 2, "norway"),
        Block("Parcels to Norway leave the same day. They take three to five working days. " * 4),
        Block("Customs", 2, "customs"),
        Block("Customs are paid at checkout, so nothing is due at the door. " * 5),
        Block("Tracking", 2, "tracking"),
        Block("Every parcel can be tracked. The parcel number is in our message. " * 5),
    ),
    page("returns", "Returns", Block("Send a parcel back within thirty days for a refund.")),
    page("zh", "退换货", Block("收到商品七天内可以申请退款，运费由我们承担。"), language="zh"),
    page("donate", "捐赠", Block("您可以捐赠资金支持我们。"), language="zh"),
    page("de", "Versand", Block("Lieferungen nach Österreich dauern zwei Tage."), language="de"),
    page("hours", "Opening hours", Block("The shop opens at nine.")),
]


def run(pages: list[PageText] = PAGES, made: float = 1_800_000_000.0) -> Run:
    problems = [PageProblem(f"{SITE}/old", "failed", "404 Not Found")]
    return Run([Learnt(one, {"digest": one.title}) for one in pages], problems, made)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    write(tmp_path / "site.kefu", run())
    return tmp_path / "site.kefu"


def found(file: Path, question: str, *before: str) -> list[str]:
    opened = KnowledgeFile(file)
    try:
        return [one.url for one in opened.find(question, before, 6)]
    finally:
        opened.close()


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("do you deliver to norway?", "delivery#norway"),
        ("who pays the customs", "delivery#customs"),
        ("How can I get refunded", "returns"),
        ("怎么退款", "zh"),
        ("我想捐款", "donate"),
        ("Wie lange dauert die Lieferung?", "de"),
        ("OPENING HOUR", "hours"),
    ],
)
def test_a_question_finds_its_passage_with_a_link(file: Path, question: str, first: str) -> None:
    assert found(file, question)[0] == f"{SITE}/{first}"


def test_a_follow_up_is_found_with_the_question_before_it(file: Path) -> None:
    assert found(file, "and how long?", "Do you ship to Norway?")[0] == f"{SITE}/delivery#norway"


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("can i tarck it?", "delivery#tracking"),
        ("working dyas to nrway", "delivery#norway"),
        ("refnud", "returns"),
        ("hurs of the shp", "hours"),
        ("Oesterreich lieferungn", "de"),
        ("osterreich", "de"),
        ("OSTERREICH", "de"),
    ],
)
def test_g36_a_question_with_a_typo_or_without_accents_finds_its_passage(
    file: Path, question: str, first: str
) -> None:
    assert found(file, question)[0] == f"{SITE}/{first}"


def test_g36_a_word_of_the_pages_is_not_mended(tmp_path: Path) -> None:
    pages = [page("a", "A", Block("We sell zimtals.")), page("b", "B", Block("We sell zimtols."))]
    write(tmp_path / "site.kefu", run(pages))
    assert found(tmp_path / "site.kefu", "zimtals") == [f"{SITE}/a"]
    assert found(tmp_path / "site.kefu", "zimtuls?") != []


def test_g36_a_file_of_an_earlier_version_is_asked_as_before(file: Path) -> None:
    with contextlib.closing(sqlite3.connect(file)) as db:
        db.executescript("DROP TABLE spelling; DROP TABLE unmarked")
    assert found(file, "tracking the parcel")[0] == f"{SITE}/delivery#tracking"
    assert found(file, "tarcking") == []


def test_k8_a_page_with_several_addresses_takes_one_place(tmp_path: Path) -> None:
    block = Block("A tent can be returned within thirty days.")
    urls = ("tents", "tents/", "tents/index.html", "tents?page=1")
    size = write(tmp_path / "site.kefu", run([page(url, "Tents", block) for url in urls]))
    assert found(tmp_path / "site.kefu", "return a tent") == [f"{SITE}/tents"]
    assert size.pages == 1
    assert set(size.left_out.values()) == {f"is the same page as {SITE}/tents"}
    opened = KnowledgeFile(tmp_path / "site.kefu")
    assert len(opened.problems()) == 1
    opened.close()
    assert len(read_back(tmp_path / "site.kefu")) == 4


def test_g35_a_post_takes_one_place_beside_the_lists_of_its_blog(tmp_path: Path) -> None:
    post = page(
        "rye",
        "Rye bread",
        Block(
            "Our rye bread needs two days of rest, in a cool place, with"
            " a linen cloth that is neither wet nor dry, before anybody cuts it."
        ),
    )
    begin = [Block("Rye bread", 2), *post.blocks, Block("March 4")]
    lists = [page(name, name, Block(name, 1), *begin) for name in ("2026/03", "tag/rye", "news")]
    size = write(tmp_path / "site.kefu", run([post, *lists]))
    assert found(tmp_path / "site.kefu", "how long does rye bread rest") == [f"{SITE}/rye"]
    assert size.left_out == {one.url: NOTHING_OWN for one in lists}


def test_k8_a_passage_of_several_pages_takes_one_place(tmp_path: Path) -> None:
    same = [Block("Returns", 2), Block("A tent can be returned within thirty days. " * 9)]
    pages = [
        page(
            str(n), "Tents", Block(f"Number {n}. " * 40), *same, Block(f"{n}", 2), Block("x " * 99)
        )
        for n in range(3)
    ]
    write(tmp_path / "site.kefu", run(pages))
    opened = KnowledgeFile(tmp_path / "site.kefu")
    texts = [one.text for one in opened.find("return a tent within thirty days", (), 6)]
    opened.close()
    assert sum("thirty days" in one for one in texts) == 1


def test_k15_each_row_and_each_page_of_a_pdf_counts_as_a_page(tmp_path: Path) -> None:
    rows = [
        one
        for n in range(8)
        for one in (
            Block(f"May I return tent {n}?", 2, apart=True),
            Block(f"Yes, within {n} days."),
        )
    ]
    sheets = [
        one
        for n in range(1, 9)
        for one in (Block("", anchor=f"page={n}", apart=True), Block(f"A bicycle needs oil {n}."))
    ]
    pages = [page("faq.csv", "faq.csv", *rows), page("guide.pdf", "Guide", *sheets)]
    size = write(tmp_path / "site.kefu", run(pages))
    assert (size.pages, size.passages) == (2, 16)
    opened = KnowledgeFile(tmp_path / "site.kefu")
    tents = opened.find("return a tent", (), 6)
    assert len(tents) == 6
    assert {one.url for one in tents} == {f"{SITE}/faq.csv"}
    assert {one.title for one in tents} <= {f"May I return tent {n}?" for n in range(8)}
    oil = opened.find("oil for a bicycle", (), 6)
    assert len(oil) == 6
    assert {one.url for one in oil} <= {f"{SITE}/guide.pdf#page={n}" for n in range(1, 9)}
    assert len(opened.page(f"{SITE}/guide.pdf")) == 8
    assert opened.facts.pages == 2
    opened.close()


def test_at_most_two_passages_of_a_page_are_found(file: Path) -> None:
    urls = found(file, "parcel customs tracked norway refund")
    assert len([one for one in urls if "/delivery" in one]) == 2
    assert f"{SITE}/returns" in urls


@pytest.mark.parametrize("question", ["", "???", '"', "* OR NEAR(", "xyzzy", "a" * 100_000])
def test_a_question_without_a_hit_finds_nothing_and_does_no_harm(file: Path, question: str) -> None:
    assert found(file, question) == []


def test_a_hit_says_which_terms_it_matched(file: Path) -> None:
    opened = KnowledgeFile(file)
    (first, *_) = opened.find("tracking the parcel", (), 6)
    assert sorted(first.terms) == ["parcel", "track"]
    assert first.heading == "Tracking"
    opened.close()


def test_g15_a_question_in_other_words_finds_its_passage(file: Path) -> None:
    """The questions share no term with the pages."""
    assert found(file, "when does the store begin?")[0] == f"{SITE}/hours"
    assert found(file, "packet")[0] == f"{SITE}/delivery#tracking"
    assert found(file, "xyzzy") == []


def test_g15_a_hit_says_which_related_words_it_has(file: Path) -> None:
    opened = KnowledgeFile(file)
    (first, *_) = opened.find("compensation for a parcel", (), 6)
    opened.close()
    assert first.url == f"{SITE}/returns"
    assert first.matched == ["parcel", "~refund", "~send"]


def test_g15_the_words_of_a_question_count_more_than_related_ones(tmp_path: Path) -> None:
    write(
        tmp_path / "site.kefu",
        run(
            [
                page("cash", "Cash", Block("Cash, dollars, currency, funds and wealth.")),
                page("money", "Help", Block("Money is sent back after we have seen the parcel.")),
                page("other", "Other", Block("The shop opens at nine.")),
                page("more", "More", Block("The shop closes at five.")),
                page("last", "Last", Block("The shop is near the church.")),
            ]
        ),
    )
    urls = found(tmp_path / "site.kefu", "do I get money sent back")
    assert urls[:2] == [f"{SITE}/money", f"{SITE}/cash"]


def test_g15_pages_in_other_languages_have_no_related_words(tmp_path: Path) -> None:
    german = page("de", "Versand", Block("Der Gift-Shop ist in der Stadt und er ist offen."))
    write(tmp_path / "site.kefu", run([german._replace(language="de")]))
    assert found(tmp_path / "site.kefu", "store") == []


def test_g19_a_large_site_has_no_related_words(tmp_path: Path) -> None:
    """It has enough text for the question's own words, and the others hide those."""
    many = [
        page(f"{number}", f"Number {number}", Block(f"Cash desk {number}."))
        for number in range(LARGE_SITE_PASSAGES)
    ]
    write(tmp_path / "site.kefu", run([*many, page("rare", "Rare", Block("dollars"))]))
    assert found(tmp_path / "site.kefu", "money") == []
    assert len(found(tmp_path / "site.kefu", "cash")) == 6
    write(tmp_path / "small.kefu", run(many[: LARGE_SITE_PASSAGES // 2]))
    assert len(found(tmp_path / "small.kefu", "money")) == 6


def test_a_large_site_keeps_the_main_word_of_a_question(tmp_path: Path) -> None:
    """G19: "brush" is in every tenth passage of a manual on painting."""
    pages = [page(f"new{n}", f"Newly made {n}", Block(f"Create a file {n}.")) for n in range(40)]
    pages += [
        page(f"{n}", f"Part {n}", Block(f"Some text {n}.")) for n in range(LARGE_SITE_PASSAGES)
    ]
    pages += [
        page(f"b{n}", f"Tool {n}", Block(f"A brush paints {n}."))
        for n in range(LARGE_SITE_PASSAGES // 10)
    ]
    pages.append(page("brush", "Dialog", Block("Create another brush.")))
    write(tmp_path / "site.kefu", run(pages))
    assert found(tmp_path / "site.kefu", "create a brush")[0] == f"{SITE}/brush"


def test_words_of_a_story_leave_the_frequent_words_of_a_question_their_places(
    tmp_path: Path,
) -> None:
    """Each word of the story is on forty pages, and "brush" is on two hundred."""
    story = "yesterday evening my colleague phoned about the letter of her neighbour"
    pages = [
        page(f"{word}-{n}", f"Case {n}", Block(f"About {word} {n}."))
        for word in story.split()
        for n in range(40)
    ]
    pages += [
        page(f"{n}", f"Part {n}", Block(f"Some {'brush' if n % 10 == 0 else 'text'} {n}."))
        for n in range(LARGE_SITE_PASSAGES)
    ]
    pages += [page(f"c{n}", f"Sink {n}", Block(f"Clean sink {n}.")) for n in range(150)]
    pages.append(page("clean", "Care", Block("Clean a brush.")))
    write(tmp_path / "site.kefu", run(pages))
    for question in ("how to clean a brush", f"{story}, how to clean a brush"):
        assert found(tmp_path / "site.kefu", question)[0] == f"{SITE}/clean"


def test_each_language_ranks_its_own_frequent_words(tmp_path: Path) -> None:
    """Each word of a question has a term in each language, and those of others are rare."""
    words = "propriétés, libertés, qualités, sociétés, activités"
    pages = [
        page(
            f"{n}", f"Partie {n}", Block(f"Une de {n}: {words.split(', ')[n % 5]}."), language="fr"
        )
        for n in range(LARGE_SITE_PASSAGES + 1)
    ]
    pages += [
        page(f"{language}", "Other", Block(f"Other: {words}."), language=language)
        for language in ("en", "es", "nl", "pt", "ro")
    ]
    pages.append(page("all", "Ensemble", Block(f"Toutes: {words}."), language="fr"))
    write(tmp_path / "site.kefu", run(pages))
    assert f"{SITE}/all" in found(tmp_path / "site.kefu", words)


def test_a_message_of_some_sentences_finds_what_each_of_them_asks(tmp_path: Path) -> None:
    pages = [
        page(f"norway-{n}", f"Norway, town {n}", Block(f"Delivery to town {n} in Norway: sports."))
        for n in range(20)
    ]
    pages += [page(f"{n}", f"Part {n}", Block(f"Some text {n}.")) for n in range(200)]
    pages.append(page("gift", "Gift cards", Block("A card is valid for years. " * 9)))
    pages.append(page("wax", "Waxing", Block("Wax your skis in winter. " * 9)))
    write(tmp_path / "site.kefu", run(pages))
    story = "Hello from Norway! I saw your delivery of sports to a town."
    message = f"{story} How long is a card valid? And when do I wax?"
    assert {f"{SITE}/gift", f"{SITE}/wax"} <= set(found(tmp_path / "site.kefu", message)[:4])


@pytest.mark.slow
def test_g19_a_term_of_very_many_passages_is_ranked_only_alone(tmp_path: Path) -> None:
    """Its time would grow with the site."""
    pages = [
        page(f"{n}", f"Part {n}", Block(f"A brush {n}.")) for n in range(MAX_RANKED_PASSAGES + 1)
    ]
    write(tmp_path / "site.kefu", run([*pages, page("rare", "Rare", Block("Varnish."))]))
    assert found(tmp_path / "site.kefu", "varnish for a brush") == [f"{SITE}/rare"]
    assert len(found(tmp_path / "site.kefu", "brush")) == 6


def test_a_question_in_the_words_of_a_heading_finds_what_is_below_it(tmp_path: Path) -> None:
    """Without the number, and in any order and form of the words."""
    pages = [
        page("copy", "7. Types", Block("9.1. Copying Types", 2), Block("Write %TYPE. " * 20)),
        page("sql", "COPY", Block("COPY copies a type, and types of copies are copied. " * 9)),
        page("types", "Types of types", Block("A type is copied. Copy the types. " * 9)),
    ]
    write(tmp_path / "site.kefu", run([*pages, *PAGES]))
    for question in ("copying types", "How do I copy a type?", "Copying Types", "3. types, copied"):
        assert found(tmp_path / "site.kefu", question)[0] == f"{SITE}/copy"


def test_the_index_keeps_all_detail_because_ranking_needs_it(file: Path) -> None:
    """With less detail, bm25() of a contentless table ranks wrongly without an error."""
    db = sqlite3.connect(file)
    scores = [score for (score,) in db.execute("SELECT rank FROM term WHERE term MATCH 'parcel'")]
    db.close()
    assert len(set(scores)) > 1
    assert any("detail='full'" in statement for statement in schema.INDEX)


def test_equal_pages_give_equal_bytes(file: Path, tmp_path: Path) -> None:
    """G2: the same pages give the same file."""
    write(tmp_path / "again.kefu", run(PAGES[::-1]))
    assert (tmp_path / "again.kefu").read_bytes() == file.read_bytes()


def test_pages_of_the_last_run_are_taken_over_unchanged(file: Path, tmp_path: Path) -> None:
    last = read_back(file)
    taken = Run(list(last.values()), run().problems, run().made)
    write(tmp_path / "again.kefu", taken)
    assert (tmp_path / "again.kefu").read_bytes() == file.read_bytes()


@pytest.fixture
def file_of_version_2(file: Path) -> Path:
    """It had no pages as they were read."""
    with contextlib.closing(sqlite3.connect(file, isolation_level=None)) as db:
        db.execute("DROP TABLE whole")
        db.execute("CREATE TABLE frame (line TEXT PRIMARY KEY) WITHOUT ROWID")
        db.execute('ALTER TABLE page ADD COLUMN state TEXT NOT NULL DEFAULT \'{"etag":"1"}\'')
        db.execute("INSERT INTO meta VALUES ('title_end', ' | Example')")
        db.execute("PRAGMA user_version = 2")
    return file


def test_g11_a_file_of_version_2_is_searched_and_read_for_the_next_run(
    file_of_version_2: Path, tmp_path: Path
) -> None:
    """Nothing is noted about its pages, so the next run reads all again."""
    assert found(file_of_version_2, "do you deliver to norway?")[0] == f"{SITE}/delivery#norway"
    last = read_back(file_of_version_2)
    assert {one.state for one in last.values() if one.state} == set()
    write(tmp_path / "new.kefu", Run(list(last.values()), run().problems, run().made))
    assert found(tmp_path / "new.kefu", "do you deliver to norway?") == found(
        file_of_version_2, "do you deliver to norway?"
    )


def test_a_file_with_earlier_terms_is_read_unless_its_language_has_others_now(
    file: Path, tmp_path: Path
) -> None:
    old = tmp_path / "old.kefu"
    old.write_bytes(file.read_bytes())
    db = sqlite3.connect(old, isolation_level=None)
    db.execute("UPDATE meta SET value = '1' WHERE name = 'terms'")
    KnowledgeFile(old).close()
    db.execute("UPDATE meta SET value = 'en sr' WHERE name = 'languages'")
    db.close()
    with pytest.raises(CannotRead, match="Please run `kefu learn` again"):
        KnowledgeFile(old)


def test_another_file_is_refused_with_a_sentence(file: Path, tmp_path: Path) -> None:
    """G6: the error names the reason."""
    text = tmp_path / "text.kefu"
    text.write_text("no database")
    other = tmp_path / "other.kefu"
    sqlite3.connect(other).execute("CREATE TABLE a (b)").connection.close()
    old = tmp_path / "old.kefu"
    old.write_bytes(file.read_bytes())
    db = sqlite3.connect(old, isolation_level=None)
    db.execute("UPDATE meta SET value = '0' WHERE name = 'terms'")
    db.close()
    cut = tmp_path / "cut.kefu"
    cut.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
    reasons = {
        tmp_path / "none.kefu": "does not exist",
        text: "cannot be read",
        other: "is not a file of learnt pages",
        old: "another version of Kefu",
        cut: "cannot be read",
    }
    for path, reason in reasons.items():
        with pytest.raises(CannotRead, match=reason):
            KnowledgeFile(path)


async def test_a_file_that_is_damaged_while_it_is_used_finds_nothing(file: Path) -> None:
    db = sqlite3.connect(file, isolation_level=None)
    db.execute("UPDATE page SET passages = x'00'")
    db.close()
    faults = list[str]()
    knowledge = ReloadingKnowledge(file, lambda: 0.0, faults.append)
    assert await knowledge.find("refund", (), 6) == []
    assert faults == [f"{file} is damaged: error"]
    await knowledge.aclose()


def replaced_by(file: Path, content: bytes) -> None:
    other = file.with_suffix(".other")
    other.write_bytes(content)
    other.replace(file)


def removed(file: Path) -> None:
    file.unlink()


async def test_a_newer_file_is_taken_and_a_broken_one_is_not(file: Path) -> None:
    """G12: a running reader switches to a newer file, but not to a broken one."""
    now, faults = [0.0], list[str]()
    knowledge = ReloadingKnowledge(file, lambda: now[0], faults.append)
    write(file, run([page("returns", "Returns", Block("Refunds take ninety days."))]))
    assert "thirty" in (await knowledge.find("refund", (), 6))[0].text
    now[0] += LOOK_AFTER
    assert "ninety" in (await knowledge.find("refund", (), 6))[0].text
    assert knowledge.facts.pages == 1
    replaced_by(file, b"broken")
    now[0] += LOOK_AFTER
    assert "ninety" in (await knowledge.find("refund", (), 6))[0].text
    assert len(faults) == 1
    removed(file)
    now[0] += LOOK_AFTER
    assert "ninety" in (await knowledge.find("refund", (), 6))[0].text
    await knowledge.aclose()


async def test_g19_a_search_runs_in_a_thread_and_not_on_the_event_loop(file: Path) -> None:
    """The clock is read at the begin of each search, so it sees the thread."""
    threads = list[int]()

    def monotonic() -> float:
        threads.append(threading.get_ident())
        return 0.0

    knowledge = ReloadingKnowledge(file, monotonic, print)
    threads.clear()
    assert await knowledge.find("refund", (), 6)
    await knowledge.aclose()
    assert threads
    assert threading.get_ident() not in threads


WRITER = """
import sys
from pathlib import Path
from tests.contract.test_knowledge_file import PAGES, run
from kefu.stores.sqlite.knowledge.write import write
print("ready", flush=True)
while True:
    write(Path(sys.argv[1]), run(made=1.0))
    write(Path(sys.argv[1]), run(PAGES[:2], made=2.0))
"""


@pytest.mark.slow
def test_a_killed_run_leaves_the_old_file_or_the_new_one(file: Path) -> None:
    """G5: the process is killed at 20 random moments."""
    for number in range(20):
        command = [sys.executable, "-c", WRITER, str(file)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, env={**os.environ}) as child:
            assert child.stdout
            child.stdout.readline()
            time.sleep(number * 0.003)
            child.kill()
        opened = KnowledgeFile(file)
        assert opened.facts.made in {1_800_000_000.0, 1.0, 2.0}
        assert opened.find("refund", (), 1)
        opened.close()


def test_the_notes_name_pages_whose_texts_changed_or_went(tmp_path: Path) -> None:
    """A text that all pages share, such as a menu, is that of the first page alone."""
    path = tmp_path / "site.kefu"
    days = [86_400.0 * day for day in (1, 2, 3, 4, 200)]

    def learn(at: float, *texts: str, menu: str = "Home") -> dict[str, float]:
        last = page_texts(path)
        pages = [
            page(f"p{number}", f"Page {number}", Block(menu), Block(f"{text}. " * 20))
            for number, text in enumerate(texts)
        ]
        write(path, run(pages, at))
        note_changes(path, last, at)
        return {url.removeprefix(f"{SITE}/"): when for url, when in changes(path).items()}

    with pytest.raises(FileNotFoundError, match=r"site.kefu.changes does not exist"):
        changes(path)
    names = ["Norway", "Sweden", "Denmark", "Finland", "Iceland", "Greece", "Spain", "Italy"]
    numbers = [f"p{number}" for number in range(8)]
    assert learn(days[0], *names) == dict.fromkeys(numbers, days[0])
    again = learn(days[1], *names, menu="Welcome")
    assert again == {**dict.fromkeys(numbers, days[0]), "p0": days[1]}
    fewer = learn(days[2], "Norway", "Oslo", *names[2:7], menu="Welcome")
    changed = {name: when for name, when in fewer.items() if when == days[2]}
    assert changed == {"p1": days[2], "p7": days[2]}
    same = "Norway", "Oslo", *names[2:7]
    assert learn(days[3], *same, menu="Welcome") == fewer
    assert "p7" not in learn(days[4], *same, menu="Welcome")
    (tmp_path / "site.kefu.changes").write_text("[")
    assert learn(days[4], *same[:6], "Bergen", menu="Welcome") == {"p6": days[4]}


def test_g32_kept_pages_change_no_result(file: Path) -> None:
    kept, plain = KnowledgeFile(file), KnowledgeFile(file)
    kept.keep_pages()
    for question in ("parcels to Norway", "parcels to Norway", "退款"):
        assert kept.find(question, (), 6) == plain.find(question, (), 6)
    assert kept.parts() == plain.parts()
    kept.close()
    plain.close()
