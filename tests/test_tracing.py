"""Spans of a call: request, job, wait for a lease, run in a sandbox; nothing where it is not asked for."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from amdkernel_mcp import tracing
from amdkernel_mcp.config import load_settings
from amdkernel_mcp.errors import InputError
from amdkernel_mcp.execution.sandbox import Sandbox
from amdkernel_mcp.jobs.request import Answer, Request
from amdkernel_mcp.jobs.store import JobStore
from amdkernel_mcp.leases.gpu_leases import GpuLeases
from amdkernel_mcp.leases.held import lease
from amdkernel_mcp.results.kernels import CheckResult
from amdkernel_mcp.work import Work
from tests.waiting import AT_MOST_S

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
SECRET = "__global__ void secret_kernel()"


@pytest.fixture
def exported() -> Iterator[InMemorySpanExporter]:
    exporter = InMemorySpanExporter()
    tracing.start(exporter)
    yield exporter
    tracing.stop()


def by_name(exporter: InMemorySpanExporter) -> dict[str, ReadableSpan]:
    tracing.stop()
    return {each.name: each for each in exporter.get_finished_spans()}


def test_a_job_its_wait_for_a_lease_and_its_sandbox_are_below_the_clients_span(
    exported: InMemorySpanExporter, tmp_path: Path
) -> None:
    leases = GpuLeases(load_settings({"data_dir": tmp_path / "data"}, {}))

    def perform(_: Request, work: Work) -> Answer:
        with lease(leases, "gpu0", "exclusive", work):
            return CheckResult(reason="done")

    store = JobStore(perform, 1)
    with tracing.below(tracing.parent_of(PARENT)), tracing.span("request", tool="check_kernel"):
        job = store.submit("ann", Request("check", {"source": SECRET}))
    assert job.wait(30)
    store.close()
    leases.close()
    found = by_name(exported)
    assert set(found) == {"request", "job", "wait for lease"}
    assert {f"{each.context.trace_id:032x}" for each in found.values()} == {PARENT.split("-")[1]}
    assert f"{found['request'].parent.span_id:016x}" == PARENT.split("-")[2]
    assert found["job"].parent.span_id == found["request"].context.span_id
    assert found["wait for lease"].parent.span_id == found["job"].context.span_id
    assert SECRET not in " ".join(each.to_json() for each in found.values())


def test_an_error_is_named_by_its_type_and_not_by_its_text(exported: InMemorySpanExporter) -> None:
    with pytest.raises(InputError), tracing.span("request"):
        raise InputError(SECRET)
    span = by_name(exported)["request"]
    assert span.attributes == {"error.type": "InputError"}
    assert SECRET not in span.to_json()


@pytest.mark.parametrize("header", [None, "", "x" * 5000, "00-0-0-0", "\n"])
def test_a_header_that_is_no_traceparent_begins_a_trace(exported: InMemorySpanExporter, header: str | None) -> None:
    with tracing.below(tracing.parent_of(header)), tracing.span("request"):
        pass
    assert by_name(exported)["request"].parent is None


@pytest.mark.sandbox
def test_each_run_in_a_container_is_a_span(exported: InMemorySpanExporter, sandbox: Sandbox) -> None:
    sandbox.run("compile", ["sh", "-c", f"echo '{SECRET}'"], {}, timeout_s=60)
    span = by_name(exported)["sandbox run"]
    assert span.attributes == {"kind": "compile"}


def test_without_an_endpoint_nothing_is_imported_or_recorded() -> None:
    script = (
        "import os, sys; [os.environ.pop(name, None) for name in list(os.environ) if name.startswith('OTEL')];"
        "from amdkernel_mcp import tracing; tracing.start_where_configured();\n"
        "with tracing.span('x'): pass\n"
        "assert not [name for name in sys.modules if name.startswith('opentelemetry')]"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=AT_MOST_S)


def test_without_a_tracer_a_block_runs_as_it_is() -> None:
    with tracing.span("request"):
        assert tracing.here() is None
