"""A kernel with a known answer, run on a GPU that may be broken: does it launch, compute and keep what it is given?

It is run where a job went wrong and where a GPU is seen for the first time, not with each job. It takes our own runner,
so it meets a broken driver as well. Each word passes through registers, LDS, a barrier and memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from amdkernel_mcp.compiler.compile_job import run_compile
from amdkernel_mcp.compiler.flags import parse_flags
from amdkernel_mcp.errors import TargetError, ToolchainError
from amdkernel_mcp.execution.runner.job import launch_job, read_answer
from amdkernel_mcp.runner_protocol.job import Buffer, RunCase, RunnerArgument, RunnerJob, RunnerLaunch

if TYPE_CHECKING:
    from amdkernel_mcp.execution.sandbox import Sandbox
    from amdkernel_mcp.hardware.target import Target
    from amdkernel_mcp.runner_protocol.report import CaseReport

BLOCK, BLOCKS = 256, 1024
"""More workgroups than any GPU has compute units (MI300X: 304), so that each one gets some."""
TIMEOUT_S = 30.0
"""Of the launches, which take well under a millisecond on a GPU that works. A choice, not a measurement."""
INSTRUCTIONS = 1_000_000
SOURCE = f"""#include <hip/hip_runtime.h>
extern "C" __global__ void health(const unsigned *given, unsigned *out)
{{
    __shared__ unsigned words[{BLOCK}];
    unsigned i = blockIdx.x * {BLOCK} + threadIdx.x;
    words[threadIdx.x] = given[i] * 2654435761u + i;
    __syncthreads();
    out[i] = words[{BLOCK - 1} - threadIdx.x] ^ given[i];
}}
"""


class HealthKernel:
    """The kernel for one GPU. `sandbox`: of its machine, in which nothing waits for a lease."""

    def __init__(self, sandbox: Sandbox, target: Target) -> None:
        self._sandbox = sandbox
        self._target = target
        self._code_object: bytes | None = None

    def what_fails(self) -> str | None:
        """How the kernel failed, for a sentence; None: the answer is right.

        Raises SandboxError, ToolchainError and TargetError where that says nothing about the GPU.
        """
        self._code_object = self._code_object or self._compile()
        given = np.random.default_rng(7).integers(0, 1 << 32, BLOCK * BLOCKS, np.uint32)
        job = _job(self._target.arch, self._code_object, given)
        completed = launch_job(self._sandbox, self._target, job)
        try:
            report = read_answer(job, self._target, completed)
        except TargetError as error:
            return f"a kernel with a known answer could not run on it: {error.message}"
        return _what_is_wrong(report.cases[0], expected(given))

    def _compile(self) -> bytes:
        outcome = run_compile(
            self._sandbox, SOURCE, arch=self._target.arch, flags=parse_flags(()), file_name="health.hip"
        )
        if outcome.code_object is None:
            said = outcome.failure or outcome.messages[-500:]
            raise ToolchainError(f"the kernel that shows whether {self._target.name} works cannot be compiled: {said}")
        return outcome.code_object


def expected(given: np.ndarray) -> np.ndarray:
    """What the kernel makes of `given`, uint32 of BLOCK * BLOCKS elements."""
    words = given * np.uint32(2654435761) + np.arange(given.size, dtype=np.uint32)
    mirrored: np.ndarray = words.reshape(BLOCKS, BLOCK)[:, ::-1].reshape(-1) ^ given
    return mirrored


def _job(arch: str, code_object: bytes, given: np.ndarray) -> RunnerJob:
    buffers = (Buffer("given", given.nbytes, "in", given.tobytes()), Buffer("out", given.nbytes, "out"))
    arguments = tuple(RunnerArgument(buffer.name) for buffer in buffers)
    launch = RunnerLaunch("health", (BLOCKS, 1, 1), (BLOCK, 1, 1), 0, arguments)
    case = RunCase(buffers, (launch,), repeats=2)
    return RunnerJob(arch, code_object, (case,), case_timeout_s=TIMEOUT_S, case_instructions=INSTRUCTIONS)


def _what_is_wrong(case: CaseReport, right: np.ndarray) -> str | None:
    if case.status != "ok":
        return f"a kernel with a known answer ended with {case.status}: {case.message[:200]}"
    if case.guard_damage or case.inputs_modified:
        return "a kernel with a known answer changed memory that it does not write"
    for outputs in case.outputs:
        got = np.frombuffer(outputs["out"], np.uint32)
        wrong = np.flatnonzero(got != right)
        if wrong.size:
            first = int(wrong[0])
            return (
                f"a kernel with a known answer computed {wrong.size} of {right.size} words wrong: word {first} is "
                f"{got[first]:#010x} and should be {right[first]:#010x}"
            )
    return None
