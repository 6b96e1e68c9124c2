"""S34, T22, K7: the files that the two file tools read, and those that they refuse."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import threading
from pathlib import Path

import pytest

from kefu.agent.tools.jail import opened
from kefu.agent.tools.list_folder import MAX_NAMES, list_folder
from kefu.agent.tools.read_file import MAX_FILE_BYTES, read_file
from kefu.errors import ToolFailed
from tests.unit.agent.tools.conftest import Ask

SECRET = "secret"


async def test_a_file_is_read_by_its_path_alone_or_by_json(ask: Ask, folder: Path) -> None:
    """Requirement S34."""
    whole = "first\nsecond\nthird\n"
    for path in ("notes.txt", "./notes.txt", " notes.txt "):
        assert await ask("read_file", path) == whole
    assert await ask("read_file", str(folder / "notes.txt")) == whole
    assert await ask("read_file", "docs/意见.md") == "# 好\n"
    assert await ask("read_file", '{"path": "notes.txt", "first_line": 2}') == "second\nthird\n"
    assert await ask("read_file", '{"path": "notes.txt", "first_line": 9}') == ""


async def test_a_folder_is_listed_in_order_with_sizes(ask: Ask, folder: Path) -> None:
    """S34: an empty input means the working directory."""
    (folder / "link").symlink_to("notes.txt")
    expected = "docs/\nlink (link)\nnotes.txt (19 bytes)"
    assert await ask("list_folder", "") == expected
    assert await ask("list_folder", ".") == expected
    assert await ask("list_folder", "docs") == "意见.md (6 bytes)"
    (folder / "bare").mkdir()
    assert await ask("list_folder", "bare") == "[empty]"


@pytest.mark.parametrize("tool", ["read_file", "list_folder"])
@pytest.mark.parametrize(
    "path",
    [
        "../secret.txt",
        "..",
        "docs/../../secret.txt",
        "docs/../notes.txt",
        "/etc/passwd",
        "/",
        "//etc/passwd",
        "~/secret.txt",
        "..\\secret.txt",
        "%2e%2e/secret.txt",
        "notes.txt\0.png",
        "../secret.txt\0",
        "\0",
        "x" * 300,
        "a/" * 3000,
        "\ud800",
        "no/such/file",
        "notes.txt/..",
        "notes.txt/below",
        "file:///etc/passwd",
        "/proc/self/environ",
    ],
)
async def test_no_path_leads_out_of_the_working_directory(ask: Ask, tool: str, path: str) -> None:
    """T22: the message for the model contains nothing from outside the working directory."""
    with pytest.raises(ToolFailed) as failed:
        await ask(tool, path)
    assert str(failed.value)
    assert "neighbour" not in str(failed.value)
    assert "root:" not in str(failed.value)


@pytest.mark.parametrize("tool", ["read_file", "list_folder"])
async def test_no_link_is_followed(ask: Ask, folder: Path, tool: str) -> None:
    """T22: links to a file outside, links to a folder, and a link to itself."""
    (folder / "file").symlink_to("../secret.txt")
    (folder / "up").symlink_to("..")
    (folder / "loop").symlink_to("loop")
    (folder / "docs" / "deep").symlink_to("/")
    for path in ("file", "up", "up/secret.txt", "loop", "docs/deep/etc/passwd"):
        with pytest.raises(ToolFailed, match="symbolic link"):
            await ask(tool, path)


@pytest.mark.parametrize("place", ["file", "folder"])
def test_a_link_that_takes_a_names_place_meanwhile_is_not_followed(
    folder: Path, place: str
) -> None:
    """T22: another thread replaces the file by a link again and again. Only the file is
    ever read.
    """
    inside, outside = folder / "swapped", folder.parent
    if place == "folder":
        (outside / "notes.txt").write_text(SECRET)
    path = "swapped/notes.txt" if place == "folder" else "swapped"
    stop = threading.Event()

    def swap() -> None:
        other, link = folder / "real", folder / "link"
        if place == "folder":
            other.mkdir()
            (other / "notes.txt").write_text("fine")
            link.symlink_to(outside)
        else:
            other.write_text("fine")
            link.symlink_to(outside / "secret.txt")
        while not stop.is_set():
            for source in (other, link):
                source.rename(inside)
                inside.rename(source)

    swapping = threading.Thread(target=swap)
    swapping.start()
    read = set()
    try:
        for _ in range(3000):
            try:
                with opened(folder, path) as descriptor:
                    read.add(os.read(descriptor, 100))
            except ToolFailed:
                continue
    finally:
        stop.set()
        swapping.join()
    assert read <= {b"fine"}


async def test_only_regular_files_are_opened(ask: Ask, folder: Path) -> None:
    """T22, K7: a named pipe without a writer would block the chat."""
    os.mkfifo(folder / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        here = Path.cwd()
        os.chdir(folder)  # the path of a socket must be short
        try:
            server.bind("socket")
        finally:
            os.chdir(here)
        for name in ("pipe", "socket"):
            with pytest.raises(ToolFailed, match="neither a file nor a folder"):
                await ask("read_file", name)
    assert "pipe" in await ask("list_folder", "")


def test_a_device_is_not_opened() -> None:
    """T22: the working directory is /dev, which has devices without an end."""
    for name in ("zero", "random", "tty"):
        if Path("/dev", name).exists():
            with (
                pytest.raises(ToolFailed, match="neither a file nor a folder"),
                opened(Path("/dev"), name),
            ):
                pass


async def test_a_huge_file_is_read_in_part_and_marked_as_cut(ask: Ask, folder: Path) -> None:
    """K7: a sparse file of a gigabyte takes no memory."""
    with (folder / "huge").open("wb") as file:
        file.write(b"a" * MAX_FILE_BYTES)
        file.truncate(1 << 30)
    text = await ask("read_file", "huge")
    assert text.startswith("a" * MAX_FILE_BYTES)
    assert text.endswith(f"[only the first {MAX_FILE_BYTES} of {1 << 30} bytes were read]")


async def test_invalid_utf8_and_binary_data_are_no_error(ask: Ask, folder: Path) -> None:
    """Fault K7."""
    (folder / "latin").write_bytes(b"caf\xe9")
    (folder / "image").write_bytes(b"\x89PNG\0\0")
    assert await ask("read_file", "latin") == "caf\ufffd"
    assert await ask("read_file", "image") == "image is no text: 6 bytes"
    os.close(os.open(os.fsencode(folder) + b"/\xff\xfe", os.O_CREAT, 0o600))
    (folder / "line\nbreak").touch()
    listed = await ask("list_folder", "")
    assert "\ufffd\ufffd (0 bytes)" in listed
    assert "line\\nbreak (0 bytes)" in listed


async def test_a_folder_of_thousands_is_listed_in_part(ask: Ask, folder: Path) -> None:
    """Fault K7."""
    (folder / "many").mkdir()
    for number in range(MAX_NAMES + 1):
        (folder / "many" / str(number)).touch()
    lines = (await ask("list_folder", "many")).split("\n")
    assert len(lines) == MAX_NAMES + 1
    assert lines[-1] == f"[only {MAX_NAMES} of its names are shown]"


async def test_a_file_is_not_listed_and_a_folder_not_read(ask: Ask) -> None:
    with pytest.raises(ToolFailed, match="list it instead"):
        await ask("read_file", "docs")
    with pytest.raises(ToolFailed, match="read it instead"):
        await ask("list_folder", "notes.txt")


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_no_descriptor_is_left_open(folder: Path) -> None:
    before = open_files()
    (folder / "link").symlink_to("notes.txt")
    for _ in range(20):
        for path in ("notes.txt", "docs", "link", "docs/none", "docs/意见.md"):
            for tool in (read_file, list_folder):
                with contextlib.suppress(ToolFailed):
                    tool(folder, path)
    assert open_files() == before


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"path": 3}', "path must be of type string"),
        ('{"path": "notes.txt", "first_line": true}', "first_line must be of type integer"),
        (
            '{"path": "notes.txt", "mode": "w"}',
            'mode is not a parameter. There are: "path", ',
        ),
        ("{}", "path is missing"),
        ("", "path is missing"),
        ("{path: notes.txt}", "are not valid JSON"),
        ("{" * 100_000, "are not valid JSON"),
    ],
)
async def test_an_invalid_input_is_reported_to_the_model(ask: Ask, text: str, says: str) -> None:
    with pytest.raises(ToolFailed, match=says):
        await ask("read_file", text)


def test_a_tools_description_lists_its_parameters() -> None:
    """S34: the list comes from the function's signature and docstring."""
    from kefu.agent.tools import TOOLS, Workplace, tools_for
    from kefu.upstream.public_web import PublicWeb

    place = Workplace(Path(), lambda: 0.0, PublicWeb().get)
    tools = {tool.name: tool for tool in tools_for(place)}
    assert list(tools) == list(TOOLS)
    tool = tools["read_file"]
    assert tool.description.startswith("Read a text file of the working directory")
    assert json.loads(json.dumps(tool.parameters)) == {
        "type": "object",
        "properties": {"path": {"type": "string"}, "first_line": {"type": "integer"}},
        "required": ["path"],
        "additionalProperties": False,
    }
