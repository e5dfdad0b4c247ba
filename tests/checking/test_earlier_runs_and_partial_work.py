"""What kernels leave in static memory between runs, and what they do not touch: compiled, run and explained."""

from dataclasses import replace

import pytest

from amdkernel_mcp.checking.judging.partial_work import loads_left_out, stores_left_out
from amdkernel_mcp.compiler.compile import Compiler
from amdkernel_mcp.execution.runner.job import run_job
from amdkernel_mcp.execution.targets import find_target
from amdkernel_mcp.findings.faults import Layout
from amdkernel_mcp.findings.mistakes import explain_mistakes
from amdkernel_mcp.runner_protocol.job import Buffer, RunCase, RunnerArgument, RunnerJob, RunnerLaunch
from tests.one_in import one_in

pytestmark = pytest.mark.sandbox

N = 1024
SOURCE = """
#include <hip/hip_runtime.h>
#define KERNEL(name) extern "C" __global__ void name(const int* x, int* y, int n)
#define ITEM (blockIdx.x * 256 + threadIdx.x)
__device__ int remembered[1024], known;
__device__ unsigned tickets, arrivals = 7;
__device__ int passed_on[1024];
__device__ short halves[1024];

KERNEL(gives_back_what_the_first_run_computed)
{
    if (known) //! stale
        y[ITEM] = remembered[ITEM]; //! stale
    else
        y[ITEM] = remembered[ITEM] = 2 * x[ITEM];
}
KERNEL(remembers_in_its_last_launch) { known = 1; }

KERNEL(counts_its_runs)
{
    if (ITEM == 0)
        atomicAdd(&tickets, 1); //! stale
    y[ITEM] = 2 * x[ITEM];
}
KERNEL(puts_its_counter_back)
{
    __shared__ unsigned mine;
    if (threadIdx.x == 0) {
        mine = atomicAdd(&arrivals, 1) - 7;
        if (mine == gridDim.x - 1)
            arrivals = 7;
    }
    __syncthreads();
    y[mine * 256 + threadIdx.x] = 2 * x[mine * 256 + threadIdx.x];
}
KERNEL(first_half_of_two_launches) { passed_on[ITEM] = 2 * x[ITEM]; }
KERNEL(second_half_of_two_launches) { y[ITEM] = passed_on[ITEM ^ 1]; }
KERNEL(keeps_halves_for_later)
{
    y[ITEM] = halves[ITEM] + 1; //! stale
    halves[ITEM] = (short)x[ITEM];
}
KERNEL(stores_the_lower_half_only) { if (ITEM < 512) y[ITEM] = x[2 * ITEM] + x[2 * ITEM + 1]; }
KERNEL(loads_every_second_element) { y[ITEM] = x[ITEM & ~1u]; }
KERNEL(touches_all) { y[ITEM] = x[ITEM]; }
KERNEL(touches_all_by_atomics_and_scalars)
{
    int sum = 0;
    for (int k = 0; k < n; k++)
        sum += x[k];
    atomicExch(&y[ITEM], sum);
}
"""
LAYOUTS = {name: Layout(4, (N // 8, 8)) for name in "xy"}


def line_of(text):
    return 1 + SOURCE[: SOURCE.index(text)].count("\n")


@pytest.fixture(scope="module")
def compiled(sandbox, settings):
    compiled = Compiler(sandbox, settings.cache_dir).compile(SOURCE, arch="gfx942", flags=["-O2", "-w"])
    assert compiled.code_object, compiled.result.diagnostics
    return compiled


@pytest.fixture(scope="module")
def report_of(sandbox, settings, compiled):
    known = {}

    def run(*kernels, mode="check", repeats=3):
        data = b"".join((37 * n % 1001).to_bytes(4, "little") for n in range(N))
        buffers = (Buffer("x", 4 * N, "in", data), Buffer("y", 4 * N, "out"))
        arguments = (*(RunnerArgument(buffer=b.name) for b in buffers), RunnerArgument(scalar=N.to_bytes(4, "little")))
        launches = tuple(RunnerLaunch(kernel, (N // 256, 1, 1), (256, 1, 1), 0, arguments) for kernel in kernels)
        case = RunCase(buffers, launches, repeats=repeats)
        if (kernels, mode) not in known:
            job = replace(RunnerJob("gfx942", compiled.code_object, (case,)), mode=mode)
            known[kernels, mode] = run_job(sandbox, find_target("emulator:gfx942", settings), job).cases[0]
        return known[kernels, mode]

    return run


def mistakes(report, compiled):
    assert report.status == "ok", report.message
    return explain_mistakes(report, lines=compiled.lines, layouts=LAYOUTS)


def test_what_an_earlier_run_left_in_a_variable_is_told_with_line_and_name(report_of, compiled):
    seen = mistakes(report_of("gives_back_what_the_first_run_computed", "remembers_in_its_last_launch"), compiled)
    assert {finding.kind for finding in seen} == {"state_between_launches"}
    assert {finding.line for finding in seen} == {line_of("if (known)"), line_of("= remembered[ITEM];")}
    assert any("`remembered`" in finding.message for finding in seen)


@pytest.mark.parametrize(
    ("kernel", "line"), [("counts_its_runs", "atomicAdd(&tickets"), ("keeps_halves_for_later", "halves[ITEM] + 1")]
)
def test_a_counter_of_runs_and_short_values_are_told_too(report_of, compiled, kernel, line):
    seen = mistakes(report_of(kernel), compiled)
    assert [(finding.kind, finding.line) for finding in seen] == [("state_between_launches", line_of(line))]


@pytest.mark.parametrize(
    "kernels",
    one_in(
        9,
        [
            pytest.param(("puts_its_counter_back",)),
            pytest.param(("first_half_of_two_launches", "second_half_of_two_launches")),
            pytest.param(("touches_all",)),
            pytest.param(("touches_all_by_atomics_and_scalars",)),
        ],
        others=pytest.mark.thorough,
    ),
)
def test_static_memory_within_a_run_is_right_and_so_is_what_is_put_back(report_of, compiled, kernels):
    report = report_of(*kernels)
    assert mistakes(report, compiled) == []
    assert report.untouched == ()


@pytest.mark.parametrize("mode", ["check", "profile"])
def test_an_output_that_is_stored_in_part_is_told_however_the_kernel_runs(report_of, mode):
    report = report_of("stores_the_lower_half_only", mode=mode)
    assert [finding.message for finding in stores_left_out(report, LAYOUTS)] == [
        "never stores 512 of 1024 elements of y, the first y[64, 0]"
    ]
    assert loads_left_out(report, LAYOUTS) == []


def test_an_input_that_is_read_in_part_is_told_with_the_first_element(report_of):
    (finding,) = loads_left_out(report_of("loads_every_second_element"), LAYOUTS)
    assert finding.kind == "unread_input"
    assert finding.message.startswith("never reads 512 of 1024 elements of x, the first x[0, 1]: ")


def test_an_input_that_is_not_read_at_all_is_told_as_such(report_of):
    (finding,) = loads_left_out(report_of("remembers_in_its_last_launch"), LAYOUTS)
    assert finding.message.startswith("never reads x, any of its 1024 elements: ")
