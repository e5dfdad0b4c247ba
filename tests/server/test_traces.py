"""A server sends its spans to the collector that the environment names."""

import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.server.http_server import ANN, http_server
from tests.waiting import AT_MOST_S

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


class Collector(ThreadingHTTPServer):
    """Keeps what it gets."""

    def __init__(self) -> None:
        self.received: list[bytes] = []
        super().__init__(("127.0.0.1", 0), Collecting)


class Collecting(BaseHTTPRequestHandler):
    server: Collector

    def do_POST(self) -> None:
        self.server.received.append(self.rfile.read(int(self.headers["content-length"])))
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def collector() -> Iterator[Collector]:
    with Collector() as started:
        threading.Thread(target=started.serve_forever, daemon=True).start()
        yield started
        started.shutdown()


@pytest.mark.thorough
def test_a_call_is_a_span_below_the_one_in_the_clients_header(
    collector: Collector, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{collector.server_port}")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "none")
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "100")
    with http_server(tmp_path, tokens=f"{ANN} ann\n") as server:
        headers = {
            "accept": "application/json, text/event-stream",
            "Authorization": f"Bearer {ANN}",
            "mcp-session-id": server.post().headers["mcp-session-id"],
            "traceparent": f"00-{TRACE}-{SPAN}-01",
        }
        call = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "list_jobs", "arguments": {}}}
        httpx.post(server.url, json=call, headers=headers, timeout=AT_MOST_S).raise_for_status()
        until = time.monotonic() + AT_MOST_S
        while not collector.received and time.monotonic() < until:
            time.sleep(0.1)
    spans = [
        span
        for body in collector.received
        for resource in ExportTraceServiceRequest.FromString(body).resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
    ]
    assert [(span.name, span.trace_id.hex(), span.parent_span_id.hex()) for span in spans] == [("request", TRACE, SPAN)]
    assert [(each.key, each.value.string_value) for each in spans[0].attributes] == [("tool", "list_jobs")]
    assert ANN.encode() not in b"".join(collector.received)
