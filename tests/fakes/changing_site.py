"""A web site that somebody edits at random."""

from __future__ import annotations

import random
from typing import NamedTuple

from tests.fakes.site import Answer, Site

WORDS = "boat anchor sail rope mast deck harbour tide wind storm map compass lamp knot oar"


class _Page:
    def __init__(self, title: str) -> None:
        self.title = title
        self.head: list[str] = []
        self.main: list[str] = []
        self.foot: list[str] = []
        self.links: list[str] = []
        self.target = ""
        """Where it redirects to."""
        self.comment = ""


class _Edit(NamedTuple):
    name: str
    paths: list[str]


class ChangingSite:
    """Its start page links to most pages, so that most stay within reach."""

    def __init__(self, site: Site, rng: random.Random) -> None:
        self._site = site
        self._rng = rng
        self._end = " | Boats"
        self._number = 0
        self._pages = {"/": _Page("Boats")}
        for _ in range(3):
            self._add()
        self._serve()

    def edit(self) -> _Edit:
        """Change the site."""
        edits = (self._add, self._remove, self._say, self._share, self._unshare, self._link)
        rare = (self._retitle, self._redirect, self._hide, self._touch, self._empty, self._menu)
        edit = self._rng.choice((self._add, *edits, *edits, *rare))
        paths = edit()
        self._serve()
        return _Edit(edit.__name__, paths)

    def _some(self) -> list[str]:
        paths = sorted(self._pages)
        return self._rng.sample(paths, self._rng.randint(1, len(paths)))

    def _one(self) -> str:
        return self._rng.choice(sorted(self._pages.keys() - {"/"}))

    def _line(self) -> str:
        self._number += 1
        return f"<p>{' '.join(self._rng.choices(WORDS.split(), k=6))} {self._number}.</p>"

    def _add(self) -> list[str]:
        self._number += 1
        path, page = f"/p{self._number}", _Page(f"Page {self._number}")
        page.main = [self._line() for _ in range(self._rng.randint(0, 4))]
        like = self._pages[self._rng.choice(sorted(self._pages))]
        page.foot, page.head = [*like.foot], [*like.head]
        self._pages[path] = page
        self._pages[self._rng.choice(["/", "/", *sorted(self._pages)])].links.append(path)
        return [path]

    def _remove(self) -> list[str]:
        if len(self._pages) < 4:
            return self._add()
        path = self._one()
        del self._pages[path]
        for page in self._pages.values():
            page.links = [link for link in page.links if link != path]
            page.head = [line for line in page.head if f"href={path}>" not in line]
            page.target = "" if page.target == path else page.target
        return [path]

    def _say(self) -> list[str]:
        path = self._one()
        main = self._pages[path].main
        if main and self._rng.random() < 0.5:
            main.pop(self._rng.randrange(len(main)))
        main.insert(self._rng.randint(0, len(main)), self._line())
        return [path]

    def _share(self) -> list[str]:
        paths, line = self._some(), self._line()
        kind = self._rng.choice(["main", "foot", "head"])
        for path in paths:
            getattr(self._pages[path], kind).append(line)
        return paths

    def _unshare(self) -> list[str]:
        paths = self._some()
        for path in paths:
            for lines in (self._pages[path].main, self._pages[path].foot):
                if lines:
                    lines.pop()
        return paths

    def _menu(self) -> list[str]:
        paths = self._some()
        for path in paths:
            self._pages[path].head = [f"<a href={link}>Go {link}</a>" for link in self._some()]
        return paths

    def _link(self) -> list[str]:
        page, path = self._pages[self._rng.choice(sorted(self._pages))], self._one()
        if path in page.links:
            page.links.remove(path)
        else:
            page.links.insert(0, path)
        return [path]

    def _retitle(self) -> list[str]:
        self._end = self._rng.choice([" | Boats", " - Boats & Co", ""])
        return sorted(self._pages)

    def _redirect(self) -> list[str]:
        path, target = self._one(), self._one()
        page = self._pages[path]
        would_loop = any(one.target == path for one in self._pages.values())
        is_end = path != target and not self._pages[target].target
        page.target = "" if page.target or would_loop or not is_end else target
        return [path, target]

    def _hide(self) -> list[str]:
        path = self._one()
        tag = "<meta name=robots content=noindex>"
        head = self._pages[path].head
        if tag in head:
            head.remove(tag)
        else:
            head.append(tag)
        return [path]

    def _touch(self) -> list[str]:
        """The bytes change, the text does not."""
        paths = self._some()
        for path in paths:
            self._pages[path].comment = self._line()
        return paths

    def _empty(self) -> list[str]:
        path = self._one()
        self._pages[path].main = []
        return [path]

    def _serve(self) -> None:
        self._site.pages = {path: self._answer(page) for path, page in self._pages.items()}

    def _answer(self, page: _Page) -> Answer:
        if page.target:
            return Answer(b"", 302, location=page.target)
        head, main, foot = ("".join(part) for part in (page.head, page.main, page.foot))
        links = "".join(f"<li><a href={link}>See {link}</a>" for link in page.links)
        return Answer(
            f"<html lang=en><title>{page.title}{self._end}</title><header>{head}</header>"
            f"<main><h1>{page.title}</h1>{main}<ul>{links}</ul></main>"
            f"<footer>{foot}</footer><!-- {page.comment} -->".encode()
        )
