"""A job that ends while its state is being answered: the answer has its result, or says that it is not there yet."""

import threading
from typing import Any

import pytest
from fastmcp import Client

from amdkernel_mcp.config import Settings
from amdkernel_mcp.jobs.job import FINISHED, Job
from amdkernel_mcp.jobs.store import JobStore
from amdkernel_mcp.results.kernels import CompileResult
from amdkernel_mcp.server import app
from tests.waiting import wait_until


@pytest.mark.anyio
async def test_a_job_that_ends_while_its_place_is_looked_up_is_answered_whole(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = threading.Event()

    def performed(_: object) -> Any:
        def perform(*_: object) -> CompileResult:
            gate.wait(30)
            return CompileResult(ok=True, arch="gfx942")

        return perform

    def place(self: JobStore, job: Job) -> Any:
        found = place_of(self, job)
        gate.set()
        wait_until(lambda: job.status in FINISHED, "the job ends", pause_s=0.01)
        return found

    place_of = JobStore.place
    monkeypatch.setattr(JobStore, "place", place)
    monkeypatch.setattr(app, "performed_by", performed)
    async with Client(app.build_server(settings)) as client:
        called = await client.call_tool("compile_kernel", {"source": "int x;", "wait_s": 0})
    answer = called.structured_content
    assert answer is not None
    assert (answer["status"], answer["arch"]) == ("done", "gfx942"), "done, and its result is not there"
