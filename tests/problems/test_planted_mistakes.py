"""Kernels with one mistake each, and right ones that look suspicious, through the compiler, the runner and the checks.

planted.hip marks the line of each mistake (`//! KIND`); sound.hip has none. Both run at -O0 and at -O3.
"""

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from amdkernel_mcp.compiler.compile import Compiler
from amdkernel_mcp.execution.runner_job import Argument, Buffer, Launch, RunCase, RunnerJob, run_job
from amdkernel_mcp.execution.targets import find_target
from amdkernel_mcp.problems.faults import explain_stop
from amdkernel_mcp.problems.mistakes import explain_mistakes

pytestmark = [pytest.mark.sandbox, pytest.mark.timeout(600)]

N = 1024
HERE = Path(__file__).parent
PLANTED, SOUND = (HERE / "planted.hip").read_text(), (HERE / "sound.hip").read_text()
LEVELS = ("-O0", "-O3")
VECTOR_AT_O0 = {"scalar_load_not_aligned"}  # which may lie anywhere


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
    arguments = (*(Argument(buffer=b.name) for b in buffers), Argument(scalar=n.to_bytes(4, "little")))
    lds = 512 if kernel == "behind_lds" else 0
    launch = Launch(kernel, (n // 256, 1, 1), (256, 1, 1), lds, arguments)
    return RunCase(buffers, (launch,), repeats=1, emulator_options=(options,))


@pytest.fixture(scope="module")
def found(sandbox, settings):
    """By level and schedule seed: what was found in each kernel, as findings."""
    target = find_target("emulator:gfx942", settings)
    known = {}

    def run(source, level, seed):
        if (source, level, seed) not in known:
            known[source, level, seed] = findings(source, level, seed)
        return known[source, level, seed]

    def findings(source, level, seed):
        compiled = Compiler(sandbox, settings.cache_dir).compile(source, arch="gfx942", flags=[level, "-w"])
        assert compiled.code_object, compiled.result.diagnostics
        names = kernels_of(source)
        cases = tuple(case(name, f"races=1,schedule_seed={seed}") for name in names)
        report = run_job(sandbox, target, RunnerJob("gfx942", compiled.code_object, cases))
        seen = {}
        for name, answer in zip(names, report.cases, strict=True):
            stop = explain_stop(answer, lines=compiled.lines, layouts={})
            mistakes = explain_mistakes(answer, lines=compiled.lines, layouts={})
            seen[name] = ([stop.finding] if stop else []) + mistakes
        return seen

    return run


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("mark", MARKS, ids=[mark.kernel for mark in MARKS])
def test_each_planted_mistake_is_named_with_kind_and_line(found, mark, level):
    if level == "-O0" and mark.kernel in VECTOR_AT_O0:
        return
    seen = found(PLANTED, level, 0)[mark.kernel]
    assert (mark.kind, mark.line) in {(finding.kind, finding.line) for finding in seen}, seen


@pytest.mark.parametrize(("level", "seed"), [("-O0", 0), ("-O3", 0), ("-O3", 3)])
@pytest.mark.parametrize("kernel", kernels_of(SOUND))
def test_no_right_kernel_is_accused(found, kernel, level, seed):
    assert found(SOUND, level, seed)[kernel] == []


def test_many_workgroups_that_wait_for_one_not_yet_begun_end_in_a_shuffled_order(sandbox, settings):
    compiled = Compiler(sandbox, settings.cache_dir).compile(SOUND, arch="gfx942", flags=["-O3", "-w"])
    waiting = case("look_back_with_value_and_flag_in_one_word", "schedule_seed=1", n=160 * 256)
    target = find_target("emulator:gfx942", settings)
    answer = run_job(sandbox, target, RunnerJob("gfx942", compiled.code_object, (waiting,))).cases[0]
    assert answer.status == "ok", answer.message


def test_every_planted_kernel_has_a_mark():
    assert [mark.kernel for mark in MARKS] == kernels_of(PLANTED)
