"""One code object with all kernels of kernels.hip, and ways to run them."""

from collections.abc import Callable
from pathlib import Path

import pytest
from runner_cases import three_buffers

from amdkernel_mcp.execution.runner.job import run_job
from amdkernel_mcp.execution.sandbox import Sandbox
from amdkernel_mcp.hardware.target import Target
from amdkernel_mcp.runner_protocol.job import RunCase, RunnerJob
from amdkernel_mcp.runner_protocol.report import CaseReport, RunnerReport

EMULATOR = Target("emulator:gfx942", "emulator", "gfx942", "MI300X")

BUILD = (
    'hipcc --offload-arch=gfx942 -O2 --offload-device-only --no-gpu-bundle-output -o "$OUT/kernels.co" kernels.hip'
    " -Wno-unused-command-line-argument"
)

Run = Callable[..., CaseReport]


@pytest.fixture(scope="session")
def code_object(sandbox: Sandbox) -> bytes:
    """kernels.hip, compiled for gfx942."""
    source = (Path(__file__).parent / "kernels.hip").read_bytes()
    done = sandbox.run("compile", ["sh", "-c", BUILD], {"kernels.hip": source}, timeout_s=300)
    assert done.exit_code == 0, done.stderr
    return done.files["kernels.co"]


@pytest.fixture(scope="session")
def run_job_with(sandbox: Sandbox) -> Callable[[RunnerJob], RunnerReport]:
    """Run a whole job on the emulator."""
    return lambda job: run_job(sandbox, EMULATOR, job)


@pytest.fixture
def run_cases(sandbox: Sandbox, code_object: bytes) -> Callable[..., RunnerReport]:
    """Run cases on the emulator."""

    def run(
        *cases: RunCase, mode: str = "check", case_instructions: int = 10**9, code: bytes | None = None
    ) -> RunnerReport:
        job = RunnerJob("gfx942", code or code_object, cases, mode, case_instructions=case_instructions)  # type: ignore[arg-type]
        return run_job(sandbox, EMULATOR, job)

    return run


@pytest.fixture
def run(run_cases: Callable[..., RunnerReport]) -> Run:
    """Run one kernel on a, b and c."""
    return lambda kernel, **options: run_cases(three_buffers(kernel, **options)).cases[0]
