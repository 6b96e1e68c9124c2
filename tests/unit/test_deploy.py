"""The image, compose.yaml and the chart (scale E3). hadolint and Kubernetes accept them."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import yaml

from kefu.settings.loading import VARIABLES

ROOT = Path(__file__).parents[2]
CHART = ROOT / "deploy/helm"
IMAGE = (ROOT / "Dockerfile").read_text(encoding="utf-8")


def test_e3_the_chart_has_two_hundred_lines_at_most() -> None:
    files = [file for file in CHART.rglob("*") if file.is_file()]
    assert sum(len(file.read_text().splitlines()) for file in files) <= 200


def test_e3_all_variables_of_the_files_are_settings() -> None:
    texts = [(ROOT / "compose.yaml").read_text(), *(f.read_text() for f in CHART.rglob("*.yaml"))]
    named = set(re.findall(r"\bKEFU_[A-Z_]+", "\n".join(texts)))
    assert named - {"KEFU_DOMAIN"} <= VARIABLES.keys()


def test_e3_servers_have_longer_to_end_than_their_drain() -> None:
    services = yaml.safe_load((ROOT / "compose.yaml").read_text())["services"]
    grace = int(services["kefu"]["stop_grace_period"].removesuffix("s"))
    assert grace > int(services["kefu"]["environment"]["KEFU_DRAIN"])
    assert services["kefu"]["read_only"] is True


def test_e3_the_proxy_of_compose_knows_all_servers() -> None:
    """One name has several addresses, and a resolver may give them in the same order for ever."""
    services = yaml.safe_load((ROOT / "compose.yaml").read_text())["services"]
    [mounted] = [one for one in services["proxy"]["volumes"] if one.startswith("./")]
    caddy = (ROOT / mounted.partition(":")[0]).read_text()
    [(name, port)] = re.findall(r"dynamic a (\w+) (\d+)", caddy)
    assert name in services
    assert f"EXPOSE {port}" in IMAGE


def test_the_proxy_of_compose_refuses_v1() -> None:
    """Its clients have no keys there, so everybody would spend the tokens of the site."""
    caddy = (ROOT / "deploy/Caddyfile").read_text(encoding="utf-8")
    assert re.search(r"^\s+respond /v1/\* 404$", caddy, re.MULTILINE)


def test_e3_the_image_runs_without_root_and_pins_what_it_installs() -> None:
    last = IMAGE[IMAGE.rindex("\nFROM ") :]
    assert re.search(r"^USER 10001$", last, re.MULTILINE)
    assert "HEALTHCHECK" in last
    assert "--require-hashes -r requirements/server.txt" in IMAGE
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    backend = project["build-system"]["requires"][0].partition(">=")[0]
    [version] = re.findall(rf"{backend}==(\S+)", IMAGE)
    assert f"{backend}=={version} " in (ROOT / "requirements/dev.txt").read_text()
