"""Makes a site of docs/, whose chat is Kefu with the site's own pages: `python docs/site/make.py`.

The pages keep the folders that they have in the repository, so links need no change. Files that
they link, such as pictures and `template.yaml`, are copied too. Zensical builds the site; it is the
successor that the authors of Material for MkDocs recommend.
"""

from __future__ import annotations

import argparse
import functools
import http.server
import json
import re
import shutil
import subprocess
import sys
import threading
from pathlib import Path

ROOT = Path(__file__).parents[2]
OUT = ROOT / "build/site"
ZENSICAL = ROOT / ".venv-release/bin/zensical"
TOP = ("README.md", "README.zh-CN.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "LICENSE")
HOST = "127.0.0.1"
PORT, CHAT_PORT = 8001, 8002
SETTINGS = f"""\
[chat]
origins = ["http://{HOST}:{PORT}"]

[knowledge]
file = "docs.kefu"
"""
ROW = re.compile(r"^\| (?:\*\*)?([^|*]+?)(?:\*\*)? \| (.+) \|$", re.MULTILINE)
LINK = re.compile(r"\]\(([^)#\s]+)[^)]*\)|(?:src|srcset)=\"([^\"]+)\"")


def main() -> int:
    parser = argparse.ArgumentParser(description="Make the site of docs/ in build/site/html.")
    parser.add_argument("--chat", default="", metavar="URL", help="the service of the chat")
    parser.add_argument("--serve", action="store_true", help="serve the site and its chat here")
    parser.add_argument("--check", action="store_true", help="also try each page as an answer")
    options = parser.parse_args()
    build(f"http://{HOST}:{CHAT_PORT}" if options.serve else options.chat)
    if options.serve or options.check:
        learnt = learn(check=options.check)
        if learnt:
            return learnt
    return serve() if options.serve else 0


def build(chat: str) -> None:
    """Build the site; a broken link or anchor ends it. `chat`: the URL of a Kefu, or "" without."""
    shutil.rmtree(OUT, ignore_errors=True)
    pages = [ROOT / name for name in TOP] + sorted(ROOT.glob("docs/**/*.md"))
    for page in pages:
        copy(page)
        for linked in links(page):
            if linked.is_file():
                copy(linked)
    shutil.copytree(ROOT / "docs/site/overrides", OUT / "overrides")
    config = (ROOT / "docs/site/zensical.toml").read_text(encoding="utf-8")
    head, theme = config.split("\n[project.theme]\n", 1)
    text = f"{head}nav = {toml_of(menu())}\n\n[project.extra]\nchat = {json.dumps(chat)}\n"
    (OUT / "zensical.toml").write_text(f"{text}\n[project.theme]\n{theme}", encoding="utf-8")
    subprocess.run([ZENSICAL, "build", "--strict", "--clean"], cwd=OUT, check=True)


def copy(file: Path) -> None:
    copied = OUT / "pages" / file.relative_to(ROOT)
    copied.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(file, copied)


def links(page: Path) -> list[Path]:
    """The files of the repository that a page links or shows."""
    found = ["".join(one) for one in LINK.findall(page.read_text(encoding="utf-8"))]
    paths = [(page.parent / one).resolve() for one in found if not re.match(r"[a-z]+:", one)]
    return [path for path in paths if path.is_relative_to(ROOT)]


def menu() -> list[dict[str, object]]:
    """The rows of the index, the Chinese pages, and the decisions; each page with its own title."""
    rows = ROW.findall((ROOT / "docs/README.md").read_text(encoding="utf-8"))
    sections = {name: pages_in(cells, ROOT / "docs/README.md") for name, cells in rows}
    listed = {page for pages in sections.values() for page in pages}
    entries: list[dict[str, object]] = [{"Kefu": "README.md"}]
    for name, pages in sections.items():
        parts = [part for page in pages for part in (page, *parts_of(page, listed))]
        if parts:
            entries.append(section(name, parts))
    entries.append(section("中文", ["README.zh-CN.md", *files("docs/zh/*.md")]))
    entries.append(section("Decisions", files("docs/decisions/[0-9]*.md")))
    return entries


def section(name: str, pages: list[str]) -> dict[str, object]:
    return {name: [{title(page): page} for page in pages]}


def files(pattern: str) -> list[str]:
    return [str(path.relative_to(ROOT)) for path in sorted(ROOT.glob(pattern))]


def parts_of(page: str, listed: set[str]) -> list[str]:
    """The pages that go on from this one, such as testing-tools.md from testing.md."""
    return [part for part in files(page.removesuffix(".md") + "-*.md") if part not in listed]


def pages_in(cells: str, index: Path) -> list[str]:
    targets = [(index.parent / one).resolve() for one, _ in LINK.findall(cells) if ":" not in one]
    return [str(page.relative_to(ROOT)) for page in targets if page.suffix == ".md"]


def title(page: str) -> str:
    text = (ROOT / page).read_text(encoding="utf-8")
    found = re.search(r"^# (.+)$", text, re.MULTILINE)
    return re.sub(r"[`*]", "", found[1]) if found else page


def toml_of(value: object) -> str:
    """A menu as TOML: lists, tables with one key, and strings."""
    if isinstance(value, list):
        return "[" + ", ".join(toml_of(one) for one in value) + "]"
    if isinstance(value, dict):
        return (
            "{"
            + ", ".join(f"{json.dumps(key)} = {toml_of(one)}" for key, one in value.items())
            + "}"
        )
    return json.dumps(value, ensure_ascii=False)


def learn(*, check: bool) -> int:
    """Learn the built pages. With `check`, Kefu's own report judges whether each is found."""
    command: list[str | Path] = [sys.executable, "-m", "kefu", "learn"]
    command += [OUT / "html", "-o", OUT / "docs.kefu"]
    command += ["--url", f"http://{HOST}:{PORT}", *(["--check"] if check else [])]
    return subprocess.run(command, cwd=OUT, check=False).returncode


def serve() -> int:
    """Serve the site and a Kefu that answers from it, until Ctrl-C."""
    (OUT / "kefu.toml").write_text(SETTINGS, encoding="utf-8")
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(OUT / "html"))
    site = http.server.ThreadingHTTPServer((HOST, PORT), handler)
    threading.Thread(target=site.serve_forever, daemon=True).start()
    print(f"The site: http://{HOST}:{PORT}", flush=True)
    command = [sys.executable, "-m", "kefu", "serve", "--port", str(CHAT_PORT)]
    try:
        return subprocess.run(command, cwd=OUT, check=False).returncode
    except KeyboardInterrupt:
        return 0
    finally:
        site.shutdown()


if __name__ == "__main__":
    sys.exit(main())
