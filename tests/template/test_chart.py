"""The chart makes manifests that Kubernetes accepts (E3): Helm renders, kubeconform compares."""

from __future__ import annotations

import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest

from tests.parts.fetch import KUBERNETES
from tests.parts.plugin import installed_part
from tests.template.conftest import ROOT

CHART = ROOT / "deploy/helm"
VALUES = {
    "as it is": (),
    "ingress": ("--set", "ingress.host=chat.example.com,ingress.class=traefik"),
    "by streams": ("--set", "scaleByStreams=true,streams=100,drain=600"),
    "settings": ("--set-string", "settings.KEFU_DAILY_TOKENS=2000000,settings.KEFU_CAPTURE=all"),
    "own resources": ("--set", "resources.limits.cpu=2,resources.requests.memory=1Gi"),
}
SCHEMA = "{{.NormalizedKubernetesVersion}}/{{.ResourceKind}}{{.KindSuffix}}.json"


@pytest.fixture(scope="module")
def programs() -> Path:
    return installed_part("kubernetes")


@cache
def rendered(programs: Path, chart: Path, *values: str) -> str:
    command = [str(programs / "helm"), "template", "kefu", str(chart), *values]
    child = subprocess.run(command, capture_output=True, text=True, check=False)
    assert child.returncode == 0, child.stderr
    return child.stdout


def told(programs: Path, manifests: str, version: str) -> str:
    """What kubeconform finds. Its exit code agrees."""
    command = [str(programs / "kubeconform"), "-strict", "-summary"]
    command += ["-kubernetes-version", version.removeprefix("v")]
    command += ["-schema-location", f"{programs}/{SCHEMA}"]
    child = subprocess.run(command, input=manifests, capture_output=True, text=True, check=False)
    assert (child.returncode == 0) is ("Invalid: 0, Errors: 0" in child.stdout), child.stderr
    return child.stdout


@pytest.mark.parametrize("version", KUBERNETES)
def test_e3_kubernetes_accepts_the_chart(programs: Path, version: str) -> None:
    charts = {name: rendered(programs, CHART, *values) for name, values in VALUES.items()}
    kinds = {name: chart.count("\nkind: ") for name, chart in charts.items()}
    assert kinds == {name: 5 if name == "ingress" else 4 for name in VALUES}
    total = sum(kinds.values())
    valid = f"{total} resources found parsing stdin - Valid: {total}, Invalid: 0, Errors: 0"
    # At once, because kubeconform takes a second of processor time to read the schemas.
    assert valid in (found := told(programs, "".join(charts.values()), version)), found


def test_e3_the_ingress_keeps_v1_shut_and_takes_pictures(programs: Path) -> None:
    """As nginx in docs/server.md; ingress-nginx refuses bodies above 1 MB unless told."""
    manifests = rendered(programs, CHART, *VALUES["ingress"], *VALUES["settings"])
    assert '{ name: KEFU_OPENAI_API, value: "off" }' in manifests.replace("- {", "{")
    assert "nginx.ingress.kubernetes.io/proxy-body-size: 5m" in manifests
    assert '{ name: KEFU_CAPTURE, value: "all" }' in manifests


MISTAKES = {
    "a misspelt field": ("readOnlyRootFilesystem", "readOnlyRootFileSystem"),
    "a text for a number": ("failureThreshold: 30", "failureThreshold: often"),
    "a missing field": ("  maxReplicas: {{ .Values.replicas.max }}\n", ""),
    "an older version of the API": ("autoscaling/v2", "autoscaling/v2beta2"),
}


@pytest.mark.parametrize(("text", "mistake"), MISTAKES.values(), ids=MISTAKES)
def test_e3_a_mistake_in_the_chart_is_found(
    programs: Path, tmp_path: Path, text: str, mistake: str
) -> None:
    chart = shutil.copytree(CHART, tmp_path / "chart")
    template = chart / "templates/server.yaml"
    assert text in template.read_text()
    template.write_text(template.read_text().replace(text, mistake))
    found = told(programs, rendered(programs, chart), KUBERNETES[-1])
    assert "Valid: 3, " in found, found


def test_e3_a_wrong_value_is_found(programs: Path) -> None:
    manifests = rendered(programs, CHART, "--set", "replicas.max=many")
    assert "/spec/maxReplicas': got string" in told(programs, manifests, KUBERNETES[-1])


def test_e3_helm_finds_nothing_in_the_chart(programs: Path) -> None:
    command = [str(programs / "helm"), "lint", "--strict", "--quiet", str(CHART)]
    child = subprocess.run(command, capture_output=True, text=True, check=False)
    assert child.returncode == 0, child.stdout + child.stderr
