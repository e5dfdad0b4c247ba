"""Queued, waits for a GPU, running: one state in each answer, and what is waited for."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from amdkernel_mcp.config import load_settings
from amdkernel_mcp.jobs.request import Answer, Request
from amdkernel_mcp.jobs.store import JobStore
from amdkernel_mcp.leases.gpu_leases import GpuLeases
from amdkernel_mcp.leases.held import lease
from amdkernel_mcp.results.jobs import JobResult
from amdkernel_mcp.results.kernels import CheckResult
from amdkernel_mcp.server.examinations import Examinations
from amdkernel_mcp.server.session import Session
from amdkernel_mcp.work import Work
from tests.waiting import wait_until

pytestmark = pytest.mark.anyio


class Silent:
    async def report_progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        pass


@pytest.fixture
def leases(tmp_path: Path) -> Iterator[GpuLeases]:
    made = GpuLeases(load_settings({"data_dir": tmp_path}, {}))
    yield made
    made.close()


async def test_a_job_says_in_each_answer_whether_it_is_queued_or_waits_for_its_gpu(
    leases: GpuLeases, tmp_path: Path
) -> None:
    gate = threading.Event()

    def perform(_: Request, work: Work) -> Answer:
        with lease(leases, "id of the GPU", "exclusive", work, name="gpu1:0"):
            while not gate.wait(0.01):
                work.say("launches")
        return CheckResult(verdict="correct")

    store = JobStore(perform, 1)
    session = Session(None, store, Examinations(1, 1), results_dir=tmp_path)  # type: ignore[arg-type]

    async def now(job_id: str) -> JobResult:
        return await session.job(Silent(), job_id, wait_s=0, cancel=False)  # type: ignore[arg-type]

    ids = [store.submit("local", Request("check", {"target": "gpu1:0"})).id for _ in range(4)]
    jobs = {job.id: job for job in store.list("local", 4)}
    wait_until(lambda: [jobs[each].state for each in ids].count("waits_for_gpu") == 2, "two wait for the first")
    listed = (await session.jobs(10)).jobs
    assert sorted(str(each.state) for each in listed) == ["queued", "running", "waits_for_gpu", "waits_for_gpu"]
    assert sorted(each.status for each in listed) == ["queued", "running", "running", "running"], "as before"
    for each in listed:
        answer = await now(each.job_id)
        assert (answer.state, answer.status, answer.progress) == (each.state, each.status, each.progress)
        if each.state == "waits_for_gpu":
            assert str(each.progress).startswith("waits for the GPU gpu1:0, ")
            assert "; one has it for " in str(each.progress)
        if each.state == "queued":
            assert each.progress == "waits for gpu1:0, 0 jobs before it; 3 jobs there"
    gate.set()
    for job_id in ids:
        wait_until(jobs[job_id].ended.is_set, "it ends")
        assert ((await now(job_id)).state, (await now(job_id)).status) == ("done", "done")
    store.close()
