"""Kernels with one mistake each, and right ones that look suspicious, through the compiler, the runner and the checks.

planted.hip marks the line of each mistake (`//! KIND`); sound.hip has none. Both run at -O0, -O1 and -O3, and at -O3 on
every architecture, because each releases memory to other waves in its own way.
"""

import re
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from amdkernel_mcp.compiler.compile import Compiler
from amdkernel_mcp.execution.runner.job import run_job
from amdkernel_mcp.execution.targets import find_target
from amdkernel_mcp.findings.faults import explain_stop
from amdkernel_mcp.findings.mistakes import explain_mistakes
from amdkernel_mcp.runner_protocol.job import Buffer, RunCase, RunnerArgument, RunnerJob, RunnerLaunch
from tests.rows import check_all

pytestmark = [pytest.mark.sandbox, pytest.mark.slow, pytest.mark.timeout(600)]

N = 1024
HERE = Path(__file__).parent
PLANTED, SOUND = (HERE / "planted.hip").read_text(), (HERE / "sound.hip").read_text()
BUILDS = (
    ("gfx942", "-O0"),
    ("gfx942", "-O1"),
    *((arch, "-O3") for arch in ("gfx942", "gfx90a", "gfx950", "gfx1100", "gfx1201")),
)
IN_GATE = {("gfx942", "-O3")}
MORE_OF_RIGHT_KERNELS = (("gfx90a", "-O0"), ("gfx1100", "-O0"), ("gfx90a", "-O1"), ("gfx1201", "-O1"))
NOT_TO_BE_TOLD = {
    ("gfx1100", "flag_for_the_workgroup_alone"),  # its store carries no scope: the code is that of a right kernel
    # CDNA's atomics carry no scope, so the code is that of a relaxed one, behind which many read without an acquire
    *((arch, "counter_of_which_the_workgroup_alone_learns") for arch in ("gfx90a", "gfx942", "gfx950")),
    ("gfx1100", "sum_of_what_was_never_written"),  # the moved load has another line, and the finding that of the use
    ("gfx1201", "sum_of_what_was_never_written"),
    # RDNA has no loads from memory to LDS
    *((arch, "lds_read_before_the_load_into_it_has_returned") for arch in ("gfx1100", "gfx1201")),
    *((arch, "barrier_before_a_load_into_lds_has_returned") for arch in ("gfx1100", "gfx1201")),
}
NOT_AT_O0 = {
    "scalar_load_not_aligned",  # it is a vector load there, which may lie anywhere
    "lds_sum_cleared_while_others_add",  # atomics give the sum back, so one wave learns from the other
}


def kernels_of(source):
    return re.findall(r"^KERNEL\((\w+)\)", source, re.MULTILINE)


@dataclass(frozen=True)
class Mark:
    kernel: str
    line: int
    kind: str


def marks():
    kernel = ""
    for number, line in enumerate(PLANTED.splitlines(), 1):
        if found := re.match(r"KERNEL\((\w+)\)", line):
            kernel = found[1]
        if found := re.search(r"//! ([a-z_]+)", line):
            yield Mark(kernel, number, found[1])


MARKS = list(marks())


def case(kernel, options, n=N):
    x = (np.arange(n, dtype=np.int32) * 37) % 1001
    buffers = (
        Buffer("x", 4 * n, "in", x.tobytes()),
        Buffer("y", 4 * n, "out"),
        Buffer("w", 4 * n, "workspace"),
        Buffer("c", n // 4, "inout", bytes(n // 4)),
    )
    arguments = (*(RunnerArgument(buffer=b.name) for b in buffers), RunnerArgument(scalar=n.to_bytes(4, "little")))
    lds = 512 if kernel == "behind_lds" else 0
    launch = RunnerLaunch(kernel, (n // 256, 1, 1), (256, 1, 1), lds, arguments)
    return RunCase(buffers, (launch,), repeats=1, emulator_options=(options,))


@pytest.fixture
def findings(sandbox, settings):
    """What is found in each kernel of a source that is built at this level and run with this schedule seed."""

    def run(source, arch, level, seed):
        target = find_target(f"emulator:{arch}", settings)
        compiled = Compiler(sandbox, settings.cache_dir).compile(source, arch=arch, flags=[level, "-w"])
        assert compiled.code_object, compiled.result.diagnostics
        names = kernels_of(source)
        cases = tuple(case(name, f"races=1,last_waves_first=1,schedule_seed={seed}") for name in names)
        report = run_job(sandbox, target, RunnerJob(arch, compiled.code_object, cases))
        seen = {}
        for name, answer in zip(names, report.cases, strict=True):
            stop = explain_stop(answer, arch=arch, lines=compiled.lines, layouts={})
            mistakes = explain_mistakes(answer, lines=compiled.lines, layouts={})
            seen[name] = ([stop.finding] if stop else []) + mistakes
        return seen

    return run


def build(arch, level, *seed):
    """All builds but one are left for the full gate; code that is not optimised takes longest."""
    marks = [pytest.mark.thorough] if (arch, level) not in IN_GATE else []
    return pytest.param(arch, level, *seed, marks=[*marks, pytest.mark.soak] if level == "-O0" else marks)


RIGHT_BUILDS = [
    *(build(arch, level, 0) for arch, level in BUILDS),
    *(build(arch, level, 0) for arch, level in MORE_OF_RIGHT_KERNELS),
    pytest.param("gfx942", "-O3", 3, marks=pytest.mark.thorough),
]


def marks_of(arch, level):
    """The mistakes that the code of this build shows."""
    at_o0 = NOT_AT_O0 if level == "-O0" else set()
    return [mark for mark in MARKS if mark.kernel not in at_o0 and (arch, mark.kernel) not in NOT_TO_BE_TOLD]


@pytest.mark.thorough
@pytest.mark.parametrize(("arch", "level"), [build(arch, level) for arch, level in BUILDS])
def test_each_planted_mistake_is_named_with_kind_and_line(findings, arch, level):
    found = findings(PLANTED, arch, level, 0)

    def named(mark):
        seen = found[mark.kernel]
        assert (mark.kind, mark.line) in {(finding.kind, finding.line) for finding in seen}, seen

    marks = marks_of(arch, level)
    assert len(marks) > len(MARKS) * 0.9
    check_all((f"{mark.kernel}, line {mark.line}, {mark.kind}", partial(named, mark)) for mark in marks)


@pytest.mark.thorough
@pytest.mark.parametrize(("arch", "level", "seed"), RIGHT_BUILDS)
def test_no_right_kernel_is_accused(findings, arch, level, seed):
    accused = {kernel: seen for kernel, seen in findings(SOUND, arch, level, seed).items() if seen}
    assert not accused, f"{len(accused)} of {len(kernels_of(SOUND))} right kernels: {accused}"


def test_many_workgroups_that_wait_for_one_not_yet_begun_end_in_a_shuffled_order(sandbox, settings):
    compiled = Compiler(sandbox, settings.cache_dir).compile(SOUND, arch="gfx942", flags=["-O3", "-w"])
    assert compiled.code_object
    waiting = case("look_back_with_value_and_flag_in_one_word", "schedule_seed=1", n=160 * 256)
    target = find_target("emulator:gfx942", settings)
    answer = run_job(sandbox, target, RunnerJob("gfx942", compiled.code_object, (waiting,))).cases[0]
    assert answer.status == "ok", answer.message


def test_every_planted_kernel_has_a_mark():
    assert list(dict.fromkeys(mark.kernel for mark in MARKS)) == kernels_of(PLANTED)
