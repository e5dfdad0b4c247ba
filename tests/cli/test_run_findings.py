"""What `amdkernel run` reports of kernels: hangs, races, overruns, mistakes in variables and arguments."""

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from amdkernel_mcp.execution.sandbox import Sandbox
from tests.cli.run_command import amdkernel_run

pytestmark = pytest.mark.sandbox

BUILD = "hipcc -g -O2 --offload-arch={arch} -w $1.hip -o $OUT/$1"
Build = Callable[..., Path]


@pytest.fixture(scope="module")
def build(sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Build:
    """The program of a source, for tests that run one several times; built once for each GPU."""

    @cache
    def built(name: str, source: str, arch: str = "gfx942") -> Path:
        words = ["sh", "-c", BUILD.format(arch=arch), "build", name]
        done = sandbox.run("compile", words, {f"{name}.hip": source.encode()}, timeout_s=200)
        assert done.exit_code == 0, done.stderr
        program = tmp_path_factory.mktemp(name) / name
        program.write_bytes(done.files[name])
        return program

    return built


HANG = """
#include <hip/hip_runtime.h>
#include <cstdio>
template <typename T> __global__ void locked(T* lock, T* sum) {
  while (atomicCAS(lock, 0, 1))
    ;
  *sum += 1;
  __threadfence();
  atomicExch(lock, 0);
}
int main() {
  int* x;
  if (hipMalloc(&x, 8) || hipMemset(x, 0, 8)) return 90;
  locked<<<2, 64>>>(x, x + 1);
  std::puts("launched");
  std::fflush(stdout);
  if (hipDeviceSynchronize()) return 92;
}
"""


@pytest.mark.thorough
@pytest.mark.parametrize("look", [[], pytest.param(["--check"], marks=pytest.mark.thorough)])
def test_a_kernel_that_hangs_is_reported_with_its_line_before_the_time_is_up(tmp_path: Path, look: list[str]) -> None:
    """Lanes of one wave wait for a lock that another of them releases only after the loop."""
    (tmp_path / "locked.hip").write_text(HANG)
    ended = amdkernel_run(tmp_path / "locked.hip", "--timeout", "4", *look, "--target", "emulator:gfx942")
    assert (ended.returncode, ended.stdout) == (124, "launched\n"), ended.stderr
    assert "it ran for more than 4 s" in ended.stderr
    assert "locked.hip:5: timeout: locked<int> was still running after " in ended.stderr
    assert "2 of 2 waves were at line 5 (wave 0 of workgroup [" in ended.stderr
    assert "or the kernel is only slow: try a larger --timeout" in ended.stderr
    assert "does not stop for this" not in ended.stderr


HANDSHAKE = """
#include <hip/hip_runtime.h>
__device__ __noinline__ int waits(volatile int* flag) {
  int turns = 0;
  while (*flag == 0)
    turns++;
  return turns;
}
__global__ void handshake(int* flag) {
  if (threadIdx.x >= 64)
    waits(flag);
  __syncthreads();
  *flag = 1;
}
int main() {
  int* x;
  if (hipMalloc(&x, 8) || hipMemset(x, 0, 8)) return 90;
  handshake<<<1, 256>>>(x);
  if (hipDeviceSynchronize()) return 92;
}
"""


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("arch", "level"),
    [
        ("gfx942", "-O3"),
        ("gfx1201", "-O3"),
        ("gfx950", "-O0"),
    ],
)
def test_waves_at_a_barrier_and_in_a_loop_are_reported_with_their_lines(tmp_path: Path, arch: str, level: str) -> None:
    """At -O0 gfx950's code of the loop has instructions without a line, and the loop is in a function of its own."""
    (tmp_path / "handshake.hip").write_text(HANDSHAKE)
    words = ("--timeout", "4", f"--flag={level}", "--target", f"emulator:{arch}")
    ended = amdkernel_run(tmp_path / "handshake.hip", *words)
    assert re.search(r"handshake.hip:[56]: timeout: handshake was still running after ", ended.stderr), ended.stderr
    running, waiting = (6, 2) if arch == "gfx1201" else (3, 1)
    assert re.search(rf" of {running + waiting} waves (was|were) at line [56] ", ended.stderr), ended.stderr
    assert f", {waiting} at the barrier of line 12. A loop or a wait that never ends" in ended.stderr


RACE = """
#include <hip/hip_runtime.h>
__global__ void turn(int* x) {
  __shared__ int s[256];
  s[threadIdx.x] = x[threadIdx.x];
  x[threadIdx.x] = s[255 - threadIdx.x];
}
int main() {
  int* x;
  if (hipMalloc(&x, 1024) || hipMemset(x, 0, 1024)) return 90;
  turn<<<1, 256>>>(x);
  if (hipDeviceSynchronize() || hipFreeAsync(x, nullptr)) return 91;
  turn<<<1, 256>>>(x);
  (void)hipDeviceSynchronize();
  return 0;
}
"""


def test_mistakes_of_a_program_are_reported_with_their_lines(tmp_path: Path) -> None:
    (tmp_path / "turn.hip").write_text(RACE)
    ended = amdkernel_run(tmp_path / "turn.hip", "--races", "--target", "emulator:gfx942")
    assert ended.returncode == 1
    assert "turn.hip:6: race: reads byte" in ended.stderr
    assert "turn.hip:5: use_after_free: reads 4 bytes at byte" in ended.stderr


LAST = """
#include <hip/hip_runtime.h>
#include <cstdio>
__global__ void last(int* x) {
  if (threadIdx.x == 0) atomicExch(x, (int)blockIdx.x);
}
int main() {
  int *x, seen;
  if (hipMalloc(&x, 4) || hipMemset(x, 0, 4)) return 90;
  last<<<16, 64>>>(x);
  if (hipMemcpy(&seen, x, 4, hipMemcpyDeviceToHost)) return 91;
  std::printf("%d", seen);
}
"""


@pytest.mark.thorough
def test_a_program_whose_output_depends_on_the_order_is_reported_and_an_order_replayed(build: Build) -> None:
    program = build("last", LAST)
    ended = amdkernel_run(program, "--schedules", "4", "--target", "emulator:gfx942")
    assert ended.returncode == 1
    assert ended.stdout == "15", "the output is that of the plain order"
    assert "non_deterministic" in ended.stderr
    seed = re.search(r"--order (\d+)", ended.stderr)
    assert seed, ended.stderr
    again = amdkernel_run(program, "--order", seed[1], "--target", "emulator:gfx942")
    assert again.stdout != "15"


OVERRUN = """
#include <hip/hip_runtime.h>
#include <cstdio>
#include <cstdlib>
__global__ void fill(int* x) { x[blockIdx.x * blockDim.x + threadIdx.x] = 7; }
__global__ void sum(const int* x, int n, int* y) {
  for (int i = threadIdx.x; i < n; i += 64) atomicAdd(y, x[i]);
}
__global__ void spill(int* y) {
  __shared__ int s[100];
  s[threadIdx.x] = (int)threadIdx.x;
  __syncthreads();
  y[threadIdx.x] = s[threadIdx.x];
}
int main(int, char** words) {
  int *x, *y, *other, seen[256] = {};
  int extra = std::atoi(words[1]);
  if (hipMalloc(&x, 1000 * 4) || hipMalloc(&other, 256 * 4) || hipHostMalloc(&y, 256 * 4)) return 90;
  if (hipMemset(other, 1, 256 * 4) || hipMemset(y, 0, 256 * 4)) return 91;
  fill<<<4 + extra / 256, 256>>>(x);
  sum<<<1, 64>>>(x, 1000 + extra, y);
  if (hipDeviceSynchronize()) return 92;
  std::printf("%d", y[0]);
  spill<<<1, 256>>>(y);
  if (hipMemcpy(seen, other, sizeof seen, hipMemcpyDeviceToHost)) return 93;
  for (int value : seen) if (value != 0x01010101) return 94;
  std::printf(" %d %d\\n", y[127], y[128]);
  return 3;
}
"""


LATE = """
#include <hip/hip_runtime.h>
__global__ void late(int* y) {
  __shared__ int count;
  if (threadIdx.x == 255) count = 0;
  y[threadIdx.x] = atomicAdd(&count, 1);
}
int main() {
  int* y;
  if (hipMalloc(&y, 1024)) return 90;
  late<<<1, 256>>>(y);
  return hipDeviceSynchronize() ? 91 : 0;
}
"""


@pytest.mark.thorough
def test_races_are_checked_in_the_other_orders_too(build: Build) -> None:
    how = [build("late", LATE), "--races", "--target", "emulator:gfx942"]
    plain = amdkernel_run(*how)
    assert (plain.returncode, plain.stderr) == (0, ""), "the wave that clears the counter has always been the first"
    ended = amdkernel_run(*how, "--schedules", "4")
    assert ended.returncode == 1
    seen = re.search(r"late.hip:[56]: race: .*; in the order of seed (\d): replay it with --order \1", ended.stderr)
    assert seen, ended.stderr
    assert ": race: " in amdkernel_run(*how, "--order", seen[1]).stderr


@pytest.mark.thorough
def test_a_program_that_overruns_its_memory_continues_as_on_a_gpu_and_is_reported(build: Build) -> None:
    ended = amdkernel_run(build("overrun", OVERRUN), "24", "--target", "emulator:gfx942")
    assert ended.stdout == "7168 127 0\n", ended.stderr
    assert ended.returncode == 3
    assert "overrun.hip:5: out_of_bounds: writes 4 bytes at byte 4000 of allocation" in ended.stderr
    made = next(n for n, line in enumerate(OVERRUN.splitlines(), 1) if "hipMalloc" in line)
    assert f"(made in line {made}), which has 4000 bytes" in ended.stderr
    assert "; by 24 lanes, up to 96 bytes beyond" in ended.stderr
    assert "overrun.hip:7: out_of_bounds: reads" in ended.stderr
    assert "overrun.hip:11: out_of_bounds: writes 4 bytes at byte 400 of LDS" in ended.stderr
    assert "; 3 times in all, by 156 lanes, up to 624 bytes beyond" in ended.stderr


VARIABLES = """
#include <hip/hip_runtime.h>
#ifdef RACE
static __device__ int counts[8];
__global__ void act(int* y, float*) {
  counts[blockIdx.x] = 1;
  y[blockIdx.x] = counts[1 - blockIdx.x];
}
#elif defined(PAST)
namespace deep { __device__ int table[3]; }
__global__ void act(int* y, float*) { deep::table[*y + 3] = 1; }
#else
__global__ void act(int*, float* w) { w[2] = 1; }
#endif
__constant__ float weights[4] = {1, 2, 3, 4};
__global__ void get(float* y, int i) { *y = weights[i]; }
int main() {
  int* y;
  void* w;
  if (hipMalloc(&y, 16) || hipMemset(y, 0, 16) || hipGetSymbolAddress(&w, HIP_SYMBOL(weights))) return 90;
  act<<<2, 1>>>(y, static_cast<float*>(w));
  return hipDeviceSynchronize() ? 1 : 0;
}
"""


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("define", "option", "expected"),
    [
        ("RACE", "--races", ["of `counts` (32 bytes), which workgroup"]),
        (
            "PAST",
            "--devices=1",
            [
                "writes 4 bytes at byte 0 after `table` (12 bytes); act, workgroup",
                "2 times in all, by 2 lanes: check the index",
            ],
        ),
        ("PAST", "--check", ["writes 4 bytes at byte 0 after `table` (12 bytes)"]),
        ("CONSTANT", "--check", ["writes 4 bytes at byte 8 of `weights` (16 bytes)"]),
    ],
    ids=["race", "overrun", "stopped", "constant"],
)
def test_a_mistake_in_a_variable_names_it(build: Build, define: str, option: str, expected: list[str]) -> None:
    program = build("variables", f"#define {define}\n{VARIABLES}")
    ended = amdkernel_run(program, option, "--target", "emulator:gfx942")
    for part in expected:
        assert part in ended.stderr


WEIGHTS = """#include <hip/hip_runtime.h>
struct Weights { float of[9]; };
__global__ void blend(float* out, int taps, Weights weights)
{
    float sum = 0;
    for (int k = 0; k < taps; k++)
        sum += weights.of[(k + blockIdx.x) % taps];
    out[threadIdx.x] = sum * blockDim.x;
}
int main(int, char** arguments)
{
    float* out;
    (void)hipMalloc(&out, 256);
    blend<<<2, 64>>>(out, atoi(arguments[1]), {});
    return hipDeviceSynchronize();
}
"""


@pytest.mark.thorough
@pytest.mark.parametrize("arch", ["gfx942", "gfx1201"])
def test_arguments_are_not_read_into_the_hidden_ones_behind_them(build: Build, arch: str) -> None:
    program = build("weights", WEIGHTS, arch)
    how = ["--target", f"emulator:{arch}", "--check"]
    beyond = amdkernel_run(*how, program, "11")
    assert "weights.hip:7: out_of_bounds: reads byte 48 of the kernel's arguments, which have 48 bytes" in beyond.stderr
    within = amdkernel_run(*how, program, "9")
    assert (within.returncode, within.stderr) == (0, "")


@pytest.mark.thorough
def test_an_overrun_reaches_as_far_as_the_memory_that_a_gpu_maps_at_once(build: Build) -> None:
    overrun = build("overrun", OVERRUN)
    within, beyond = amdkernel_run(overrun, str(2**19 - 1024)), amdkernel_run(overrun, str(2**19))
    assert within.returncode == 3, within.stderr
    assert f"up to {2**21 - 4000} bytes beyond" in within.stderr
    assert beyond.returncode == 92
    assert "out_of_bounds in kernel fill(int*)" in beyond.stderr
    assert "overrun.hip:5: out_of_bounds: writes 4 bytes at byte 2097152 of allocation" in beyond.stderr
    assert "does not stop for this" not in beyond.stderr


@pytest.mark.thorough
@pytest.mark.parametrize("level", [[], pytest.param(["--flag=-O0"], marks=pytest.mark.thorough)])
def test_an_overrun_is_a_failure_with_check(tmp_path: Path, level: list[str]) -> None:
    (tmp_path / "overrun.hip").write_text(OVERRUN)
    ended = amdkernel_run(tmp_path / "overrun.hip", "24", "--check", *level)
    assert ended.returncode == 92
    assert "overrun.hip:5: out_of_bounds: writes 4 bytes at byte 4000 of allocation" in ended.stderr
    made = next(n for n, line in enumerate(OVERRUN.splitlines(), 1) if "hipMalloc" in line)
    assert f"(made in line {made}), which has 4000 bytes" in ended.stderr


HOST_POINTER = """
#include <hip/hip_runtime.h>
#include <cstdlib>
__global__ void set(int* x) { *x = 1; }
int main() {
  set<<<1, 1>>>((int*)std::malloc(4));
  return hipDeviceSynchronize() ? 92 : 0;
}
"""


@pytest.mark.thorough
@pytest.mark.parametrize("look", [[], ["--check"]])
def test_a_pointer_of_the_host_is_reported_with_the_line_that_follows_it(tmp_path: Path, look: list[str]) -> None:
    (tmp_path / "host.hip").write_text(HOST_POINTER)
    ended = amdkernel_run(tmp_path / "host.hip", *look)
    assert ended.returncode == 92
    assert "host.hip:4: out_of_bounds: writes 4 bytes at 0x" in ended.stderr
    assert "host memory that HIP neither allocated nor registered; set, workgroup" in ended.stderr


FLAT = """
#include <hip/hip_runtime.h>
#include <cstdio>
#include <cstdlib>
__global__ void flat(int* y, unsigned at) {
  __shared__ int s[100];
  int* p = s + at;
  asm volatile("" : "+v"(p));
  *p = 7;
  y[0] = *p;
}
__global__ void ds(int* y, unsigned at) {
  __shared__ int s[100];
  s[0] = 7;
  s[at] = 8;
  __syncthreads();
  y[0] = s[blockIdx.x];
}
int main(int, char** words) {
  int *y, seen;
  if (hipMalloc(&y, 4)) return 90;
  (words[2][0] == 'f' ? flat : ds)<<<1, 1>>>(y, (unsigned)std::atoi(words[1]));
  if (hipDeviceSynchronize()) return 92;
  if (hipMemcpy(&seen, y, 4, hipMemcpyDeviceToHost)) return 93;
  std::printf("%d", seen);
}
"""


@pytest.mark.thorough
@pytest.mark.parametrize("arch", ["gfx942", "gfx1100"])
def test_a_flat_access_beyond_lds_stops_a_program_and_one_of_ds_does_not(build: Build, arch: str) -> None:
    """LDS of 400 bytes is allocated as 512: up to there both continue."""
    program = build("reach", FLAT, arch)
    reach = lambda at, how: amdkernel_run(program, at, how, "--target", f"emulator:{arch}")  # noqa: E731
    for at, how in ((100, "flat"), (100, "ds"), (128, "ds")):
        ended = reach(at, how)
        assert (ended.returncode, ended.stdout) == (0, "7"), (at, how, ended.stderr)
        assert f"out_of_bounds: writes 4 bytes at byte {4 * at} of LDS" in ended.stderr, (at, how, ended.stderr)
    stopped = reach(128, "flat")
    assert (stopped.returncode, stopped.stdout) == (92, "")
    assert "out_of_bounds in kernel flat(int*, unsigned int)" in stopped.stderr
