"""What is measured: how each is started, and where its door is."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.processes import ROOT, Server, free_port
from benchmarks.trials.clients import CLIENTS

PEER = "passthrough"


@dataclass(frozen=True)
class Contender:
    name: str
    command: Callable[[str], list[str]]
    """From the upstream's base URL."""
    path: str = "/api/chat"
    env: Callable[[str, Path], Mapping[str, str]] = lambda _upstream, _folder: {}
    headers: Mapping[str, str] = field(default_factory=dict)

    dose: float = 1.0
    """How much of the load it gets, where a figure does not depend on it: the slow get less."""

    def start(self, upstream: str, folder: Path) -> Server:
        env = self.env(upstream, folder)
        return Server(self.command(upstream), env, folder / f"{self.name}.log")


def module(name: str, *arguments: str) -> Callable[[str], list[str]]:
    return lambda upstream: [sys.executable, "-m", name, *arguments, upstream]


def kefu_env(upstream: str, folder: Path, store: str) -> dict[str, str]:
    """Everything on; limits so high that the load passes, yet each request is counted."""
    return {
        "KEFU_UPSTREAM_URL": upstream,
        "LONGCAT_API_KEYS": ",".join(f"sk-bench-{n}" for n in range(5)),
        "KEFU_STORE": store.format(folder=folder),
        "KEFU_TRIM": "v1",
        "KEFU_IP_REQUESTS_PER_MINUTE": "10000000",
        "KEFU_DAILY_TOKENS": "1000000000000",
        "KEFU_MAX_STREAMS": "5000",
        "KEFU_MAX_STREAMS_PER_IP": "0",
    }


def kefu(name: str, store: str) -> Contender:
    return Contender(
        name,
        lambda _: [sys.executable, "-m", "kefu", "serve", "--host", "127.0.0.1", "--port", "0"],
        env=lambda upstream, folder: kefu_env(upstream, folder, store),
    )


BASELINE = Contender(PEER, module("benchmarks.passthrough"))
KEFU = kefu("kefu", "sqlite:///{folder}/kefu.sqlite3")
KEFU_MEMORY = kefu("kefu (memory)", "memory:")
TRIALS = [Contender(name, module("benchmarks.trials.relay", name)) for name in CLIENTS]


MASTER_KEY = "sk-bench-8f3c1d77a0b94e6d9c52e4aa61f0d3b8"


class LiteLLM(Contender):
    """The usual gateway, in an environment of its own: it is 600 MB."""

    INSTALL = (
        "LiteLLM's proxy is not installed; for its column: uv venv .venv-litellm && "
        "uv pip install --python .venv-litellm/bin/python 'litellm[proxy]'"
    )
    PROGRAM = ROOT / ".venv-litellm/bin/litellm"

    def start(self, upstream: str, folder: Path) -> Server:
        config = folder / "litellm.json"  # JSON is YAML
        parameters = {"model": "openai/bench", "api_base": upstream, "api_key": "sk-bench"}
        model = {"model_name": "bench", "litellm_params": parameters}
        config.write_text(json.dumps({"model_list": [model]}))
        port = free_port()
        command = [str(self.PROGRAM), "--config", str(config), "--host", "127.0.0.1"]
        command += ["--port", str(port), "--telemetry", "False"]
        env = {
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",
            "LITELLM_LOG": "ERROR",
            "LITELLM_MASTER_KEY": MASTER_KEY,
        }
        return Server(command, env, folder / "litellm.log", port)


LITELLM = LiteLLM(
    "litellm",
    module(""),
    path="/v1/chat/completions",
    headers={"authorization": f"Bearer {MASTER_KEY}"},
    dose=0.1,
)
