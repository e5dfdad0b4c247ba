"""A kernel that was read and compiled, with its problem and the place where it is to run."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from amdkernel_mcp.checking.check import invalid, invalid_from_compile
from amdkernel_mcp.compiler.compile import Compiled
from amdkernel_mcp.compiler.disassembly import parse_disassembly
from amdkernel_mcp.compiler.elf_file import ElfFile
from amdkernel_mcp.compiler.sleeps import sleep_clocks
from amdkernel_mcp.errors import InputError
from amdkernel_mcp.execution.sandbox import Sandbox
from amdkernel_mcp.hardware.target import Target
from amdkernel_mcp.launch.plan import LaunchPlan
from amdkernel_mcp.measurement.job import Measured
from amdkernel_mcp.measurement.side import Side
from amdkernel_mcp.problems.problem import Problem
from amdkernel_mcp.profiling.metrics.emulated import main_counters
from amdkernel_mcp.results.kernels import ProfileResult


@dataclass(frozen=True)
class PreparedKernel:
    """A kernel that was read and compiled, with its problem and the place where it is to run."""

    problem: Problem
    plan: LaunchPlan
    compiled: Compiled
    target: Target
    sandbox: Sandbox
    file_name: str


def cannot_launch(prepared: PreparedKernel) -> ProfileResult | None:
    """The answer of a profile whose kernel cannot be launched."""
    if prepared.plan.mistakes:
        refused = invalid(prepared.plan.mistakes)
    elif not prepared.compiled.result.ok:
        refused = invalid_from_compile(prepared.compiled.result)
    else:
        return None
    return ProfileResult(
        target=prepared.target.name,
        reason=refused.reason,
        findings=refused.findings,
        diagnostics=refused.diagnostics,
    )


def side_of(prepared: PreparedKernel, measured: Measured) -> Side:
    """What a benchmark compares: the runs, occupancy and counters of one kernel."""
    code = list(parse_disassembly(prepared.compiled.disassembly))
    machine_code = "\n".join(f"{each.address} {each.text}" for each in code).encode()
    dispatches = [dispatch for run in measured.runs for dispatch in run.dispatches]
    return Side(
        measured.runs,
        {kernel.name: kernel.occupancy_waves_per_simd for kernel in prepared.compiled.result.kernels},
        main_counters(dispatches, prepared.target.arch) if dispatches else {},
        sleep_clocks(code),
        hashlib.sha256(machine_code).hexdigest() if code else "",
        measured.why_not_judged,
    )


def loaded_code(code_object: bytes) -> list[object]:
    """The code object as a GPU loads it: without debug data, so that comments and blanks of its source do not count."""
    try:
        return [*ElfFile(code_object).loaded()]
    except InputError:  # a candidate that is itself a code object may be odd
        return [code_object]


def what_is_launched(prepared: PreparedKernel) -> list[object]:
    """The loaded code and what the plan says, without its lines. Two kernels of which it is one do the same."""
    assert prepared.compiled.code_object is not None  # a failed compile was judged before
    plan = prepared.plan
    launches = [
        (each.kernel, *([size.text for size in sizes] for sizes in (each.grid, each.block, (each.lds,))),
         [arg if isinstance(arg, str) else arg.text for arg in each.args or ("its own",)], each.types or ())
        for each in plan.launches
    ]  # fmt: skip
    workspaces = [(each.name, each.dtype.name, [size.text for size in each.shape]) for each in plan.workspaces]
    computed = {name: each.text for name, each in plan.computed}
    return [loaded_code(prepared.compiled.code_object), launches, workspaces, {**plan.constants(), **computed}]
