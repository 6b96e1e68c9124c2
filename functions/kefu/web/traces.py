"""Traces of requests by OpenTelemetry: spans for the request, each attempt with a key, each tool.

The spans are made when the request has ended, from the facts that its log line has. They contain
no text of a visitor or a model. The variables of OpenTelemetry, such as
OTEL_EXPORTER_OTLP_ENDPOINT, say where they are sent. This module is imported only when traces are
enabled.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import SERVICE_NAME, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter
from opentelemetry.trace import Span, SpanKind, Status, StatusCode, set_span_in_context
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from opentelemetry.util.types import AttributeValue

from kefu import __version__
from kefu.chat.completion import Dialogue
from kefu.relay.call import Attempt, Clock
from kefu.web.request_record import Record

_ID = re.compile(r"/[0-9a-f]{32}(?=/|$)")
_QUIET = ("/health", "/ready", "/metrics")
"""Paths whose requests have no trace."""

Attributes = dict[str, AttributeValue]


class Traces:
    def __init__(self, clock: Clock, exporter: SpanExporter | None = None) -> None:
        """`exporter`: None: by OTLP over HTTP."""
        # OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES replace this name.
        resource = Resource({SERVICE_NAME: "kefu"}).merge(Resource.create())
        self._provider = TracerProvider(resource=resource, shutdown_on_exit=False)
        self._provider.add_span_processor(BatchSpanProcessor(exporter or OTLPSpanExporter()))
        self._tracer = self._provider.get_tracer("kefu", __version__)
        self._clock = clock
        self._incoming = TraceContextTextMapPropagator()

    def ended(self, record: Record) -> None:
        """Send the spans of a request, in a thread of OpenTelemetry."""
        if record.path in _QUIET:
            return
        now = self._clock.monotonic()
        self._epoch = self._clock.now() - now
        path = _ID.sub("/{session_id}", record.path)
        context = self._incoming.extract({"traceparent": record.traceparent})
        with_status: Attributes = {
            "http.request.method": record.method,
            "http.route": path,
            "http.response.status_code": record.status,
            "kefu.request_id": record.request_id,
        }
        span = self._tracer.start_span(
            f"{record.method} {path}",
            context,
            SpanKind.SERVER,
            with_status,
            start_time=self._at(record.started),
        )
        if record.code:
            _fail(span, record.code)
        for number, dialogue in enumerate(record.dialogues):
            self._step(span, record, number, dialogue)
        for use in record.answer.uses if record.answer else ():
            following = record.dialogues[use.step + 1 : use.step + 2]
            ended = following[0].call.started if following else now
            attributes: Attributes = {
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": use.name,
                "gen_ai.tool.call.id": use.id,
                "kefu.tool.state": use.state,
            }
            failed = use.state if use.state in ("failed", "unsure") else ""
            times = ended - use.ms / 1000, ended
            self._child(
                span, f"execute_tool {use.name}", SpanKind.INTERNAL, attributes, times, failed
            )
        span.end(self._at(now))

    def close(self) -> None:
        """Send the spans that wait. Blocks."""
        self._provider.shutdown()

    def _step(self, parent: Span, record: Record, number: int, dialogue: Dialogue) -> None:
        """The attempts of one request to the model."""
        call = dialogue.call
        model = str(json.loads(call.body).get("model", ""))
        common: Attributes = {"gen_ai.operation.name": "chat", "gen_ai.request.model": model}
        if record.answer and record.answer.session:
            common["gen_ai.conversation.id"] = record.answer.session.id
        for attempt in call.attempts:
            told = {**common, "kefu.key": attempt.key, "kefu.step": number}
            if attempt.upstream:
                told["kefu.upstream"] = attempt.upstream
            failed = "" if attempt.outcome == "ok" else attempt.outcome
            if not failed:
                told |= dict(_answered(dialogue, attempt))
            times = attempt.started, attempt.started + attempt.seconds
            self._child(parent, f"chat {model}", SpanKind.CLIENT, told, times, failed)

    def _child(
        self,
        parent: Span,
        name: str,
        kind: SpanKind,
        attributes: Attributes,
        times: tuple[float, float],
        failed: str,
    ) -> None:
        context, (began, ended) = set_span_in_context(parent), times
        span = self._tracer.start_span(name, context, kind, attributes, start_time=self._at(began))
        if failed:
            _fail(span, failed)
        span.end(self._at(max(began, ended)))

    def _at(self, monotonic: float) -> int:
        """Unix time in nanoseconds."""
        return int((self._epoch + monotonic) * 1e9)


def _answered(dialogue: Dialogue, attempt: Attempt) -> Iterator[tuple[str, AttributeValue]]:
    completion, first = dialogue.call.completion, dialogue.call.first_event_at
    if completion.model:
        yield "gen_ai.response.model", completion.model
    if completion.id:
        yield "gen_ai.response.id", completion.id
    if completion.finish_reason:
        yield "gen_ai.response.finish_reasons", (completion.finish_reason,)
    if first is not None:
        yield "gen_ai.response.time_to_first_chunk", round(first - attempt.started, 4)
    yield "gen_ai.usage.input_tokens", dialogue.usage.prompt
    yield "gen_ai.usage.output_tokens", dialogue.usage.completion


def _fail(span: Span, kind: str) -> None:
    span.set_attribute("error.type", kind)
    span.set_status(Status(StatusCode.ERROR))
