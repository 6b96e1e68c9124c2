"""Makes docs/images/chat.webp, a film of a real chat: `.venv-release/bin/python docs/film/make.py`.

Kefu runs without a key, with the sample shop and its orders, and Chromium asks it. What the film
shows is what `make run` does; a person of the panel answers at the end.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

from PIL import Image

ROOT = Path(__file__).parents[2]
FILM = ROOT / "docs/images/chat.webp"
LARGEST = 1_000_000
TOKEN = secrets.token_hex(16)
CONTACT = '\n[contact]\nform = ["email", "message"]\nconsent = "I agree that Nordlys keeps this."\n'
BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")


def main() -> int:
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        sys.exit("The film needs Chromium. Run: make parts")
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        service = start(folder, port := free_port())
        try:
            url = f"http://127.0.0.1:{port}"
            wait(f"{url}/ready", service)
            script = ROOT / "docs/film/film.mjs"
            subprocess.run(["node", script, url, TOKEN, folder, browser], check=True)
        finally:
            service.terminate()
            service.wait(20)
        save(folder)
    size = FILM.stat().st_size
    print(f"{FILM.relative_to(ROOT)}: {size / 1e3:.0f} KB")
    return 0 if size <= LARGEST else 1


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def start(folder: Path, port: int) -> subprocess.Popen[bytes]:
    """Kefu with the settings of `make run`, stored chats and a way to a person."""
    sample = (ROOT / "sample/kefu.toml").read_text(encoding="utf-8")
    learnt = ROOT / "build/sample.kefu"
    config = folder / "kefu.toml"
    config.write_text(sample.replace("build/sample.kefu", str(learnt)) + CONTACT, encoding="utf-8")
    environment = {
        **os.environ,
        "KEFU_CONFIG": str(config),
        "KEFU_STORE": f"sqlite:///{folder}/film.sqlite3",
        "KEFU_SESSIONS": "true",
        "ADMIN_TOKEN": TOKEN,
    }
    python = ROOT / ".venv/bin/python"
    return subprocess.Popen(
        [python, "-m", "kefu", "serve", "--port", str(port)], cwd=ROOT, env=environment
    )


def wait(url: str, service: subprocess.Popen[bytes]) -> None:
    for _ in range(600):
        if service.poll() is not None:
            sys.exit("Kefu did not start; its message is above.")
        try:
            urllib.request.urlopen(url).close()
        except (urllib.error.URLError, ConnectionError):
            time.sleep(0.1)
        else:
            return
    sys.exit(f"{url} does not answer.")


def save(folder: Path) -> None:
    """Join the pictures to one file that repeats."""
    frames = json.loads((folder / "frames.json").read_text(encoding="utf-8"))
    pictures = [Image.open(folder / frame["name"]).convert("RGB") for frame in frames]
    pictures[0].save(
        FILM,
        save_all=True,
        append_images=pictures[1:],
        duration=[frame["ms"] for frame in frames],
        loop=0,
        quality=60,
        method=4,
        minimize_size=True,
    )


if __name__ == "__main__":
    sys.exit(main())
