"""Builds every artefact of a release twice, compares the bytes, and keeps one of each.

`python release/rehearse.py FOLDER` needs no account and publishes nothing: the wheel and the sdist,
the npm package, the package for AWS Lambda for both processors, an SBOM of each list of pins, the
notices of third parties, and the SHA-256 of all. Both builds start from copies of the last commit,
in folders of different names and at different times.
"""

from __future__ import annotations

import argparse
import filecmp
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
RELEASE_PYTHON = ROOT / ".venv-release/bin/python"
MODULES = Path("widget/node_modules")
PROCESSORS = ("arm64", "x86_64")
FIRST_DAY = (1980, 1, 1, 0, 0, 0)
"""The first time that a zip file can hold."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("folder", type=Path, help="replaced if it exists")
    parser.add_argument("--tag", default="", help="refuse unless it names the version: v0.1.0")
    options = parser.parse_args()
    folder: Path = options.folder.resolve()
    if complaint := version_complaint(options.tag):
        sys.exit(complaint)
    with tempfile.TemporaryDirectory() as scratch:
        commit = last_commit()
        first = build(Path(scratch) / "one", folder, commit)
        second = build(Path(scratch) / "a-second-place", Path(scratch) / "again", commit)
        if different := [name for name in first if not same(folder, Path(scratch) / "again", name)]:
            sys.exit(f"Two builds differ: {', '.join(different)}")
        if first != second:
            sys.exit(f"Two builds have different files: {first} and {second}")
    return report(folder, first)


def version_complaint(tag: str) -> str:
    """Return what contradicts the version of the Python package; else ""."""
    version = version_of(ROOT)
    npm = json.loads((ROOT / "widget/npm/package.json").read_text(encoding="utf-8"))["version"]
    if npm != version:
        return f"The npm package has the version {npm}, and the Python package {version}."
    if tag and tag != f"v{version}":
        return f"The tag is {tag}, and the version {version}: a release has the tag v{version}."
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    if not re.search(
        rf"^## \[{re.escape(version)}\] - \d{{4}}-\d\d-\d\d$", changelog, re.MULTILINE
    ):
        return f"CHANGELOG.md has no section [{version}] with a date."
    return ""


def version_of(tree: Path) -> str:
    text = (tree / "functions/kefu/__init__.py").read_text(encoding="utf-8")
    [version] = re.findall(r'^__version__ = "(.+)"$', text, re.MULTILINE)
    return str(version)


def last_commit() -> str:
    """Its hash, read once: another commit during the builds would make them differ."""
    command = ["git", "rev-parse", "HEAD"]
    return subprocess.run(
        command, cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.strip()


def build(tree: Path, out: Path, commit: str) -> list[str]:
    """Build a copy of `commit` at `tree`. Return the names of the files now in `out`."""
    copy(tree, commit)
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    run(["npm", "run", "--silent", "build"], tree / "widget")
    run([sys.executable, "-m", "hatchling", "build", "-d", out, "-t", "wheel", "-t", "sdist"], tree)
    run(["npm", "pack", "--silent", "--pack-destination", out], tree / "widget/npm")
    version = version_of(tree)
    for processor in PROCESSORS:
        package = tree / "build" / processor
        run([sys.executable, "functions/build.py", "--arch", processor, package], tree)
        pack(package, out / f"kefu-{version}-lambda-{processor}.zip")
    for listed in ("server", "lambda"):
        bill_of_materials(tree, listed, out / f"kefu-{version}-{listed}.cdx.json")
    with (out / "THIRD-PARTY-NOTICES.txt").open("w", encoding="utf-8") as notices:
        run([sys.executable, "release/notices.py"], tree, notices.fileno())
    return sorted(path.name for path in out.iterdir())


def copy(tree: Path, commit: str) -> None:
    """Copy the commit, and use the npm packages that `make` has installed."""
    tree.mkdir(parents=True)
    archive = tree.with_suffix(".tar")
    run(["git", "archive", "--output", archive, commit], ROOT)
    shutil.unpack_archive(archive, tree, filter="data")
    (tree / MODULES).symlink_to(ROOT / MODULES)


def run(command: list[str | Path], folder: Path, output: int = subprocess.DEVNULL) -> None:
    subprocess.run(command, cwd=folder, check=True, stdout=output)


def pack(folder: Path, file: Path) -> None:
    """Zip a folder in a fixed order, with fixed times, so that equal files give equal bytes."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as packed:
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            entry = zipfile.ZipInfo(str(path.relative_to(folder)), FIRST_DAY)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o100000 | (path.stat().st_mode & 0o777)) << 16
            packed.writestr(entry, path.read_bytes())


def bill_of_materials(tree: Path, listed: str, file: Path) -> None:
    """Write the pins of a list as CycloneDX, with their hashes. The tool validates it."""
    command: list[str | Path] = [RELEASE_PYTHON, "-W", "ignore::UserWarning", "-m", "cyclonedx_py"]
    command += ["requirements", "--pyproject", "pyproject.toml", "--output-reproducible"]
    command += ["--validate", "--output-file", file, f"requirements/{listed}.txt"]
    run(command, tree)
    bill = json.loads(file.read_text(encoding="utf-8"))
    # pyproject.toml takes the version from the package, where the tool does not look.
    bill["metadata"]["component"]["version"] = version_of(tree)
    file.write_text(json.dumps(bill, indent=2, sort_keys=True) + "\n", encoding="utf-8")


def same(one: Path, other: Path, name: str) -> bool:
    return (other / name).is_file() and filecmp.cmp(one / name, other / name, shallow=False)


def report(folder: Path, names: list[str]) -> int:
    """Write SHA256SUMS, and print each file with its size."""
    sums = {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in names}
    lines = [f"{digest}  {name}\n" for name, digest in sums.items()]
    (folder / "SHA256SUMS").write_text("".join(lines), encoding="utf-8")
    for name in names:
        print(f"{(folder / name).stat().st_size / 1e6:7.2f} MB  {sums[name][:16]}…  {name}")
    print(f"Two builds gave equal bytes. In {os.path.relpath(folder)}; nothing was published.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
