"""The result of `sam build`: small, reproducible, with bytecode, without unused files."""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from urllib.request import urlopen

import pytest

from kefu.context.tokens import counter
from tests.fakes.aws_stack import AwsStack
from tests.fakes.certificate import installing
from tests.fakes.lambda_function import HERE, build_package
from tests.fakes.scripts import load_script
from tests.parts.plugin import free_port
from tests.template.conftest import CANARY, ROOT

MACHINES = {"x86_64": 62, "arm64": 183}
"""ELF's numbers of the processors."""


build = load_script("functions/build.py")

Sam = Callable[..., subprocess.CompletedProcess[str]]


def sam_build(sam: Sam, folder: Path, *functions: str) -> Path:
    """Build for this machine's processor into this folder; without names, all functions."""
    child = sam("sam", "build", *functions, "--build-dir", str(folder), KEFU_ARCH=HERE)
    assert child.returncode == 0, child.stdout + child.stderr
    return folder


@pytest.fixture(scope="module")
def built(sam: Sam, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that `sam build` writes for the function. The hook has the same package."""
    return sam_build(sam, tmp_path_factory.mktemp("sam"), "ChatFunction")


@pytest.fixture(scope="module")
def package(built: Path) -> Path:
    return built / "ChatFunction"


def names(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def checksum(folder: Path) -> str:
    digest = hashlib.sha256()
    for name in sorted(names(folder)):
        path = folder / name
        digest.update(f"{name} {path.stat().st_mode:o} {path.stat().st_mtime_ns}\n".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def zipped(folder: Path) -> int:
    """The size of the package in bytes, as a zip file."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(names(folder)):
            archive.write(folder / name, name)
    return len(packed.getvalue())


def served(widget: Path) -> set[str]:
    """The package contains all files of the widget, also compressed."""
    made = {path.name for path in widget.iterdir()}
    plain = {name for name in made if name.endswith((".js", ".json"))} - {"chat-widget.json"}
    kinds = {re.sub(r"\.[\w-]{12}\.", ".*.", name) for name in plain}
    features = {folder.name for folder in (ROOT / "widget/src/features").iterdir()}
    assert {"check", "contact", "images", "resume", "tools"} < features
    later = {"answer", "open", *features}
    parts = ("", ".*", *(f"-{name}.*" for name in later))
    scripts = {f"chat-widget{part}.js" for part in (*parts, ".all", ".all.*")}
    assert {name for name in kinds if name.endswith(".js")} == scripts
    assert {f"chat-widget-{language}.*.json" for language in ("ar", "ja", "zh-TW")} < kinds
    assert {name + end for name in plain for end in ("", ".br", ".gz")} == made - {
        "chat-widget.json"
    }
    return made


def test_package_has_what_runs_and_not_what_does_not(package: Path) -> None:
    found = names(package)
    assert {"run.sh", "kefu/asgi.py", "kefu/lambda_handler.py"} <= found
    wanted = {name for name in served(build.WIDGET) if not name.endswith(".gz")}
    assert wanted <= {name.rpartition("/")[2] for name in found if "widget/" in name}
    assert os.access(package / "run.sh", os.X_OK)
    assert {
        f"kefu/context/tokens/encodings/{name}_base.bin" for name in ("cl100k", "o200k")
    } <= found
    unwanted = re.compile(
        r"kefu/(agent/|cli/|evaluation/|terminal/|__main__)|(^|/)tests?/|\.(pyi|pyx|c|h)$|^(pytest|build\.py|Makefile)"
        r"|^(aiohttp/web|anyio/_backends/_trio|charset_normalizer|regex|requests)|botocore/data/ec2/"
        r"|dist-info/(RECORD|WHEEL)$"
    )
    assert [name for name in found if unwanted.search(name)] == []
    services = {path.name for path in (package / "botocore/data").iterdir() if path.is_dir()}
    assert services == set(build.SERVICES)


def test_every_module_has_its_bytecode(package: Path) -> None:
    """Decision 6: it is compiled by Lambda's Python, and never compared with the source again."""
    if build.find_python() is None:
        pytest.skip(f"No Python {build.PYTHON} on this machine")
    found = names(package)
    sources = {name for name in found if name.endswith(".py")}
    tag = build.PYTHON.replace(".", "")
    for name in sources:
        folder, _, module = name.rpartition("/")
        compiled = f"{folder}/__pycache__/{module[:-3]}.cpython-{tag}.pyc".lstrip("/")
        assert compiled in found
        # PEP 552: bit 0 means a hash, bit 1 that it is checked.
        assert (package / compiled).read_bytes()[4:8] == b"\x01\x00\x00\x00", compiled


@pytest.mark.slow
def test_the_same_sources_make_the_same_package(package: Path, tmp_path: Path) -> None:
    """`make package` works without SAM."""
    assert checksum(build_package(tmp_path / "again")) == checksum(package)


@pytest.mark.parametrize(
    "arch",
    [pytest.param(arch, marks=() if arch == HERE else pytest.mark.slow) for arch in MACHINES],
)
def test_a_package_is_at_most_15_mb_and_for_the_processor_that_was_asked_for(
    arch: str, package: Path, tmp_path: Path
) -> None:
    folder = package if arch == HERE else build_package(tmp_path / "other", arch)
    assert zipped(folder) <= 15e6
    modules = list(folder.rglob("*.so"))
    assert len(modules) > 5
    for module in modules:
        assert int.from_bytes(module.read_bytes()[18:20], "little") == MACHINES[arch]
    assert (folder / "architecture").read_text() == f"{arch}\n"


def test_package_starts_and_says_that_it_has_no_key(package: Path) -> None:
    """L5: it uses only the package's files, and Lambda's Python."""
    python = build.find_python()
    if python is None:
        pytest.skip(f"No Python {build.PYTHON} on this machine")
    port = free_port()
    environment = {
        "PATH": f"{Path(python).parent}:{os.defpath}",
        "AWS_LAMBDA_FUNCTION_NAME": "kefu",
        "AWS_LWA_PORT": str(port),
    }
    process = subprocess.Popen(["./run.sh"], cwd=package, env=environment, stderr=subprocess.PIPE)
    try:
        answer = _health(process, port)
    finally:
        process.terminate()
        process.communicate(timeout=10)
    assert b'"status":"degraded"' in answer


IMPORT_ALL = """
import importlib, pathlib, sys
for file in sorted(pathlib.Path("kefu").rglob("*.py")):
    importlib.import_module(".".join(file.with_suffix("").parts).removesuffix(".__init__"))
print(sum(name.split(".")[0] == "kefu" for name in sys.modules))
"""


@pytest.mark.slow
def test_nothing_in_the_package_wants_what_was_left_out(package: Path) -> None:
    python = build.find_python()
    if python is None:
        pytest.skip(f"No Python {build.PYTHON} on this machine")
    child = subprocess.run(
        [python, "-I", "-S", "-c", f"import sys; sys.path.insert(0, '.'){IMPORT_ALL}"],
        cwd=package,
        env={"AWS_LAMBDA_FUNCTION_NAME": "kefu"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert child.returncode == 0, child.stderr
    assert int(child.stdout) > 100


COUNT = """
import sys
from kefu.settings import Settings
from kefu.context.tokens import counter
import kefu.asgi
assert "tiktoken" not in sys.modules and "kefu.context.tokens.bpe" not in sys.modules
for name in sys.argv[1:]:
    print(counter("tiktoken:" + name).count("Kefu \\u5ba2\\u670d <|endoftext|>" + " ab" * 999))
"""


@pytest.mark.slow
def test_package_counts_exactly_when_told_to(package: Path) -> None:
    """C12: with the packed encodings. tiktoken is imported only for exact counts, without its
    download code.
    """
    python = build.find_python()
    if python is None:
        pytest.skip(f"No Python {build.PYTHON} on this machine")
    encodings = ["o200k_base", "cl100k_base", "gpt-4o"]
    child = subprocess.run(
        [python, "-I", "-S", "-c", f"import sys; sys.path.insert(0, '.'){COUNT}", *encodings],
        cwd=package,
        env={"AWS_LAMBDA_FUNCTION_NAME": "kefu"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert child.returncode == 0, child.stderr
    text = "Kefu 客服 <|endoftext|>" + " ab" * 999
    here = [counter(f"tiktoken:{name}").count(text) for name in encodings]
    assert list(map(int, child.stdout.split())) == here


HOOK = """
import sys
from kefu.bootstrap.pre_traffic import check
event = {"DeploymentId": "d-1234", "LifecycleEventHookExecutionId": "hook-5678"}
print(check(event, sys.argv[1], pauses=()))
"""


@pytest.mark.slow
def test_the_packed_hook_asks_lambda_and_tells_codedeploy(package: Path) -> None:
    """C13: the package contains only some services of boto3, which are enough for the hook."""
    python = build.find_python()
    if python is None:
        pytest.skip(f"No Python {build.PYTHON} on this machine")
    version = "arn:aws:lambda:eu-central-1:123456789012:function:kefu:7"
    with AwsStack() as aws:
        aws.crashes = True
        child = subprocess.run(
            [python, "-I", "-S", "-c", f"import sys; sys.path.insert(0, '.'){HOOK}", version],
            cwd=package,
            env=aws.environment,
            capture_output=True,
            text=True,
            check=False,
        )
    assert child.returncode == 0, child.stderr
    assert "exit status 1" in child.stdout
    assert [told["status"] for told in aws.told] == ["Failed"]


def test_function_and_hook_are_built_by_the_same_commands_from_the_same_sources() -> None:
    """`sam deploy` names a package by its content, so it is uploaded once."""
    template = (ROOT / "template.yaml").read_text(encoding="utf-8")
    resources = dict(re.findall(r"(?ms)^  (\w+):\n(.*?)(?=^\S|^  \w)", template))
    functions = [name for name, text in resources.items() if "Serverless::Function\n" in text]
    assert functions == ["ChatFunction", "PreTrafficHook"]
    for sources in ("CodeUri: functions/\n", "BuildMethod: makefile", "WorkingDirectory: ."):
        assert all(sources in resources[name] for name in functions), sources
    function, hook = (
        subprocess.run(
            ["make", "--dry-run", "-f", "functions/Makefile", f"build-{name}", "ARTIFACTS_DIR=out"],
            cwd=ROOT,
            check=True,
            capture_output=True,
        ).stdout
        for name in functions
    )
    assert function == hook
    assert b"functions/build.py" in function


@pytest.mark.slow
def test_function_and_hook_have_the_same_package(sam: Sam, package: Path, tmp_path: Path) -> None:
    folder = sam_build(sam, tmp_path)
    assert checksum(folder / "ChatFunction") == checksum(package)
    assert checksum(folder / "PreTrafficHook") == checksum(package)


def _health(process: subprocess.Popen[bytes], port: int) -> bytes:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        try:
            with urlopen(f"http://127.0.0.1:{port}/health", timeout=5) as answer:
                content: bytes = answer.read()
                return content
        except OSError:
            assert process.poll() is None, process.communicate()[1]
            time.sleep(0.1)
    raise AssertionError("it did not start")


def test_a_package_for_another_processor_says_so(tmp_path: Path) -> None:
    other = next(arch for arch in MACHINES if arch != HERE)
    (tmp_path / "architecture").write_text(f"{other}\n")
    child = subprocess.run(
        [ROOT / "functions/run.sh"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert child.returncode == 1
    assert f"built for {other}" in child.stderr
    assert f"KEFU_ARCH={HERE} sam build" in child.stderr


def test_no_key_of_the_builder_is_in_what_was_built(built: Path) -> None:
    """T20: the environment of the build contained keys."""
    for name in names(built):
        assert CANARY.encode() not in (built / name).read_bytes(), name


def test_a_widget_that_the_template_does_not_pin_is_not_packed(tmp_path: Path) -> None:
    """The outputs contain a tag with another hash, so browsers would refuse this widget."""
    template = (ROOT / "template.yaml").read_text(encoding="utf-8")
    assert build.widget_complaint(build.WIDGET, template) == ""
    changed = {"file": "chat-widget.0123456789ab.js", "integrity": "sha384-AAAA"}
    (tmp_path / "chat-widget.json").write_text(json.dumps(changed))
    assert "Run: make docs" in build.widget_complaint(tmp_path, template)
    assert "not built" in build.widget_complaint(tmp_path / "nowhere", template)


@pytest.mark.slow
def test_the_wheel_has_every_file_of_the_widget_packed_and_plain(tmp_path: Path) -> None:
    """C16, W2: the files are not in git, but must be installed."""
    uv = str(Path(sys.executable).with_name("uv"))
    command = [uv, "build", "--wheel", "--quiet", "--out-dir", str(tmp_path)]
    child = subprocess.run(
        command, cwd=ROOT, env=installing(), capture_output=True, text=True, check=False
    )
    assert child.returncode == 0, child.stderr
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        inside = {name for name in archive.namelist() if name.startswith("kefu/web/static/widget/")}
    assert {name.rpartition("/")[2] for name in inside} == served(build.WIDGET)


def test_stripping_leaves_what_is_no_library_alone() -> None:
    assert build.stripped(b"\x7fELF but not a 64-bit one") == b"\x7fELF but not a 64-bit one"
    assert build.stripped(b"") == b""


def test_a_sites_own_files_are_packed_and_replace_nothing(tmp_path: Path) -> None:
    """Presets and hooks of stored chats, as in docs/sessions.md."""
    site, folder = tmp_path / "site", tmp_path / "package"
    (site / "hooks").mkdir(parents=True)
    (folder / "kefu").mkdir(parents=True)
    build.add_site(tmp_path / "absent", folder)
    (site / "kefu.toml").write_text("")
    (site / "hooks" / "ours.py").write_text("")
    build.add_site(site, folder)
    assert (folder / "kefu.toml").is_file()
    assert (folder / "hooks" / "ours.py").is_file()
    (site / "kefu").mkdir()
    with pytest.raises(SystemExit, match="functions/site/hooks: the package has that already"):
        build.add_site(site, folder)
