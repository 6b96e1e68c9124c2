"""Makes the package that runs on Lambda: `python functions/build.py FOLDER`.

`sam build` runs it through functions/Makefile. The package contains Kefu, the libraries of
requirements/lambda.txt for one of Lambda's two processors, and bytecode for Lambda's Python. The
same sources give the same bytes.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import struct
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

PYTHON = "3.13"
"""The version of the template's `Runtime`."""

PLATFORMS = {"x86_64": "x86_64-manylinux_2_28", "arm64": "aarch64-manylinux_2_28"}
"""Lambda's python3.13 is Amazon Linux 2023, which has glibc 2.34."""

FUNCTIONS = Path(__file__).parent
REQUIREMENTS = FUNCTIONS.parent / "requirements" / "lambda.txt"
TEMPLATE = FUNCTIONS.parent / "template.yaml"
SETTINGS = FUNCTIONS.parent / "kefu.toml"
LOCK = "kefu.tools.lock"
"""Without it, the function offers no tool of an MCP server."""
WIDGET = FUNCTIONS / "kefu/web/static/widget"

SERVICES = ("codedeploy", "dynamodb", "lambda", "s3", "secretsmanager", "sns", "ssm", "sts")
"""The descriptions of services in botocore that Kefu uses; all of them are 30 MB."""

NOT_NEEDED = (
    "bin",
    "*.dist-info/INSTALLER",
    "*.dist-info/RECORD",
    "*.dist-info/REQUESTED",
    "*.dist-info/WHEEL",
    "*.dist-info/sboms",
    "*.dist-info/uv_cache.json",
    "**/*.c",
    "**/*.h",
    "**/*.pxd",
    "**/*.pxi",
    "**/*.pyi",
    "**/*.pyx",
    "**/__pycache__",
    "**/py.typed",
    "**/tests",
    ".lock",
    "aiohttp/pytest_plugin.py",
    "aiohttp/_websocket/*.so",  # Kefu opens no WebSockets, and aiohttp has the same in Python
    "aiohttp/test_utils.py",
    "aiohttp/web*",
    "aiohttp/worker.py",
    "annotated_types/test_cases.py",
    "anyio/_backends/_trio.py",
    "anyio/_core/_tempfile.py",
    "anyio/functools.py",
    "anyio/itertools.py",
    "anyio/pytest_plugin.py",
    "anyio/streams/file.py",
    "anyio/streams/text.py",
    "anyio/to_interpreter.py",
    "anyio/to_process.py",
    "aws_lambda_powertools/event_handler",
    "aws_lambda_powertools/metrics/provider/datadog",
    "boto3/crt.py",
    "boto3/data",
    "boto3/dynamodb",  # for resources: Kefu has clients
    "boto3/examples",
    "botocore/cacert.pem",  # botocore uses that of certifi
    "botocore/crt/auth.py",
    "botocore/data/*/*/examples-1.json",
    "botocore/data/dynamodb/2011-12-05",  # AWS's earlier API
    "botocore/data/lambda/2014-11-11",
    "botocore/stub.py",
    "charset_normalizer*",
    "click/_termui_impl.py",
    "click/_winconsole.py",
    "click/shell_completion.py",
    "click/testing.py",
    "dateutil/easter.py",
    "dateutil/rrule.py",
    "dateutil/tz/win.py",
    "dateutil/zoneinfo",
    "fastapi/.agents",
    "fastapi/testclient.py",
    "httpcore/_async/http2.py",  # without the library h2, which Kefu does not use
    "httpcore/_async/socks_proxy.py",  # the same, without socksio
    "httpcore/_backends/trio.py",
    "httpcore/_sync/http2.py",
    "httpcore/_sync/socks_proxy.py",
    "httpx/_main.py",
    "idna/cli.py",
    "kefu/__main__.py",
    "kefu/agent",
    "kefu/auth/oidc.py",  # without the library cryptography, whose wheel has 4.5 MB
    "kefu/bootstrap/doctor",
    "kefu/bootstrap/erase.py",
    "kefu/bootstrap/gaps.py",
    "kefu/bootstrap/learnt_file.py",
    "kefu/bootstrap/learn.py",
    "kefu/bootstrap/tool_trial.py",
    "kefu/cli",
    "kefu/knowledge/checking.py",
    "kefu/knowledge/distinct.py",
    "kefu/knowledge/extract/[!_m]*",  # answers of people are Markdown
    "kefu/knowledge/frame.py",
    "kefu/knowledge/lists.py",
    "kefu/sessions/people/answer_files.py",
    "kefu/settings/example.py",
    "kefu/stores/aws_stack.py",
    "kefu/stores/jsonl.py",
    "kefu/stores/legacy_xml.py",
    "kefu/stores/postgresql",
    "kefu/stores/sql/moving.py",
    "kefu/stores/sqlite/earlier_logs.py",
    "kefu/stores/sqlite/knowledge/last_run.py",
    "kefu/stores/sqlite/knowledge/meaning.py",
    "kefu/stores/sqlite/knowledge/write.py",
    "kefu/evaluation",
    "kefu/terminal",
    "kefu/upstream/crawl",
    "kefu/upstream/kefu_server.py",
    "kefu/upstream/oidc.py",
    "kefu/upstream/reader.py",
    "kefu/upstream/reader_process.py",
    "kefu/upstream/sample.py",
    "kefu/web/routes/admin_oidc.py",
    "kefu/web/server",
    "kefu/web/static/*/*.gz",  # all browsers that can show the widget take Brotli
    "kefu/web/static/gallery.*",
    "kefu/web/static/scenes.js",
    "kefu/web/traces.py",
    "multidict/_multidict_py.py",  # the same as its module in C
    "multidict/_testcapi*",
    "pydantic/deprecated",
    "pydantic/experimental",
    "pydantic/mypy.py",
    "pydantic/v1",
    "regex*",
    "requests*",
    "s3transfer/crt.py",
    "s3transfer/processpool.py",
    "starlette/authentication.py",
    "starlette/config.py",
    "starlette/endpoints.py",
    "starlette/middleware/authentication.py",
    "starlette/middleware/cors.py",
    "starlette/middleware/gzip.py",
    "starlette/middleware/opentelemetry.py",
    "starlette/middleware/sessions.py",
    "starlette/middleware/wsgi.py",
    "starlette/schemas.py",
    "starlette/templating.py",
    "starlette/testclient.py",
    "tiktoken/_educational.py",
    "urllib3/contrib/emscripten",
    "urllib3/contrib/pyopenssl.py",
    "urllib3/contrib/socks.py",
    "urllib3/http2/connection.py",
    "uvicorn/protocols/http/h11_impl.py",  # run.sh chooses httptools
    "uvicorn/protocols/http/*zttp*",
    "uvicorn/protocols/websockets/w*",
    "uvicorn/supervisors/watchfilesreload.py",
    "uvicorn/workers.py",
    "yarl/_quoting_py.py",
    "uvloop*",
)
"""Kefu's terminal and its logs, the gallery of the widget, files for compilers and type checkers,
modules that Kefu never imports, and libraries that tiktoken uses only for downloads. uvloop has
0.7 MB and gains little, because an instance of Lambda answers one request at a time."""

POWERTOOLS_UTILITIES = ("jmespath_utils", "typing")
"""The parts of aws_lambda_powertools that its logger imports."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="replaced if it exists")
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
    """Return a message if the template pins another widget than this one; else ""."""
    manifest = widget / "chat-widget.json"
    if not manifest.exists():
        return "The widget is not built yet. Run: make package"
    names = json.loads(manifest.read_text(encoding="utf-8"))
    if all(f": {name}\n" in template for name in (names["file"], names["integrity"])):
        return ""
    return (
        "The widget has changed, and template.yaml still pins the previous one: browsers would "
        "refuse it. Run: make docs"
    )


def build(folder: Path, arch: str) -> None:
    """Write Kefu and its libraries into the folder, without the files in NOT_NEEDED."""
    _install(PLATFORMS[arch], folder)
    shutil.copytree(FUNCTIONS / "kefu", folder / "kefu")
    shutil.copy(FUNCTIONS / "run.sh", folder)
    add_site(FUNCTIONS / "site", folder)
    add_settings(SETTINGS, folder)
    check_settings(folder / SETTINGS.name)
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
    for metadata in folder.glob("*.dist-info/METADATA"):  # without the description, a README
        head = metadata.read_text(encoding="utf-8").partition("\n\n")[0]
        metadata.write_text(f"{head}\n", encoding="utf-8")
    for module in folder.glob("**/*.so"):
        module.write_bytes(stripped(module.read_bytes()))


def add_site(site: Path, folder: Path) -> None:
    """Add the files of the site, such as its hooks. They cannot replace files of Kefu."""
    for path in sorted(site.iterdir()) if site.is_dir() else ():
        if (folder / path.name).exists():
            sys.exit(f"functions/site/{path.name}: the package has that already. Rename it.")
        if path.is_dir():
            shutil.copytree(path, folder / path.name)
        else:
            shutil.copy(path, folder)


def add_settings(settings: Path, folder: Path) -> None:
    """Add kefu.toml, the lock of its tools and the files that it names by `@FILE`.

    Without kefu.toml, add an empty one.
    """
    text = settings.read_text(encoding="utf-8") if settings.exists() else ""
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        sys.exit(f"{settings.name}: {error}")
    (folder / settings.name).write_text(text, encoding="utf-8")
    if (lock := settings.with_name(LOCK)).is_file():
        shutil.copy(lock, folder)
    root = settings.parent.resolve()
    for name in sorted(set(named_files(values))):
        source = (root / name).resolve()
        if not source.is_relative_to(root):
            sys.exit(f"{settings.name}: @{name} is outside the folder of {settings.name}.")
        if not source.is_file():
            sys.exit(f"{settings.name}: @{name}: there is no such file.")
        target = folder / source.relative_to(root)
        if target.exists() and target.read_bytes() != source.read_bytes():
            sys.exit(f"{settings.name}: @{name}: the package has another such file. Rename it.")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, target)


def check_settings(settings: Path) -> None:
    """Stop with Kefu's own message if the function would not start with this kefu.toml."""
    if find_spec("pydantic") is None:
        print(f"NOTE: {settings.name} was not checked. Run `make setup`, then build again.")
        return
    environment = {
        "AWS_LAMBDA_FUNCTION_NAME": "kefu",
        "KEFU_CONFIG": str(settings),
        "PYTHONPATH": str(FUNCTIONS),
        # Set by the template; and a counter may need a library that only the package has.
        "KEFU_BOT_CHECK_SECRET": "ssm:/kefu/bot-check-secret",
        "KEFU_COUNTER": "calibrated",
    }
    model = tomllib.loads(settings.read_text(encoding="utf-8")).get("model")
    if isinstance(model, dict) and model.get("fallback"):  # `kefu init` writes an empty table
        environment["KEFU_FALLBACK_API_KEYS"] = "ssm:/kefu/fallback-keys"
    child = subprocess.run(
        [sys.executable, "-c", LOAD], env=environment, capture_output=True, text=True, check=False
    )
    if child.returncode:
        sys.exit(child.stderr.strip().replace(f"{settings.parent}/", ""))


LOAD = """
import sys
from kefu.settings import ConfigurationError, load
try:
    load()
except ConfigurationError as error:
    sys.exit(str(error))
"""


def named_files(value: object) -> Iterator[str]:
    """Yield the file names in the texts of a TOML document that begin with `@`. `@@` is an escaped
    `@`.
    """
    if isinstance(value, str) and value.startswith("@") and not value.startswith("@@"):
        yield value[1:]
    elif isinstance(value, dict):
        for one in value.values():
            yield from named_files(one)


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
    """Return a 64-bit little-endian ELF library without the symbols for debuggers.

    They are nine tenths of some wheels; with them, the zipped package has 17 MB in place of 14. As
    the tool `sstrip` does, this removes all that follows the last segment, and the table of
    sections (`man 5 elf`), which no loader reads. It works for the libraries of any processor.
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
    """Add bytecode for Lambda's Python. Return False if this machine has no such Python.

    `unchecked-hash`: files in a Lambda package never change, so Python need not check them.
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
    """Return the path of a Python of Lambda's version on this machine; None without one."""
    name = f"python{PYTHON}"
    places = [Path(part) for part in os.environ.get("PATH", "").split(os.pathsep)]
    for shims in [place for place in places if place.name == "shims"]:  # the launchers of pyenv
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
    """Give all files fixed times and modes, so that the same sources give the same zip file."""
    for path in files_in(folder):
        path.chmod(0o755 if path.suffix in (".sh", ".so") else 0o644)
        os.utime(path, (315619200, 315619200))  # the first day that a zip file can write


def files_in(folder: Path) -> Iterator[Path]:
    return (path for path in sorted(folder.rglob("*")) if path.is_file())


if __name__ == "__main__":
    sys.exit(main())
