"""`/metrics` for Prometheus, and traces by OpenTelemetry (scale E5)."""

from __future__ import annotations

import asyncio
import gzip
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import httpx
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from prometheus_client.parser import text_string_to_metric_families

from tests.fakes import behaviours as b
from tests.fakes.asking import client
from tests.fakes.fixtures import Staged
from tests.fakes.upstream import ScriptedUpstream

TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
USAGE = {"prompt_tokens": 12, "completion_tokens": 3, "total_tokens": 15}


async def get(url: str, **headers: str) -> httpx.Response:
    async with client() as browser:
        return await browser.get(f"{url}/metrics", headers=headers)


def samples(text: str) -> dict[str, float]:
    found = {}
    for family in text_string_to_metric_families(text):
        for one in family.samples:
            labels = "".join(f"{{{key}={value}}}" for key, value in one.labels.items())
            found[f"{one.name}{labels}"] = one.value
    return found


async def test_e5_prometheus_reads_the_counters_of_the_log(staged: Staged) -> None:
    running = staged(2, metrics="true")
    running.script(b.status(429), key=running.keys[0])
    running.script(b.answer("Hello", usage=USAGE), key=running.keys[1])
    for _ in range(2):
        assert (await running.ask()).complete
    await running.ask({"messages": []})
    answer = await get(running.url)
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    found = samples(answer.text)
    assert found["kefu_requests_total{code=ok}"] == 2
    assert found["kefu_requests_total{code=invalid_request}"] == 1
    assert found["kefu_tokens_total"] == 30
    assert found["kefu_cooldowns_total"] == 1
    assert found["kefu_first_word_seconds_count"] == 2
    assert found["kefu_request_seconds_bucket{le=+Inf}"] == 3
    assert found["kefu_streams"] == 0


async def test_e5_metrics_are_refused_from_outside(staged: Staged) -> None:
    """A proxy on this machine passes requests from outside on."""
    running = staged(metrics="true")
    assert (await get(running.url)).status_code == 200
    assert (await get(running.url, **{"X-Forwarded-For": "203.0.113.7"})).status_code == 404
    locked = staged(metrics="true", metrics_token="t" * 32)
    assert (await get(locked.url)).status_code == 404
    assert (await get(locked.url, Authorization="Bearer wrong")).status_code == 404
    assert (await get(locked.url, Authorization=f"Bearer {'t' * 32}")).status_code == 200
    assert (await get(staged().url)).status_code == 404


@pytest.fixture
def collector() -> Iterator[tuple[str, list[Any]]]:
    """A collector of OTLP over HTTP: its address, and the spans that it got."""
    spans: list[Any] = []

    class Collector(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.headers.get("Content-Encoding") == "gzip":
                body = gzip.decompress(body)
            sent = ExportTraceServiceRequest.FromString(body)
            for resource in sent.resource_spans:
                for scope in resource.scope_spans:
                    spans.extend(scope.spans)
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    server = HTTPServer(("127.0.0.1", 0), Collector)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", spans
    server.shutdown()
    thread.join()
    server.server_close()


async def test_e5_a_collector_reads_a_chat_with_a_retry_and_a_fallback(
    staged: Staged, collector: tuple[str, list[Any]]
) -> None:
    """Names, parents and attributes; no text of the visitor or of the model."""
    address, spans = collector
    with ScriptedUpstream() as second:
        second.script("*", b.answer("The secret answer", usage=USAGE))
        running = staged(
            1,
            traces="true",
            fallback_url=second.base_url,
            fallback_keys="sk-fallback-5f3c9a7e1b",
            environment={
                "OTEL_EXPORTER_OTLP_ENDPOINT": address,
                "OTEL_BSP_SCHEDULE_DELAY": "100",
            },
        )
        running.script(b.status(503))
        headers = {"traceparent": f"00-{TRACE}-{PARENT}-01"}
        assert (await running.ask("A secret question?", headers=headers)).complete
        async with asyncio.timeout(20):
            while len(spans) < 3:  # noqa: ASYNC110 - spans arrive in a thread
                await asyncio.sleep(0.05)
    root, *attempts = sorted(
        spans, key=lambda one: (one.name != "POST /api/chat", one.start_time_unix_nano)
    )
    assert (root.trace_id.hex(), root.parent_span_id.hex()) == (TRACE, PARENT)
    assert {one.parent_span_id for one in attempts} == {root.span_id}
    told = [{one.key: one.value for one in span.attributes} for span in attempts]
    assert [one["kefu.upstream"].string_value for one in told] == ["primary", "fallback"]
    assert told[0]["error.type"].string_value == "http_503"
    assert "error.type" not in told[1]
    assert told[1]["gen_ai.usage.input_tokens"].int_value == 12
    assert told[1]["gen_ai.usage.output_tokens"].int_value == 3
    assert told[1]["gen_ai.response.time_to_first_chunk"].double_value > 0
    assert told[1]["gen_ai.response.finish_reasons"].array_value.values[0].string_value == "stop"
    assert all(span.name.startswith("chat ") for span in attempts)
    assert all(span.end_time_unix_nano <= root.end_time_unix_nano for span in attempts)
    assert "secret" not in repr(spans)
    assert "sk-" not in repr(spans)


def test_e5_a_service_without_traces_imports_no_sdk() -> None:
    code = (
        "import sys; from kefu.settings import load; from kefu.bootstrap.service import build;"
        " build(load()); print([m for m in sys.modules if m.startswith('opentelemetry.sdk')"
        " or m.startswith('opentelemetry.exporter') or m == 'kefu.web.prometheus'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
