"""A GPU that computes wrongly, faults or hangs is quarantined before a job gets it. The GPU here is an emulated one.

Its faults are put into the code that the kernel with the known answer becomes: the emulator then executes a GPU's
wrong store, fault or hang, and the runner, the looks, the leases and the table are the real ones.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from amdkernel_mcp.config import load_settings
from amdkernel_mcp.errors import ToolchainError
from amdkernel_mcp.execution.sandbox import Completed, Sandbox
from amdkernel_mcp.hardware.target import Target
from amdkernel_mcp.leases.gpu_health import QuarantinedError
from amdkernel_mcp.leases.gpu_leases import GpuLeases
from amdkernel_mcp.leases.gpus import LeasedGpu
from amdkernel_mcp.leases.health_kernel import BLOCK, BLOCKS, SOURCE, expected
from amdkernel_mcp.leases.leased_sandbox import LeasedSandbox
from tests.leases.test_hygiene import GOOD, GPU, HUNG, Machine, run

pytestmark = pytest.mark.sandbox

STORE = f"out[i] = words[{BLOCK - 1} - threadIdx.x] ^ given[i];"
WRONG_BIT = f"out[i] = words[{BLOCK - 1} - threadIdx.x] ^ given[i] ^ (i == 70000 ? 0x400 : 0);"
LOST_STORE = f"if (blockIdx.x != 303) {STORE}"
FAULT = f"out[i + (i == 70000 ? 1 << 30 : 0)] = words[{BLOCK - 1} - threadIdx.x] ^ given[i];"
HANG = "while (__hip_atomic_load(out, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT) != 1) ;"


class EmulatedMachine(Machine):
    """Its compiles and the kernel run in the sandbox; `fault` replaces the kernel's store."""

    def __init__(self, root: Path, sandbox: Sandbox) -> None:
        super().__init__(root)
        self.sandbox = sandbox
        self.fault = STORE
        self.kernels = 0

    def run(self, kind: str, command: Sequence[str], files: Mapping[str, bytes], **how: Any) -> Completed:
        if "health.hip" in files:
            source = files["health.hip"].decode().replace(STORE, self.fault).encode()
            return self.sandbox.run("compile", command, {**files, "health.hip": source}, **how)
        if "job.json" in files:
            self.kernels += 1
            return self.sandbox.run("run", command, files, **how)
        return super().run(kind, command, files, **how)


@pytest.fixture
def leases(tmp_path: Path) -> Iterator[GpuLeases]:
    opened = GpuLeases(load_settings({"data_dir": tmp_path / "data"}, {}))
    yield opened
    opened.close()


@pytest.fixture
def machine(tmp_path: Path, sandbox: Sandbox) -> EmulatedMachine:
    return EmulatedMachine(tmp_path / "machine", sandbox)


@pytest.fixture
def gpu(machine: EmulatedMachine, leases: GpuLeases) -> LeasedSandbox:
    return open_gpu(machine, leases)


def open_gpu(machine: EmulatedMachine, leases: GpuLeases) -> LeasedSandbox:
    """The GPU as a server that has just started sees it."""
    target = Target("gpu1:0", "emulator", "gfx942", "MI300X", "gpu1", 0, id=GPU)
    leased = LeasedGpu(leases, machine, target, lambda: "/dev/dri/renderD128")  # type: ignore[arg-type]
    leased._hygiene = replace(leased._hygiene, clock=lambda: machine.now_s, sleep=machine.sleep)
    return LeasedSandbox(machine, leased)  # type: ignore[arg-type]


def test_the_fault_replaces_the_kernels_store() -> None:
    assert SOURCE.count(STORE) == 1
    assert expected(np.zeros(BLOCK * BLOCKS, np.uint32))[0] == BLOCK - 1


def test_the_kernel_runs_when_a_gpu_joins_and_after_a_bad_end_and_not_with_each_job(
    gpu: LeasedSandbox, machine: EmulatedMachine, leases: GpuLeases
) -> None:
    assert run(gpu, machine) == GOOD
    assert machine.kernels == 1, "the GPU joined"
    for _ in range(3):
        run(gpu, machine)
    assert machine.kernels == 1
    run(gpu, machine, lambda _: HUNG)
    assert machine.kernels == 2, "the job was ended"
    run(gpu, machine)
    assert machine.kernels == 2
    assert leases.health.quarantined() == {}


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (WRONG_BIT, "computed 1 of 262144 words wrong: word 70000 is 0x"),
        (LOST_STORE, "computed 256 of 262144 words wrong: word 77568 is"),
        (FAULT, "ended with fault"),
        (HANG, "a kernel with a known answer ended with "),
    ],
)
@pytest.mark.thorough
def test_a_broken_gpu_that_joins_is_quarantined_before_its_first_job(
    gpu: LeasedSandbox, machine: EmulatedMachine, leases: GpuLeases, fault: str, said: str
) -> None:
    machine.fault = fault
    ran: list[Machine] = []
    with pytest.raises(QuarantinedError, match="gpu1:0 is quarantined: when it joined or was released, a kernel"):
        run(gpu, machine, lambda at: ran.append(at) or GOOD)  # type: ignore[func-returns-value]
    assert not ran
    assert said in leases.health.quarantined()[GPU]


@pytest.mark.thorough
def test_a_gpu_that_a_killed_job_broke_is_quarantined_though_it_looks_as_before(
    gpu: LeasedSandbox, machine: EmulatedMachine, leases: GpuLeases
) -> None:
    run(gpu, machine)
    machine.fault = WRONG_BIT
    restarted = open_gpu(machine, leases)
    assert run(restarted, machine, lambda _: HUNG) == HUNG, "what the job answered stands"
    reason = leases.health.quarantined()[GPU]
    assert reason.startswith("the job was ended at its time limit, and a kernel with a known answer computed 1 of")


@pytest.mark.thorough
def test_a_released_gpu_is_tested_before_it_is_used(
    gpu: LeasedSandbox, machine: EmulatedMachine, leases: GpuLeases
) -> None:
    machine.fault = WRONG_BIT
    with pytest.raises(QuarantinedError):
        run(gpu, machine)
    leases.health.release(GPU)
    with pytest.raises(QuarantinedError, match="computed 1 of"):
        run(gpu, machine)
    leases.health.release(GPU)
    machine.fault = STORE
    assert run(open_gpu(machine, leases), machine) == GOOD


def test_a_kernel_that_cannot_be_compiled_says_nothing_about_the_gpu(
    gpu: LeasedSandbox, machine: EmulatedMachine, leases: GpuLeases
) -> None:
    machine.fault = "this is not C++;"
    with pytest.raises(ToolchainError, match="the kernel that shows whether gpu1:0 works cannot be compiled"):
        run(gpu, machine)
    assert leases.health.quarantined() == {}
    machine.fault = STORE
    assert run(gpu, machine) == GOOD
