"""Builds the widget and the panel for a wheel or an sdist of a clone, which has only their sources.

A distribution without them would start and answer 404 for `/chat-widget.js`, so the build stops
where they are missing and cannot be built. An editable install builds nothing: `make` does it.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

STATIC = Path("functions", "kefu", "web", "static")
BUILT = (STATIC / "widget" / "chat-widget.js", STATIC / "panel" / "panel.html")

NO_NODE = """
Kefu's widget is not built, and building it needs Node.js 20.19 or newer with npm, which is not on
the PATH. Install Node.js from https://nodejs.org and run this command again, or install Kefu from
a wheel or an sdist, which carry the built widget.
"""
FAILED = """
Kefu's widget is not built, and `{command}` in the folder widget/ failed with exit code {code}; its
output is above. The widget needs Node.js 20.19 or newer and access to an npm registry.
"""
INSTALL = ("ci", "--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier")
BUILD = ("run", "--silent", "build")


class CustomBuildHook(BuildHookInterface[Any]):
    """Runs before hatchling collects the files of a wheel or an sdist."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        root = Path(self.root)
        if version != "editable" and not is_built(root):
            build_widget(root / "widget")


def is_built(root: Path) -> bool:
    return all((root / name).is_file() for name in BUILT)


def build_widget(widget: Path) -> None:
    """Run npm in this folder. Exits with a sentence that says what is missing."""
    npm = shutil.which("npm")
    if npm is None:
        sys.exit(NO_NODE)
    if not (widget / "node_modules").exists():
        run(npm, INSTALL, widget)
    run(npm, BUILD, widget)


def run(npm: str, arguments: tuple[str, ...], folder: Path) -> None:
    # The output of a build backend belongs on stderr; frontends show it when the build fails.
    done = subprocess.run([npm, *arguments], cwd=folder, stdout=sys.stderr, check=False)
    if done.returncode:
        sys.exit(FAILED.format(command=f"npm {' '.join(arguments)}", code=done.returncode))
