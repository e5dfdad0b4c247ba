"""Traces for OpenTelemetry: request, job, wait for a lease, run in a sandbox.

Nothing is imported and nothing is recorded unless `start` was called. The provider is our own, so that only these spans
leave the server: those of libraries have texts of errors in them. Attributes are names, kinds and ids; no source text
and no token.
"""

from __future__ import annotations

import contextvars
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SpanExporter
    from opentelemetry.trace import Tracer

_log = logging.getLogger(__name__)

ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")


class _Started:
    """What `start` made."""

    provider: TracerProvider | None = None
    tracer: Tracer | None = None


_here: contextvars.ContextVar[Context | None] = contextvars.ContextVar("trace", default=None)


def start_where_configured() -> None:
    """Send spans to the endpoint that the environment names; without one nothing happens."""
    if not any(os.environ.get(name) for name in ENDPOINTS):
        return
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    except ModuleNotFoundError:
        _log.warning("no traces are sent: pip install 'amdkernel-mcp[otel]'")
        return
    start(OTLPSpanExporter())


def start(exporter: SpanExporter) -> None:
    """Record spans from now on, and send them in batches."""
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    _Started.provider = TracerProvider(resource=Resource.create({"service.name": "amdkernel-mcp"}))
    _Started.provider.add_span_processor(BatchSpanProcessor(exporter))
    _Started.tracer = _Started.provider.get_tracer("amdkernel_mcp")


def stop() -> None:
    """Send what is left, and record no more."""
    provider, _Started.provider, _Started.tracer = _Started.provider, None, None
    if provider is not None:
        provider.shutdown()


@contextmanager
def span(name: str, **attributes: str) -> Iterator[None]:
    """The block is a span, below the one that it is in."""
    if _Started.tracer is None:
        yield
        return
    from opentelemetry.trace import Status, StatusCode, set_span_in_context

    here = _here.get()
    made = _Started.tracer.start_span(name, context=here, attributes=attributes)
    token = _here.set(set_span_in_context(made, here))
    try:
        yield
    except BaseException as error:
        made.set_attribute("error.type", type(error).__name__)  # its text may quote a user's
        made.set_status(Status(StatusCode.ERROR))
        raise
    finally:
        _here.reset(token)
        made.end()


def here() -> Context | None:
    """Where this thread is in its trace, for `below` in another thread."""
    return _here.get()


@contextmanager
def below(parent: Context | None) -> Iterator[None]:
    """Spans of the block are below `parent`."""
    token = _here.set(parent)
    try:
        yield
    finally:
        _here.reset(token)


def parent_of(traceparent: str | None) -> Context | None:
    """What a client's header names; an empty context for any other text. Source: W3C, "Trace Context"."""
    if _Started.tracer is None or not traceparent:
        return None
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    return TraceContextTextMapPropagator().extract({"traceparent": traceparent})
