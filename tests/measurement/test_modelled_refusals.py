"""Kernels that the roofline calls faster although a GPU would be slower: no such number becomes `faster`.

The baseline does its work in parallel and is bounded by the vector ALU. Each candidate has fewer instructions and less
traffic, and loses its time where the roofline does not look.
"""

from collections.abc import Callable, Iterator

import pytest
from problem_text import one_to_one, write_problem

from amdkernel_mcp.bundled import folder
from amdkernel_mcp.config import Settings
from amdkernel_mcp.engine.engine import Engine
from amdkernel_mcp.engine.prepared_kernel import side_of
from amdkernel_mcp.engine.verbs.benchmark import Benchmark
from amdkernel_mcp.hardware.specs import gpu_by_name
from amdkernel_mcp.measurement.benchmark import benchmark
from amdkernel_mcp.measurement.roofline import model_case
from amdkernel_mcp.measurement.side import Side
from amdkernel_mcp.problems.problem_file import load_problem
from amdkernel_mcp.results.kernels import BenchmarkResult
from amdkernel_mcp.work import Work

pytestmark = [pytest.mark.sandbox, pytest.mark.usefixtures("sandbox")]

MI300X = gpu_by_name("MI300X")
PROBLEM = one_to_one("n = 262144", title="Add one")
REFERENCE = """\
import numpy as np


def reference(x, n):
    return {"y": x + np.float32(1)}
"""
SIGNATURE = 'extern "C" __global__ void k(const float* x, float* y, int n)'
BASELINE = f"""// amdkernel: launch k grid=[n // 256] block=[256]
{SIGNATURE} {{
    int i = blockIdx.x * 256 + threadIdx.x;
    float v = x[i], w = v;
    for (int r = 0; r < 1500; r++) w = w * 0.5f + 0.25f;
    y[i] = v + (w > 1e30f ? w : 1.0f);
}}
"""
HONEST = f"""// amdkernel: launch k grid=[n // 256] block=[256]
{SIGNATURE} {{
    int i = blockIdx.x * 256 + threadIdx.x;
    y[i] = x[i] + 1.0f;
}}
"""
SLOW = {
    "one wave does all the work, the others end": f"""// amdkernel: launch k grid=[4096] block=[64]
{SIGNATURE} {{
    if (blockIdx.x) return;
    for (int i = threadIdx.x * 4; i < n; i += 256) {{
        float4 v = *(const float4*)(x + i);
        *(float4*)(y + i) = make_float4(v.x + 1, v.y + 1, v.z + 1, v.w + 1);
    }}
}}
""",
    "one wave does all the work, the others do cheap work": f"""// amdkernel: launch k grid=[1024] block=[64]
{SIGNATURE} {{
    if (blockIdx.x) {{
        for (int r = 0; r < 100; r++) asm volatile("s_nop 0");
        return;
    }}
    for (int i = threadIdx.x * 4; i < n; i += 256) {{
        float4 v = *(const float4*)(x + i);
        *(float4*)(y + i) = make_float4(v.x + 1, v.y + 1, v.z + 1, v.w + 1);
    }}
}}
""",
    "empty workgroups": f"""// amdkernel: launch k grid=[200000] block=[64]
{SIGNATURE} {{
    int i = blockIdx.x * 64 + threadIdx.x;
    if (i < n) y[i] = x[i] + 1.0f;
}}
""",
    "atomics of all lanes on one word": """// amdkernel: workspace counter dtype=i32 shape=[1]
// amdkernel: launch k grid=[n // 256] block=[256] args=[x, y, n, counter]
extern "C" __global__ void k(const float* x, float* y, int n, int* counter) {
    int i = blockIdx.x * 256 + threadIdx.x;
    atomicExch(counter, i);
    y[i] = x[i] + 1.0f;
}
""",
    "atomics of one lane of each wave on one line": """// amdkernel: workspace counter dtype=i32 shape=[32]
// amdkernel: launch k grid=[n // 64] block=[64] args=[x, y, n, counter]
extern "C" __global__ void k(const float* x, float* y, int n, int* counter) {
    int i = blockIdx.x * 64 + threadIdx.x;
    if (threadIdx.x == 0) atomicExch(counter + blockIdx.x % 32, i);
    y[i] = x[i] + 1.0f;
}
""",
    "dependent loads of few waves": f"""// amdkernel: launch k grid=[64] block=[64]
{SIGNATURE} {{
    int i = blockIdx.x * 64 + threadIdx.x;
    for (int r = 0; r < 64; r++) {{
        float v = __builtin_nontemporal_load(x + i);
        y[i] = v + 1.0f;
        i += v > 1e30f ? 1 : 4096;
    }}
}}
""",
    "one wave for each CU because of its LDS": f"""// amdkernel: launch k grid=[n // 64] block=[64]
{SIGNATURE} {{
    __shared__ float room[16000];
    int i = blockIdx.x * 64 + threadIdx.x;
    room[threadIdx.x * 250 % 16000] = x[i];
    __syncthreads();
    y[i] = room[threadIdx.x * 250 % 16000] + 1.0f;
}}
""",
    "waves that sleep": f"""// amdkernel: launch k grid=[n // 256] block=[256]
{SIGNATURE} {{
    int i = blockIdx.x * 256 + threadIdx.x;
    for (int r = 0; r < 20; r++) __builtin_amdgcn_s_sleep(127);
    y[i] = x[i] + 1.0f;
}}
""",
    "fences of the whole system": f"""// amdkernel: launch k grid=[n // 256] block=[256]
{SIGNATURE} {{
    int i = blockIdx.x * 256 + threadIdx.x;
    for (int r = 0; r < 20; r++) __threadfence_system();
    y[i] = x[i] + 1.0f;
}}
""",
    "an instruction cache that is emptied": f"""// amdkernel: launch k grid=[n // 256] block=[256]
{SIGNATURE} {{
    int i = blockIdx.x * 256 + threadIdx.x;
    for (int r = 0; r < 40; r++) asm volatile("s_icache_inv");
    y[i] = x[i] + 1.0f;
}}
""",
    "one wave that sleeps": f"""// amdkernel: launch k grid=[n // 256] block=[256]
{SIGNATURE} {{
    int i = blockIdx.x * 256 + threadIdx.x;
    for (int r = 0; r < 100; r++) {{
        if (i == 0) __builtin_amdgcn_s_sleep(127);
        else asm volatile("s_nop 0");
    }}
    y[i] = x[i] + 1.0f;
}}
""",
}


SINGLE = f"""// amdkernel: launch k grid=[1] block=[1024]
{SIGNATURE} {{
    for (int i = threadIdx.x * 4; i < n; i += 4096) {{
        float4 v = *(const float4*)(x + i);
        *(float4*)(y + i) = make_float4(v.x + 1, v.y + 1, v.z + 1, v.w + 1);
    }}
}}
"""


@pytest.fixture(scope="module")
def measure(settings: Settings, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Side]]:
    """What the emulator counts of a kernel for the problem above, with its outputs judged."""
    problem = write_problem(tmp_path_factory.mktemp("problems") / "add_one", PROBLEM, REFERENCE)
    engine = Engine(settings)

    def run(source: str) -> Side:
        loaded = load_problem(problem)
        prepared = engine._steps.prepare(loaded, source, file_name="k.hip", target=None, work=Work())
        measured = engine._steps.measure(prepared, engine._steps.plan_measurement(prepared), Work())
        assert (measured.finding, measured.wrong_outputs) == (None, None)
        return side_of(prepared, measured)

    yield run
    engine.close()


@pytest.fixture(scope="module")
def baseline(measure: Callable[[str], Side]) -> Side:
    """The counts of the baseline."""
    return measure(BASELINE)


def bound_us(side: Side) -> float:
    """The time by the roofline alone."""
    return sum(model_case(run.dispatches, MI300X, waves_per_simd=side.waves_per_simd).time_us for run in side.runs)


def compared(candidate: Side, baseline: Side) -> BenchmarkResult:
    return benchmark(candidate=candidate, baseline=baseline, gpu=MI300X, target="emulator:gfx942", emulated=True)


@pytest.mark.parametrize("name", SLOW)
def test_a_kernel_that_only_the_roofline_calls_faster_is_refused(
    name: str, measure: Callable[[str], Side], baseline: Side
) -> None:
    candidate = measure(SLOW[name])
    result = compared(candidate, baseline)
    assert bound_us(candidate) < bound_us(baseline), f"the roofline is not fooled: {result.reason}"
    assert result.verdict in ("inconclusive", "slower"), result.reason
    assert result.reason.startswith("modelled ")
    assert result.speedup is not None
    by_itself = result.speedup.value is not None and result.speedup.value < 1  # the simulation has the waits
    assert result.verdict == "slower" or by_itself or "this kernel may lose up to" in result.reason


def test_a_single_workgroup_is_slower_in_the_roofline_itself(measure: Callable[[str], Side], baseline: Side) -> None:
    assert compared(measure(SINGLE), baseline).verdict != "faster"


def test_the_same_work_without_such_a_place_is_faster(measure: Callable[[str], Side], baseline: Side) -> None:
    result = compared(measure(HONEST), baseline)
    assert result.verdict == "faster", result.reason
    assert result.reason.startswith("modelled ")
    assert compared(baseline, measure(HONEST)).verdict == "slower"


THOROUGH = [pytest.param(name, marks=pytest.mark.thorough) for name in ("reduce_sum", "rmsnorm")]


@pytest.mark.thorough
@pytest.mark.parametrize("problem", [*THOROUGH, "row_softmax"])
def test_an_honest_improvement_is_still_faster(problem: str, settings: Settings) -> None:
    naive, better = ((folder("examples") / problem / "kernels" / f"{n}.hip").read_text() for n in ("naive", "better"))
    engine = Engine(settings)
    try:
        result = engine.do(Benchmark(problem=problem, source=better, baseline=naive))
    finally:
        engine.close()
    assert result.verdict == "faster", result.reason
    assert result.reason.startswith("modelled ")
