"""Writes the licences of the libraries that Kefu's image and Lambda package contain.

The names come from requirements/server.txt and requirements/lambda.txt, the licences from the
metadata that the installed packages carry (https://packaging.python.org/specifications/core-metadata).
"""

from __future__ import annotations

import re
import sys
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import NamedTuple

from packaging.requirements import Requirement

REQUIREMENTS = Path(__file__).parents[1] / "requirements"
SHIPPED = ("server", "lambda")
"""The lists whose packages are in an artefact of a release."""

TEXTS = re.compile(r"(?i)^(licen[sc]e|copying|notice|copyright|authors)")


class Notice(NamedTuple):
    name: str
    version: str
    licence: str
    """An SPDX expression, or the name that the package's metadata has for it; "" without one."""
    texts: tuple[str, ...]
    """The texts of the licence files that lie in the installed package."""


def pins(listed: str) -> list[Requirement]:
    """The requirements of a list of pins, without their hashes."""
    text = (REQUIREMENTS / f"{listed}.txt").read_text(encoding="utf-8")
    return [
        Requirement(line.rstrip(" \\")) for line in re.findall(r"^[a-z].*$", text, re.MULTILINE)
    ]


def shipped() -> list[str]:
    """The names of all packages in an artefact that this Python would install."""
    wanted = [pin for listed in SHIPPED for pin in pins(listed)]
    return sorted({pin.name for pin in wanted if not pin.marker or pin.marker.evaluate()})


def notice(name: str) -> Notice:
    """Raises PackageNotFoundError for a package that is not installed."""
    found = distribution(name)
    texts = [text for path in licence_files(found) if (text := text_of(path))]
    return Notice(found.name, found.version, licence_of(found), tuple(dict.fromkeys(texts)))


def licence_of(found: Distribution) -> str:
    """License-Expression, else the classifiers, else the first line of License."""
    expression = found.metadata.get_all("License-Expression", [])
    classifiers = [
        line.rpartition(" :: ")[2]
        for line in found.metadata.get_all("Classifier", [])
        if line.startswith("License :: OSI Approved :: ")
    ]
    free_text = [text.strip().partition("\n")[0] for text in found.metadata.get_all("License", [])]
    return " AND ".join(expression or classifiers or free_text)


def licence_files(found: Distribution) -> list[Path]:
    """The files beside the metadata that lie in the folder for licences, or have such a name."""
    inside = [path for path in found.files or () if ".dist-info" in str(path)]
    named = [path for path in inside if "licenses" in path.parts or TEXTS.match(path.name)]
    return [Path(str(path.locate())) for path in named]


def text_of(path: Path) -> str:
    """A few licences in wheels are in Latin-1."""
    content = path.read_bytes()
    try:
        return content.decode("utf-8").strip()
    except UnicodeDecodeError:
        return content.decode("latin-1").strip()


def page(notices: list[Notice]) -> str:
    """All notices as one text: a list, then the texts of each package."""
    width = max(len(one.name) for one in notices)
    lines = [f"{one.name:{width}}  {one.version}  {one.licence}" for one in notices]
    head = "Kefu is under Apache-2.0. Its image and its package for AWS Lambda contain:\n\n"
    parts = [
        f"{'=' * 80}\n{one.name} {one.version}\n\n" + "\n\n".join(one.texts) for one in notices
    ]
    return head + "\n".join(lines) + "\n\n" + "\n\n".join(parts) + "\n"


def main() -> int:
    try:
        sys.stdout.write(page([notice(name) for name in shipped()]))
    except PackageNotFoundError as missing:
        sys.exit(f"{missing.name} is not installed. Run: make setup")
    return 0


if __name__ == "__main__":
    sys.exit(main())
