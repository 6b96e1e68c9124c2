"""Runs `kefu learn`: reads folders and sites, and writes the file of learnt pages."""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import NamedTuple

from kefu.bootstrap.clock import SystemClock
from kefu.knowledge.checking import Findings, check
from kefu.knowledge.extract.files import MAX_FILE_BYTES, READ, Unreadable
from kefu.knowledge.frame import kept_once, parted
from kefu.knowledge.learning import (
    NO_STATE,
    READER_VERSION,
    TRANSLATIONS,
    LearningReport,
    Learnt,
    PageOutcome,
    State,
)
from kefu.knowledge.pages import Block, PageText
from kefu.stores.sqlite.knowledge.changes import note_changes, page_texts
from kefu.stores.sqlite.knowledge.last_run import read_back
from kefu.stores.sqlite.knowledge.read import KnowledgeFile
from kefu.stores.sqlite.knowledge.schema import CannotRead
from kefu.stores.sqlite.knowledge.write import (
    Encoded,
    Meaning,
    PageProblem,
    Run,
    Size,
    write,
)
from kefu.upstream.crawl.crawl import MAX_PAGES, ROBOTS_AGENT, Crawler, read_one
from kefu.upstream.crawl.feed import feed_end, read_feed_at
from kefu.upstream.crawl.fetch import Fetcher, Refused, checked
from kefu.upstream.reader import PageReader

_UNREAD_TEXTS = frozenset(
    {".adoc", ".doc", ".epub", ".json", ".odt", ".org", ".rst", ".rtf", ".xml"}
)
"""Files that have text, but are not read, and so are named in the report."""

_SKIPPED_FOLDERS = frozenset({"node_modules", "__pycache__"})


class Options(NamedTuple):
    output: Path
    base: str = ""
    """The web address of a folder, for links to its pages."""
    private_hosts: frozenset[str] = frozenset()
    """Hosts that may be on this machine or in its network."""
    meaning: Meaning | None = None
    """Adds numbers for the meaning of passages."""
    pages: int = MAX_PAGES
    """Maximum pages of a site that are read in this run."""


def learn(
    sources: Sequence[str],
    options: Options,
    note: Callable[[PageOutcome], None],
    encoded: Encoded | None = None,
) -> LearningReport:
    """Read the sources and write the file, unless too few pages were read.

    `note` is called after each page, `encoded` after each passage whose meaning was encoded. Raises
    OSError for a source or an output that cannot be used.
    """
    last = _last(options.output)
    known = {url: _state(one) for url, one in last.items()}
    outcomes, bodies = dict[str, PageOutcome](), 0
    files = _Files(sources, options.base, note)
    for source in sources:
        if _is_site(source):
            crawled, read = asyncio.run(_crawl(source, known, options, note))
            bodies += read
            found = [files.unless_taken(one, f"{one.url} of {source}") for one in crawled]
        else:
            found = list(files.read(Path(source), outcomes))
        outcomes |= {one.url: one for one in found}
    report = LearningReport(list(outcomes.values()), len(last), bodies)
    if not report.pages or report.is_too_small:
        return report
    run = Run(_pages(report, last), _problems(report), SystemClock().now())
    added = options.meaning
    if added and encoded:
        added = added._replace(encoded=encoded)
    texts = page_texts(options.output)
    size = write(options.output, run, added)
    note_changes(options.output, texts, run.made)
    return _written(report, size)


def _written(report: LearningReport, size: Size) -> LearningReport:
    left_out = size.left_out
    outcomes = [
        PageOutcome(one.url, "skipped", left_out[one.url]) if one.url in left_out else one
        for one in report.outcomes
    ]
    return report._replace(
        outcomes=outcomes,
        passages=size.passages,
        file=size.file,
        lost_meaning=size.lost_meaning,
    )


def meaning() -> Meaning:
    """Load the model for passages' meaning. Raises ModuleNotFoundError if it is not installed."""
    from kefu.stores.sqlite.knowledge.meaning import MODEL, encoded, load

    load()
    return Meaning(MODEL, encoded)


def hosts(sources: Sequence[str]) -> frozenset[str]:
    """The hosts of the sources that are sites, for `Options`."""
    found = set[str]()
    for source in sources:
        with suppress(Refused):  # such a source is named in the report
            found.add(checked(source).host)
    return frozenset(found)


def checked_file(path: Path) -> Findings:
    """Check a file that was just written. Raises CannotRead."""
    with closing(KnowledgeFile(path)) as file:
        file.keep_pages()
        pages = list(read_back(path).values())
        return check(file.parts(), pages, lambda question, limit: file.find(question, (), limit))


class Shown(NamedTuple):
    """One page as `learn` stores it."""

    own: PageText
    shared: Sequence[Block]
    """The page's lines that are kept once for the whole site."""
    others: int
    """Pages of the last run by which frame and text are told apart."""


def show(source: str, options: Options) -> Shown | str:
    """Read one page without the frame of the last run's pages; or return the error."""
    if not _is_site(source):
        (outcome, *_) = _Files([source], options.base, lambda _: None).read(Path(source), {})
    else:
        outcome = asyncio.run(read_one(source, options.private_hosts))
    if outcome.page is None:
        return outcome.reason
    last = _last(options.output) | {outcome.url: Learnt(outcome.page, outcome.state)}
    pages = [one.page for one in last.values()]
    (own,) = (page for page in parted(pages).own if page.url == outcome.page.url)
    return Shown(own, kept_once(outcome.page, pages), len(pages) - 1)


async def _crawl(
    start: str,
    known: Mapping[str, State],
    options: Options,
    note: Callable[[PageOutcome], None],
) -> tuple[list[PageOutcome], int]:
    fetcher = Fetcher(ROBOTS_AGENT, private=options.private_hosts)
    try:
        if feed_end(start):
            outcomes = await read_feed_at(start, fetcher, known)
            for one in outcomes:
                note(one)
            return outcomes, fetcher.bodies
        crawler = Crawler(start, fetcher, ROBOTS_AGENT, known, note, options.pages)
        outcomes = await crawler.run()
    finally:
        await fetcher.aclose()
    return outcomes, fetcher.bodies


def _last(path: Path) -> dict[str, Learnt]:
    """The pages of the last run; none if the file is missing or of another version."""
    try:
        return read_back(path) if path.is_file() else {}
    except CannotRead:
        return {}


def _state(one: Learnt) -> State:
    """No state for a page that another version read, or with damaged characters, so that it is
    read again: the server would say that it did not change.
    """
    is_old = one.state.get("reader") != READER_VERSION
    is_damaged = any("\ufffd" in block.text for block in one.page.blocks)
    return NO_STATE if is_old or is_damaged else one.state


def _pages(report: LearningReport, last: Mapping[str, Learnt]) -> list[Learnt]:
    pages = list[Learnt]()
    for one in report.outcomes:
        if one.page:
            pages.append(Learnt(one.page, one.state))
        elif one.kind in {"unchanged", "kept"} and one.url in last:
            pages.append(last[one.url]._replace(state=one.state))
    return pages


def _problems(report: LearningReport) -> list[PageProblem]:
    kinds = {"kept": "failed", "failed": "failed", "skipped": "skipped"}
    return [
        PageProblem(one.url, kinds[one.kind], one.reason)
        for one in report.outcomes
        if one.kind in kinds
    ]


class _Files:
    """Reads the sources that are folders and files, and knows which file has which address."""

    def __init__(
        self, sources: Sequence[str], base: str, note: Callable[[PageOutcome], None]
    ) -> None:
        folders = [_folder(Path(one)).resolve() for one in sources if not _is_site(one)]
        self._above = os.path.commonpath(folders) if folders else ""
        """The folder of all sources. Without a base, paths below it are the addresses."""
        self._base = base
        self._note = note
        self._taken = dict[str, Path]()

    def read(self, root: Path, others: Mapping[str, PageOutcome]) -> Iterator[PageOutcome]:
        """The pages of a folder, or of one file. `others`: those read before. Raises OSError."""
        if not root.exists():
            raise FileNotFoundError(f"{root} does not exist")
        paths = sorted(_walk(root)) if root.is_dir() else [root]
        folder = _folder(root)
        below = Path() if self._base else folder.resolve().relative_to(self._above)
        with closing(PageReader()) as reader:
            for path in paths:
                url = _address(below / path.relative_to(folder), self._base)
                if root.is_dir() and _leaves(path, root):
                    outcome = PageOutcome(url, "skipped", "a link that leads out of the folder")
                else:
                    outcome = _read(path, url, reader)
                if outcome.url in others and outcome.url not in self._taken:
                    outcome = _skipped(outcome, str(path), "a page on the web")
                elif self._taken.setdefault(outcome.url, path).resolve() != path.resolve():
                    outcome = self.unless_taken(outcome, str(path))
                self._note(outcome)
                yield outcome

    def unless_taken(self, outcome: PageOutcome, place: str) -> PageOutcome:
        """The outcome; or one without a page, at its place, if a file has its address."""
        first = self._taken.get(outcome.url)
        return _skipped(outcome, place, str(first)) if first else outcome


def _skipped(outcome: PageOutcome, place: str, first: str) -> PageOutcome:
    if outcome.kind in {"skipped", "failed"}:
        return outcome._replace(url=place)
    return PageOutcome(place, "skipped", f"has the same address as {first}")


def _is_site(source: str) -> bool:
    return source.startswith(("http://", "https://"))


def _folder(root: Path) -> Path:
    return root if root.is_dir() else root.parent


def _walk(root: Path) -> Iterable[Path]:
    for path in root.rglob("*"):
        parts = path.relative_to(root).parts
        hidden = any(part.startswith(".") or part in _SKIPPED_FOLDERS for part in parts)
        is_read = path.suffix.lower() in READ | _UNREAD_TEXTS and path.is_file()
        # A link to a folder is not followed. A link that may have files is reported.
        if not hidden and (is_read or (path.is_dir() and _leaves(path, root))):
            yield path


def _leaves(path: Path, root: Path) -> bool:
    """Whether the path is a link to a place outside of the folder."""
    return not path.resolve().is_relative_to(root.resolve())


def _address(path: Path, base: str) -> str:
    """The web address of a file: `base/help/returns` for `help/returns.md`."""
    name = path.as_posix()
    if not base:
        return name
    plain = path.with_suffix("").as_posix() if path.suffix in {".md", ".mdx"} else name
    plain = "" if plain in {"index", "README"} else plain.removesuffix("/index")
    return f"{base.rstrip('/')}/{plain}"


def _read(path: Path, url: str, reader: PageReader) -> PageOutcome:
    end = path.suffix.lower()
    if end not in READ:
        return PageOutcome(
            url, "skipped", f"files ending in {path.suffix or 'nothing'} are not read"
        )
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            return PageOutcome(url, "skipped", f"larger than {MAX_FILE_BYTES >> 20} MB")
        data = path.read_bytes()
        read, remark = reader.page(data, end, url)
    except (Unreadable, OSError) as error:
        return PageOutcome(url, "failed", str(error))
    if not read.indexed:
        return PageOutcome(url, "skipped", "asks not to be indexed (noindex)")
    page = read.page
    if not any(block.text.strip() for block in page.blocks):
        return PageOutcome(url, "skipped", "has no text")
    digest = hashlib.blake2b(data, digest_size=16).hexdigest()
    notes = {"notes": "\n".join(read.notes), TRANSLATIONS: "\n".join(read.translations)}
    kept = {name: value for name, value in notes.items() if value}
    state: State = {"digest": digest, "reader": READER_VERSION, **kept}
    return PageOutcome(page.url, "learnt", remark, page=page, state=state)
