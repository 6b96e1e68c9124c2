"""Finds passages in the file of learnt pages."""

from __future__ import annotations

import json
import sqlite3
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from kefu.knowledge.finding import (
    KEPT_TERMS_SHARE,
    LARGE_SITE_PASSAGES,
    MAX_RANKED_PASSAGES,
    PassageHit,
    asked,
    chosen,
    has_terms,
    in_turn,
    joined,
    questions_in,
    with_before,
)
from kefu.knowledge.pages import FiledPage, Passage, page_id
from kefu.knowledge.related import RELATED_WEIGHT, related
from kefu.knowledge.simplified import in_other_region
from kefu.knowledge.terms import asking_language, is_pair, question_terms, whole_terms
from kefu.knowledge.translations import in_one_language
from kefu.stores.sqlite.knowledge.packed import unpacked
from kefu.stores.sqlite.knowledge.schema import CannotRead, check, has_table, meaning_of
from kefu.stores.sqlite.knowledge.typed import TypedWords

if TYPE_CHECKING:
    from kefu.stores.sqlite.knowledge.meaning import Meanings

MAX_HITS = 40
"""Passages that are read for a question, before at most two of a page are kept."""

_RANKED = "SELECT rowid, -rank FROM term WHERE term MATCH ? ORDER BY rank, rowid LIMIT ?"
_WEIGHTED = """SELECT rowid, sum(score) AS score FROM (
    SELECT term.rowid, -rank * wanted.value AS score
    FROM json_each(?) AS wanted CROSS JOIN term WHERE term MATCH wanted.key{unmarked})
    GROUP BY rowid ORDER BY score DESC, rowid LIMIT ?"""
_UNMARKED = """ UNION ALL SELECT unmarked.rowid, -rank * typed.value
    FROM json_each(?) AS typed CROSS JOIN unmarked WHERE unmarked MATCH typed.key"""
"""BM25 is a sum over terms. Terms of one weight are searched together, because FTS5 has no weights
for terms.
"""

MENDED_WEIGHT = 0.5
"""The weight of a word that stands for a word with a typo: it may be another one."""

MAX_TERMS = 48
"""Maximum terms of a question: a pasted page is no question."""


class Facts(NamedTuple):
    """Facts about the file: numbers of pages, passages and problems, and when it was made."""

    pages: int
    passages: int
    made: float
    """Unix time in seconds."""
    problems: int


class KnowledgeFile:
    """An open file of learnt pages. Methods block, below a millisecond in a small file."""

    def __init__(self, path: Path, db: sqlite3.Connection | None = None) -> None:
        """`db`: the tables of a file, in memory. None: opens the file. Raises CannotRead."""
        self._db = db or _opened(path)
        self._unpacked: Callable[[bytes], list[Passage]] = unpacked
        try:
            check(self._db, str(path))
            self.facts = self._facts()
            self._meanings = _meanings(self._db, self.facts.passages, str(path))
        except BaseException:
            self._db.close()
            raise

    def close(self) -> None:
        self._db.close()

    def keep_pages(self) -> None:
        """Keep unpacked pages in memory, for thousands of questions in a row."""
        self._unpacked = cache(unpacked)

    def _facts(self) -> Facts:
        meta = dict(self._db.execute("SELECT name, value FROM meta"))
        self.languages: Sequence[str] = meta["languages"].split()
        self._typed = TypedWords(self._db, self.languages)
        self._translations = self._groups()
        pages = self._db.execute("SELECT count(DISTINCT source) FROM page").fetchone()[0]
        problems = self._db.execute("SELECT count(*) FROM problem").fetchone()[0]
        return Facts(pages, int(meta["passages"]), float(meta["made"]), problems)

    def _groups(self) -> dict[str, str]:
        """The group of each page with translations. A file of an earlier version has none."""
        if not has_table(self._db, "translation"):
            return {}
        return dict(self._db.execute("SELECT source, same FROM translation"))

    def sources(self) -> list[str]:
        """The address of each page, in order."""
        rows = self._db.execute("SELECT source FROM page ORDER BY first")
        return list(dict.fromkeys(one for (one,) in rows))

    def parts(self) -> list[FiledPage]:
        """All pages, and parts of pages that count as pages, with their passages."""
        rows = self._db.execute("SELECT first, source, title, passages FROM page ORDER BY first")
        return [
            FiledPage(first, source, title, self._unpacked(cut))
            for first, source, title, cut in rows
        ]

    def problems(self) -> list[tuple[str, str]]:
        """The pages that failed in the last run, each with the reason."""
        rows = self._db.execute("SELECT source, reason FROM problem WHERE kind = 'failed'")
        return [(source, reason) for source, reason in rows]

    def find(self, question: str, before: Sequence[str], limit: int) -> list[PassageHit]:
        """At most `limit` passages, best first. Raises sqlite3.Error for a damaged file."""
        mended = self._typed.mended(question)
        wanted = question_terms(asked(mended, before), self.languages)[:MAX_TERMS]
        if not wanted:
            return []
        near = self._related(wanted)
        more = {f'"{term}"': RELATED_WEIGHT for term in near}
        more |= dict.fromkeys(self._single(wanted), 1.0)
        rows = self._by_words(question, mended, before, more)
        by_words = rows[:1]
        parts = questions_in(question, self.languages)
        if "zh" in self.languages and (other := in_other_region(question)):
            parts.append(other)
        if parts:
            found = (self._by_words(one, self._typed.mended(one), (), {}) for one in parts)
            rows = in_turn([[id for id, _ in ranked] for ranked in (rows, *found)])[:MAX_HITS]
        if self._meanings:
            best = next(self._hits(by_words), None)
            ids = [id for id, _ in rows]
            rows = joined(ids, self._meanings.nearest(with_before(mended, before), MAX_HITS))
            if best and has_terms(best, wanted, KEPT_TERMS_SHARE):
                rows.sort(key=lambda row: row[0] != ids[0])  # a stable sort: the others follow
        hits: Iterable[PassageHit] = self._hits(rows)
        if self._translations:
            hits = in_one_language(list(hits), self._translations, mended)
        return [one._replace(wanted=wanted, near=near) for one in chosen(hits, limit)]

    def page(self, address: str) -> list[PassageHit]:
        """All passages of a page, in order; none if the file has no such page.

        `address`: of the page or of a part of it (`#part`), or its `page_id`. Raises sqlite3.Error
        for a damaged file.
        """
        source, sources = address.partition("#")[0], self.sources()
        if source not in sources and len(source) == len(page_id("")):
            source = next((one for one in sources if page_id(one) == source), "")
        rows = self._db.execute(
            "SELECT title, passages FROM page WHERE source = ? ORDER BY first", (source,)
        )
        return [
            PassageHit(source, _link(source, one.anchor), title, one.headings, one.text, 0)
            for title, packed in rows
            for one in unpacked(packed)
        ]

    def _by_words(
        self, question: str, mended: str, before: Sequence[str], more: Mapping[str, float]
    ) -> list[tuple[int, float]]:
        """The best passages for the words of a question, and for `more` terms with weights."""
        # As it was typed, too: files of an earlier version have traditional characters.
        typed = "\n".join(dict.fromkeys((asked(question, before), with_before(question, before))))
        text = asked(mended, before)
        own, kept, plain = set[str](), list[str](), list[str]()
        asked_in = asking_language(text, self.languages)
        for language in self.languages:
            mine = question_terms(typed, [language], asked_in)
            meant = mine if text == typed else question_terms(text, [language], asked_in)
            own.update(mine)
            kept += self._rare("term", list(dict.fromkeys((*meant, *mine))))
            plain += self._rare("unmarked", self._typed.without_accents(text, language, asked_in))
        weights = {**more} | {f'"{term}"': 1.0 if term in own else MENDED_WEIGHT for term in kept}
        one = asked(mended, ())
        whole = sorted(
            set[str]().union(*(whole_terms(one, tag, asked_in) for tag in self.languages))
        )
        weights |= {f'"{term}"': 1.0 for term in whole}
        unmarked = {f'"{term}"': 1.0 for term in (*plain, *whole)}
        return self._ranked(weights, unmarked if plain else {})

    def _ranked(
        self, weights: Mapping[str, float], typed: Mapping[str, float]
    ) -> list[tuple[int, float]]:
        """The best passages for terms with their weights, and for terms without accents."""
        together, plain = _grouped(weights), _grouped(typed)
        if not plain and list(together.values()) == [1.0]:
            return self._db.execute(_RANKED, (*together, MAX_HITS)).fetchall()
        sql = _WEIGHTED.format(unmarked=_UNMARKED if plain else "")
        groups = map(json.dumps, (together, plain) if plain else (together,))
        return self._db.execute(sql, (*groups, MAX_HITS)).fetchall()

    def _rare(self, table: str, wanted: Sequence[str]) -> Sequence[str]:
        """Of terms in one language, those that a large index does not list as frequent, and the
        rarest frequent ones. `table`: `term` or `unmarked`.
        """
        wanted = wanted[:MAX_TERMS]
        marks = ",".join("?" * len(wanted))
        sql = f"SELECT term, passages FROM frequent WHERE term IN ({marks})"  # noqa: S608 - marks
        often = dict[str, int](self._db.execute(sql, wanted).fetchall())
        kept, ranked = [term for term in wanted if term not in often], 0
        for term in sorted(often, key=lambda term: often[term]):
            ranked += often[term]
            if ranked > MAX_RANKED_PASSAGES and kept and self._typed.has(table, kept):
                break
            kept.append(term)
        return kept

    def _related(self, wanted: Sequence[str]) -> Sequence[str]:
        """Words of a similar meaning. A large site has enough text for the question's own."""
        is_small = self.facts.passages <= LARGE_SITE_PASSAGES
        return related(wanted) if is_small and "en" in self.languages else ()

    def _single(self, wanted: Sequence[str]) -> list[str]:
        """Chinese characters of the question whose pairs are on no page, each to be found alone.

        Two words of one meaning often share a character, such as the Chinese words for "donate".
        """
        known, unknown = set[str](), dict[str, None]()
        for pair in (term for term in wanted if is_pair(term)):
            if self._typed.has("term", [pair]):
                known.update(pair)
            else:
                unknown.update(dict.fromkeys(pair))
        return [f'"{one}"*' for one in unknown if one not in known]

    def _hits(self, rows: Sequence[tuple[int, float]]) -> Iterator[PassageHit]:
        pages = dict[int, tuple[str, str, str, list[Passage]]]()
        for id, score in rows:
            first, *page = self._db.execute(
                "SELECT first, source, title, language, passages FROM page"
                " WHERE first <= ? ORDER BY first DESC LIMIT 1",
                (id,),
            ).fetchone()
            if first not in pages:
                source, title, language, packed = page
                pages[first] = source, title, language, self._unpacked(packed)
            source, title, language, cut = pages[first]
            one = cut[id - first]
            url = _link(source, one.anchor)
            place = (source, url, title, one.headings, one.text)
            yield PassageHit(*place, round(score, 3), language, part=first)


def _grouped(weights: Mapping[str, float]) -> dict[str, float]:
    """A query for the terms of each weight."""
    groups = defaultdict[float, list[str]](list)
    for term, weight in weights.items():
        groups[weight].append(term)
    return {" OR ".join(terms): weight for weight, terms in groups.items()}


def _opened(path: Path) -> sqlite3.Connection:
    if not path.is_file():
        raise CannotRead(f"{path} does not exist. Please make it with `kefu learn`.")
    try:
        # The file is replaced and never changed, so SQLite need not watch it.
        address = f"{path.resolve().as_uri()}?mode=ro&immutable=1"
        return sqlite3.connect(address, uri=True, check_same_thread=False)
    except sqlite3.Error as error:
        raise CannotRead(f"{path} cannot be read: {error}.") from None


def _meanings(db: sqlite3.Connection, passages: int, name: str) -> Meanings | None:
    """None for a file without vectors, or without `kefu[meaning]`: passages are found by words.

    Raises CannotRead for a damaged file.
    """
    if not (model := meaning_of(db)):
        return None
    try:
        from kefu.stores.sqlite.knowledge.meaning import MODEL, Meanings

        if model != MODEL:
            return None
        meanings = Meanings(db)
    except ModuleNotFoundError:
        return None
    except (sqlite3.Error, ValueError) as error:
        raise CannotRead(f"{name} cannot be read: {error}.") from None
    if len(meanings) != passages:
        raise CannotRead(f"{name} is damaged. Please run `kefu learn` again.")
    return meanings


def _link(source: str, anchor: str) -> str:
    if not source.startswith(("https://", "http://", "/")):
        return ""
    return f"{source}#{anchor}" if anchor else source
