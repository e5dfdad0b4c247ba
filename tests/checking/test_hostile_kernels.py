"""Kernels that mean harm end with a plain verdict in bounded time, and the line that is to blame.

hostile.hip marks that line (`//! VERDICT KIND`). Those that hang have a job of their own, as a hang ends it.
"""

import re
from pathlib import Path
from typing import Any

import pytest

from amdkernel_mcp.compiler.compile import Compiler
from amdkernel_mcp.execution.runner.job import run_job
from amdkernel_mcp.execution.targets import find_target
from amdkernel_mcp.findings.faults import explain_stop
from amdkernel_mcp.findings.mistakes import explain_mistakes
from amdkernel_mcp.runner_protocol.job import Buffer, RunCase, RunnerArgument, RunnerJob, RunnerLaunch

pytestmark = [pytest.mark.sandbox, pytest.mark.timeout(300)]

HOSTILE = (Path(__file__).parent / "hostile.hip").read_text()
ALONE_TIMEOUT_S = 3.5
GRIDS = {"takes_two_thousand_million_workgroups": (2**31 - 1, 1, 1)}


def marks():
    """By kernel: what is expected, as (verdict, kind, line). A line before the first kernel's belongs to the next."""
    known: dict[str, list[Any]] = {}
    waiting: list[Any] = []
    kernel = None
    for number, line in enumerate(HOSTILE.splitlines(), 1):
        if found := re.match(r"KERNEL\((\w+)\)", line):
            kernel = found[1]
            known[kernel] = waiting
            waiting = []
        elif line.startswith("static"):
            kernel = None
        if found := re.search(r"//! ([a-z_]+) ([a-z_]+)", line):
            (waiting if kernel is None else known[kernel]).append((found[1], found[2], number))
    return known


MARKS = marks()
HANGING = [kernel for kernel, expected in MARKS.items() if expected[0][0] == "timeout"]  # which ends a job


@pytest.fixture(scope="module")
def compiled(sandbox, settings):
    made = Compiler(sandbox, settings.cache_dir).compile(HOSTILE, arch="gfx942", flags=["-O2", "-w"])
    assert made.code_object, made.result.diagnostics
    return made


def run(sandbox, settings, compiled, kernels, timeout_s):
    """What became of each kernel, in one job."""
    y = Buffer("y", 64 * 4 * 8, "out")
    arguments = (RunnerArgument(buffer="y"), RunnerArgument(scalar=(2048).to_bytes(8, "little")))
    cases = []
    for kernel in kernels:
        launch = RunnerLaunch(kernel, GRIDS.get(kernel, (2, 1, 1)), (1 if kernel in GRIDS else 128, 1, 1), 0, arguments)
        cases.append(RunCase((y,), (launch,), repeats=1, emulator_options=("races=1,schedule_seed=0",)))
    job = RunnerJob("gfx942", compiled.code_object, tuple(cases), "check", timeout_s)
    return dict(zip(kernels, run_job(sandbox, find_target("emulator:gfx942", settings), job).cases, strict=True))


@pytest.fixture(scope="module")
def answers(sandbox, settings, compiled):
    """Of the kernels that end by themselves."""
    return run(sandbox, settings, compiled, [kernel for kernel in MARKS if kernel not in {*HANGING, *GRIDS}], 60.0)


@pytest.mark.parametrize(
    "kernel", [pytest.param(each, marks=pytest.mark.thorough if each in GRIDS else ()) for each in MARKS]
)
def test_a_hostile_kernel_ends_with_a_verdict_and_a_line(sandbox, settings, compiled, answers, kernel):
    answer = answers.get(kernel) or run(sandbox, settings, compiled, [kernel], ALONE_TIMEOUT_S)[kernel]
    stop = explain_stop(answer, arch="gfx942", lines=compiled.lines, layouts={})
    findings = [stop.finding] if stop else explain_mistakes(answer, lines=compiled.lines, layouts={})
    verdict = stop.verdict if stop else "ok"
    assert {(verdict, finding.kind, finding.line) for finding in findings} & set(MARKS[kernel]), findings
