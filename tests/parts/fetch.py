"""Fetch parts into .parts/: `python -m tests.parts.fetch [dynamodb-local|dynalite|all]`.

Again: changes nothing. Each part comes from its own registry, through that registry's client.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).parent
PARTS = HERE.parent.parent / ".parts"

DYNAMODB_LOCAL = "2.6.1"
POM = f"""\
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>kefu</groupId><artifactId>parts</artifactId><version>1</version>
  <dependencies>
    <dependency>
      <groupId>com.amazonaws</groupId><artifactId>DynamoDBLocal</artifactId>
      <version>{DYNAMODB_LOCAL}</version>
    </dependency>
  </dependencies>
</project>
"""
COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies"


def fetch_dynamodb_local(folder: Path) -> None:
    """Amazon's own DynamoDB for one machine: a Maven artifact, its libraries, 51 MB; Java 17."""
    folder.mkdir(parents=True)
    (folder / "pom.xml").write_text(POM)
    _run("mvn", "-B", "-q", COPY, "-DincludeScope=runtime", "-DoutputDirectory=lib", cwd=folder)


def fetch_dynalite(folder: Path) -> None:
    """A DynamoDB written in JavaScript, from npm, 10 MB; Node.js 20."""
    folder.mkdir(parents=True)
    for name in ("package.json", "package-lock.json", ".npmrc"):
        shutil.copy(HERE / name, folder)
    _run("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--silent", cwd=folder)


FETCH: dict[str, Callable[[Path], None]] = {
    "dynamodb-local": fetch_dynamodb_local,
    "dynalite": fetch_dynalite,
}
VERSIONS = {
    "dynamodb-local": DYNAMODB_LOCAL,
    "dynalite": (HERE / "package-lock.json").read_text(),
}
"""What a part was made from; another text here fetches it anew."""


def folder_of(part: str) -> Path | None:
    """Where a part is, or None when it has not been fetched, or only in another version."""
    folder = PARTS / part
    stamp = folder / "fetched"
    return folder if stamp.is_file() and stamp.read_text() == VERSIONS[part] else None


def fetch(part: str) -> None:
    if folder_of(part):
        print(f"{part}: there already", flush=True)
        return
    print(f"{part}: fetching ...", flush=True)
    folder = PARTS / part
    shutil.rmtree(folder, ignore_errors=True)
    FETCH[part](folder)
    (folder / "fetched").write_text(VERSIONS[part])
    print(f"{part}: fetched into {folder.relative_to(PARTS.parent)}", flush=True)


def _run(program: str, *arguments: str, cwd: Path) -> None:
    if shutil.which(program) is None:
        sys.exit(f"{cwd.name} needs {program}, which is not installed.")
    if (code := subprocess.run([program, *arguments], cwd=cwd, check=False).returncode) != 0:
        sys.exit(f"{cwd.name}: {program} failed (exit {code}); its message is above.")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.parts.fetch", description=__doc__)
    parser.add_argument("part", nargs="?", choices=[*FETCH, "all"], default="all")
    wanted = parser.parse_args().part
    for part in FETCH if wanted == "all" else [wanted]:
        fetch(part)


if __name__ == "__main__":
    main()
