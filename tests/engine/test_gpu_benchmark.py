"""Two kernels timed in turns through the engine's own path; the emulator stands for the GPU, with a simulated clock.

What the driver says of the GPU is given; everything else runs: the job, the runner, the judge, the floor, the verdict.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from amdkernel_mcp.bundled import folder
from amdkernel_mcp.config import Settings
from amdkernel_mcp.engine import gpu_benchmark
from amdkernel_mcp.engine.engine import Engine
from amdkernel_mcp.engine.gpu_benchmark import Contest, _beyond_twice_the_margin, benchmark_in_turns
from amdkernel_mcp.execution.sandbox import Completed, Sandbox
from amdkernel_mcp.hardware.target import Target
from amdkernel_mcp.leases.gpus import LeasedGpu
from amdkernel_mcp.measurement.timing.interleaved import Plan
from amdkernel_mcp.problems.problem_file import load_problem
from amdkernel_mcp.results.kernels import BenchmarkResult, Clocks, Finding
from amdkernel_mcp.work import Work

pytestmark = [pytest.mark.sandbox, pytest.mark.usefixtures("sandbox")]

SHORT = Plan(settle_s=0.02, settle_limit_s=60, looks=(9, 16))
IDLE = "gpu_busy_percent 0\nmem_info_vram_used 1048576\nunique_id 1a2b\ndriver 6.16\ngpu_id 7\nprocesses listed\n"
NAIVE = (folder("examples") / "vector_add/kernels/naive.hip").read_text()
SLOWED = """// amdkernel: launch add grid=[ceil_div(n, 256)] block=[256]
extern "C" __global__ void add(const float* x, const float* y, float* z, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float w = x[i];
    for (int k = 0; k < 400; k++) w = w * 0.5f + 1.0f;
    z[i] = x[i] + y[i] + (w > 1e30f ? 1.0f : 0.0f);
}
"""
TIRES = """// amdkernel: launch add grid=[ceil_div(n, 256)] block=[256]
__device__ int launches;
extern "C" __global__ void add(const float* x, const float* y, float* z, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (launches > 200) return;
    if (i == 0) atomicAdd(&launches, 1);
    if (i < n) z[i] = x[i] + y[i];
}
"""


PROFILER = """#!/usr/bin/python3
import json, os, subprocess, sys
from pathlib import Path

split = sys.argv.index("--")
folder = Path(sys.argv[sys.argv.index("-d") + 1])
{misbehaves}
subprocess.run(sys.argv[split + 1 :], check=True)
folder.mkdir(parents=True)
out = Path(os.environ["OUT"])
for index, case in enumerate(json.loads((out / "report.json").read_text())["cases"]):
    rows = ["Kernel_Name,Start_Timestamp,End_Timestamp"]
    for line in (out / f"case-{index}.dispatches.jsonl").read_text().splitlines():
        record = json.loads(line)
        start, end = (int(1000 * us * {factor}) for us in record["clock_us"])
        rows.append(f"{record['kernel']},{start},{end}")
    text = "\\n".join(rows)
    (folder / f"out_{case['pairs']['process']}_kernel_trace.csv").write_text(text[: {most}])
"""
HONEST = {"misbehaves": "", "factor": 1, "most": None}


KNOWS_ONE = """// amdkernel: launch add grid=[ceil_div(n, 256)] block=[256]
__device__ float first;
extern "C" __global__ void add(const float* x, const float* y, float* z, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i == 0 && first == 0.0f) first = x[n / 3];  // not the last: two sets of inputs may have the same spike there
    if (i < n) z[i] = x[i] + (first == 0.0f || first == x[n / 3] ? y[i] : 0.0f);
}
"""


class BesideGpu:
    """The sandbox, with what a driver's files would say of its GPU before and after, and a profiler."""

    def __init__(self, sandbox: Sandbox, *states: str, profiler: Mapping[str, object] | None) -> None:
        self._sandbox = sandbox
        self._states = list(states)
        self._profiler = profiler
        self.isolation, self.image_id = sandbox.isolation, sandbox.image_id

    def run(self, kind: Any, command: Sequence[str], files: Mapping[str, bytes], **how: Any) -> Completed:
        if kind == "look" and "gpu_busy_percent" in "".join(command):
            text = self._states.pop(0) if len(self._states) > 1 else self._states[0]
            return Completed(0, {}, text, False, False, False, 0.0)
        if "rocprofv3" in command[-1] and self._profiler is not None:
            program = PROFILER
            for name, value in self._profiler.items():
                program = program.replace("{" + name + "}", str(value))
            files = {**files, "rocprofv3": program.encode()}
            command = [*command[:-1], command[-1].replace(" rocprofv3 ", " python3 -s rocprofv3 ")]
        return self._sandbox.run(kind, command, files, **how)

    def is_connected(self) -> bool:
        return True

    def close(self) -> None:
        pass


@pytest.fixture(scope="module")
def engine(settings: Settings) -> Iterator[Engine]:
    """An engine of its own."""
    opened = Engine(settings)
    yield opened
    opened.close()


def contest(
    engine: Engine,
    settings: Settings,
    candidate: str,
    baseline: str | None,
    *states: str,
    profiler: Mapping[str, object] | None = None,
) -> Contest:
    ready = [
        engine._steps.prepare(load_problem("vector_add"), text, file_name="k.hip", target=None, work=Work())
        for text in (candidate, baseline)
        if text is not None
    ]
    planned = engine._steps.plan_measurement(ready[0], inputs=2, case="n=4096")
    assert not isinstance(planned, Finding)
    planned = replace(planned, job=replace(planned.job, clock_seed=3))
    other = engine._steps.plan_measurement(ready[-1], planned)
    assert not isinstance(other, Finding)
    other = replace(other, job=replace(other.job, clock_seed=4))
    sides = [replace(each, sandbox=BesideGpu(each.sandbox, *states, profiler=profiler)) for each in ready]
    node = "/dev/dri/renderD128"
    idle = BesideGpu(ready[0].sandbox, IDLE, profiler=None)
    # Emulated, so that the kernel which tries a new GPU runs as well.
    where = Target("gpu1:0", "emulator", "gfx942", "MI300X", "gpu1", 0, id="1a2b")
    gpu = LeasedGpu(engine._sandboxes.leases, idle, where, lambda: node)
    return Contest(
        sides[0],
        sides[-1],
        planned,
        other,
        lambda: node,
        lambda work: gpu.leased("exclusive", work),
        settings.data_dir,
        settings.cache_dir,
        SHORT,
    )


def run(
    engine: Engine, settings: Settings, candidate: str, *states: str, profiler: Mapping[str, object] | None = None
) -> BenchmarkResult:
    return benchmark_in_turns(contest(engine, settings, candidate, NAIVE, *states, profiler=profiler), Work())


@pytest.mark.thorough
def test_a_slowed_copy_is_slower_with_all_conditions(engine: Engine, settings: Settings) -> None:
    result = run(engine, settings, SLOWED, IDLE, profiler=HONEST)
    assert result.verdict == "slower", result.reason
    assert result.time_us.evidence == "measured"
    assert result.noise_floor is not None, "eight A/A runs were made and stored"
    assert result.timing is not None
    assert result.timing.pairs == 16
    assert min(result.timing.settled_us) >= 20_000
    assert result.timing.idle_before == "0 % busy, 1 MiB in use, no process"
    assert result.timing.input_sets == [2]
    assert result.timing.kernel_trace == "agrees", result.timing.kernel_trace_note
    assert "no_kernel_trace" not in result.flags


@pytest.mark.thorough
def test_a_kernel_that_stops_working_while_it_is_timed_is_incorrect(engine: Engine, settings: Settings) -> None:
    result = run(engine, settings, TIRES, IDLE)
    assert result.verdict == "incorrect", result.reason
    assert "this kernel is right in its check and wrong while it is measured" in result.reason


def test_nothing_is_timed_on_a_gpu_that_is_busy_or_cannot_be_read(engine: Engine, settings: Settings) -> None:
    busy = run(engine, settings, SLOWED, IDLE + "process 4711\n")
    assert (busy.verdict, busy.flags) == ("not_measured", ["not_idle"])
    assert "other processes use the GPU: 4711" in busy.reason
    unread = run(engine, settings, SLOWED, "")
    assert (unread.verdict, unread.time_us.value) == ("not_measured", None)


@pytest.mark.thorough
def test_where_idleness_cannot_be_known_a_difference_must_be_twice_as_large(engine: Engine, settings: Settings) -> None:
    result = run(engine, settings, SLOWED, IDLE.replace("gpu_busy_percent", "no_busy_percent"))
    assert (result.verdict, result.time_us.evidence) == ("slower", "measured"), result.reason
    assert "idle_unknown" in result.flags
    assert result.reason.startswith(
        "the driver of this GPU does not show its activity: whether it is idle cannot be known"
    )
    near = result.speedup.model_copy(update={"value": 0.992, "low": 0.991, "high": 0.993})
    within = _beyond_twice_the_margin(result.model_copy(update={"speedup": near}), "why", 0.005)
    assert within.verdict == "inconclusive", within.reason
    assert "why, so a difference counts from 1.0%" in within.reason


@pytest.mark.thorough
def test_work_of_others_that_began_meanwhile_leaves_no_verdict(engine: Engine, settings: Settings) -> None:
    result = run(engine, settings, SLOWED, IDLE, IDLE, IDLE + "process 4711\n")
    assert result.verdict == "inconclusive"
    assert result.reason.startswith("other processes use the GPU: 4711")


def test_a_kernel_without_a_baseline_is_timed_in_turns_with_itself(engine: Engine, settings: Settings) -> None:
    result = benchmark_in_turns(contest(engine, settings, NAIVE, None, IDLE), Work())
    assert (result.verdict, result.time_us.evidence) == ("inconclusive", "measured")
    assert result.speedup.value is None
    assert result.baseline_time_us.value is None
    assert result.reason.startswith("no baseline to compare with; in turns with itself it is ")
    assert result.timing is not None
    assert result.timing.pairs >= 9
    assert min(result.timing.settled_us) >= 20_000
    assert result.timing.kernel_trace == "not_measured"
    assert "has no rocprofv3" in result.timing.kernel_trace_note
    assert result.timing.clocks_before == result.timing.clocks_after == Clocks(), "no file shows them"
    assert "no_kernel_trace" in result.flags


@pytest.mark.thorough
def test_the_clocks_are_those_before_and_just_after_the_launches(engine: Engine, settings: Settings) -> None:
    states = [IDLE + f"pp_dpm_sclk 1: {mhz}Mhz *\npp_dpm_mclk 0: 1300Mhz *\n" for mhz in (132, 2087, 140)]
    result = benchmark_in_turns(contest(engine, settings, NAIVE, None, *states), Work())
    assert result.timing is not None, result.reason
    assert result.timing.clocks_before == Clocks(sclk_mhz=132, mclk_mhz=1300)
    assert result.timing.clocks_after == Clocks(sclk_mhz=2087, mclk_mhz=1300)


@pytest.mark.thorough
def test_a_kernel_that_is_wrong_with_the_second_inputs_only_is_incorrect(engine: Engine, settings: Settings) -> None:
    result = run(engine, settings, KNOWS_ONE, IDLE)
    assert result.verdict == "incorrect", result.reason


@pytest.mark.thorough
def test_a_trace_that_is_off_by_a_fifth_leaves_no_verdict(engine: Engine, settings: Settings) -> None:
    result = run(engine, settings, SLOWED, IDLE, profiler=HONEST | {"factor": 1.2})
    assert result.verdict == "inconclusive"
    assert result.reason.startswith("the event times do not agree with rocprofv3's kernel trace within 10%: in case ")
    assert "trace_disagrees" in result.flags
    assert result.timing is not None
    assert result.timing.kernel_trace == "disagrees"
    assert result.timing.kernel_trace_ratio.value == pytest.approx(1 / 1.2, abs=0.04)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("profiler", "why"),
    [
        (HONEST | {"misbehaves": "sys.exit('error 38')"}, "error 38"),
        (HONEST | {"misbehaves": "import time; time.sleep(600)"}, "did not end"),
        (HONEST | {"most": 600}, "cells|is before the start"),  # by where the last row is cut
    ],
)
def test_a_profiler_that_fails_costs_the_comparison_and_not_the_benchmark(
    engine: Engine,
    settings: Settings,
    profiler: Mapping[str, object],
    why: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if why == "did not end":
        monkeypatch.setattr(gpu_benchmark, "TRACE_START_S", 3.0)
        monkeypatch.setattr(gpu_benchmark, "TRACE_CASE_S", 0.0)
    result = benchmark_in_turns(contest(engine, settings, NAIVE, None, IDLE, profiler=profiler), Work())
    assert result.time_us.evidence == "measured"
    assert result.timing is not None
    assert result.timing.kernel_trace == "not_measured"
    assert re.search(why, result.timing.kernel_trace_note)
