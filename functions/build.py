"""Makes the package that runs on Lambda: `python functions/build.py FOLDER`.

`sam build` comes here through functions/Makefile. The package holds Kefu, the libraries that
requirements/lambda.txt pins, compiled for one of the two processors that Lambda offers, and the
bytecode of Lambda's Python. The same sources give the same bytes.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

PYTHON = "3.13"
"""Lambda's: the template's `Runtime` says the same."""

PLATFORMS = {"x86_64": "x86_64-manylinux_2_28", "arm64": "aarch64-manylinux_2_28"}
"""Lambda's python3.13 is Amazon Linux 2023, which has glibc 2.34."""

FUNCTIONS = Path(__file__).parent
REQUIREMENTS = FUNCTIONS.parent / "requirements" / "lambda.txt"
TEMPLATE = FUNCTIONS.parent / "template.yaml"
WIDGET = FUNCTIONS / "kefu/web/static/widget"

SERVICES = ("dynamodb", "secretsmanager", "ssm", "sts")
"""Those of botocore's service descriptions that Kefu can need; all of them are 30 MB."""

NOT_NEEDED = (
    "bin",
    "*.dist-info/INSTALLER",
    "*.dist-info/RECORD",
    "*.dist-info/REQUESTED",
    "*.dist-info/WHEEL",
    "*.dist-info/uv_cache.json",
    "**/*.c",
    "**/*.h",
    "**/*.pxd",
    "**/*.pxi",
    "**/*.pyi",
    "**/*.pyx",
    "**/__pycache__",
    "**/tests",
    ".lock",
    "aws_lambda_powertools/event_handler",
    "boto3/data",
    "boto3/examples",
    "botocore/data/*/*/examples-1.json",
    "certifi*",
    "charset_normalizer*",
    "dateutil/zoneinfo",
    "httpcore*",
    "httpx*",
    "kefu/__main__.py",
    "kefu/cli",
    "kefu/events",
    "kefu/react",
    "kefu/stores/jsonl.py",
    "kefu/stores/legacy_xml.py",
    "kefu/stores/session_logs.py",
    "kefu/stores/sqlite_history.py",
    "kefu/stores/stream_sink.py",
    "kefu/terminal",
    "kefu/tools",
    "kefu/upstream/kefu_server.py",
    "kefu/upstream/public_web.py",
    "multidict/_testcapi*",
    "pydantic/mypy.py",
    "pydantic/v1",
    "regex*",
    "requests*",
)
"""Kefu's terminal and its logs, what only compilers and type checkers read, parts that are never
loaded, and what tiktoken needs for downloads and tries alone."""

POWERTOOLS_UTILITIES = ("jmespath_utils", "typing")
"""What logging needs of them; the others are parsers and validators."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="made anew")
    parser.add_argument("--arch", choices=PLATFORMS, default="arm64")
    options = parser.parse_args()
    folder: Path = options.folder.resolve()
    if complaint := widget_complaint(WIDGET, TEMPLATE.read_text(encoding="utf-8")):
        sys.exit(complaint)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    build(folder, options.arch)
    compiled = compile_for_lambda(folder)
    settle(folder)
    size = sum(path.stat().st_size for path in files_in(folder))
    print(f"The package for {options.arch}: {size / 1e6:.1f} MB in {folder}")
    if not compiled:
        print(
            f"NOTE: no Python {PYTHON} was found here, so the package has no bytecode and every "
            f"new instance starts more slowly. Install Python {PYTHON} and build again.",
            file=sys.stderr,
        )
    return 0


def widget_complaint(widget: Path, template: str) -> str:
    """Why this widget cannot go with this template, whose output pins one; empty if it can."""
    manifest = widget / "chat-widget.json"
    if not manifest.exists():
        return "The widget is not built yet. Run: make package"
    names = json.loads(manifest.read_text(encoding="utf-8"))
    if all(f": {name}\n" in template for name in (names["file"], names["integrity"])):
        return ""
    return (
        "The widget has changed, and template.yaml still pins the one before: browsers would "
        "refuse it. Run: make docs"
    )


def build(folder: Path, arch: str) -> None:
    """Kefu and its libraries, without what the function does not need."""
    _install(PLATFORMS[arch], folder)
    shutil.copytree(FUNCTIONS / "kefu", folder / "kefu")
    shutil.copy(FUNCTIONS / "run.sh", folder)
    add_site(FUNCTIONS / "site", folder)
    (folder / "architecture").write_text(f"{arch}\n")
    for service in (folder / "botocore" / "data").iterdir():
        if service.is_dir() and service.name not in SERVICES:
            shutil.rmtree(service)
    for utility in (folder / "aws_lambda_powertools" / "utilities").iterdir():
        if utility.is_dir() and utility.name not in POWERTOOLS_UTILITIES:
            shutil.rmtree(utility)
    for pattern in NOT_NEEDED:
        for path in list(folder.glob(pattern)):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    for module in folder.glob("**/*.so"):
        module.write_bytes(stripped(module.read_bytes()))


def add_site(site: Path, folder: Path) -> None:
    """What a site adds of its own: presets, and hooks. Nothing of Kefu's is replaced by it."""
    for path in sorted(site.iterdir()) if site.is_dir() else ():
        if (folder / path.name).exists():
            sys.exit(f"functions/site/{path.name}: the package has that already. Rename it.")
        if path.is_dir():
            shutil.copytree(path, folder / path.name)
        else:
            shutil.copy(path, folder)


def _install(platform: str, folder: Path) -> None:
    uv = Path(sys.executable).with_name("uv")
    command: list[str | Path] = [
        uv,
        "pip",
        "install",
        "--quiet",
        "--target",
        folder,
        "--link-mode",
        "copy",
    ]
    command += ["--python-version", PYTHON, "--python-platform", platform]
    command += ["--only-binary", ":all:", "--require-hashes", "-r", REQUIREMENTS]
    subprocess.run(command, check=True)


def stripped(elf: bytes) -> bytes:
    """A 64-bit little-endian ELF library without what no loader reads: symbols for debuggers.

    They are nine tenths of some wheels. Everything behind the last segment goes, and with it the
    table of sections (`man 5 elf`): the way of the `sstrip` tool, for any processor.
    """
    if elf[:6] != b"\x7fELF\x02\x01":
        return elf
    table, size, count = *struct.unpack_from("<Q", elf, 32), *struct.unpack_from("<HH", elf, 54)
    end = table + size * count
    for number in range(count):
        offset, in_file = struct.unpack_from("<Q16xQ", elf, table + size * number + 8)
        end = max(end, offset + in_file)
    head = bytearray(elf[:end])
    struct.pack_into("<Q", head, 40, 0)  # e_shoff
    struct.pack_into("<HH", head, 60, 0, 0)  # e_shnum, e_shstrndx
    return bytes(head)


def compile_for_lambda(folder: Path) -> bool:
    """Put the bytecode of Lambda's Python beside the sources; False where there is no such Python.

    `unchecked-hash`: files in a Lambda package never change, so nobody looks whether they did.
    """
    python = find_python()
    if python is None:
        return False
    command: list[str | Path] = [
        python,
        "-m",
        "compileall",
        "-q",
        "--invalidation-mode",
        "unchecked-hash",
    ]
    command += ["-s", folder, "-p", "/var/task", folder]
    subprocess.run(command, check=True, env={**os.environ, "PYTHONHASHSEED": "0"})
    return True


def find_python() -> str | None:
    """A Python of Lambda's version on this machine."""
    name = f"python{PYTHON}"
    places = [Path(part) for part in os.environ.get("PATH", "").split(os.pathsep)]
    for shims in [place for place in places if place.name == "shims"]:  # pyenv's
        places += sorted(shims.parent.glob(f"versions/{PYTHON}.*/bin"))
    places += sorted((Path.home() / ".local/share/uv/python").glob(f"cpython-{PYTHON}.*/bin"))
    question = "import sys; print('%d.%d' % sys.version_info[:2])"
    for python in (place / name for place in places):
        if python.is_file():
            answer = subprocess.run([python, "-c", question], capture_output=True, check=False)
            if answer.stdout.decode().strip() == PYTHON:
                return str(python)
    return None


def settle(folder: Path) -> None:
    """The same times and modes whoever builds, whenever."""
    for path in files_in(folder):
        path.chmod(0o755 if path.suffix in (".sh", ".so") else 0o644)
        os.utime(path, (315619200, 315619200))  # the first day that a zip file can write


def files_in(folder: Path) -> Iterator[Path]:
    return (path for path in sorted(folder.rglob("*")) if path.is_file())


if __name__ == "__main__":
    sys.exit(main())
